"""The nouns. Frozen values; nothing here reads a clock, a file or a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .records import Edit, Job, Once

Role = Literal["system", "user", "assistant", "tool", "document"]
ROLES: tuple[str, ...] = ("system", "user", "assistant", "tool", "document")
Trust = Literal["user", "agent", "document", "tool"]
BUILT_IN_KINDS: tuple[str, ...] = ("fact", "event", "instruction", "task", "summary")
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Json = Any


@dataclass(frozen=True, slots=True)
class Message:
    """Something said or read, verbatim. `id` is content-addressed: see names.message_id."""

    id: str
    session_id: str
    role: str
    content: str
    created_at: datetime
    speaker: str | None = None
    timestamp: datetime | None = None
    agent: str | None = None
    metadata: dict[str, Json] = field(default_factory=dict)
    position: int = 0
    pending: bool = True
    failures: int = 0
    """How often digesting it has failed."""
    aside: bool = False
    """Whether it was set aside after its last failure; saying it again gives it another chance."""

    @property
    def said_at(self) -> datetime:
        """When it was said, as far as anybody told us; else when it arrived."""
        return self.timestamp or self.created_at


@dataclass(frozen=True, slots=True)
class Memory:
    """A standalone piece of knowledge. Superseded versions stay readable through `history`."""

    id: str
    kind: str
    content: str
    summary: str
    created_at: datetime
    updated_at: datetime
    key: str | None = None
    value: Json = None
    metadata: dict[str, Json] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    session_id: str | None = None
    agent: str | None = None
    trust: str = "user"
    sources: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    occurred_until: datetime | None = None
    expires_at: datetime | None = None
    version: int = 1
    superseded_by: str | None = None
    extractor: str = "user/1"
    confidence: float = 1.0
    marks: int = 0
    """How often it was marked right, less how often wrong: -5 to 5."""
    reviewed_at: datetime | None = None
    """When somebody said what to make of it."""

    @property
    def current(self) -> bool:
        return self.superseded_by is None

    @property
    def etag(self) -> str:
        """Changes with everything about it that can change."""
        state = f"{self.id} {self.version} {self.superseded_by} {len(self.sources)}"
        state += f" {self.marks} {self.reviewed_at}" if self.marks or self.reviewed_at else ""
        return hashlib.sha256(state.encode()).hexdigest()[:16]

    def seen_as(self, etag: str | None) -> bool:
        """Whether it is still as somebody saw it: any of these tags, separated by commas, or `*`; None asks nothing."""
        return etag is None or bool({"*", self.etag} & {each.strip() for each in etag.split(",")})

    @property
    def fingerprint(self) -> str:
        """What makes two memories without a key the same memory: kind, text, value and metadata."""
        return fingerprint(self.kind, self.content, self.value, self.metadata)


Item = Message | Memory


def fingerprint(kind: str, content: str, value: Json = None, metadata: Mapping[str, Json] | None = None) -> str:
    said = " ".join(content.split()).casefold().rstrip(".! ")
    held = json.dumps([kind, said, value, dict(metadata or {})], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(held.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Draft:
    """What an extractor proposes: a memory without identity, resting on messages by id."""

    kind: str
    content: str
    sources: tuple[str, ...]
    summary: str = ""
    key: str | None = None
    keywords: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    trust: str = "user"
    occurred_at: datetime | None = None
    occurred_until: datetime | None = None
    confidence: float = 1.0
    rule: str = ""
    contested: str | None = None
    """The key that it would have, had not somebody else always been first."""


SECOND_HAND = ("document", "tool")
"""Trusts, and roles, that cannot put out of date what somebody said themselves."""
Verdict = Literal["same", "replaces", "apart"]
"""What a draft does to a memory: adds a source, supersedes it, or stands beside it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an analyst sees in a question."""

    keys: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    """Words that a text with the answer may contain."""
    answer: str = ""
    """A would-be answer, to find texts like it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that is rolled up: a message, or a memory of a kind that is."""

    id: str
    at: datetime
    who: str
    text: str
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """What a synthesiser answers from."""

    question: str
    evidence: tuple[str, ...]
    """What was found, best first, each with its date and who said it."""
    facts: tuple[str, ...] = ()
    """Computed: dates, durations, counts."""
    length: str = "medium"
    passes: int = 1
    """Beyond one, the answer is checked against the evidence once more."""
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Wording:
    """A synthesised answer and the numbers (from 0) of the evidence that it cites."""

    text: str
    cited: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A passage of an item as the index sees it: its words, and its place in the text."""

    item: str
    number: int
    start: int
    stop: int
    words: tuple[str, ...] = ()
    embed: bool = True
    """Whether it gets a vector; tasks don't."""
    tokens: bytes = b""
    """Its distinct static token ids: see statics.py."""
    asks: bool = False
    """Whether its item is a question; questions seldom hold answers."""


@dataclass(frozen=True, slots=True)
class Vector:
    """The meaning of one part under one model."""

    item: str
    number: int
    model: str
    values: Floats


@dataclass(frozen=True, slots=True)
class Supersede:
    """`old` gives way to `new`, provided that `old` is still current."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What somebody thinks of a memory, in place of what they thought before."""

    memory: str
    marks: int
    reviewed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Everything one write does. A store applies it whole or not at all, and twice is once."""

    messages: tuple[Message, ...] = ()
    memories: tuple[Memory, ...] = ()
    parts: tuple[Part, ...] = ()
    vectors: tuple[Vector, ...] = ()
    supersede: tuple[Supersede, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    """(memory, message): the message supports a memory that is already known."""
    settle: tuple[str, ...] = ()
    """Messages whose digestion is done."""
    defer: tuple[Deferral, ...] = ()
    redo: tuple[str, ...] = ()
    """Messages to digest anew."""
    lease: datetime | None = None
    """Settle and defer only what is still lent until this moment; Conflict when something to settle no longer is."""
    refused: tuple[tuple[str, int], ...] = ()
    """(item, part number) that the embedder cannot take: found by words alone from now on."""
    forget: tuple[str, ...] = ()
    """Items that go for good. A forgotten message takes along the memories that rest on nothing else; what a forgotten
    memory had superseded now points to its successor, or is current again when there is none."""
    judged: tuple[Judged, ...] = ()
    current: tuple[str, ...] = ()
    """Memories that must be current still; Conflict when one is not."""
    edit: Edit | None = None
    """Kept with the change, so that it can be taken back."""
    undoes: tuple[str, ...] = ()
    """The edits that this takes back: they go. Raises Conflict when one is not there any more."""
    asked_in: tuple[str, ...] = ()
    """Sessions whose traces go as well: what was asked in them is forgotten."""
    documents: tuple[str, ...] = ()
    """Documents that go for good, with their originals; their passages are messages to forget."""
    job: Job | None = None
    once: Once | None = None
    """Kept with what the change did. Raises Conflict when its key is known: somebody was first."""
    rehearsed: bool = False
    """Tell what it would do, and do nothing."""


@dataclass(frozen=True, slots=True)
class Deferral:
    """Digesting a message failed: try again at `until`, or set it aside in sight when None."""

    message: str
    until: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a forget took: ids of memories and messages."""

    memories: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    places: dict[str, int] = field(default_factory=dict, compare=False)
    """The receipt: how much lay where, by the names of places.py. What a repeated request took is told by ids alone."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What a change really did."""

    new: frozenset[str] = frozenset()
    """Ids of the messages and memories that were not there before."""
    gone: Forgotten = field(default_factory=Forgotten)
    """What was forgotten, with what it took along."""


MOST_AGENTS = 200
"""How many of a profile's agents are told of."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What recall asks of a store, once per question."""

    now: datetime
    words: tuple[str, ...] = ()
    vector: Floats | None = None
    model: str = ""
    keys: tuple[str, ...] = ()
    window: tuple[datetime, datetime] | None = None
    where: Where | None = None
    limit: int = 100
    """How many messages each channel may propose."""
    memories: int = 100
    """How many memories; apart, so that neither crowds out the other."""
    agents: bool = False
    """Whether to tell which agents wrote anything here."""
    with_neighbours: int = 30
    """How many of each channel's best bring the messages beside them along."""
    as_of: datetime | None = None
    """Find what was known at this moment instead, whatever superseded it since."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item that some channel proposed, or a neighbour of one."""

    id: str
    memory: bool
    session_id: str | None
    position: int
    role: str | None
    speaker: str | None
    asks: bool
    at: int
    """When it was said, or when what it tells happened: microseconds since 1970."""


@dataclass(frozen=True, slots=True, eq=False)
class Proposals:
    """Every channel's candidates and their neighbours, with the raw numbers a ranker needs.

    Arrays have one row per part; `of` says to which of the items it belongs.
    """

    items: tuple[Candidate, ...]
    channels: tuple[dict[str, int], ...]
    """Of each item: channel → rank (1 is best). Empty for an item that is here only as context."""
    of: Ints
    number: Ints
    length: NDArray[np.float64]
    counts: NDArray[np.float64]
    """Occurrences of each of the probe's words."""
    cosine: NDArray[np.float64]
    """NaN where a part has no vector."""
    tokens: tuple[bytes, ...]
    parts: int
    """How many parts the profile has, their mean length, and in how many of them each word occurs."""
    mean_length: float
    frequency: tuple[int, ...]
    agents: tuple[str, ...] = ()
    """When asked for: who wrote something, by name, the first of very many."""


Op = Literal["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "prefix", "exists"]


@dataclass(frozen=True, slots=True)
class Test:
    """One comparison, such as metadata.price gte 10."""

    field: str
    op: Op
    value: Json


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Where


Where = Test | All | Either | Not
