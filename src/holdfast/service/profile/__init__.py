"""One profile's verbs, a file per family."""
