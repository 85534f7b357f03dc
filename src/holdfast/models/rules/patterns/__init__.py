"""The patterns that rules match: people, possessions, habits, other languages."""
