"""The memory API of the secret URL: three calls for one profile; under /api with a key that is bound to one."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict

from ..library import URL, Source
from ..types import Forgotten, Memory
from .documents import task
from .gate import bound_profile, needs
from .shapes import Found, Task
from .wire import Json, Once, plain

router = APIRouter(tags=["Secret URL"])
PREFIXES = ("/s/{secret}/api", "/api")


class NewMemory(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    content: str
    metadata: dict[str, Any] | None = None


for prefix in PREFIXES:

    @router.post(
        prefix + "/memory", dependencies=[Depends(needs("write", bound=True))], status_code=201, response_model=Memory,
        responses={202: {"description": "The content is an address; its page is read.", "model": Task}},
    )  # fmt: skip
    async def add(request: Request, body: NewMemory, once: Once = None) -> Json:
        """Keep one thing; of an address, what its page says."""
        if URL.fullmatch(body.content.strip()):
            page = Source(url=body.content.strip())
            return Json(task(await bound_profile(request).add(page, metadata=body.metadata, idempotency_key=once)), 202)
        kind = await request.app.state.holdfast.kind_of(body.content)
        kept = await bound_profile(request).remember(
            body.content, kind=kind, metadata=body.metadata, idempotency_key=once
        )
        return Json(plain(kept), 201)

    @router.get(prefix + "/search", dependencies=[Depends(needs("read", bound=True))], response_model=Found)
    async def search(request: Request, q: str, limit: Annotated[int, Query(ge=1, le=100)] = 10) -> Json:
        return Json({"results": plain(await bound_profile(request).search(q, limit=limit))})

    @router.delete(
        prefix + "/memory/{id}", dependencies=[Depends(needs("forget", bound=True))], response_model=Forgotten
    )
    async def delete(request: Request, id: str, once: Once = None) -> Json:
        return Json(plain(await bound_profile(request).forget(id, idempotency_key=once)))
