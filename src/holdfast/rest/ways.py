"""Which ways there are: the methods of a path, what lies below one, and the query parameters that a route takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.routing import Route

from ..errors import InvalidInput

STRICT = "/v1/"
"""Below here an unknown parameter is refused; elsewhere clients of others send what they always sent."""
MOST_NAMED = 8
_KNOWN: dict[Any, tuple[str, ...]] = {}


def refuse_unknown_query(request: Request) -> None:
    """A misspelt parameter would be an answer to another question."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute) or not route.path.startswith(STRICT):
        return
    known = _KNOWN.setdefault(route.endpoint, tuple(_parameters(route.dependant)))
    for name in request.query_params:
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes none"
            raise InvalidInput(f"The query parameter {name!r} is not known here; this route {takes}.", field=name)


def _parameters(dependant: Any) -> Iterator[str]:
    for each in dependant.query_params:
        yield each.alias
    for inner in dependant.dependencies:
        yield from _parameters(inner)


def methods(request: Request) -> tuple[str, ...]:
    """Every method that the request's path takes."""
    return tuple(sorted({method for route in _matching(request) for method in route.methods or ()} - {"HEAD"}))


def meant(request: Request) -> str | None:
    """What to do when a name in the path is really a verb of ours, asked with another method."""
    last = request.scope["path"].rpartition("/")[2]
    for route in _matching(request):
        if route.path.endswith(f"/{last}") and request.method not in (route.methods or ()):
            return f"If you meant the route, use {' or '.join(sorted(route.methods or ()))} {last}."
    return None


def below(request: Request) -> str | None:
    """The routes one step below a path that is none."""
    steps = request.scope["path"].rstrip("/").split("/")
    found = []
    for route in _routes(request):
        its = route.path.split("/")
        same = all(a == b or a.startswith("{") for a, b in zip(its, steps, strict=False))
        if len(its) == len(steps) + 1 and same and its[len(steps) - 1] == steps[-1]:
            found += [f"{method} {'/'.join(its[-2:])}" for method in sorted(route.methods or ()) if method != "HEAD"]
    return f"There is {', '.join(found[:MOST_NAMED])}." if found else None


def _matching(request: Request) -> Iterator[Route]:
    return (route for route in _routes(request) if route.path_regex.match(request.scope["path"]))


def _routes(request: Request) -> Iterator[Route]:
    return (route for route in request.app.state.routes if isinstance(route, Route))
