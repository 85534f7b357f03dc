"""Contract of a DocumentStore."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.domain.errors import Conflict
from holdfast.domain.ports.documents import EXTERNAL_PIECE_NUMBER
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import Once
from holdfast.domain.results import Document
from holdfast.domain.types import Change
from holdfast.testing.conformance.samples import AT, MODEL, message, written

MINUTE = timedelta(minutes=1)


def document(n: int = 0, **more: Any) -> Document:
    at = AT + n * MINUTE
    return Document(f"doc-{n}", f"doc-{n}.1", f"file {n}", at, at, **more)


class DocumentsContract:
    """Part of StoreContract."""

    async def test_a_document_comes_back_whole_with_its_original(self, store: Store, tmp_path: Path) -> None:
        data = bytes(range(256)) * 5_000  # more than one piece
        (tmp_path / "file").write_bytes(data)
        kept = document(
            1, title="Grüße", notes=("a", "b"), metadata={"n": [1, None]}, seconds={"read": 0.5}, pages=3,
            retry_at=AT + MINUTE, url="https://a.example/ü", stale=("doc-1.0",), error="x", fix="y", bytes=len(data),
        )  # fmt: skip
        await store.documents.put(kept, tmp_path / "file")
        await store.documents.put(document(2))
        assert await store.documents.get("doc-1") == replace(kept, original=True)
        assert await store.documents.list_all(9) == [document(2), replace(kept, original=True)]
        assert await store.documents.list_all(1) == [document(2)]
        pieces, number = b"", 0
        while piece := await store.documents.original("doc-1", number):
            pieces, number = pieces + piece, number + 1
        assert pieces == data
        assert number > 1
        await store.documents.put(replace(kept, percent=7))
        assert (await store.documents.get("doc-1")) == replace(kept, percent=7, original=True)
        assert await store.documents.remove("doc-1")
        assert not await store.documents.remove("doc-1")
        assert await store.documents.get("doc-1") is None
        assert await store.documents.original("doc-1", 0) is None

    async def test_what_lies_elsewhere_is_told_in_place_of_pieces(self, store: Store, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"the words")
        await store.documents.put(document(1), tmp_path / "file")
        await store.documents.put(document(1), b"over there")
        assert (await store.documents.get("doc-1")) == document(1, original=True)
        assert await store.documents.original("doc-1", 0) is None
        assert await store.documents.original("doc-1", EXTERNAL_PIECE_NUMBER) == b"over there"
        await store.documents.put(document(1), tmp_path / "file")
        assert await store.documents.original("doc-1", EXTERNAL_PIECE_NUMBER) is None
        await store.documents.put(document(1, state="done"), b"over there")
        said = message("a passage", session="doc-1.1", role="document")
        await store.apply(written(said))
        await store.apply(Change(forget=(said.id,)))
        assert await store.documents.original("doc-1", EXTERNAL_PIECE_NUMBER) is None

    async def test_a_document_goes_with_a_change_or_not_at_all(self, store: Store, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"the words")
        said = message("a passage", session="doc-1.1", role="document")
        await store.documents.put(document(1, state="done"), tmp_path / "file")
        await store.documents.put(document(2, state="done"), tmp_path / "file")
        await store.apply(written(said))
        going = Change(forget=(said.id,), documents=("doc-1",), once=Once("k", "asked"))
        await store.apply(replace(going, dry_run=True))
        await store.apply(Change(once=Once("k", "asked")))
        with pytest.raises(Conflict):
            await store.apply(going)
        assert await store.documents.get("doc-1") == document(1, state="done", original=True)
        await store.apply(replace(going, once=None))
        assert await store.documents.get("doc-1") is None
        assert await store.documents.original("doc-1", 0) is None
        assert await store.documents.original("doc-2", 0) == b"the words"

    async def test_one_that_waits_is_lent_to_one_at_a_time(self, store: Store) -> None:
        now, until = AT + 10 * MINUTE, AT + 15 * MINUTE
        await store.documents.put(document(2))
        await store.documents.put(document(1, retry_at=AT + 30 * MINUTE))
        await store.documents.put(document(0, state="failed"))
        await store.documents.put(document(3))
        assert await store.documents.waiting() == 3
        claimed = await store.documents.claim(now, until)
        assert claimed == document(2)
        assert await store.documents.claim(now, until) is None
        assert await store.documents.lent(now) == 1
        assert await store.documents.claim(until, until + MINUTE) == document(2), "its lease ran out"

    async def test_only_who_holds_the_lease_amends(self, store: Store) -> None:
        now, until = AT + 10 * MINUTE, AT + 15 * MINUTE
        await store.documents.put(document(1))
        assert not await store.documents.amend(document(1, percent=5), until, None)
        await store.documents.claim(now, until)
        assert await store.documents.amend(document(1, percent=5), until, until + MINUTE)
        assert not await store.documents.amend(document(1, percent=6), until, None)
        assert await store.documents.amend(document(1, state="done"), until + MINUTE, None)
        assert await store.documents.get("doc-1") == document(1, state="done")
        assert (await store.documents.waiting(), await store.documents.lent(now)) == (0, 0)
        await store.documents.put(document(1))
        await store.documents.claim(now, until)
        await store.documents.remove("doc-1")
        assert not await store.documents.amend(document(1), until, None)
        assert await store.documents.get("doc-1") is None

    async def test_a_forgotten_passage_takes_the_original_along(self, store: Store, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"the words")
        for n in (1, 2):
            await store.documents.put(document(n, state="done"), tmp_path / "file")
        said = [message(f"{session} {n}", session=session, role="document") for n in range(2) for session in
                ("doc-1.1", "doc-2.1", "doc-2.0")]  # fmt: skip
        await store.apply(written(*said))
        await store.apply(Change(forget=(said[0].id,), dry_run=True))
        assert await store.documents.original("doc-1", 0) == b"the words"
        await store.apply(Change(forget=(said[0].id, said[2].id)))
        assert await store.documents.get("doc-1") == document(1, state="done")
        assert await store.documents.original("doc-1", 0) is None
        assert await store.documents.original("doc-2", 0) == b"the words", "an earlier version's passage is not its own"
        await store.apply(Change(forget=(said[3].id,)))
        assert await store.documents.get("doc-1") is None, "its last passage was forgotten"

    async def test_a_document_is_no_conversation(self, store: Store) -> None:
        passages = [message(f"passage {n}", session=f"doc-{'0' * 32}.{n}", role="document") for n in (1, 12)]
        await store.apply(written(*passages, message("hello"), message("hello", session="doc-tor's")))
        stats = await store.stats(MODEL)
        assert (stats.messages, stats.sessions) == (4, 2)
