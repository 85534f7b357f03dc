"""Sentences taken apart before rules look at them."""
