"""Other shapes of the same memory: notes on files, key-value memory for agents."""
