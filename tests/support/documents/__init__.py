"""Documents and networks for tests of documents."""
