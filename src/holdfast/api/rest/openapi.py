"""The OpenAPI document: FastAPI's, completed with what FastAPI cannot derive."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from holdfast.domain.results import Assessment, Hit

OPEN = ("/healthz", "/readyz", "/ui/session")
PARAMETERS: dict[str, dict[str, Any]] = {
    "namespace": {"type": "string", "description": "The name or id of a namespace."},
    "profile": {"type": "string", "minLength": 1, "description": "The name of a profile, percent-encoded."},
    "account": {"type": "string", "description": "Any value; Holdfast has no accounts."},
    "secret": {"type": "string", "description": "The token of a secret URL."},
    "session_id": {"type": "string", "minLength": 1, "maxLength": 64, "description": "The id of a session."},
    "key": {"type": "string", "minLength": 1, "description": "The key of an item, percent-encoded."},
}
TAGS = {
    "Native": "The verbs of a profile: write, read, correct, keep and forget.",
    "Across profiles": "Several profiles asked together, with one ranking.",
    "Documents": "Files, web pages and texts, split into passages.",
    "Notes": "Notes on files and folders, for agents that work in a folder.",
    "Graph": "The people and things that memories mention, and the links between them.",
    "Kinds": "Schemas of kinds, and migrations between their versions.",
    "Journal": "Live events, traces of reads and writes, and the progress of digestion.",
    "Archives": "A profile exported to one file, and imported from it or from another product.",
    "Key-value": "An agent's own items by kind and key; the agent is a namespace, the entity a profile.",
    "Secret URL": "One profile behind a secret address, or behind a token that is bound to it.",
    "MCP": "The Model Context Protocol, and its tools over plain HTTP.",
    "Agent Memory": "The contract of Cloudflare's Agent Memory, for its clients.",
    "Administration": "Namespaces, profiles, credentials, grants and the audit.",
    "Service": "Whether the service runs, and its metrics.",
    "Web UI": "Signing a browser in and out.",
}
"""Groups of routes, in the order in which a reader wants them."""


def describe_api(app: FastAPI) -> None:
    """Complete the app's OpenAPI document: add path parameters, security, the names of all objects and the order of
    groups, remove models that are never returned."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=app.description)
            for path, methods in made["paths"].items():
                for operation in methods.values():
                    _complete(path, operation)
            made["tags"] = [{"name": name, "description": about} for name, about in TAGS.items()]
            parts = made.setdefault("components", {})
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schemas = parts.get("schemas", {})
            for part in (made["paths"], *list(schemas.values())):
                _name_objects(part, schemas)
            for unused in ("HTTPValidationError", "ValidationError", Assessment.__name__):
                schemas.pop(unused, None)
            for field in fields(Hit):
                if field.metadata.get("internal"):  # it is not encoded, see domain/json_codec.py
                    schemas.get(Hit.__name__, {"properties": {}})["properties"].pop(field.name, None)
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _name_objects(part: Any, schemas: dict[str, Any]) -> None:
    """Move objects that are described in place, and have a title, to the named ones."""
    steps = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for at, inner in list(steps):
        _name_objects(inner, schemas)
        if isinstance(inner, dict) and "properties" in inner and isinstance(name := inner.get("title"), str):
            schemas[name] = inner
            part[at] = {"$ref": f"#/components/schemas/{name}"}


def _complete(path: str, operation: dict[str, Any]) -> None:
    given = operation.setdefault("parameters", [])
    told = {each["name"] for each in given if each["in"] == "path"}
    for name in re.findall(r"\{(\w+)\}", path):
        if name not in told:
            about = dict(PARAMETERS[name])
            given.append({"name": name, "in": "path", "required": True, "description": about.pop("description"),
                          "schema": about})  # fmt: skip
    if "{secret}" not in path and path not in OPEN:
        operation["security"] = [{"token": []}]
    operation["responses"].get("422", {}).pop("content", None)
