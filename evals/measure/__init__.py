"""Measures quality through the public interface; most of it writes a page of docs/results."""
