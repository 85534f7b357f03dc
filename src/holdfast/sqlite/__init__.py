"""A folder of encrypted SQLite files, one profile in each."""
