"""The web UI in a real browser: Chromium, pages, a filled profile."""
