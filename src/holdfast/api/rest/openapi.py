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


def describe_api(app: FastAPI) -> None:
    """Complete the app's OpenAPI document: add path parameters and security, remove models that are never returned."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=app.description)
            for path, methods in made["paths"].items():
                for operation in methods.values():
                    _complete(path, operation)
            parts = made.setdefault("components", {})
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schemas = parts.get("schemas", {})
            for unused in ("HTTPValidationError", "ValidationError", Assessment.__name__):
                schemas.pop(unused, None)
            for field in fields(Hit):
                if field.metadata.get("internal"):  # it is not encoded, see domain/json_codec.py
                    schemas.get(Hit.__name__, {"properties": {}})["properties"].pop(field.name, None)
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


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
