"""Models behind the ports of domain/ports/models.py: local embedders, rules, language models of providers."""
