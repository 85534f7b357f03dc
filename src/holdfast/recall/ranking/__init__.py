"""Everything that changes the order of hits: features, the ranker and the steps after it."""
