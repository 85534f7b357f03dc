"""One app: every API under one gate."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware.base import RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response

from .. import __version__
from ..service import AsyncHoldfast
from . import agent_memory, failures, native, secret_url
from .segments import Segments
from .wire import Json

ROUTERS = (agent_memory.router, native.router, secret_url.router)
SAFE = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def app_of(holdfast: AsyncHoldfast) -> FastAPI:
    """The app around an opened Holdfast, which stays its caller's to close."""
    app = FastAPI(
        title="Holdfast", version=__version__, default_response_class=Json, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json",
    )  # fmt: skip
    app.state.holdfast, app.state.access = holdfast, holdfast.access
    for router in ROUTERS:
        app.include_router(router)
    app.add_middleware(Segments)
    failures.install(app)

    @app.middleware("http")
    async def safe(request: Request, call_next: RequestResponseEndpoint) -> Response:
        response = await call_next(request)
        for name, value in SAFE.items():
            response.headers.setdefault(name, value)
        return response

    @app.get("/healthz", tags=["Service"])
    async def healthz() -> Json:
        return Json({"ok": True})

    return app
