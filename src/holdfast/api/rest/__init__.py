"""The service over HTTP: one app, one gate under every API."""
