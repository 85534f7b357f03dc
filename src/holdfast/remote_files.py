"""Documents to and from a server: a file travels as a form, its original as it is."""

from __future__ import annotations

import asyncio
import functools
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import InvalidInput, NotFound
from .library import Source, source_of
from .profile import LocalProfile
from .reading import read
from .results import Document
from .sent import header, quoted

if TYPE_CHECKING:
    from .remote import RemoteProfile

POLL_SECONDS = 0.2


class RemoteFiles:
    """A profile of a server, as far as files go to it and come from it."""

    @functools.wraps(LocalProfile.add)
    async def add(
        self: RemoteProfile,
        source: str | Path | bytes | Source,
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        wait: bool = False,
        on_progress: Callable[[Document], None] | None = None,
        idempotency_key: str | None = None,
    ) -> Document:
        once = {} if idempotency_key is None else {"idempotency-key": header(idempotency_key, "idempotency_key")}
        given, about = source_of(source), {"name": name, "metadata": metadata}
        told = {key: value for key, value in about.items() if value is not None}
        if given.url is not None:
            added = read(Document, await self._ask("POST", "/documents", {"url": given.url, **told}, **once))
        else:
            added = read(Document, await uploaded(self, given, told, once))
        if not wait and on_progress is None:
            return added
        return await followed(self, added.id, on_progress)

    async def original(self: RemoteProfile, id: str) -> bytes:  # type: ignore[misc]
        answer = await self._holdfast.answer("GET", self._path(f"/documents/{quoted(id)}/original"), {})
        return bytes(answer.content)

    original.__doc__ = LocalProfile.original.__doc__


async def uploaded(profile: RemoteProfile, source: Source, about: dict[str, Any], once: dict[str, str]) -> Any:
    """What the server says of a file that was sent to it; the first creates the namespace."""
    try:
        return await _sent(profile, source, about, once)
    except NotFound as absent:
        if absent.field != "namespace":
            raise
        await profile._create_namespace(absent)
        return await _sent(profile, source, about, once)


async def _sent(profile: RemoteProfile, source: Source, about: dict[str, Any], once: dict[str, str]) -> Any:
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
            path = profile._path("/documents")
            return (await profile._holdfast.answer("POST", path, once, data=form, files=files)).json()
    except OSError as bad:
        raise InvalidInput(f"{source.path} cannot be read: {bad.strerror}.", field="source") from None


async def followed(profile: RemoteProfile, id: str, told: Callable[[Document], None] | None) -> Document:
    """Wait until it is read and digested or has failed, telling how far it is."""
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
