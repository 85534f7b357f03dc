"""Amounts in a text: what they are, and what changes them."""
