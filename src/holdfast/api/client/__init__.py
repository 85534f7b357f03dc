"""The HTTP client: a remote Holdfast with the methods of a local one."""
