"""Stores that derive from others: one agent's view, a past state, a union of several."""
