"""Compares drafts with the memories in the store and turns both into one change."""
