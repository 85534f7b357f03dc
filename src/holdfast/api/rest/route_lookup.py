"""Looks routes up for error messages: methods of a path, paths below one, query parameters of a route."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.routing import Route

from holdfast.domain.errors import InvalidInput

STRICT = "/v1/"
"""Unknown query parameters are rejected under this prefix; elsewhere clients of other APIs may send extra ones."""
MAX_NAMED = 8
USUAL_PATHS = {"memories": "To write a memory: POST remember. To list memories: POST memories/list."}
"""The last step of a path that callers try, because other services have it → what to use here."""
_KNOWN: dict[Any, tuple[str, ...]] = {}


def refuse_unknown_query(request: Request) -> None:
    """Reject unknown query parameters: a misspelt one would silently return something else."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute) or not route.path.startswith(STRICT):
        return
    known = _KNOWN.setdefault(route.endpoint, tuple(_parameters(route.dependant)))
    for name in request.query_params:
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes none"
            raise InvalidInput(f"The query parameter {name!r} is unknown; this route {takes}.", field=name)


def _parameters(dependant: Any) -> Iterator[str]:
    for each in dependant.query_params:
        yield each.alias
    for inner in dependant.dependencies:
        yield from _parameters(inner)


def methods(request: Request) -> tuple[str, ...]:
    """All methods that the request's path accepts."""
    return tuple(sorted({method for route in _matching(request) for method in route.methods or ()} - {"HEAD"}))


def route_meant(request: Request) -> str | None:
    """A hint for the case that a name in the path is really a route with another method."""
    last = request.scope["path"].rpartition("/")[2]
    for route in _matching(request):
        if route.path.endswith(f"/{last}") and request.method not in (route.methods or ()):
            return f"If you meant the route, use {' or '.join(sorted(route.methods or ()))} {last}."
    return None


def routes_below(request: Request) -> str | None:
    """The routes one level below a path that is not a route."""
    steps = request.scope["path"].rstrip("/").split("/")
    found = []
    for route in _routes(request):
        its = route.path.split("/")
        same = all(a == b or a.startswith("{") for a, b in zip(its, steps, strict=False))
        if len(its) == len(steps) + 1 and same and its[len(steps) - 1] == steps[-1]:
            found += [f"{method} {'/'.join(its[-2:])}" for method in sorted(route.methods or ()) if method != "HEAD"]
    below = f"Known paths: {', '.join(found[:MAX_NAMED])}." if found else None
    return " ".join(filter(None, (USUAL_PATHS.get(steps[-1]) if found else None, below))) or None


def _matching(request: Request) -> Iterator[Route]:
    return (route for route in _routes(request) if route.path_regex.match(request.scope["path"]))


def _routes(request: Request) -> Iterator[Route]:
    return (route for route in request.app.state.routes if isinstance(route, Route))
