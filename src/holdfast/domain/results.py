"""Values that callers get back: hits, answers, receipts, pages, counts. Frozen, like all values of the domain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

from holdfast.domain.records import Edit
from holdfast.domain.types import Json, Memory, Message


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing; `cursor` is None on the last page."""

    items: tuple[Memory, ...]
    cursor: str | None = None
    total: int | None = None
    """The number of memories on all pages, when it was asked for."""
    facets: Facets | None = field(default=None, repr=False, metadata={"internal": True})
    """The number of memories on all pages by facet, when it was asked for."""

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Memory:
        return self.items[index]

    def counted(self, facets: Facets) -> Page:
        """The page with the number of memories on all pages."""
        return replace(self, total=facets.total, facets=facets)


@dataclass(frozen=True, slots=True)
class MessagePage:
    """One page of messages, in the order they were said; `cursor` is None on the last page."""

    items: tuple[Message, ...] = ()
    cursor: str | None = None

    def __iter__(self) -> Iterator[Message]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Message:
        return self.items[index]


@dataclass(frozen=True, slots=True)
class Facets:
    """How many memories there are, by kind, key, person, agent, tag and month."""

    total: int = 0
    """The number of memories that were counted."""
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Facet → value → number of memories, most first. A memory with several values counts under each."""
    distinct: dict[str, int] = field(default_factory=dict)
    """Facet → its number of values, which may be more than are listed."""

    def cut(self, limit: int) -> Facets:
        """The same with the first values of each facet only."""
        return replace(self, counts={facet: dict([*each.items()][:limit]) for facet, each in self.counts.items()})


@dataclass(frozen=True, slots=True)
class Origin:
    """The profile where something was found."""

    namespace: str
    profile: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.profile}"


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the steps after the ranker found out about a hit. `Hit.features` shows it under public names."""

    fit: float | None = None
    """How well the hit's best clause fits the question; None when the hit was not examined."""
    lacking: float = 0.0
    """For a question of few words: how far the clause is from the requested trait, 0 to 1."""
    lacks_trait: bool = False
    lacks_value: bool = False
    """Whether it contains no value of the requested type."""
    about_other: bool = False
    """Whether it is about a person other than the one asked about."""
    plain: bool = False
    """Whether it plainly states an everyday trait of the person asked about."""
    superseded: bool = False
    """A message from which no memory is current any more."""
    outdated: bool = False
    """A message whose part about the question is no longer current."""
    older: bool = False
    """Another hit states the same thing later."""
    successor: bool = False
    """Put in as what superseded a message that was found."""
    ended: str = ""
    """What a context says of a message of which something no longer holds."""
    hearsay: bool = False
    """What a document, a tool or an assistant says on what the user told themselves."""
    by_agent: bool = False
    """Said by the agent that the question is about, within the question's time window."""
    marks: float = 0.0
    """By how much marks of right and wrong changed the score."""
    rerank: float | None = None
    """The reranker's score."""

    @property
    def sound(self) -> bool:
        """Whether nothing prevents quoting it."""
        return not (
            self.superseded or self.outdated or self.older or self.hearsay
            or self.about_other or self.lacks_value or self.lacks_trait
        )  # fmt: skip


NOT_ASSESSED = Assessment()
PUBLIC_FEATURES = {
    "fit": "fits", "lacking": "lacking", "lacks_trait": "untold", "lacks_value": "untyped", "about_other": "of_other",
    "plain": "tells", "superseded": "superseded", "outdated": "outdated", "older": "older", "successor": "supersedes",
    "hearsay": "hearsay", "by_agent": "told", "marks": "marks", "rerank": "rerank",
}  # fmt: skip
"""Field of an assessment → its public name among a hit's features."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked search result: a memory or a message."""

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
    expires_at: datetime | None = None
    features: dict[str, float] = field(default_factory=dict)
    relevance: float = 0.0
    """How surely the hit is about the question, 0 to 1, independent of other hits. A score only orders one list."""
    reasons: dict[str, float] = field(default_factory=dict)
    """The features that decided the rank, and by how much each changed the score."""
    origin: Origin | None = None
    """The profile where it was found, when several were searched at once."""
    assessment: Assessment = field(default=NOT_ASSESSED, repr=False, compare=False, metadata={"internal": True})

    def assessed(self, **learned: Any) -> Hit:
        """The hit with new findings of a step, also added to its features."""
        shown = {PUBLIC_FEATURES[name]: float(value) for name, value in learned.items() if value or name == "fit"}
        assessment = Assessment(**learned) if self.assessment is NOT_ASSESSED else replace(self.assessment, **learned)
        values = [*_hit_values(self)]  # `replace` takes twice as long
        values[_FEATURES], values[_ASSESSMENT] = {**self.features, **shown}, assessment
        return Hit(*values)


_HIT_FIELDS = tuple(each.name for each in fields(Hit))
_FEATURES, _ASSESSMENT = map(_HIT_FIELDS.index, ("features", "assessment"))
_hit_values = attrgetter(*_HIT_FIELDS)


@dataclass(frozen=True, slots=True)
class Citation:
    """A statement of the answer and the id of the hit that supports it."""

    hit: str
    quote: str
    origin: Origin | None = None
    """The hit's origin: the same message has the same id in several profiles."""


MAX_NEAREST, NEAREST_MIN_RELEVANCE = 3, 0.1
"""How many hits are shown where there is no answer, and their least relevance, which is that of hooks. The number was
chosen by hand."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a recall. `answer` is empty when no hit supports one."""

    answer: str
    citations: tuple[Citation, ...]
    hits: tuple[Hit, ...]
    confidence: float = 0.0
    pending: bool = False
    """Whether recent writes were still being digested, or the answer is based on messages that wait for a language
    model that is down; the same question may have a better answer later."""

    def __bool__(self) -> bool:
        return bool(self.answer)

    @property
    def nearest(self) -> tuple[Hit, ...]:
        """Without an answer, the few hits that come nearest to the question; they may be about something else."""
        near = () if self.answer else (hit for hit in self.hits if hit.relevance >= NEAREST_MIN_RELEVANCE)
        return tuple(near)[:MAX_NEAREST]


@dataclass(frozen=True, slots=True)
class Context:
    """A block of text for a prompt, within a token budget, and the hits in it."""

    text: str
    tokens: int
    hits: tuple[Hit, ...]

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


@dataclass(frozen=True, slots=True)
class Written:
    """One stored message of an ingest: its id, whether it is new, and the index of the given message it comes from."""

    id: str
    new: bool
    given: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of an ingest. `memories` is filled when the caller waited for digestion."""

    session_id: str
    messages: tuple[Written, ...]
    pending: int
    memories: tuple[Memory, ...] = ()
    job: str | None = None
    """The id of the job to poll for the progress of digestion; events report it too."""
    skipped: int = 0
    """How many of the given messages were skipped because they have no text, such as tool calls."""


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
    """How many of these wait after a failed digestion."""
    set_aside: int
    unembedded: int
    bytes: int
    said_on: dict[str, int] = field(default_factory=dict)
    """Day (UTC, such as 2026-11-16) → number of messages said on it: by their timestamps, or else by when they
    were stored."""
    written_on: dict[str, int] = field(default_factory=dict)
    """Day → number of memories written on it, including superseded ones."""


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: the number of its messages and the times of the first and the last one."""

    id: str
    messages: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Document:
    """A file, web page or text that was added: its progress, and properties such as title and author."""

    id: str
    """A hash of its bytes, or of its URL: the same file is one document, and so is a page that changes."""
    session_id: str
    """The session whose messages are its passages."""
    name: str
    created_at: datetime
    updated_at: datetime
    state: str = "waiting"
    """`waiting`, `done`, or `failed` after the last try; `error` has the reason."""
    stage: str = "reading"
    """`fetching`, `reading`, `digesting` or `done`: the current, last tried or next stage."""
    percent: int = 0
    """How much of it is parsed."""
    chunks: int = 0
    """How many passages it has so far."""
    pending: int = 0
    """How many of its passages wait for digestion; counted only when a single document is requested."""
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
    """Parts that could not be parsed, and why."""
    metadata: dict[str, Json] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each stage took."""
    original: bool = False
    """Whether the original bytes are stored; they are deleted when any of its passages is forgotten."""
    etag: str | None = None
    last_modified: str | None = None
    stale: tuple[str, ...] = ()
    """Sessions of earlier versions, forgotten once this version is parsed."""
    agent: str | None = None
    """The agent that added it; its passages are recorded as this agent's."""


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
    """The memories after an edit, and the id with which to undo it, which is None when nothing changed."""

    memories: tuple[Memory, ...]
    undo: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of an undo: the edits undone, the memories that are current again, and the ids of removed ones."""

    edits: tuple[Edit, ...]
    memories: tuple[Memory, ...]
    removed: tuple[str, ...]
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """A memory that needs a decision: the reason, and the possible answers."""

    memory: Memory
    reason: str
    """conflict, secret, contradiction, unproved, marked-wrong, untrusted or low-confidence."""
    because: str
    answers: tuple[str, ...]
    other: Memory | None = None
    """The memory that it conflicts with, or that contradicts it."""
