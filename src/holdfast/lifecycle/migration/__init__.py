"""Bringing the memories of a kind to another version of its schema."""
