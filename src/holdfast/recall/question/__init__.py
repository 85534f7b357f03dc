"""What a question asks, worked out once from its words and handed down as a value."""
