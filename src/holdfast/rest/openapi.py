"""What the app says of itself: FastAPI's description, with what it cannot see for itself."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

OPEN = ("/healthz", "/readyz", "/ui/session")
PARAMETERS: dict[str, dict[str, Any]] = {
    "namespace": {"type": "string", "description": "A namespace's name, or its id."},
    "profile": {"type": "string", "minLength": 1, "description": "A profile's name, percent-encoded."},
    "account": {"type": "string", "description": "Anything: there are no accounts here."},
    "secret": {"type": "string", "description": "The secret of a secret URL."},
    "session_id": {"type": "string", "minLength": 1, "maxLength": 64, "description": "A session's id."},
    "key": {"type": "string", "minLength": 1, "description": "An item's key, percent-encoded."},
}


def describe(app: FastAPI) -> None:
    """Let the app's OpenAPI document be complete: paths' own parameters, who may call, no model that nobody answers."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=app.description)
            for path, methods in made["paths"].items():
                for operation in methods.values():
                    _complete(path, operation)
            parts = made.setdefault("components", {})
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            for unused in ("HTTPValidationError", "ValidationError"):
                parts.get("schemas", {}).pop(unused, None)
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
