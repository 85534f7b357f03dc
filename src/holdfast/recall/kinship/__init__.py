"""Who is whose relative: read off statements, and followed from one to the next."""
