"""Routes of the service: a caller's rights are checked first, and a route is whole when it is declared.

An app takes these routes as they are. FastAPI's `include_router` would work out each of them again for every app.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from holdfast.api.rest.errors import DOCUMENTED
from holdfast.api.rest.json_response import Json
from holdfast.api.rest.path_segments import decode_segments
from holdfast.api.rest.request_body import JsonRequest


class GuardedRoute(APIRoute):
    """A route whose rights are checked before anything of the body is read."""

    @cached_property
    def _ending(self) -> str:
        """What the path of every request for this route ends with: it rules out most routes without their patterns."""
        return self.path.rpartition("}")[2]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if not scope["path"].endswith(self._ending):
            return Match.NONE, {}
        match, inner = super().matches(scope)
        return match, decode_segments(inner)

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handle = super().get_route_handler()
        guards = [each.call for each in self.dependant.dependencies if hasattr(each.call, "need")]

        async def guarded(request: Request) -> Response:
            for guard in guards:
                await guard(request)  # type: ignore[misc]
            return await handle(JsonRequest(request.scope, request.receive))

        return guarded


class GuardedRouter(APIRouter):
    """The routes of one group of the API reference."""

    def __init__(self, tag: str) -> None:
        super().__init__(route_class=GuardedRoute, tags=[tag], default_response_class=Json, responses=DOCUMENTED)
