"""A question becomes ranked hits, a context block or a cited answer."""
