"""Implementations of the storage ports: SQLite, PostgreSQL, in memory, blob storage, and views of a store."""
