"""Keeps %2F inside a path segment, so that names may contain slashes, and keeps secrets out of paths that are shown.

Servers decode the whole path before routing, so a profile called "team/ana" would become two segments. Here such a
slash is escaped with a private-use character, and routes decode it when they have matched.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

ESCAPE = "\ue02f"
SLASH, ITSELF = f"{ESCAPE}s", f"{ESCAPE}e"
_QUOTED = (b"%2f", b"%ee%80%af")
_SECRET = re.compile(r"(?<=^/s/)[^/]+|(?<=^/sse/)[^/]+|hf_[0-9A-Za-z]{10,}")


class Segments:
    """Escapes slashes within the segments of a path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path") or b""
        if scope["type"] == "http" and any(each in raw.lower() for each in _QUOTED):
            parts = raw.partition(b"?")[0].decode("ascii").split("/")
            scope["path"] = "/".join(unquote(part).replace(ESCAPE, ITSELF).replace("/", SLASH) for part in parts)
        await self._app(scope, receive, send)


def decode_segments(scope: Scope) -> Scope:
    """The scope of a matched route, with the slashes of its path parameters restored."""
    given: dict[str, Any] = scope.get("path_params", {})
    if any(ESCAPE in value for value in given.values() if isinstance(value, str)):
        scope["path_params"] = {name: _decoded(value) for name, value in given.items()}
    return scope


def _decoded(value: Any) -> Any:
    return value.replace(SLASH, "/").replace(ITSELF, ESCAPE) if isinstance(value, str) else value


def masked_path(path: str) -> str:
    """A path as it may be shown: `/s/…/mcp` for one with the secret of a URL in it, wherever it stands."""
    return _SECRET.sub("…", path)
