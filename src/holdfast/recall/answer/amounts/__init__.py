"""Amounts in answers: what they changed by, and by how much two differ."""
