"""One app: every API under one gate."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from fastapi import Depends, FastAPI
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import HTMLResponse, Response

from .. import __version__
from ..errors import HoldfastError
from ..service import AsyncHoldfast
from . import (
    across,
    administration,
    agent_memory,
    carrying,
    curation,
    documents,
    failures,
    graph,
    journal,
    keyed,
    kinds,
    lifetimes,
    mcp,
    native,
    notes,
    reference,
    secret_url,
    web,
)
from .around import Around, Counts
from .gate import Limiter, needs
from .openapi import describe
from .repeats import Repeats
from .segments import Segments
from .shapes import Health
from .wire import Json

log = logging.getLogger("holdfast")
ROUTERS = (  # routes are tried in turn, so those asked most come first
    mcp.router, agent_memory.router, native.router, across.router, journal.router, keyed.router, lifetimes.router,
    curation.router, kinds.router, graph.router, carrying.router, administration.router, documents.router, notes.router,
    secret_url.router,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limits:
    """What callers may do beyond their rights."""

    rate: str | None = None
    origins: tuple[str, ...] = field(default=())


def app_of(holdfast: AsyncHoldfast, limits: Limits = Limits()) -> FastAPI:
    """The app around an opened Holdfast, which stays its caller's to close."""
    app = FastAPI(
        title="Holdfast", version=__version__, default_response_class=Json, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json", redirect_slashes=False, responses=failures.DOCUMENTED,
    )  # fmt: skip
    app.state.holdfast, app.state.access, app.state.counts = holdfast, holdfast.access, Counts()
    app.state.limiter, app.state.repeats = Limiter(limits.rate, holdfast.rates), Repeats()
    app.state.mcp = mcp.Hosted(holdfast, limits.origins)
    for router in (*ROUTERS, web.router):
        app.include_router(router)
    app.state.routes = [route for router in ROUTERS for route in router.routes]
    _tell_of_itself(app)
    failures.install(app)
    describe(app)
    app.add_middleware(Segments)
    if limits.origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(limits.origins), allow_methods=["*"], allow_headers=["*"],
            expose_headers=["ETag", "Retry-After", "Mcp-Session-Id", "Mcp-Protocol-Version"],
        )  # fmt: skip
    app.add_middleware(Around, counts=app.state.counts, access=holdfast.access, documents=holdfast.document_bytes)
    return app


def _tell_of_itself(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        """The API, to read."""
        return HTMLResponse(reference.page(app.openapi()), headers={"content-security-policy": reference.POLICY})

    @app.get("/healthz", tags=["Service"], response_model=Health)
    async def healthz() -> Json:
        """The process answers."""
        return Json({"ok": True})

    @app.get("/readyz", tags=["Service"], response_model=Health)
    async def readyz() -> Json:
        """The storage answers."""
        try:
            await app.state.holdfast.namespaces()
        except HoldfastError as wrong:
            log.warning("the storage does not answer: %s", wrong)  # anybody may ask, so the answer tells no more
            return Json({"ok": False}, 503)
        return Json({"ok": True})

    @app.get("/metrics", tags=["Service"], dependencies=[Depends(needs("admin"))], response_class=Response)
    async def metrics() -> Response:
        """Counts and times for Prometheus."""
        return Response(generate_latest(app.state.counts.registry), media_type=CONTENT_TYPE_LATEST)
