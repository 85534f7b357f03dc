"""Kinds of memory: their JSON Schemas, versions, validation and value mappings."""
