"""Conversations, questions and annotated files, and what loads and checks them."""
