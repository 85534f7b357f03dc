"""Pure: converts values to the rows of the SQL backends, and back.

The columns of `message` and `memory` follow from the fields of Message and Memory: a new field needs a column in both
backends' migrations and nothing here, as long as its type is one of CONVERSIONS. Times are whole microseconds, lists
and objects JSON text. A memory's sources have a table of their own; a message's state has columns of its own. The
column `origin` of a memory is never empty: it is the id that the version was drafted with. `ref` is computed.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Generic, TypeVar, cast

import orjson

from holdfast.domain import json_codec
from holdfast.domain.credentials import Credential, Grant
from holdfast.domain.erasure import texts_in
from holdfast.domain.graph import EntityChange
from holdfast.domain.json_codec import attributes, decode, encode, field_types
from holdfast.domain.records import (
    Caller,
    Edit,
    Event,
    Job,
    Once,
    Trace,
)
from holdfast.domain.results import Document
from holdfast.domain.timestamps import from_micros, to_micros
from holdfast.domain.types import Change, Json, Memory, Message

T = TypeVar("T")
Row = tuple[Any, ...]
Converter = Callable[[Any], Any]
STATE = "state, failures"
NEW_STATE = ("waiting", 0)
TRACE = "id, at, operation, credential, agent, session, turn, took, details"
SPENT = "month, model, task, calls, input, output, cached"
ONCE = "key, request, answer, new, memories, messages, shortened"
JOB = "id, kind, created_at, messages"
EVENT = "n, at, type, data"
EDIT = "id, at, verb, gone, data"
CREDENTIAL = "id, kind, name, rights, namespace, profile, created_at, expires_at, revoked_at, used_at, agent, reads"
GRANT = "credential, namespace, profile, rights"
DOCUMENT = "id, session, state, wait_until, created_at, data"
PIECE_BYTES = 1024 * 1024
"""How many bytes of an original stand in one row."""
compact_json = json_codec.compact_json
_parsed = json.JSONDecoder().decode


def _optional_micros(at: datetime | None) -> int | None:
    return None if at is None else to_micros(at)


def _optional_time(at: int | None) -> datetime | None:
    return None if at is None else from_micros(at)


def _parsed_tuple(text: str) -> tuple[Any, ...]:
    return tuple(_parsed(text)) if text != "[]" else ()


def _parsed_object(text: str) -> dict[str, Json]:
    return _parsed(text) if text != "{}" else {}


def _parsed_json(text: str) -> Json:
    return _parsed(text) if text != "null" else None


JSON_TYPES: tuple[Any, ...] = (Json, dict[str, Json], tuple[str, ...])
MUTABLE_TYPES: tuple[Any, ...] = (Json, dict[str, Json])
CONVERSIONS: dict[Any, tuple[Converter | None, Converter | None]] = {
    **dict.fromkeys((str, str | None, int, int | None, float, float | None), (None, None)),
    bool: (None, bool),
    datetime: (to_micros, from_micros),
    datetime | None: (_optional_micros, _optional_time),
    tuple[str, ...]: (compact_json, _parsed_tuple),
    dict[str, Json]: (compact_json, _parsed_object),
    Json: (compact_json, _parsed_json),
}
"""Type of a field → (conversion to SQL, conversion from SQL); None where no conversion is needed. Most lists and
objects are empty, and a comparison is cheaper than a parser."""


class Columns(Generic[T]):
    """The columns of one table that store a dataclass's fields, and the conversion between rows and values."""

    def __init__(self, kind: type[T], table: str, *, without: Collection[str], renamed: dict[str, str]) -> None:
        self._kind = kind
        types = field_types(cast(Any, kind))
        self.types = {name: hint for name, hint in types.items() if name not in without}
        """Field → its type."""
        self.fields = tuple(self.types)
        self.names = tuple(renamed.get(name, name) for name in self.fields)
        conversions = [CONVERSIONS[hint] for hint in self.types.values()]
        self._writes = [(n, write) for n, (write, _) in enumerate(conversions) if write is not None]
        places = {name: n for n, name in enumerate(types)}
        self._reads: list[tuple[int, Converter]] = []
        self._json_reads: list[tuple[int, Converter]] = []
        for n, (name, hint) in enumerate(self.types.items()):
            if (read := CONVERSIONS[hint][1]) is not None and hint in MUTABLE_TYPES:
                self._json_reads.append((places[name], read))
            elif read is not None:
                self._reads.append((n, read))
        self._values_of = attributes(self.fields)
        self._elsewhere = [n for n, name in enumerate(types) if name in without]
        self.scalars = {
            field: f"{table}.{name}"
            for field, name in zip(self.fields, self.names, strict=True)
            if self.types[field] not in JSON_TYPES
        }
        """Field → its column, for fields that SQL can compare."""

    def row(self, value: T) -> list[Any]:
        """Convert a value to its columns."""
        values = list(self._values_of(value))
        for n, write in self._writes:
            values[n] = write(values[n])
        return values

    def maker(self, row: Row, *others: Any) -> Callable[[], T]:
        """A function that makes the value of a row that begins with these columns; `others` are the values of the
        fields without a column, in order. It may be kept: what it makes shares nothing that can be changed."""
        values = list(row[: len(self.names)])
        for n, convert in self._reads:
            values[n] = convert(values[n])
        for n, other in zip(self._elsewhere, others, strict=True):
            values.insert(n, other)
        return partial(self._made, values)

    def _made(self, values: list[Any]) -> T:
        values = values.copy()
        for n, convert in self._json_reads:
            values[n] = convert(values[n])
        return self._kind(*values)


MESSAGE_COLUMNS = Columns(
    Message, "message", without=("pending", "failures", "aside"),
    renamed={"session_id": "session", "timestamp": "said_at"},
)  # fmt: skip
MEMORY_COLUMNS = Columns(Memory, "memory", without=("sources",), renamed={"session_id": "session"})
MESSAGE = ", ".join(MESSAGE_COLUMNS.names)
MEMORY = ", ".join((*MEMORY_COLUMNS.names, "fingerprint"))
_POSITION, _SESSION = MESSAGE_COLUMNS.fields.index("position"), MESSAGE_COLUMNS.fields.index("session_id")
_ID, _ORIGIN = MEMORY_COLUMNS.fields.index("id"), MEMORY_COLUMNS.fields.index("origin")


SESSION_MOVED_ON = "Another request wrote to the session at the same time."
MESSAGE_KNOWN = "A message that was taken for new is stored already."


def in_insertion_order(change: Change) -> list[Message]:
    """The messages of a change: first those to insert, by position, then those that come after all others."""
    places = dict(change.inserted)
    once = {message.id: message for message in change.messages}
    return sorted(once.values(), key=lambda message: places.get(message.id, 2**62))


def message_row(message: Message, position: int) -> Row:
    row = MESSAGE_COLUMNS.row(message)
    row[_POSITION] = position
    return tuple(row)


def session_of(row: Row) -> str:
    """The session of a message's row."""
    return str(row[_SESSION])


def settled_row(row: Row) -> Row:
    """The columns MESSAGE followed by STATE, once the message is digested."""
    return (*row[:-2], "digested", row[-1])


def message(row: Row) -> Message:
    """Convert the columns MESSAGE followed by STATE."""
    return message_maker(row)()


def message_maker(row: Row) -> Callable[[], Message]:
    state, failures = row[-2:]
    return MESSAGE_COLUMNS.maker(row, state == "waiting", failures, state == "aside")


def memory_row(memory: Memory) -> Row:
    row = MEMORY_COLUMNS.row(memory)
    row[_ORIGIN] = memory.draft_id
    return (*row, memory.fingerprint)


def memory(row: Row) -> Memory:
    """Convert the columns MEMORY followed by the sources as a JSON array."""
    return memory_maker(row)()


def memory_maker(row: Row) -> Callable[[], Memory]:
    return new_memory_maker(row, _parsed_tuple(row[-1]))


def new_memory_maker(row: Row, sources: tuple[str, ...]) -> Callable[[], Memory]:
    """A function that makes the memory of a row that begins with the columns MEMORY."""
    if row[_ORIGIN] == row[_ID]:
        row = (*row[:_ORIGIN], None, *row[_ORIGIN + 1 :])
    return MEMORY_COLUMNS.maker(row, sources)


def words_in(*values: Any) -> set[str]:
    """The words of every text in these values, as the index writes words."""
    from holdfast.text.tokens import tokens

    return {word for value in values for text in texts_in(value) for word in tokens(text)}


def document_words(document: Document) -> set[str]:
    about = (document.name, document.title, document.author, document.url, document.metadata)
    return words_in(*(each for each in about if each is not None))


def trace_row(trace: Trace) -> Row:
    who = trace.caller
    return (
        trace.id, to_micros(trace.at), trace.operation, who.credential, who.agent, who.session_id, who.turn_id,
        round(trace.milliseconds * 1000), compressed_json(trace.details),
    )  # fmt: skip


def trace(row: Row) -> Trace:
    """Convert the columns TRACE."""
    id, at, operation, credential, agent, session, turn, took, details = row
    caller = Caller(credential, agent, session, turn)
    return Trace(id, from_micros(at), operation, caller, took / 1000, json.loads(decompressed_text(details)))


def compressed_json(details: dict[str, Any]) -> bytes:
    """The details of a trace, which has thousands of numbers: orjson writes them ten times as fast."""
    try:
        written = orjson.dumps(details)
    except TypeError:  # a number of more than 64 bits
        written = compact_json(details).encode()
    return zlib.compress(written, 1)


def decompressed_text(details: bytes) -> str:
    return zlib.decompress(details).decode()


def event(row: Row) -> Event:
    n, at, type, data = row
    return Event(n, from_micros(at), type, json.loads(data))


def job_row(job: Job) -> Row:
    return job.id, job.kind, to_micros(job.created_at), compact_json(job.messages)


def job(row: Row) -> Job:
    id, kind, created, messages = row
    return Job(id, kind, from_micros(created), tuple(json.loads(messages)))


def edit_row(edit: Edit) -> Row:
    judged = [(id, marks, _optional_micros(at)) for id, marks, at in edit.judged]
    return edit.id, to_micros(edit.at), edit.verb, edit.gone, compact_json([edit.made, judged])


def edit(row: Row) -> Edit:
    """Convert the columns EDIT."""
    id, at, verb, gone, data = row
    made, judged = json.loads(data)
    before = tuple((each, marks, _optional_time(then)) for each, marks, then in judged)
    return Edit(id, from_micros(at), verb, tuple((each, count) for each, count in made), before, bool(gone))


def once_digest(key: str) -> str:
    """What is stored in place of an idempotency key: callers may build keys from words that are forgotten later."""
    return "sha256:" + hashlib.sha256(key.encode()).hexdigest()


def once(row: Row, key: str) -> Once:
    _, request, answer, new, *ids = row
    gone = (tuple(json.loads(each)) for each in ids)
    return Once(key, request, answer, frozenset(json.loads(new)), *gone)


def once_row(done: Once) -> Row:
    gone = (compact_json(each) for each in (done.memories, done.messages, done.shortened))
    return once_digest(done.key), done.request, done.answer, compact_json(sorted(done.new)), *gone


def document_row(document: Document) -> Row:
    data = compact_json(encode(replace(document, original=False, pending=0)))  # both are looked up when loading
    wait = _optional_micros(document.retry_at) or 0
    return document.id, document.session_id, document.state, wait, to_micros(document.created_at), data


def document(data: str, original: bool) -> Document:
    return replace(decode(Document, json.loads(data)), original=bool(original))


def entity_change_data(change: EntityChange) -> str:
    return compact_json(encode(change))


def entity_change(data: str) -> EntityChange:
    return decode(EntityChange, json.loads(data))


def credential_row(credential: Credential) -> Row:
    return (
        credential.id, credential.kind, credential.name, json.dumps(sorted(credential.rights)), credential.namespace,
        credential.profile, to_micros(credential.created_at), _optional_micros(credential.expires_at),
        _optional_micros(credential.revoked_at), _optional_micros(credential.used_at), credential.agent,
        None if credential.reads is None else compact_json(credential.reads),
    )  # fmt: skip


def credential(row: Row, granted: Iterable[Row] = ()) -> Credential:
    """Convert the columns CREDENTIAL and this credential's rows of GRANT."""
    id, kind, name, rights, namespace, profile, created, *others, agent, reads = row
    expires, revoked, used = map(_optional_time, others)
    grants = sorted((space, each, frozenset(json.loads(held))) for _, space, each, held in granted)
    return Credential(
        id, kind, name, frozenset(json.loads(rights)), from_micros(created), namespace, profile, expires, revoked, used,
        tuple(Grant(*each) for each in grants), agent, None if reads is None else tuple(json.loads(reads)),
    )  # fmt: skip


def grant_row(id: str, grant: Grant) -> Row:
    return id, grant.namespace, grant.profile, compact_json(sorted(grant.rights))


def credentials(rows: Iterable[Row], granted: Iterable[Row]) -> list[Credential]:
    """Convert rows of CREDENTIAL, each with its own rows of GRANT."""
    held: dict[str, list[Row]] = {}
    for row in granted:
        held.setdefault(row[0], []).append(row)
    return [credential(row, held.get(row[0], ())) for row in rows]
