"""Uploads documents to a server and follows their progress."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.domain.arguments import DocumentSource
from holdfast.domain.errors import InvalidInput, NotFound
from holdfast.domain.results import Document

if TYPE_CHECKING:
    from holdfast.api.client.profile import RemoteProfile

POLL_SECONDS = 0.2


async def upload(profile: RemoteProfile, source: DocumentSource, about: dict[str, Any], once: dict[str, str]) -> Any:
    """Upload a file and return the server's response. If the namespace is missing, create it and upload again."""
    try:
        return await _send(profile, source, about, once)
    except NotFound as absent:
        if absent.field != "namespace":
            raise
        await profile.create_namespace(absent)
        return await _send(profile, source, about, once)


async def _send(profile: RemoteProfile, source: DocumentSource, about: dict[str, Any], once: dict[str, str]) -> Any:
    name = about.get("name") or (source.path.name if source.path else "text")
    form = {"name": str(name)}
    if "metadata" in about:
        try:
            form["metadata"] = json.dumps(about["metadata"], allow_nan=False)
        except (TypeError, ValueError) as bad:
            raise InvalidInput(f"metadata is not JSON: {bad}.", field="metadata") from None
    try:
        with source.path.open("rb") if source.path else io.BytesIO(source.data or b"") as file:
            files = {"file": ("file", file, "application/octet-stream")}
            path = profile.url("/documents")
            return (await profile.connection.answer("POST", path, once, data=form, files=files)).json()
    except OSError as bad:
        raise InvalidInput(f"{source.path} cannot be read: {bad.strerror}.", field="source") from None


async def follow_document(profile: RemoteProfile, id: str, told: Callable[[Document], None] | None) -> Document:
    """Wait until the document is parsed and digested or has failed, and report each change to the callback."""
    last = None
    while True:
        document: Document = await profile.document(id)
        if told is not None and document != last:
            told(document)
        last = document
        if document.state == "failed" or document.error is not None:
            return document
        if document.state == "done":
            await profile.settle()
            return await profile.document(id)
        await asyncio.sleep(POLL_SECONDS)
