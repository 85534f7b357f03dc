"""Entities and links that memories mention."""
