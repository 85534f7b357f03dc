"""Hooks that coding agents run, and the agents' settings files."""
