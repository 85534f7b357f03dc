"""A language model, when the user names one: the wire to it, and the tasks it is asked for."""
