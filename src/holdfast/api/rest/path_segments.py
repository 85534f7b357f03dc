"""Keeps %2F inside a path segment, so that names may contain slashes.

Servers decode the whole path before routing, so a profile called "team/ana" would become two segments. Here such a
slash is replaced by a private-use character until `segment` decodes it.
"""

from __future__ import annotations

from urllib.parse import unquote

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

SLASH = "\ue02f"


class Segments:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path") or b""
        if scope["type"] == "http" and b"%2f" in raw.lower():
            parts = raw.partition(b"?")[0].decode("ascii").split("/")
            scope["path"] = "/".join(unquote(part).replace("/", SLASH) for part in parts)
        await self._app(scope, receive, send)


def segment(request: Request, name: str) -> str:
    """A path parameter, with its slashes restored."""
    return str(request.path_params[name]).replace(SLASH, "/")
