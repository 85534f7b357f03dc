"""Browser sessions: the token in a cookie that no script can read, valid under /v1, /ui and /metrics only.

The cookie is HttpOnly and SameSite=Strict. Another port of the same host counts as the same site, so a request with the
cookie must also come from Holdfast's own page, according to the browser (Sec-Fetch-Site, or else Origin). A request
that changes something and has neither header is refused.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

from holdfast.domain.errors import Forbidden

NAME = "holdfast"
OPENS = ("/v1/", "/ui/", "/metrics")
"""The paths where the cookie is accepted."""
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
DAYS_KEPT = 30
_PORT = re.compile(r":([0-9]{1,5})$")


def cookie_token(request: HTTPConnection) -> str | None:
    """The token in a browser's cookie, if the request has one and its path accepts it."""
    if not request.url.path.startswith(OPENS):
        return None
    found = request.cookies.get(_name(request))
    return unquote(found) if found else None


def refuse_strangers(request: HTTPConnection) -> None:
    """Refuse a request with the cookie unless it comes from Holdfast's own page."""
    if not _is_same_origin(request):
        raise Forbidden(
            "This request comes from another site, with this browser's sign-in.",
            fix="Send the request from Holdfast's own page, or with Authorization: Bearer.",
        )


def _is_same_origin(request: HTTPConnection) -> bool:
    said = request.headers.get("sec-fetch-site")
    if said is not None:
        return said == "same-origin" or (said == "none" and request.scope["method"] in SAFE_METHODS)
    origin = request.headers.get("origin")
    if origin is not None:
        return bool(origin) and urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    return request.scope["method"] in SAFE_METHODS


def sign_in(request: HTTPConnection, answer: Response, token: str, *, remember: bool) -> None:
    """Set the browser's cookie: until it closes, or for thirty days."""
    answer.set_cookie(
        _name(request), quote(token, safe=""), max_age=DAYS_KEPT * 86_400 if remember else None, path="/",
        secure=request.url.scheme == "https", httponly=True, samesite="strict",
    )  # fmt: skip


def sign_out(request: HTTPConnection, answer: Response) -> None:
    answer.delete_cookie(
        _name(request), path="/", secure=request.url.scheme == "https", httponly=True, samesite="strict"
    )


def _name(request: HTTPConnection) -> str:
    """One cookie name per port: browsers share a host's cookies between ports, so two servers would collide."""
    port = _PORT.search(request.headers.get("host", ""))
    return NAME if port is None else f"{NAME}-{port[1]}"
