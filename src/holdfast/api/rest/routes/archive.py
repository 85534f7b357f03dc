"""Export and import of a profile over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from typing import BinaryIO, cast

from fastapi import Depends, Request
from starlette.responses import StreamingResponse

from holdfast.api.rest.auth import profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Json
from holdfast.api.rest.request_body import ARCHIVE_LIMIT
from holdfast.api.rest.routes.memories import OF
from holdfast.domain.json_codec import encode
from holdfast.domain.reports import Imported

router = GuardedRouter("Archives")
IN_MEMORY = 8 * 1024 * 1024
BODY = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}


class _ImportBody(tempfile.SpooledTemporaryFile[bytes]):
    """The body of an import. Without this name, errors would show the number of its descriptor."""

    @property
    def name(self) -> str:
        return "<body>"


@router.get(OF + "/export", dependencies=[Depends(requires("read"))], response_class=StreamingResponse)
async def export(request: Request, vectors: bool = False) -> StreamingResponse:
    """Export the whole profile as an archive of JSON Lines. The last line has a checksum of the others."""
    lines = (await profile_of(request)).exported(vectors=vectors)
    first = await anext(lines)  # a missing profile is an error, not a stream
    named = {"content-disposition": 'attachment; filename="holdfast.jsonl"', "x-accel-buffering": "no"}
    return StreamingResponse(_all(first, lines), media_type="application/x-ndjson", headers=named)


async def _all(first: bytes, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for line in lines:
        yield line


@router.post(
    OF + "/import",
    dependencies=[Depends(requires("write", body=ARCHIVE_LIMIT))],
    response_model=Imported,
    openapi_extra=BODY,
)
async def import_(
    request: Request, format: str = "auto", replace: bool = False, force: bool = False, dry_run: bool = False
) -> Json:
    """Import an archive, or the export of another memory product, from the request body.

    It is checked completely before anything is written. Importing the same file again changes nothing.
    """
    profile = await profile_of(request)
    with _ImportBody(IN_MEMORY) as kept:
        async for chunk in request.stream():
            kept.write(chunk)
        file = cast(BinaryIO, kept)
        done = await profile.import_from(file, format=format, replace=replace, force=force, dry_run=dry_run)
    return Json(encode(done))
