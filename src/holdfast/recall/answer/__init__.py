"""Hits become an answer: quoted, computed, written by an LLM, or none."""
