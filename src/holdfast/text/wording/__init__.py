"""The wording of memories: whether it is English, and whether its words stand together in one message."""
