"""Copies one vault into another and proves by checksum that both hold the same."""
