"""Documents over HTTP: added as JSON or as a file, followed, downloaded, forgotten; also through a secret URL."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import PurePosixPath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Query, Request
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.datastructures import UploadFile
from starlette.responses import StreamingResponse

from holdfast.api.rest import response_models
from holdfast.api.rest.auth import bound_profile, profile_of, requires
from holdfast.api.rest.guarded_routes import GuardedRouter
from holdfast.api.rest.json_response import Body, Json, Once
from holdfast.api.rest.request_body import DOCUMENT_LIMIT
from holdfast.api.rest.routes.memories import OF
from holdfast.api.validation_errors import unknown_field, validation_message
from holdfast.documents.library import MAX_NAME_BYTES
from holdfast.documents.scratch import scratch_folder
from holdfast.domain.arguments import DocumentSource
from holdfast.domain.errors import InvalidInput
from holdfast.domain.json_codec import encode
from holdfast.domain.results import Document
from holdfast.domain.types import Forgotten
from holdfast.service.profile.documents import original_pieces
from holdfast.service.profile.local import LocalProfile

router = GuardedRouter("Documents")
PREFIXES = ("/s/{secret}/api", "/api")
STATUS = {"waiting": "processing", "done": "completed", "failed": "failed"}


class NewDocument(Body):
    """Give either `text` or `url`."""

    text: str | None = None
    """The text of the document."""
    url: str | None = None
    """The address of a page to fetch."""
    name: str | None = None
    """The name of the document."""
    metadata: dict[str, Any] | None = None
    """Metadata to store with it."""


class PageAddress(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    url: str
    metadata: dict[str, Any] | None = None


FILE: dict[str, Any] = {
    "multipart/form-data": {
        "schema": {
            "title": "DocumentForm",
            "description": "A file as a document.",
            "type": "object",
            "required": ["file"],
            "properties": {
                "file": {"type": "string", "format": "binary", "description": "The file, with its name."},
                "name": {"type": "string", "description": "Replaces the name of the file."},
                "metadata": {"type": "string", "description": "Metadata to store with it, as a JSON object."},
            },
        }
    }
}
FORM_FIELDS = tuple(FILE["multipart/form-data"]["schema"]["properties"])
EITHER: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": NewDocument.model_json_schema()}, **FILE},
    }
}
HARMLESS = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""Whatever a file is, no browser runs any of it under our address."""
WRITES, READS = [Depends(requires("write", body=DOCUMENT_LIMIT))], [Depends(requires("read"))]


@router.post(OF + "/documents", dependencies=WRITES, status_code=202, response_model=Document, openapi_extra=EITHER)
async def add(request: Request, once: Once = None) -> Json:
    """Add a text, the page at a URL, or a file as a document. It is stored when this returns, and parsed in the
    background."""
    return Json(encode(await _added(request, await profile_of(request), once)), 202)


@router.get(OF + "/documents", dependencies=READS, response_model=response_models.Documents)
async def documents(request: Request, limit: Annotated[int, Query(ge=1, le=100_000)] = 100) -> Json:
    """List documents, newest first, with their progress."""
    return Json({"documents": encode(await (await profile_of(request)).documents(limit=limit))})


@router.get(OF + "/documents/{id}", dependencies=READS, response_model=Document)
async def document(request: Request, id: str) -> Json:
    """Return one document with its progress."""
    return Json(encode(await (await profile_of(request)).document(id)))


@router.get(OF + "/documents/{id}/passages", dependencies=READS, response_model=response_models.Passages)
async def passages(
    request: Request,
    id: str,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Json:
    """List the passages of a document in order, with page and heading. For the next page, pass the position of the last
    passage as `after`."""
    found = await (await profile_of(request)).passages(id, after=after, limit=limit)
    return Json({"passages": encode(found)})


@router.get(
    OF + "/documents/{id}/original",
    dependencies=READS,
    response_class=StreamingResponse,
    responses={200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def original(request: Request, id: str) -> StreamingResponse:
    """Download the original file of a document."""
    profile = await profile_of(request)
    name = (await profile.document(id)).name
    pieces = original_pieces(profile.profile_context, id)
    first = await anext(pieces)  # a missing original is an error, not an empty file
    told = f"attachment; filename*=UTF-8''{quote(PurePosixPath(name).name or 'document', safe='')}"
    headers = {"content-disposition": told, "content-security-policy": HARMLESS}
    return StreamingResponse(_all(first, pieces), media_type="application/octet-stream", headers=headers)


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


@router.delete(OF + "/documents/{id}", dependencies=[Depends(requires("forget"))], response_model=Forgotten)
async def forget_document(request: Request, id: str, dry_run: bool = False, once: Once = None) -> Json:
    """Forget a document: its passages, the memories that are based on nothing else, and the original file."""
    profile = await profile_of(request)
    return Json(encode(await profile.forget_document(id, dry_run=dry_run, idempotency_key=once)))


@router.post(
    OF + "/documents/{id}/retry",
    dependencies=[Depends(requires("write", "read"))],
    status_code=202,
    response_model=Document,
)
async def retry(request: Request, id: str) -> Json:
    """Parse a document again: one that failed, or a page that may have changed."""
    return Json(encode(await (await profile_of(request)).retry_document(id)), 202)


for prefix in PREFIXES:
    BOUND = {
        "dependencies": [Depends(requires("write", bound=True, body=DOCUMENT_LIMIT))],
        "status_code": 202,
        "response_model": response_models.Task,
    }

    @router.post(prefix + "/process/url", **BOUND)  # type: ignore[arg-type]
    async def process_url(request: Request, body: PageAddress, once: Once = None) -> Json:
        """Add the page at a URL as a document."""
        profile, page = bound_profile(request), DocumentSource(url=body.url)
        return Json(task(await profile.add(page, metadata=body.metadata, idempotency_key=once)), 202)

    @router.post(prefix + "/process/file", openapi_extra={"requestBody": {"required": True, "content": FILE}}, **BOUND)  # type: ignore[arg-type]
    async def process_file(request: Request, once: Once = None) -> Json:
        """Add a file as a document."""
        return Json(task(await _uploaded(request, bound_profile(request), once)), 202)

    @router.get(
        prefix + "/job/{id}/status",
        dependencies=[Depends(requires("read", bound=True))],
        response_model=response_models.Task,
    )
    async def status(request: Request, id: str) -> Json:
        """Return the progress of a document."""
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
        return await _uploaded(request, profile, once, strict=True)
    try:
        body = NewDocument.model_validate_json(await request.body() or b"null")
    except ValidationError as bad:
        wrong = bad.errors(include_url=False)
        if not wrong[0]["loc"] and "json" not in request.headers.get("content-type", ""):
            raise InvalidInput(
                "The body must be JSON or a form.",
                fix="Send a text or url with content-type: application/json, or a file as multipart/form-data.",
            ) from None
        said, field = validation_message(wrong, NewDocument)
        raise InvalidInput(said, field=field) from None
    if (body.text is None) == (body.url is None):
        raise InvalidInput("Give either text or url, or a file as multipart/form-data.", field="text")
    try:
        source = DocumentSource(url=body.url, data=None if body.text is None else body.text.encode())
    except UnicodeEncodeError:
        raise InvalidInput("text is not valid Unicode.", field="text") from None
    return await profile.add(source, name=body.name, metadata=body.metadata, idempotency_key=once)


async def _uploaded(request: Request, profile: LocalProfile, once: str | None, strict: bool = False) -> Document:
    """Add the file of a form. Unless `strict`, other fields are ignored: clients of other APIs may send them."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise InvalidInput("Send the file as multipart/form-data, in a field called file.", field="file")
    async with request.form(max_files=1, max_fields=8) as form:
        unknown = next((name for name in form if name not in FORM_FIELDS), None)
        if strict and unknown is not None:
            raise InvalidInput(unknown_field(unknown, FORM_FIELDS), field=unknown)
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise InvalidInput("There is no file in the field called file.", field="file")
        name, metadata = form.get("name") or file.filename or "file", form.get("metadata")
        with scratch_folder() as folder:
            path = folder / "file"
            with path.open("wb") as into:
                await asyncio.to_thread(shutil.copyfileobj, file.file, into)
            known_by = PurePosixPath(str(name).replace("\\", "/")).name[: MAX_NAME_BYTES // 4] or "file"
            return await profile.add(path, name=known_by, metadata=_object(metadata), idempotency_key=once)


def _object(text: object) -> dict[str, Any] | None:
    if text is None or text == "":
        return None
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("metadata is not a JSON object.", field="metadata")
    return found
