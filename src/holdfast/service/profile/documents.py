"""The documents of one profile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path

from holdfast.domain.arguments import DocumentSource, validate_id, validate_limit, validate_metadata
from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.idempotency import idempotent_request
from holdfast.domain.ports.profile.documents import ProfileDocuments
from holdfast.domain.results import Document
from holdfast.domain.tracing import note, stage
from holdfast.domain.types import Json, Message
from holdfast.service.profile.context import ProfileContext, ProfileVerbs
from holdfast.service.recorder import traced

POLL_SECONDS = 0.05


class DocumentVerbs(ProfileVerbs, ProfileDocuments):
    """Adding, listing and reading documents."""

    @traced
    async def add(
        self,
        source: str | Path | bytes | DocumentSource,
        *,
        name: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        wait: bool = False,
        on_progress: Callable[[Document], None] | None = None,
        idempotency_key: str | None = None,
    ) -> Document:
        from holdfast.documents import library
        from holdfast.documents.scratch import scratch_folder

        about = validate_metadata(metadata, "metadata")
        wanted = library.document_source(source)
        rules, now = self._context.runtime.document_rules, self._context.now()
        with scratch_folder() as folder:
            new, path = await asyncio.to_thread(library.new_document, wanted, folder, name, rules, now)
            asked = idempotent_request(idempotency_key, "add", new.id, name, about)
            await self._context.check_quota(bytes=new.bytes)
            store = await self._context.writable_store()
            async with self._context.expecting_work():
                id = await library.add_document_once(store, new, path, about, asked)
        note(document=id)
        self._context.notify_document_worker()
        known = await (
            library.load_document(store, id) if not wait and on_progress is None else self._followed(id, on_progress)
        )
        if self._context.may_read:
            return known
        return replace(new, metadata=about, state=known.state, stage=known.stage, percent=known.percent)

    async def _followed(self, id: str, told: Callable[[Document], None] | None) -> Document:
        """Wait until the document is parsed or has failed, and report each change to the callback."""
        from holdfast.documents import library

        store, last = await self._context.store(), None
        with stage("read"):
            while True:
                document = await library.load_document(store, id)
                if told is not None and document != last:
                    told(document)
                last = document
                if document.state != "waiting" or document.error is not None:
                    break
                await asyncio.sleep(POLL_SECONDS)
        if document.state == "done":
            with stage("digest"):
                await self._context.digested()
        return await library.with_pending_count(store, await library.load_document(store, id))

    @traced
    async def documents(self, *, limit: int = 100) -> tuple[Document, ...]:
        return tuple(
            await (await self._context.readable_store()).documents.list_all(validate_limit(limit, most=100_000))
        )

    @traced
    async def document(self, id: str) -> Document:
        from holdfast.documents import library

        store = await self._context.readable_store()
        return await library.with_pending_count(store, await library.load_document(store, validate_id(id)))

    @traced
    async def retry_document(self, id: str) -> Document:
        from holdfast.documents import library

        self._context.check_readable()
        store = await self._context.store()
        document = await library.load_document(store, validate_id(id))
        if document.state == "failed" or document.url is not None or document.error is not None:
            async with self._context.expecting_work():
                await store.documents.put(library.requeued_document(document))
            self._context.notify_document_worker()
        return await library.load_document(store, document.id)

    @traced
    async def passages(self, id: str, *, after: int = 0, limit: int = 100) -> tuple[Message, ...]:
        from holdfast.documents import library

        if not isinstance(after, int) or not 0 <= after < 2**62:
            raise InvalidInput(f"after is {quoted_value(after)}; give the position of a passage.", field="after")
        return tuple(
            await library.list_passages(
                await self._context.readable_store(), validate_id(id), after, validate_limit(limit)
            )
        )

    @traced
    async def original(self, id: str) -> bytes:
        return b"".join([piece async for piece in original_pieces(self._context, id)])


async def original_pieces(context: ProfileContext, id: str) -> AsyncIterator[bytes]:
    """Yield the original's bytes in pieces of a megabyte."""
    from holdfast.documents import library

    async for piece in library.original_pieces(await context.readable_store(), validate_id(id)):
        yield piece
