"""Turns errors into responses: the Agent Memory envelope under its paths, Holdfast's own format elsewhere."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from holdfast.api.client.request import UNWRITTEN_HEADER
from holdfast.api.rest import route_lookup
from holdfast.api.rest.auth import NoSuchPath
from holdfast.api.rest.json_response import Json
from holdfast.api.rest.path_segments import masked_path
from holdfast.api.rest.request_body import BodyTooLarge
from holdfast.api.validation_errors import validation_message
from holdfast.domain.errors import (
    AlreadyExists,
    Busy,
    Closed,
    Conflict,
    DamagedArchive,
    Forbidden,
    HoldfastError,
    InvalidInput,
    KeyReused,
    ModelError,
    NotFound,
    QuotaExceeded,
    Stale,
    StorageError,
    StorageFull,
    TooMany,
    Unauthorised,
)  # fmt: skip

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
    (DamagedArchive, 400, 10001),
    (StorageFull, 507, 10011),
    (QuotaExceeded, 507, 10011),
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
        400: "A value is invalid. The error names the field and the valid values.",
        401: "The token is missing or invalid.",
        403: "The credential does not have the right.",
        404: "The resource or the path does not exist.",
        409: "The name is already in use, or another write came first.",
        412: "The memory has changed since the caller read it.",
        413: "The body is too large.",
        422: "The idempotency key was used before with a different request.",
        429: "Too many requests. Retry-After has the seconds to wait.",
        503: "The server is busy, shutting down, or waiting for a model. Try again after Retry-After seconds.",
        507: "The disk is full, or a quota is used up. Nothing was written.",
    }.items()
}
PREFIX = "/client/v4/"


def install(app: FastAPI) -> None:
    app.add_exception_handler(HoldfastError, error_response)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _unknown)


async def error_response(request: Request, wrong: Exception) -> Json:
    assert isinstance(wrong, HoldfastError)
    status, code = next(((s, c) for kind, s, c in STATUS if isinstance(wrong, kind)), (500, 10000))
    if isinstance(wrong, NotFound) and wrong.field == "namespace":
        code = NO_NAMESPACE
    after = wrong.after if isinstance(wrong, TooMany) else SECONDS_TO_WAIT
    headers = {"retry-after": str(after)} if status in (429, 503) else None
    by_hand = UNWRITTEN_HEADER not in request.headers  # a Python program names a method, not a route
    missing_id = isinstance(wrong, NotFound) and wrong.field == "id"
    meant = route_lookup.route_meant(request) if missing_id and by_hand else None
    message = str(wrong) if meant is None else _without_fix(str(wrong), wrong.fix)
    return failure_response(request, status, code, wrong.code, message, wrong.field, headers, meant or wrong.fix)


def blamed_field(request: Request, wrong: Exception) -> Json:
    """The response to an unexpected error (500); the details are in the server's log."""
    said = f"The server failed ({type(wrong).__name__}); no data is known to be lost. The server's log has details."
    return failure_response(request, 500, 10012, "internal", said, None)


async def _malformed(request: Request, wrong: Exception) -> Json:
    assert isinstance(wrong, RequestValidationError)
    first: dict[str, Any] = wrong.errors()[0]
    if first["type"] == "json_invalid":
        said = f"The body is not valid JSON, at character {first['loc'][-1]}: {first['ctx']['error']}."
        return failure_response(request, 400, 10001, "invalid_input", said, None)
    if first["loc"] == ("body",) and "json" not in request.headers.get("content-type", ""):
        said = "The body must be JSON: send the header content-type: application/json."
        return failure_response(request, 400, 10001, "invalid_input", said, None)
    # The first step of a location is body, query or header.
    errors = [{**each, "loc": each["loc"][1:]} for each in wrong.errors() if each["loc"][0] == first["loc"][0]]
    said, field = validation_message(errors, _body(request) if first["loc"][0] == "body" else None)
    return failure_response(request, 400, 10001, "invalid_input", said, field)


def _body(request: Request) -> Any:
    """The model of the route's body."""
    route = request.scope.get("route")
    fields = route.dependant.body_params if isinstance(route, APIRoute) else []
    return fields[0].field_info.annotation if len(fields) == 1 else None


async def _unknown(request: Request, wrong: Exception) -> Json:
    assert isinstance(wrong, HTTPException)
    path, headers = masked_path(request.url.path), dict(wrong.headers or {})
    if wrong.status_code == 404 or (wrong.status_code == 405 and path.startswith(PREFIX)):
        said = f"There is no {request.method} {path}."
        fix = " ".join(filter(None, (route_lookup.routes_below(request), "The page /docs lists every path.")))
        return failure_response(request, 404, 10003, "no_such_path", said, None, fix=fix)
    if wrong.status_code == 405:
        takes = route_lookup.methods(request) or headers["Allow"].split(", ")
        said, fix = f"{path} does not support {request.method}.", f"Use {' or '.join(takes)}."
        return failure_response(request, 405, 10000, "no_such_method", said, None, {"allow": ", ".join(takes)}, fix)
    if wrong.status_code == 400 and isinstance(wrong.__cause__, ValueError | RecursionError):
        why = _unreadable_body(wrong.__cause__)
        return failure_response(request, 400, 10001, "invalid_input", f"The body is {why}.", None, headers)
    code, name = (10010, Busy.code) if wrong.status_code == 503 else (10001, InvalidInput.code)
    todo = wrong.fix if isinstance(wrong, BodyTooLarge) else None
    return failure_response(request, wrong.status_code, code, name, str(wrong.detail), None, headers, todo)


def _unreadable_body(cause: BaseException) -> str:
    if isinstance(cause, RecursionError):
        return "nested too deeply"
    return "not valid UTF-8" if isinstance(cause, UnicodeDecodeError) else f"not valid JSON: {cause}"


def _pointer(field: str) -> str:
    """A field as a JSON pointer with the contract's names: messages[0].content → /messages/0/content."""
    first, *rest = re.sub(r"\[(\d+)\]", r".\1", field).split(".")
    return "/" + "/".join([CONTRACT_NAMES.get(first, first), *rest])


def _without_fix(message: str, fix: str | None) -> str:
    """What was wrong; what to do has a field of its own."""
    return message if fix is None else message.removesuffix(fix).rstrip()


def failure_response(
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
        headers["x-should-retry"] = "false"  # otherwise the official SDKs retry a 409
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if not request.url.path.startswith(PREFIX):
        said = _without_fix(message, fix)
        return Json({"error": {"code": name, "message": said, "field": field, "fix": fix}}, status, headers)
    wrong: dict[str, Any] = {"code": code, "message": "Authentication error" if status == 401 else message}
    if field is not None:
        wrong["source"] = {"pointer": _pointer(field)}
    return Json({"result": None, "success": False, "errors": [wrong], "messages": []}, status, headers)
