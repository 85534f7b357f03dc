"""Errors → responses: the Agent Memory envelope under its paths, our own shape elsewhere."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from ..errors import (
    AlreadyExists,
    Busy,
    Closed,
    Conflict,
    Forbidden,
    HoldfastError,
    InvalidInput,
    KeyReused,
    ModelError,
    NotFound,
    Stale,
    StorageError,
    StorageFull,
    TooMany,
    Unauthorised,
)  # fmt: skip
from ..malformed import malformed
from . import ways
from .gate import NoSuchPath
from .wire import Json

STATUS: tuple[tuple[type[HoldfastError], int, int], ...] = (
    (Unauthorised, 401, 10000),
    (Forbidden, 403, 10000),
    (NoSuchPath, 404, 10003),
    (TooMany, 429, 10006),
    (KeyReused, 422, 10001),
    (InvalidInput, 400, 10001),
    (NotFound, 404, 10007),
    (AlreadyExists, 409, 10008),
    (Stale, 412, 10009),
    (Conflict, 409, 10009),
    (Busy, 503, 10010),
    (StorageFull, 507, 10011),
    (StorageError, 500, 10012),
    (ModelError, 503, 10013),
    (Closed, 503, 10014),
)
"""Error → HTTP status, and its code in the Agent Memory envelope."""
NO_NAMESPACE = 1003
CONTRACT_NAMES = {"session_id": "sessionId", "reference_date": "referenceDate"}
SECONDS_TO_WAIT = 1
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    status: {"description": told}
    for status, told in {
        400: "A value breaks a rule: the answer says which, and what would be right.",
        401: "No valid token.",
        403: "The credential lacks the right.",
        404: "No such thing, or no such path.",
        409: "The name is taken, or somebody wrote first.",
        412: "The memory is no longer as the caller last saw it.",
        413: "The body is too large.",
        422: "The idempotency key came with another request before.",
        429: "Too many requests; Retry-After says how long to wait.",
        503: "Busy or closing; try again.",
        507: "No space left; nothing was written.",
    }.items()
}
PREFIX = "/client/v4/"


def install(app: FastAPI) -> None:
    app.add_exception_handler(HoldfastError, ours)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _unknown)


async def ours(request: Request, wrong: Exception) -> Json:
    assert isinstance(wrong, HoldfastError)
    status, code = next(((s, c) for kind, s, c in STATUS if isinstance(wrong, kind)), (500, 10000))
    if isinstance(wrong, NotFound) and wrong.field == "namespace":
        code = NO_NAMESPACE
    after = wrong.after if isinstance(wrong, TooMany) else SECONDS_TO_WAIT
    headers = {"retry-after": str(after)} if status in (429, 503) else None
    fix = wrong.fix or (ways.meant(request) if isinstance(wrong, NotFound) and wrong.field == "id" else None)
    return failure(request, status, code, wrong.code, str(wrong), wrong.field, headers, fix)


def blamed(request: Request, wrong: Exception) -> Json:
    """A fault of ours; whoever runs the service finds it in its log."""
    said = f"The server failed ({type(wrong).__name__}); nothing is known to be lost. Its log says more."
    return failure(request, 500, 10012, "internal", said, None)


async def _malformed(request: Request, wrong: Exception) -> Json:
    assert isinstance(wrong, RequestValidationError)
    first: dict[str, Any] = wrong.errors()[0]
    if first["type"] == "json_invalid":
        said = f"The body is not valid JSON, at character {first['loc'][-1]}: {first['ctx']['error']}."
        return failure(request, 400, 10001, "invalid_input", said, None)
    if first["loc"] == ("body",) and "json" not in request.headers.get("content-type", ""):
        said = "The body must be JSON: send the header content-type: application/json."
        return failure(request, 400, 10001, "invalid_input", said, None)
    # The first step says whether it is in the body, the query, a header.
    errors = [{**each, "loc": each["loc"][1:]} for each in wrong.errors() if each["loc"][0] == first["loc"][0]]
    said, field = malformed(errors, _body(request) if first["loc"][0] == "body" else None)
    return failure(request, 400, 10001, "invalid_input", said, field)


def _body(request: Request) -> Any:
    """What the route's body should be."""
    route = request.scope.get("route")
    fields = route.dependant.body_params if isinstance(route, APIRoute) else []
    return fields[0].field_info.annotation if len(fields) == 1 else None


async def _unknown(request: Request, wrong: Exception) -> Json:
    assert isinstance(wrong, HTTPException)
    path, headers = request.url.path, dict(wrong.headers or {})
    if wrong.status_code == 404 or (wrong.status_code == 405 and path.startswith(PREFIX)):
        said, fix = f"There is no {request.method} {path}.", None if path.startswith(PREFIX) else ways.below(request)
        return failure(request, 404, 10003, "no_such_path", said, None, fix=fix)
    if wrong.status_code == 405 and (takes := ways.methods(request)):
        said, fix = f"{path} does not take {request.method}.", f"Use {' or '.join(takes)}."
        return failure(request, 405, 10000, "no_such_method", said, None, {"allow": ", ".join(takes)}, fix)
    if wrong.status_code == 400 and isinstance(wrong.__cause__, UnicodeDecodeError | RecursionError):
        why = "nested too deeply" if isinstance(wrong.__cause__, RecursionError) else "not valid UTF-8"
        return failure(request, 400, 10001, "invalid_input", f"The body is {why}.", None, headers)
    return failure(request, wrong.status_code, 10000, "http", str(wrong.detail), None, headers)


def _pointer(field: str) -> str:
    """Where in the body a field is, in the contract's own spelling: messages[0].content → /messages/0/content."""
    first, *rest = re.sub(r"\[(\d+)\]", r".\1", field).split(".")
    return "/" + "/".join([CONTRACT_NAMES.get(first, first), *rest])


def failure(
    request: Request,
    status: int,
    code: int,
    name: str,
    message: str,
    field: str | None,
    headers: dict[str, str] | None = None,
    fix: str | None = None,
) -> Json:
    headers = dict(headers or {})
    if status == 409:
        headers["x-should-retry"] = "false"  # the official SDKs retry 409 otherwise
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if not request.url.path.startswith(PREFIX):
        return Json({"error": {"code": name, "message": message, "field": field, "fix": fix}}, status, headers)
    wrong: dict[str, Any] = {"code": code, "message": "Authentication error" if status == 401 else message}
    if field is not None:
        wrong["source"] = {"pointer": _pointer(field)}
    return Json({"result": None, "success": False, "errors": [wrong], "messages": []}, status, headers)
