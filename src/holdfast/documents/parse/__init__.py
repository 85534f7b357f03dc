"""Parsers, one module per family of formats. Only the child process (sandbox/child.py) runs them."""
