"""What an open profile holds in memory for searches."""
