"""Fetches a URL without reaching private networks."""
