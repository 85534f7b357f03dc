"""Routes of the service: a caller's rights are checked first, and a route is whole when it is declared.

An app takes these routes as they are. FastAPI's `include_router` would work out each of them again for every app.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any, cast

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.utils import get_typed_return_annotation
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import ClientDisconnect
from starlette.routing import Match, Route
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
        takes_body_only = self._takes_body_only(guards)

        async def guarded(request: Request) -> Response:
            for guard in guards:
                await guard(request)  # type: ignore[misc]
            asked = JsonRequest(request.scope, request.receive)
            body = await self._valid_body(asked) if takes_body_only else None
            if body is None:
                return await handle(asked)
            response: Response = await self.endpoint(request=asked, body=body)
            return response

        return guarded

    def _takes_body_only(self, guards: list[Any]) -> bool:
        """Whether its function takes the request and a body and nothing else. Then a valid body goes straight to it:
        FastAPI's own way there takes as long as all the rest of a request."""
        given = self.dependant
        others = (given.path_params, given.query_params, given.header_params, given.cookie_params)
        return (
            not any(others)
            and [each.name for each in given.body_params] == ["body"]
            and given.request_param_name == "request"
            and isinstance(given.body_params[0].field_info.annotation, type)
            and issubclass(given.body_params[0].field_info.annotation, BaseModel)
            and len(guards) == len(given.dependencies)
            and issubclass(_type_returned(self.endpoint), Response)
        )

    async def _valid_body(self, request: JsonRequest) -> BaseModel | None:
        """The body; None for one that is not valid, which FastAPI reports."""
        if self.body_field is None or request.headers.get("content-type") != "application/json":
            return None
        try:
            given = await request.json()
        except (ValueError, RecursionError, ClientDisconnect):
            return None
        body, wrong = self.body_field.validate(given, {}, loc=("body",))
        return None if wrong else cast(BaseModel, body)


def _type_returned(endpoint: Callable[..., Any]) -> type:
    """The type that a route's function says it returns; FastAPI turns what is no response into one."""
    returned = get_typed_return_annotation(endpoint)
    return returned if isinstance(returned, type) else object


class PlainRoute(Route):
    """A route without FastAPI. It says which one it is, as FastAPI's routes do, for the log and the metrics."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, inner = super().matches(scope)
        return match, {**inner, "route": self}


class GuardedRouter(APIRouter):
    """The routes of one group of the API reference."""

    def __init__(self, tag: str) -> None:
        super().__init__(route_class=GuardedRoute, tags=[tag], default_response_class=Json, responses=DOCUMENTED)
