"""Who is speaking and who is meant."""
