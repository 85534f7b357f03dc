"""The memory API of the secret URL: three calls for one profile; under /api also with a key bound to one profile."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Query, Request
from pydantic import BaseModel, ConfigDict

from holdfast.api.rest.auth import bound_profile, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Json, Once, hits_json
from holdfast.api.rest.response_models import ItemsFoundResponse, Task
from holdfast.api.rest.routes.documents import task
from holdfast.documents.library import URL_PATTERN
from holdfast.domain.arguments import DocumentSource
from holdfast.domain.json_codec import encode
from holdfast.domain.types import Forgotten, Memory

router = GuardedRouter("Secret URL")
PREFIXES = ("/s/{secret}/api", "/api")


class NewMemory(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    content: str
    metadata: dict[str, Any] | None = None


for prefix in PREFIXES:

    @router.post(
        prefix + "/memory", dependencies=[Depends(requires("write", bound=True))], status_code=201,
        response_model=Memory,
        responses={202: {"description": "The content is a URL; the page at it is added as a document.", "model": Task}},
    )  # fmt: skip
    async def add(request: Request, body: NewMemory, once: Once = None) -> Json:
        """Write one memory. If the content is a URL, the page at it is added as a document instead."""
        if URL_PATTERN.fullmatch(body.content.strip()):
            page = DocumentSource(url=body.content.strip())
            return Json(task(await bound_profile(request).add(page, metadata=body.metadata, idempotency_key=once)), 202)
        kind = await request.app.state.holdfast.kind_of(body.content)
        kept = await bound_profile(request).remember(
            body.content, kind=kind, metadata=body.metadata, idempotency_key=once
        )
        return Json(encode(kept), 201)

    @router.get(
        prefix + "/search", dependencies=[Depends(requires("read", bound=True))], response_model=ItemsFoundResponse
    )
    async def search(request: Request, q: str, limit: Annotated[int, Query(ge=1, le=100)] = 10) -> Json:
        """Search memories and messages, best first."""
        return Json({"results": hits_json(await bound_profile(request).search(q, limit=limit), explain=False)})

    @router.delete(
        prefix + "/memory/{id}", dependencies=[Depends(requires("forget", bound=True))], response_model=Forgotten
    )
    async def delete(request: Request, id: str, once: Once = None) -> Json:
        """Forget a memory, its versions and its words in the messages it is based on, or forget a message."""
        return Json(encode(await bound_profile(request).forget(id, idempotency_key=once)))
