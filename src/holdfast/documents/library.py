"""Adds, reads and forgets the documents of a profile. service/document_worker.py parses them.

A document is a session whose messages are its passages, so that search, digestion, provenance and forgetting work as
they do for conversations. A file's id is a hash of its bytes, a web page's id a hash of its URL.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast.documents.rules import DocumentRules
from holdfast.documents.types import DocumentError
from holdfast.domain import identifiers
from holdfast.domain.arguments import DocumentSource
from holdfast.domain.erasure import name_pattern, names_person
from holdfast.domain.errors import Conflict, InvalidInput, NotFound, quoted_value
from holdfast.domain.idempotency import first_answer
from holdfast.domain.ports.documents import EXTERNAL_PIECE_NUMBER
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import Once
from holdfast.domain.results import Document
from holdfast.domain.types import Change, Forgotten, Json, Message
from holdfast.lifecycle import forget
from holdfast.lifecycle.forget import ForgetOptions, forget_session

MAX_NAME_BYTES = 512
URL_PATTERN = re.compile(r"https?://\S+", re.I)
_READ_BYTES = 1024 * 1024
_PATH_START = re.compile(r"/|~/|\.{1,2}/|[A-Za-z]:\\")


def document_source(given: object) -> DocumentSource:
    """Interpret a source given by a caller in this process: a URL, the path of a file, or a text."""
    source = _interpret_source(given)
    if source.path is not None and is_in_data_folder(source.path):
        raise InvalidInput(
            f"{source.path} is in a Holdfast data folder, which contains encryption keys.", field="source"
        )
    return source


def _interpret_source(given: object) -> DocumentSource:
    if isinstance(given, DocumentSource):
        return given
    if isinstance(given, bytes):
        return DocumentSource(data=given)
    if isinstance(given, Path):
        return DocumentSource(path=_require_file(given))
    if not isinstance(given, str):
        raise InvalidInput(f"source is {quoted_value(given)}; give a path, a URL or bytes.", field="source")
    if URL_PATTERN.fullmatch(given.strip()):
        return DocumentSource(url=given.strip())
    one_line = "\n" not in given and len(given.encode(errors="replace")) < 4096
    if one_line and os.path.exists(given):  # False for a string that cannot be a path
        return DocumentSource(path=_require_file(Path(given)))
    # A text has several words and does not begin like a path; anything else is a mistyped path.
    if not re.search(r"\s", given.strip()) or (one_line and _PATH_START.match(given)):
        raise InvalidInput(
            f"{quoted_value(given)} is neither a file nor a URL.", field="source",
            fix="To add it as a text, give it as bytes.",
        )  # fmt: skip
    return DocumentSource(data=identifiers.validate_text(given, "source", limit=2**40).encode())


def _require_file(path: Path) -> Path:
    if path.is_dir():
        raise InvalidInput(
            f"{path} is a folder; a document is one file.", field="source",
            fix="Add its files one by one, or the folder with `holdfast add`.",
        )  # fmt: skip
    return path


def new_document(
    source: DocumentSource, folder: Path, name: str | None, rules: DocumentRules, now: datetime
) -> tuple[Document, Path | None]:
    """A new document for this source, and the file with its bytes (None for a URL)."""
    if source.url is not None:
        url = fetchable_url(source.url, rules)
        known_by = identifiers.validate_text(name or url[:MAX_NAME_BYTES], "name", limit=MAX_NAME_BYTES)
        id = "doc-" + hashlib.sha256(f"url {url}".encode()).hexdigest()[:32]
        return Document(id, f"{id}.1", known_by, now, now, stage="fetching", url=url), None
    path = source.path
    if path is None:
        path = folder / "given"
        path.write_bytes(source.data or b"")
    known_by = identifiers.validate_text(
        name or (source.path.name if source.path else "text"), "name", limit=MAX_NAME_BYTES
    )
    sha, size = file_digest(path, rules.bytes, known_by)
    id = f"doc-{sha[:32]}"
    return Document(id, f"{id}.1", known_by, now, now, bytes=size, sha256=sha), path


def is_in_data_folder(path: Path) -> bool:
    """Whether a file is in a data folder of Holdfast. Adding it could make the keyring searchable text."""
    return any((folder / "catalogue.db").exists() for folder in path.resolve().parents)


def fetchable_url(url: str, rules: DocumentRules) -> str:
    """The URL in normal form. Raises InvalidInput if it may not be fetched."""
    from holdfast.documents.fetch.http import validated_url  # imported late: only this function needs an HTTP client

    policy = rules.policy()
    if not policy.enabled:
        raise InvalidInput("Fetching documents from URLs is disabled.", field="url")
    return str(validated_url(url, policy))


def file_digest(path: Path, most: int, name: str) -> tuple[str, int]:
    """The SHA-256 and the size of a file. Raises DocumentError if it is empty or larger than `most` bytes."""
    sha, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while piece := file.read(_READ_BYTES):
                sha.update(piece)
                size += len(piece)
                if size > most:
                    raise DocumentError(
                        f"{quoted_value(name)} is larger than {most:,} bytes.", field="source",
                        fix="Split it, or raise the setting document_bytes.",
                    )  # fmt: skip
    except OSError as bad:
        raise InvalidInput(f"{path} cannot be read: {bad.strerror}.", field="source") from None
    if not size:
        raise DocumentError(f"{quoted_value(name)} is empty: there is nothing to read.", field="source")
    return sha.hexdigest(), size


async def add_document(store: Store, new: Document, path: Path | None, metadata: dict[str, Json]) -> Document:
    """Store a document for the workers to parse. It is on disk when this returns.

    Adding the same file again changes nothing; a failed one is tried again; a page is fetched again.
    """
    known = await store.documents.get(new.id)
    if known is not None and (known.state == "waiting" or (path and known.state == "done" and known.original)):
        return known
    wanted = replace(new, metadata=metadata)
    if known is not None:
        changes: dict[str, Any] = {"metadata": metadata} if metadata else {}
        wanted = replace(requeued_document(known), updated_at=new.updated_at, **changes)
    await store.documents.put(wanted, path)
    return await load_document(store, new.id)


async def add_document_once(
    store: Store, new: Document, path: Path | None, about: dict[str, Json], once: Once | None
) -> str:
    """As `add_document`, with an idempotency key; return the document's id.

    Repeating the request changes nothing, even after the document was forgotten. The key is stored after the document:
    after a crash in between, repeating the request adds the same document again.
    """
    if (done := await first_answer(store, once)) is None:
        await add_document(store, new, path, about)
        if once is None:
            return new.id
        try:
            await store.apply(Change(once=replace(once, answer=new.id)))
            return new.id
        except Conflict:  # the same request ran concurrently, and the other one was first
            if (done := await first_answer(store, once)) is None:
                raise
    return done.answer or new.id


def requeued_document(document: Document) -> Document:
    """The document, waiting to be parsed again. A page that was parsed well is parsed again only if it has changed."""
    anew: dict[str, Any] = {"sha256": "", "etag": None, "last_modified": None} if document.state == "failed" else {}
    plain = replace(document, state="waiting", stage="reading", percent=0, error=None, fix=None, tries=0, retry_at=None)
    return plain if document.url is None else replace(plain, stage="fetching", **anew)


async def load_document(store: Store, id: str) -> Document:
    """Load a document; raise NotFound if the profile does not have it."""
    document = await store.documents.get(id)
    if document is None:
        raise NotFound(f"There is no document {quoted_value(id)} in this profile.", field="id")
    return document


async def with_pending_count(store: Store, document: Document) -> Document:
    """The document with the number of its passages that wait to be digested."""
    pending = sum(message.pending for message in await store.messages(document.session_id, limit=2**31))
    stage = "digesting" if pending and document.state == "done" else document.stage
    return replace(document, pending=pending, stage=stage)


async def original_pieces(store: Store, id: str) -> AsyncIterator[bytes]:
    """Yield the bytes of the original, piece by piece."""
    await load_document(store, id)
    number = 0
    while (piece := await store.documents.original(id, number)) is not None:
        yield piece
        number += 1
    if not number and await store.documents.original(id, EXTERNAL_PIECE_NUMBER) is not None:
        raise NotFound(
            f"The original of {quoted_value(id)} is in a place that this process is not configured for.", field="id",
            fix="Give the setting originals that it was added with.",
        )  # fmt: skip
    if not number:
        raise NotFound(
            f"The original of {quoted_value(id)} is not stored: it was never fetched, or a passage was forgotten.",
            field="id",
        )


async def forget_document(store: Store, id: str, how: ForgetOptions) -> Forgotten:
    """Forget a document: its passages with everything that rests on them, its original and its record."""
    document = await load_document(store, id)
    gone = Forgotten()
    for session in document.stale:
        gone = _combined(gone, await forget_session(store, session, ForgetOptions(how.dry_run)))
    how = replace(how, documents=(id,))
    gone = _combined(gone, await forget_session(store, document.session_id, how))
    if not how.dry_run:  # a worker may have written passages meanwhile; it stops once the document is gone
        await forget_session(store, document.session_id, ForgetOptions())
    return replace(gone, places={**gone.places, "document": 1, **({"original": 1} if document.original else {})})


async def list_passages(store: Store, id: str, after: int, limit: int) -> list[Message]:
    """Up to `limit` passages after a position, in order; gaps left by forgotten passages are skipped."""
    session = (await load_document(store, id)).session_id
    last = await store.messages(session, before=2**62, limit=1)
    while last and after < last[0].position:
        some = await store.messages(session, before=after + limit + 1, limit=limit)
        if here := [message for message in some if message.position > after]:
            return here
        after += limit
    return []


def next_session_id(session_id: str) -> str:
    """The id of the session that holds the passages of the next version."""
    id, _, number = session_id.rpartition(".")
    return f"{id}.{int(number) + 1}"


async def find_document_of_session(store: Store, session_id: str) -> Document | None:
    """The document whose passages are in this session; None if it is a conversation."""
    id = session_id.rpartition(".")[0]
    document = await store.documents.get(id) if id.startswith("doc-") else None
    return document if document is not None and document.session_id == session_id else None


async def find_documents_naming(store: Store, name: str) -> list[Document]:
    """Documents whose name, title, author, address, metadata or notes on the reading contain a name."""
    pattern = (name_pattern(name),)
    documents = await store.documents.list_all(2**31)
    return [
        each
        for each in documents
        if names_person(pattern, each.name, each.title, each.author, each.url, each.metadata, each.error, each.notes)
    ]


async def forget_session_or_document(store: Store, session_id: str, how: ForgetOptions) -> Forgotten:
    """Forget a session; if it holds the passages of a document, forget the document."""
    document = await find_document_of_session(store, session_id)
    if document is None:
        return await forget_session(store, session_id, how)
    gone = await forget_document(store, document.id, ForgetOptions(how.dry_run))
    # Only the idempotency key of the request remains to be recorded with the session.
    return gone if how.dry_run else _combined(gone, await forget_session(store, session_id, how))


async def forget_person(store: Store, name: str, how: ForgetOptions) -> Forgotten:
    """Forget a person as lifecycle/forget.py does, and the documents that name them."""
    gone = Forgotten()
    for document in await find_documents_naming(store, name):
        gone = _combined(gone, await forget_document(store, document.id, ForgetOptions(how.dry_run)))
    return _combined(gone, await forget.forget_person(store, name, how))


def _combined(one: Forgotten, other: Forgotten) -> Forgotten:
    places = {name: one.places.get(name, 0) + other.places.get(name, 0) for name in {**one.places, **other.places}}
    return Forgotten(
        tuple(dict.fromkeys((*one.memories, *other.memories))),
        tuple(dict.fromkeys((*one.messages, *other.messages))),
        tuple(dict.fromkeys((*one.shortened, *other.shortened))),
        places,
        {**one.reasons, **other.reasons},
        tuple(dict.fromkeys((*one.restored, *other.restored))),
    )
