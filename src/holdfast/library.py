"""Documents of a profile: what is given to be read, given again, asked for and forgotten. Reading is readers.py.

A document is a session whose messages are its passages, so that search, digestion, provenance and forgetting are those
of conversations. A file is known by a hash of its bytes, a page by a hash of its address.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from . import forget, names
from .documents.addresses import Policy
from .documents.types import DocumentError, Limits
from .errors import Conflict, InvalidInput, NotFound, shown
from .forget import How, forget_session
from .once import first
from .ports import Store
from .records import Once
from .results import Document
from .shelves import ELSEWHERE
from .types import Change, Forgotten, Json, Message

BYTES = 64 * 1024 * 1024
NAME_BYTES = 512
SCRATCH = "holdfast-documents-"
URL = re.compile(r"https?://\S+", re.I)
_READ = 1024 * 1024
_PATH = re.compile(r"/|~/|\.{1,2}/|[A-Za-z]:\\")


@dataclass(frozen=True, slots=True)
class Rules:
    """Where documents may come from, and how large they may be."""

    fetch: bool = True
    allow: tuple[str, ...] = ()
    bytes: int = BYTES
    again: timedelta | None = None
    """How old what is known of a page may become before it is fetched anew."""

    def __post_init__(self) -> None:
        self.policy()  # a host that is none is told at once

    def policy(self) -> Policy:
        return Policy(enabled=self.fetch, allow=self.allow, received_bytes=self.bytes)

    def limits(self) -> Limits:
        return Limits(input_bytes=self.bytes)


@dataclass(frozen=True, slots=True)
class Source:
    """What is to be read: one of an address, a file, and bytes."""

    url: str | None = None
    path: Path | None = None
    data: bytes | None = None


def source_of(given: object) -> Source:
    """What a caller of this process means: an address, the path of a file, or a text."""
    source = _source(given)
    if source.path is not None and is_ours(source.path):
        raise InvalidInput(f"{source.path} is in a data folder of Holdfast's, which has its keys.", field="source")
    return source


def _source(given: object) -> Source:
    if isinstance(given, Source):
        return given
    if isinstance(given, bytes):
        return Source(data=given)
    if isinstance(given, Path):
        return Source(path=_no_folder(given))
    if not isinstance(given, str):
        raise InvalidInput(f"source is {shown(given)}; give a path, an address or a text.", field="source")
    if URL.fullmatch(given.strip()):
        return Source(url=given.strip())
    one_line = "\n" not in given and len(given.encode(errors="replace")) < 4096
    if one_line and os.path.exists(given):  # False for what cannot be a name at all
        return Source(path=_no_folder(Path(given)))
    # A text has more than one word and does not begin as a path does: this is a name that was mistyped.
    if not re.search(r"\s", given.strip()) or (one_line and _PATH.match(given)):
        raise InvalidInput(
            f"There is no file {shown(given)}, and it is no address.", field="source",
            fix="To add it as a text, give it as bytes.",
        )  # fmt: skip
    return Source(data=names.text(given, "source", limit=2**40).encode())


def _no_folder(path: Path) -> Path:
    if path.is_dir():
        raise InvalidInput(
            f"{path} is a folder, and a document is one file.", field="source",
            fix="Add its files one by one, or the folder with `holdfast add`.",
        )  # fmt: skip
    return path


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder of our own for what is on its way; one that a crash left is swept at the next start."""
    with tempfile.TemporaryDirectory(prefix=f"{SCRATCH}{os.getpid()}-") as folder:
        yield Path(folder)


def fresh(source: Source, folder: Path, name: str | None, rules: Rules, now: datetime) -> tuple[Document, Path | None]:
    """The document that this would be, and the file with its bytes."""
    if source.url is not None:
        url = address(source.url, rules)
        known_by = names.text(name or url[:NAME_BYTES], "name", limit=NAME_BYTES)
        id = "doc-" + hashlib.sha256(f"url {url}".encode()).hexdigest()[:32]
        return Document(id, f"{id}.1", known_by, now, now, stage="fetching", url=url), None
    path = source.path
    if path is None:
        path = folder / "given"
        path.write_bytes(source.data or b"")
    known_by = names.text(name or (source.path.name if source.path else "text"), "name", limit=NAME_BYTES)
    sha, size = hashed(path, rules.bytes, known_by)
    id = f"doc-{sha[:32]}"
    return Document(id, f"{id}.1", known_by, now, now, bytes=size, sha256=sha), path


def is_ours(path: Path) -> bool:
    """Whether a file is in a data folder: its keyring would become searchable text."""
    return any((folder / "catalogue.db").exists() for folder in path.resolve().parents)


def address(url: str, rules: Rules) -> str:
    """The address as it is fetched, if it is one to try at all."""
    from .documents.fetch import checked  # late: nobody else needs an HTTP client

    policy = rules.policy()
    if not policy.enabled:
        raise InvalidInput("Fetching documents from addresses is switched off here.", field="url")
    return str(checked(url, policy))


def hashed(path: Path, most: int, name: str) -> tuple[str, int]:
    """The hash and the size of a file that is not too large."""
    sha, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while piece := file.read(_READ):
                sha.update(piece)
                size += len(piece)
                if size > most:
                    raise DocumentError(
                        f"{shown(name)} is larger than {most:,} bytes.", field="source",
                        fix="Split it, or raise the setting document_bytes.",
                    )  # fmt: skip
    except OSError as bad:
        raise InvalidInput(f"{path} cannot be read: {bad.strerror}.", field="source") from None
    if not size:
        raise DocumentError(f"{shown(name)} is empty: there is nothing to read.", field="source")
    return sha.hexdigest(), size


async def shelve(store: Store, new: Document, path: Path | None, metadata: dict[str, Json]) -> Document:
    """Keep it for the readers. The same file again changes nothing; what failed is tried again; a page is fetched anew.

    On disk when this returns.
    """
    known = await store.shelf.get(new.id)
    if known is not None and (known.state == "waiting" or (path and known.state == "done" and known.original)):
        return known
    wanted = replace(new, metadata=metadata)
    if known is not None:
        about: dict[str, Any] = {"metadata": metadata} if metadata else {}
        wanted = replace(again(known), updated_at=new.updated_at, **about)
    await store.shelf.put(wanted, path)
    return await found(store, new.id)


async def shelve_once(store: Store, new: Document, path: Path | None, about: dict[str, Json], once: Once | None) -> str:
    """As `shelve`; the same request again changes nothing, also after the document was forgotten. The document's id.

    The key is kept after the document: a crash in between lets the request be made again, which is the same again.
    """
    if (done := await first(store, once)) is None:
        await shelve(store, new, path, about)
        if once is None:
            return new.id
        try:
            await store.apply(Change(once=replace(once, answer=new.id)))
            return new.id
        except Conflict:  # the same request came twice at once, and the other was first
            if (done := await first(store, once)) is None:
                raise
    return done.answer or new.id


def again(document: Document) -> Document:
    """The same, to be read once more. What was read well is not read again unless it has changed."""
    anew: dict[str, Any] = {"sha256": "", "etag": None, "last_modified": None} if document.state == "failed" else {}
    plain = replace(document, state="waiting", stage="reading", percent=0, error=None, fix=None, tries=0, retry_at=None)
    return plain if document.url is None else replace(plain, stage="fetching", **anew)


async def found(store: Store, id: str) -> Document:
    document = await store.shelf.get(id)
    if document is None:
        raise NotFound(f"There is no document {shown(id)} in this profile.", field="id")
    return document


async def counted(store: Store, document: Document) -> Document:
    """With how many of its passages wait to be digested."""
    pending = sum(message.pending for message in await store.said(document.session_id, limit=2**31))
    stage = "digesting" if pending and document.state == "done" else document.stage
    return replace(document, pending=pending, stage=stage)


async def pieces(store: Store, id: str) -> AsyncIterator[bytes]:
    """Its original, piece by piece."""
    await found(store, id)
    number = 0
    while (piece := await store.shelf.original(id, number)) is not None:
        yield piece
        number += 1
    if not number and await store.shelf.original(id, ELSEWHERE) is not None:
        raise NotFound(
            f"The original of {shown(id)} lies in a place that this process does not know.", field="id",
            fix="Give the setting originals that it was added with.",
        )  # fmt: skip
    if not number:
        raise NotFound(
            f"The original of {shown(id)} is not kept: it was never fetched, or a passage of it was forgotten.",
            field="id",
        )


async def forget_document(store: Store, id: str, how: How) -> Forgotten:
    """Everything of it: its passages with what rests on them, its original, and what is known of it."""
    document = await found(store, id)
    gone = Forgotten()
    for session in document.stale:
        gone = _both(gone, await forget_session(store, session, How(how.rehearsed)))
    how = replace(how, documents=(id,))
    gone = _both(gone, await forget_session(store, document.session_id, how))
    if not how.rehearsed:  # somebody may have been reading it, and stops when the document is gone
        await forget_session(store, document.session_id, How())
    return replace(gone, places={**gone.places, "document": 1, **({"original": 1} if document.original else {})})


async def passages(store: Store, id: str, after: int, limit: int) -> list[Message]:
    """The passages behind a position, in order; where some were forgotten, those behind the gap."""
    session = (await found(store, id)).session_id
    last = await store.said(session, before=2**62, limit=1)
    while last and after < last[0].position:
        some = await store.said(session, before=after + limit + 1, limit=limit)
        if here := [message for message in some if message.position > after]:
            return here
        after += limit
    return []


def next_session(session_id: str) -> str:
    """The name of the session for another version's passages."""
    id, _, number = session_id.rpartition(".")
    return f"{id}.{int(number) + 1}"


async def of_session(store: Store, session_id: str) -> Document | None:
    """The document whose passages this session has."""
    id = session_id.rpartition(".")[0]
    document = await store.shelf.get(id) if id.startswith("doc-") else None
    return document if document is not None and document.session_id == session_id else None


async def naming(store: Store, name: str) -> list[Document]:
    """Documents that are called after somebody, or are by them."""
    named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.I)
    every = await store.shelf.listed(2**31)
    return [each for each in every if named.search(f"{each.name} {each.title} {each.author} {each.metadata}")]


async def forget_session_of_any(store: Store, session_id: str, how: How) -> Forgotten:
    """A conversation, or a document by its session."""
    document = await of_session(store, session_id)
    if document is None:
        return await forget_session(store, session_id, how)
    gone = await forget_document(store, document.id, How(how.rehearsed))
    # What is left of the session is nothing but the request, which may come again.
    return gone if how.rehearsed else _both(gone, await forget_session(store, session_id, how))


async def forget_person(store: Store, name: str, how: How) -> Forgotten:
    """As for everything else (forget.py), and the documents that are called after them or by them."""
    gone = Forgotten()
    for document in await naming(store, name):
        gone = _both(gone, await forget_document(store, document.id, How(how.rehearsed)))
    return _both(gone, await forget.forget_person(store, name, how))


def _both(one: Forgotten, other: Forgotten) -> Forgotten:
    places = {name: one.places.get(name, 0) + other.places.get(name, 0) for name in {**one.places, **other.places}}
    return Forgotten(
        tuple(dict.fromkeys((*one.memories, *other.memories))),
        tuple(dict.fromkeys((*one.messages, *other.messages))),
        places,
    )
