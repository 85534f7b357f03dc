"""The web UI: its page and files, and signing in and out. The documentation."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from holdfast import __version__
from holdfast.api.rest import response_models
from holdfast.api.rest.auth import credential_of
from holdfast.api.rest.errors import failure_response
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Body, Json
from holdfast.api.rest.sessions import refuse_strangers, sign_in, sign_out
from holdfast.api.web import Asset, asset, start_page
from holdfast.api.web.documentation import content_policy, help_page
from holdfast.domain.credentials import Credential
from holdfast.domain.errors import Unauthorised
from holdfast.domain.json_codec import encode

router = GuardedRouter("Web UI")
YEAR = 31_536_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-frame-options": "DENY",
}


class SignIn(Body):
    token: str
    """A token, or a whole secret URL."""
    remember: bool = False
    """Whether to stay signed in after the browser closes."""


@router.get("/", include_in_schema=False)
async def home(request: Request) -> Response:
    return _page(request, 0)


@router.get("/s/{secret}", include_in_schema=False)
async def secret_page(request: Request, secret: str) -> Response:
    """What a browser sees at a secret URL: the same page, which signs in and leaves the address behind."""
    if "text/html" not in request.headers.get("accept", ""):
        return failure_response(request, 404, 10003, "no_such_path", "There is nothing here.", None)
    found = await request.app.state.access.credential(secret)
    return _page(request, 1, 200 if found is not None and found.kind == "url" else 404)


@router.get("/assets/{name}", include_in_schema=False)
async def file(request: Request, name: str) -> Response:
    found = asset(name)
    if found is None:
        return failure_response(request, 404, 10003, "no_such_path", "There is no such file.", None)
    return _served(request, found, f"public, max-age={YEAR}, immutable")


@router.get("/help", include_in_schema=False)
async def help_folder() -> Response:
    """Links on the pages are relative to the folder, and so is this one: a proxy may have a prefix."""
    return RedirectResponse("help/", 308)


@router.get("/help/{name:path}", include_in_schema=False)
def help_file(request: Request, name: str) -> Response:
    """Not a coroutine: the first request for a page unpacks it, in a thread."""
    found = help_page(name)
    if found is None:
        return failure_response(request, 404, 10003, "no_such_path", "There is no such page.", None)
    return _served(request, found, "no-cache", policy=content_policy(found.body))


@router.get("/favicon.ico", include_in_schema=False)
@router.get("/icon.svg", include_in_schema=False)
async def icon(request: Request) -> Response:
    found = asset("icon.svg", "")
    return Response(status_code=404) if found is None else _served(request, found, "public, max-age=86400")


@router.post("/ui/session", response_model=response_models.SignedIn)
async def enter(request: Request, body: SignIn) -> Json:
    """Sign a browser in with a token, which is stored in a cookie that scripts cannot read."""
    refuse_strangers(request)
    pasted = body.token.strip()
    token = pasted.rstrip("/").rpartition("/s/")[2] if "://" in pasted else pasted  # the whole secret URL may be pasted
    known = bool(token) and token.isascii()
    found = await request.app.state.access.credential(token) if known else None
    if found is None:
        raise Unauthorised(
            "This token is unknown, mistyped, expired or revoked.",
            fix="Paste the admin token that the first start printed, a key, or a secret URL.",
        )
    answer = Json(_known(found))
    sign_in(request, answer, token, remember=body.remember)
    return answer


@router.get("/ui/session", response_model=response_models.SignedIn)
async def who(request: Request) -> Json:
    """Return the browser's credential, or null if it is not signed in."""
    try:
        credential: Credential | None = await credential_of(request)
    except Unauthorised:
        credential = None
    return Json(_known(credential))


@router.delete("/ui/session", response_model=response_models.SignedOut)
async def leave(request: Request) -> Json:
    """Sign a browser out by deleting its cookie. The token stays valid."""
    refuse_strangers(request)
    answer = Json({"signed_out": True})
    sign_out(request, answer)
    return answer


def _known(credential: Credential | None) -> dict[str, Any]:
    """A stranger is not told which version this is."""
    return {"credential": encode(credential), "version": None if credential is None else __version__}


def _page(request: Request, depth: int, status: int = 200) -> Response:
    found = start_page(depth)
    if found is None:
        said = "The web UI is not built here; `make ui` builds it."
        return failure_response(request, 404, 10003, "no_such_path", said, None)
    return _served(request, found, "no-store", status)


def _served(request: Request, found: Asset, cache: str, status: int = 200, policy: str = POLICY) -> Response:
    tag = f'"{found.etag}"'
    headers = HEADERS | {"cache-control": cache, "etag": tag, "vary": "accept-encoding"}
    headers["content-security-policy"] = policy
    if cache != "no-store" and tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    packed = found.packed is not None and "gzip" in request.headers.get("accept-encoding", "")
    if packed:
        headers["content-encoding"] = "gzip"
    body = found.packed if packed else found.body
    return Response(body, status, headers, media_type=found.type)
