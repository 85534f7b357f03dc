"""A profile out and in as an archive, over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from typing import BinaryIO, cast

from fastapi import APIRouter, Depends, Request
from starlette.responses import StreamingResponse

from ..restore import Imported
from .gate import needs, profile_of
from .native import OF
from .wire import Json, plain

router = APIRouter(tags=["Archives"])
IN_MEMORY = 8 * 1024 * 1024
BODY = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}


@router.get(OF + "/export", dependencies=[Depends(needs("read"))], response_class=StreamingResponse)
async def export(request: Request, vectors: bool = False) -> StreamingResponse:
    """Everything that the profile holds as an archive: lines of JSON, the last with a checksum of all before it."""
    lines = (await profile_of(request)).exported(vectors=vectors)
    first = await anext(lines)  # a profile that is not there is an error, not a stream
    named = {"content-disposition": 'attachment; filename="holdfast.jsonl"', "x-accel-buffering": "no"}
    return StreamingResponse(_all(first, lines), media_type="application/x-ndjson", headers=named)


async def _all(first: bytes, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for line in lines:
        yield line


@router.post(OF + "/import", dependencies=[Depends(needs("write"))], response_model=Imported, openapi_extra=BODY)
async def import_(
    request: Request, format: str = "auto", replace: bool = False, force: bool = False, dry_run: bool = False
) -> Json:
    """Bring an archive in, or what another memory exported, as the body; twice is once.

    It is checked as a whole before anything is written.
    """
    profile = await profile_of(request)
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as kept:
        async for chunk in request.stream():
            kept.write(chunk)
        file = cast(BinaryIO, kept)
        done = await profile.import_from(file, format=format, replace=replace, force=force, dry_run=dry_run)
    return Json(plain(done))
