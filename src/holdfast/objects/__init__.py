"""Originals of documents in a folder or on S3-compatible storage, shut before they leave; everything else stays."""
