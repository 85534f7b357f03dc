"""What callers get back: hits, answers, receipts, pages, counts. Frozen values, like all nouns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from .records import Edit
from .types import Json, Memory


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing; `cursor` is None on the last."""

    items: tuple[Memory, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Memory:
        return self.items[index]


@dataclass(frozen=True, slots=True)
class Origin:
    """The profile that something was found in."""

    namespace: str
    profile: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.profile}"


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked result: a memory or a message, with its text and why it is here."""

    id: str
    kind: str
    content: str
    summary: str
    score: float
    channels: dict[str, int]
    session_id: str | None
    created_at: datetime
    message_id: str | None = None
    sources: tuple[str, ...] = ()
    key: str | None = None
    role: str | None = None
    speaker: str | None = None
    timestamp: datetime | None = None
    """When it was said or happened, if known."""
    trust: str = "user"
    pending: bool = False
    metadata: dict[str, Json] = field(default_factory=dict)
    value: Json = None
    version: int = 1
    features: dict[str, float] = field(default_factory=dict)
    relevance: float = 0.0
    """0 to 1: how surely it is about the question at all, by itself. Scores only order one list."""
    reasons: dict[str, float] = field(default_factory=dict)
    """The features that decided, and by how much each moved the score."""
    origin: Origin | None = None
    """Where it was found, when several profiles were asked at once."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A statement of the answer and the hit it rests on."""

    hit: str
    quote: str
    origin: Origin | None = None
    """The hit's: in several profiles the same message has the same id."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply to a recall. `answer` is empty when nothing supports one."""

    answer: str
    citations: tuple[Citation, ...]
    hits: tuple[Hit, ...]
    confidence: float = 0.0
    pending: bool = False
    """Whether something that was written before was still being digested; asked again later, it may know more."""


@dataclass(frozen=True, slots=True)
class Context:
    """A paste-ready block within a token budget, and the hits that are in it."""

    text: str
    tokens: int
    hits: tuple[Hit, ...]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Written:
    """One message of an ingest: its id, whether it was new, and which of the given ones it is, or is a piece of."""

    id: str
    new: bool
    given: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an ingest did. `memories` is filled when the caller waited for digestion."""

    session_id: str
    messages: tuple[Written, ...]
    pending: int
    memories: tuple[Memory, ...] = ()
    job: str | None = None
    """Poll it, or listen to events, to know when the rest is digested."""
    skipped: int = 0
    """How many of the given messages had no text, such as calls of tools."""


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of one profile."""

    messages: int
    memories: int
    kinds: dict[str, int]
    superseded: int
    sessions: int
    pending: int
    """Messages that wait to be digested."""
    failing: int
    """How many of these wait because digesting them failed."""
    set_aside: int
    unembedded: int
    bytes: int
    said_on: dict[str, int] = field(default_factory=dict)
    """Day (UTC, such as 2026-11-16) → how many messages were kept on it."""
    written_on: dict[str, int] = field(default_factory=dict)
    """Day → how many memories were written on it, superseded ones too."""


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: how many messages it has, when it began and when it was last added to."""

    id: str
    messages: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Document:
    """Something that was given to be read: a file, a page, a text. How far that is, and what it says of itself."""

    id: str
    """A hash of its bytes, or of its address: the same file is one document, and so is a page that changes."""
    session_id: str
    """Its passages are the messages of this session."""
    name: str
    created_at: datetime
    updated_at: datetime
    state: str = "waiting"
    """`waiting`, `done`, or `failed` when it was given up; `error` says why."""
    stage: str = "reading"
    """`fetching`, `reading`, `digesting` or `done`: what is being done, was last tried, or comes next."""
    percent: int = 0
    """How much of it is read."""
    chunks: int = 0
    """How many passages it has so far."""
    pending: int = 0
    """How many of them wait to be digested; counted when one document is asked for."""
    error: str | None = None
    fix: str | None = None
    tries: int = 0
    retry_at: datetime | None = None
    url: str | None = None
    version: int = 1
    bytes: int = 0
    sha256: str = ""
    format: str = ""
    title: str | None = None
    author: str | None = None
    date: str | None = None
    language: str | None = None
    pages: int | None = None
    notes: tuple[str, ...] = ()
    """What in it could not be read, and why."""
    metadata: dict[str, Json] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each stage took."""
    original: bool = False
    """Whether its bytes are kept; they go when any of its passages is forgotten."""
    etag: str | None = None
    last_modified: str | None = None
    stale: tuple[str, ...] = ()
    """Sessions of versions before this one, forgotten once it is read."""
    agent: str | None = None
    """Who added it, and so whose its passages are."""


@dataclass(frozen=True, slots=True)
class Namespace:
    id: str
    name: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ProfileInfo:
    namespace: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Edited:
    """Memories as an edit left them, and the id with which to take it back; None when it changed nothing."""

    memories: tuple[Memory, ...]
    undo: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Undone:
    """The changes that were taken back, the memories that are as before again, and the ids of those that went."""

    edits: tuple[Edit, ...]
    memories: tuple[Memory, ...]
    removed: tuple[str, ...]
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """A memory that somebody should look at: why, and what may be answered to `resolve`."""

    memory: Memory
    reason: str
    """conflict, marked-wrong, untrusted or low-confidence."""
    because: str
    answers: tuple[str, ...]
    other: Memory | None = None
    """What it is in conflict with."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of trouble that an audit found: how much, a few examples, and the command that mends it."""

    name: str
    count: int
    """Memories that are in it."""
    share: float
    """Of all current memories."""
    examples: tuple[tuple[str, ...], ...]
    """Ids of the memories that belong together, a few of each."""
    texts: tuple[str, ...]
    """What the examples say."""
    fix: str


@dataclass(frozen=True, slots=True)
class Audit:
    memories: int
    findings: tuple[Finding, ...]
    fixed: Edited | None = None

    def __getitem__(self, name: str) -> Finding:
        return next(finding for finding in self.findings if finding.name == name)
