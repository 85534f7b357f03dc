"""The REST routes, a file per family."""
