"""Documents over HTTP: given as JSON or as a file, followed, downloaded, forgotten; and by a secret URL."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import PurePosixPath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.datastructures import UploadFile
from starlette.responses import StreamingResponse

from ..errors import InvalidInput
from ..library import NAME_BYTES, Source, scratch
from ..profile import LocalProfile
from ..results import Document
from ..types import Forgotten
from . import shapes
from .gate import bound_profile, needs, profile_of
from .native import OF
from .wire import Body, Json, Once, plain

router = APIRouter(tags=["Documents"])
PREFIXES = ("/s/{secret}/api", "/api")
STATUS = {"waiting": "processing", "done": "completed", "failed": "failed"}


class NewDocument(Body):
    """One of a text and an address."""

    text: str | None = None
    url: str | None = None
    name: str | None = None
    metadata: dict[str, Any] | None = None


class Page(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    url: str
    metadata: dict[str, Any] | None = None


FILE: dict[str, Any] = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "required": ["file"],
            "properties": {
                "file": {"type": "string", "format": "binary"},
                "name": {"type": "string", "description": "In place of the file's own."},
                "metadata": {"type": "string", "description": "A JSON object."},
            },
        }
    }
}
EITHER: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": NewDocument.model_json_schema()}, **FILE},
    }
}
HARMLESS = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""Whatever a file is, no browser runs any of it under our address."""
WRITES, READS = [Depends(needs("write"))], [Depends(needs("read"))]


@router.post(OF + "/documents", dependencies=WRITES, status_code=202, response_model=Document, openapi_extra=EITHER)
async def add(request: Request, once: Once = None) -> Json:
    """Have a text, the page at an address, or a file read into memory. It is kept when this answers, and read after."""
    return Json(plain(await _added(request, await profile_of(request), once)), 202)


@router.get(OF + "/documents", dependencies=READS, response_model=shapes.Documents)
async def documents(request: Request, limit: Annotated[int, Query(ge=1, le=100_000)] = 100) -> Json:
    """What was added, newest first, with how far each is."""
    return Json({"documents": plain(await (await profile_of(request)).documents(limit=limit))})


@router.get(OF + "/documents/{id}", dependencies=READS, response_model=Document)
async def document(request: Request, id: str) -> Json:
    return Json(plain(await (await profile_of(request)).document(id)))


@router.get(OF + "/documents/{id}/passages", dependencies=READS, response_model=shapes.Passages)
async def passages(
    request: Request,
    id: str,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Json:
    """What was read of it, in order, with page and heading; the next ones are those after the last one's position."""
    found = await (await profile_of(request)).passages(id, after=after, limit=limit)
    return Json({"passages": plain(found)})


@router.get(
    OF + "/documents/{id}/original",
    dependencies=READS,
    response_class=StreamingResponse,
    responses={200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def original(request: Request, id: str) -> StreamingResponse:
    """What was given, byte for byte."""
    profile = await profile_of(request)
    name = (await profile.document(id)).name
    pieces = profile._original_pieces(id)
    first = await anext(pieces)  # one that is not kept is an error, not an empty file
    told = f"attachment; filename*=UTF-8''{quote(PurePosixPath(name).name or 'document', safe='')}"
    headers = {"content-disposition": told, "content-security-policy": HARMLESS}
    return StreamingResponse(_all(first, pieces), media_type="application/octet-stream", headers=headers)


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


@router.delete(OF + "/documents/{id}", dependencies=[Depends(needs("forget"))], response_model=Forgotten)
async def forget_document(request: Request, id: str, dry_run: bool = False, once: Once = None) -> Json:
    """Remove a document for good: its passages, what rests on nothing else, and its original."""
    profile = await profile_of(request)
    return Json(plain(await profile.forget_document(id, dry_run=dry_run, idempotency_key=once)))


@router.post(OF + "/documents/{id}/retry", dependencies=WRITES, status_code=202, response_model=Document)
async def retry(request: Request, id: str) -> Json:
    """Read it once more: one that failed, or a page that may have changed."""
    return Json(plain(await (await profile_of(request)).retry_document(id)), 202)


for prefix in PREFIXES:
    BOUND = {"dependencies": [Depends(needs("write", bound=True))], "status_code": 202, "response_model": shapes.Task}

    @router.post(prefix + "/process/url", **BOUND)  # type: ignore[arg-type]
    async def process_url(request: Request, body: Page, once: Once = None) -> Json:
        """Have the page at an address read into memory."""
        profile, page = bound_profile(request), Source(url=body.url)
        return Json(task(await profile.add(page, metadata=body.metadata, idempotency_key=once)), 202)

    @router.post(prefix + "/process/file", openapi_extra={"requestBody": {"required": True, "content": FILE}}, **BOUND)  # type: ignore[arg-type]
    async def process_file(request: Request, once: Once = None) -> Json:
        """Have a file read into memory."""
        return Json(task(await _uploaded(request, bound_profile(request), once)), 202)

    @router.get(
        prefix + "/job/{id}/status", dependencies=[Depends(needs("read", bound=True))], response_model=shapes.Task
    )
    async def status(request: Request, id: str) -> Json:
        """How far a page or a file is."""
        return Json(task(await bound_profile(request).document(id)))


def task(document: Document) -> dict[str, Any]:
    """A document as a job of the memory API."""
    return {
        "jobId": document.id,
        "status": "processing" if document.stage == "digesting" else STATUS[document.state],
        "stage": document.stage,
        "progress": document.percent,
        "name": document.name,
        "chunks": document.chunks,
        "error": document.error,
    }


async def _added(request: Request, profile: LocalProfile, once: str | None) -> Document:
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        return await _uploaded(request, profile, once)
    try:
        body = NewDocument.model_validate_json(await request.body() or b"null")
    except ValidationError as bad:
        first = bad.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or None
        raise InvalidInput(f"{where or 'The body'}: {first['msg']}", field=where) from None
    if (body.text is None) == (body.url is None):
        raise InvalidInput("Give a text or a url, one of them; or a file as multipart/form-data.", field="text")
    try:
        source = Source(url=body.url, data=None if body.text is None else body.text.encode())
    except UnicodeEncodeError:
        raise InvalidInput("text is not valid Unicode.", field="text") from None
    return await profile.add(source, name=body.name, metadata=body.metadata, idempotency_key=once)


async def _uploaded(request: Request, profile: LocalProfile, once: str | None) -> Document:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise InvalidInput("Send the file as multipart/form-data, in a field called file.", field="file")
    async with request.form(max_files=1, max_fields=8) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise InvalidInput("There is no file in the field called file.", field="file")
        name, metadata = form.get("name") or file.filename or "file", form.get("metadata")
        with scratch() as folder:
            path = folder / "file"
            with path.open("wb") as into:
                await asyncio.to_thread(shutil.copyfileobj, file.file, into)
            known_by = PurePosixPath(str(name).replace("\\", "/")).name[: NAME_BYTES // 4] or "file"
            return await profile.add(path, name=known_by, metadata=_object(metadata), idempotency_key=once)


def _object(text: object) -> dict[str, Any] | None:
    if text is None or text == "":
        return None
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("metadata is no JSON object.", field="metadata")
    return found
