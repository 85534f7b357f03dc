"""Storage in a folder of encrypted SQLite files, one per profile."""
