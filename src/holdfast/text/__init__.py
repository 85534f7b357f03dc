"""Analyses text without access to any memory: tokens, similarity, supersession, dates, word lists, redaction."""
