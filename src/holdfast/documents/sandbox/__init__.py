"""Parses untrusted files in a child process without network, files or privileges."""
