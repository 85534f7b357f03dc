"""What rules find in a sentence: facts, events, instructions, changes, finished tasks."""
