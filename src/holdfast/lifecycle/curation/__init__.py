"""Editing, review, undo and audit of memories."""
