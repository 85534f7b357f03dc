"""Builds the FastAPI app: every router, middleware and error handler."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from fastapi import Depends, FastAPI
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import HTMLResponse, Response

from holdfast.api.rest import errors, reference_page
from holdfast.api.rest.admin_idempotency import FirstAnswers
from holdfast.api.rest.auth import Limiter, requires
from holdfast.api.rest.json_response import Json
from holdfast.api.rest.metrics import RequestCounts
from holdfast.api.rest.middleware import ServiceMiddleware
from holdfast.api.rest.openapi import describe_api
from holdfast.api.rest.path_segments import Segments
from holdfast.api.rest.response_models import HealthResponse
from holdfast.api.rest.routes import (
    across,
    admin,
    archive,
    cloudflare_agent_memory,
    curation,
    documents,
    graph,
    journal,
    key_value,
    kinds,
    listing,
    mcp,
    memories,
    notes,
    retention,
    secret_url,
    web,
)
from holdfast.domain.errors import HoldfastError
from holdfast.service.holdfast import AsyncHoldfast

log = logging.getLogger("holdfast")
API_VERSION = "1"
"""The version of the HTTP interface. Anyone may read it; the product's version is only for those who are signed in."""
ROUTERS = (  # routes are tried in order, so the most requested ones come first
    memories.router, mcp.router, cloudflare_agent_memory.router, listing.router, across.router, journal.router,
    key_value.router,
    retention.router, curation.router, kinds.router, graph.router, archive.router, admin.router, documents.router,
    notes.router, secret_url.router,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Limits on callers besides their rights."""

    rate: str | None = None
    origins: tuple[str, ...] = field(default=())


def app_of(holdfast: AsyncHoldfast, limits: ServiceLimits = ServiceLimits()) -> FastAPI:
    """Build the app around an opened Holdfast. Closing the Holdfast is up to the caller."""
    app = FastAPI(
        title="Holdfast", version=API_VERSION, default_response_class=Json, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json", redirect_slashes=False, responses=errors.DOCUMENTED,
    )  # fmt: skip
    app.state.holdfast, app.state.access, app.state.counts = holdfast, holdfast.access, RequestCounts(holdfast.runtime)
    app.state.limiter, app.state.repeats = Limiter(limits.rate, holdfast.rates), FirstAnswers()
    app.state.mcp = mcp.Hosted(holdfast, limits.origins)
    app.state.routes = [route for router in ROUTERS for route in router.routes]
    app.router.routes += [*app.state.routes, *web.router.routes]
    _tell_of_itself(app)
    errors.install(app)
    describe_api(app)
    app.add_middleware(Segments)
    if limits.origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(limits.origins), allow_methods=["*"], allow_headers=["*"],
            expose_headers=["ETag", "Retry-After", "Mcp-Session-Id", "Mcp-Protocol-Version"],
        )  # fmt: skip
    app.add_middleware(ServiceMiddleware, counts=app.state.counts)
    return app


def _tell_of_itself(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        """The API reference as a page."""
        return HTMLResponse(
            reference_page.reference_page(app.openapi()), headers={"content-security-policy": reference_page.POLICY}
        )

    @app.get("/healthz", tags=["Service"], response_model=HealthResponse)
    async def healthz() -> Json:
        """Report that the process responds."""
        return Json({"ok": True})

    @app.get("/readyz", tags=["Service"], response_model=HealthResponse)
    async def readyz() -> Json:
        """Report whether the storage responds."""
        try:
            await app.state.holdfast.namespaces()
        except HoldfastError as wrong:
            log.warning("the storage does not respond: %s", wrong)  # logged only: the endpoint is public
            return Json({"ok": False}, 503)
        return Json({"ok": True})

    @app.get("/metrics", tags=["Service"], dependencies=[Depends(requires("admin"))], response_class=Response)
    async def metrics() -> Response:
        """Return metrics in the Prometheus text format."""
        return Response(generate_latest(app.state.counts.registry), media_type=CONTENT_TYPE_LATEST)
