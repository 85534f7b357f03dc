"""Holdfast beside other memories: the same messages, questions and embedder, each in a process of its own."""
