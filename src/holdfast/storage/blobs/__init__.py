"""Stores originals of documents in a folder or on S3-compatible storage, encrypted before upload."""
