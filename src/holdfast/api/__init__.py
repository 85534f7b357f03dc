"""Protocols: REST, MCP, the HTTP client and the web UI."""
