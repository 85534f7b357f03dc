"""Holds the profiles in use in memory."""
