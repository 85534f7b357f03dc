"""The interfaces that storage, documents, models and profiles implement."""
