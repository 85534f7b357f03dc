"""Tasks for a language model: their requests, and the parsing of its answers."""
