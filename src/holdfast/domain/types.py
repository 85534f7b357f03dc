"""Messages, memories, changes, probes and proposals, as frozen values. Nothing here reads a clock, file or model."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from holdfast.domain.errors import Conflict
from holdfast.domain.identifiers import version_reference
from holdfast.domain.json_codec import sorted_json
from holdfast.domain.records import Edit, Job, Once

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]
else:
    Floats = Ints = Any  # numpy takes longer to load than all of this package, and only those who compute need it

Role = Literal["system", "user", "assistant", "tool", "document"]
ROLES: tuple[str, ...] = ("system", "user", "assistant", "tool", "document")
Trust = Literal["user", "agent", "document", "tool"]
BUILT_IN_KINDS: tuple[str, ...] = ("fact", "event", "instruction", "task", "summary")
MANUAL_PREFIX = "user/"
"""Prefix of the `extractor` of every memory that a caller wrote or revised."""
Json = Any


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation, or a passage of a document, verbatim. `id` is derived from its first content."""

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
    """How often its digestion has failed."""
    aside: bool = False
    """Whether it was set aside after its last failure; sending it again gives it another try."""
    shortened: bool = False
    """Whether the words of a forgotten memory were taken out of its content."""

    @property
    def said_at(self) -> datetime:
        """When it was said: its timestamp if it has one, else when it arrived."""
        return self.timestamp or self.created_at

    @property
    def ref(self) -> str:
        """The reference to it: its id, since a message has no versions."""
        return self.id


@dataclass(frozen=True, slots=True)
class Memory:
    """One version of a standalone piece of knowledge. All versions have its id; a store has each (id, version) once.

    Superseded versions stay readable through `history`."""

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
    """The reference to what superseded it: a version of this memory or of another; to itself when it is retired."""
    extractor: str = "user/1"
    confidence: float = 1.0
    marks: int = 0
    """Number of marks as right minus marks as wrong: -5 to 5. Below 0, the memory is retired."""
    reviewed_at: datetime | None = None
    """When a reviewer answered its review."""
    origin: str | None = None
    """The id that this version was drafted with, where it is another one than `id`. It tells two writers' versions with
    the same number apart, and still finds the memory."""
    last_version: int = field(default=0, compare=False)
    """The highest number of a version of this memory that was removed; no number is given twice."""

    @property
    def ref(self) -> str:
        """The reference to this version."""
        return version_reference(self.id, self.version)

    @property
    def draft_id(self) -> str:
        """The id that this version was drafted with: no two versions of a profile have the same."""
        return self.origin or self.id

    def next_of(self, head: Memory) -> Memory:
        """The same as the next version of `head`: with its id, the next number and the time it was created."""
        origin = None if self.draft_id == head.id else self.draft_id
        number = max(head.version, head.last_version) + 1
        return replace(self, id=head.id, version=number, origin=origin, created_at=head.created_at, last_version=0)

    @property
    def current(self) -> bool:
        return self.superseded_by is None

    @property
    def retired(self) -> bool:
        """Whether it was marked wrong and nothing else has superseded it."""
        return self.superseded_by == self.ref

    @property
    def marked_wrong(self) -> bool:  # retired, or superseded since
        return self.marks < 0 and not self.current

    @property
    def written_by_hand(self) -> bool:
        """Whether a caller wrote or revised it, as opposed to an extractor."""
        return self.extractor.startswith(MANUAL_PREFIX)

    def with_marks(self, marks: int, reviewed_at: datetime | None) -> Memory:
        """The same with these marks: retired by marks below 0, else current, unless another version superseded it."""
        successor = self.ref if marks < 0 else None
        successor = successor if self.current or self.retired else self.superseded_by
        return replace(self, marks=marks, reviewed_at=reviewed_at, superseded_by=successor)

    @property
    def etag(self) -> str:
        """A tag that changes with every change of the memory."""
        state = f"{self.draft_id} {self.version} {self.superseded_by} {len(self.sources)}"
        state += f" {self.marks} {self.reviewed_at}" if self.marks or self.reviewed_at else ""
        return hashlib.sha256(state.encode()).hexdigest()[:16]

    def seen_as(self, etag: str | None) -> bool:
        """Whether the memory still has one of these etags, separated by commas; `*` and None always match."""
        return etag is None or bool({"*", self.etag} & {each.strip() for each in etag.split(",")})

    @property
    def fingerprint(self) -> str:
        """The identity of a memory without a key: a hash of kind, text, value and metadata."""
        return fingerprint(self.kind, self.content, self.value, self.metadata)


Item = Message | Memory


def fingerprint(kind: str, content: str, value: Json = None, metadata: Mapping[str, Json] | None = None) -> str:
    said = " ".join(content.split()).casefold().rstrip(".! ")
    held = sorted_json([kind, said, value, dict(metadata or {})])
    return hashlib.sha256(held.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Draft:
    """An extractor's proposal: a memory without an id, with the ids of its source messages."""

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
    contested: str | None = None  # the key that the draft lost: other writers took it first at every attempt
    tentative: bool = False  # too slight to be kept ("no more spinach for us") unless it ends a memory


SECOND_HAND_TRUST = ("document", "tool")
"""Trusts and roles that cannot outdate what people said themselves."""
Verdict = Literal["same", "replaces", "apart"]
"""What a draft does to a memory: add a source, supersede it, or stay independent of it."""


@dataclass(frozen=True, slots=True)
class Part:
    """A passage of an item as it is indexed: its words, and its position in the text."""

    item: str
    """The reference to its item: a message's id, or a version of a memory."""
    number: int
    start: int
    stop: int
    words: tuple[str, ...] = ()
    embed: bool = True  # whether it gets a vector; tasks do not
    tokens: bytes = b""  # its distinct static token ids: see text/static_vectors.py
    asks: bool = False  # whether its item is a question; questions seldom contain answers


@dataclass(frozen=True, slots=True)
class Vector:
    """The embedding of one part by one model; `item` as in Part."""

    item: str
    number: int
    model: str
    values: Floats


@dataclass(frozen=True, slots=True)
class Supersede:
    """`new` supersedes `old`, provided that `old` is still current or retired. Both are references to versions."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A memory's new marks and review, which replace the earlier ones; see `Memory.with_marks`."""

    memory: str
    marks: int
    reviewed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Shortened:
    """A message that loses the words of a memory which the same change forgets.

    Raises Conflict when the message, or the memories that are based on it, are not as they were read.
    """

    message: str
    before: str
    """Its content as it was read."""
    resting: frozenset[str]
    """References of all memories that were read as resting on it."""
    content: str | None = None
    """What is left. None when nothing is: then the message is deleted, and the memories that are based on it stay."""
    metadata: dict[str, Json] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    """The parts of what is left. None has the number of an earlier part, so that no vector of an earlier text, computed
    meanwhile, becomes theirs."""

    def is_due(self, content: str | None, resting: frozenset[str]) -> bool:
        """Whether a message with this content, None for a deleted one, is still to be shortened."""
        if (content, resting) == (self.before, self.resting):
            return True
        if content in (None, self.content):  # the same change was applied before
            return False
        raise Conflict(f"Message {self.message} changed while words were taken out of it.")


@dataclass(frozen=True, slots=True)
class Change:
    """Everything one write does. A store applies it atomically; applying it twice has the effect of once.
    It names memories by reference: `X@3`, or `X` for the newest version of X."""

    messages: tuple[Message, ...] = ()
    follows: tuple[str, int] | None = None
    """(session, position): the session's last message must still have this position, 0 when it has none. Raises
    Conflict when another write came first."""
    absent: tuple[str, ...] = ()  # ids that no stored message may have; raises Conflict when one has
    inserted: tuple[tuple[str, int], ...] = ()
    """(message, position), by position: new messages that take these positions; those from there on move up by one.
    Other new messages come after all of their session."""
    memories: tuple[Memory, ...] = ()
    parts: tuple[Part, ...] = ()
    vectors: tuple[Vector, ...] = ()
    supersede: tuple[Supersede, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    """(memory, message): adds the message to the sources of an existing memory."""
    settle: tuple[str, ...] = ()  # messages whose digestion is complete
    defer: tuple[Deferral, ...] = ()
    redo: tuple[str, ...] = ()  # messages to digest again
    lease: datetime | None = None
    """Settle and defer only messages still leased until this time. Raises Conflict when one of `leased` is not."""
    refused: tuple[tuple[str, int], ...] = ()
    """(item, part number) that the embedder rejected: found by words only from now on."""
    forget: tuple[str, ...] = ()
    """Items to delete for good: messages, versions of memories, or by its id a memory with all its versions. With a
    message go the memories that have no other source. A version superseded by a forgotten one now points to that one's
    successor, or is current again when there is none; retired again when it had been marked wrong."""
    kept_ended: tuple[Supersede, ...] = ()  # what these point to, rather than be current again, once theirs is gone
    shorten: tuple[Shortened, ...] = ()
    judged: tuple[Judged, ...] = ()
    current: tuple[str, ...] = ()  # memories that must still be current, or retired; else raises Conflict
    edit: Edit | None = None  # stored with the change, so that it can be undone
    undoes: tuple[str, ...] = ()
    """The edits that this change undoes; their records are deleted. Raises Conflict when one no longer exists."""
    asked_in: tuple[str, ...] = ()
    """Sessions that are forgotten: their traces go as well, and memories that stay are of their sources' session."""
    people: tuple[str, ...] = ()  # who is forgotten in traces and in decisions about entities as well
    asked_by: str | None = None  # the agent whose traces alone `asked_in` and `people` take; else everybody's
    documents: tuple[str, ...] = ()  # to delete with their originals; their passages are among the messages to forget
    job: Job | None = None
    once: Once | None = None
    """Stored with the result of the change. Raises Conflict when its key exists: another request was first."""
    dry_run: bool = False  # report what the change would do, and do nothing

    @property
    def leased(self) -> tuple[str, ...]:
        """Messages that must still be leased: those to settle, and those whose memories the change brings."""
        return (*self.settle, *(late.message for late in self.defer)) if self.memories else self.settle

    @property
    def erases(self) -> bool:
        return bool(self.forget or self.shorten or self.documents or self.asked_in or self.people)


@dataclass(frozen=True, slots=True)
class Deferral:
    """Digestion of a message failed: retry at `until`; when None, set the message aside, where stats still count it."""

    message: str
    until: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The result of a forget: ids of the memories and messages removed, and of the messages shortened; `X@2` for a
    version of a memory that stays. False in a condition when there was nothing to forget."""

    memories: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    shortened: tuple[str, ...] = ()
    """Messages that stay without the words of the memories."""
    places: dict[str, int] = field(default_factory=dict, compare=False)
    """The number of deleted rows by table. A repeated request gets the ids only."""
    reasons: dict[str, str] = field(default_factory=dict, compare=False)
    """Id of a memory that was not named, and goes as well → why."""
    restored: tuple[str, ...] = field(default=(), compare=False)
    """References of the memories that are current again, because only what was removed had ended them."""

    def __bool__(self) -> bool:
        return bool(self.memories or self.messages or self.shortened)


@dataclass(frozen=True, slots=True)
class Applied:
    """What a change actually did."""

    new: frozenset[str] = frozenset()
    """Ids of the messages, and references of the memories, that did not exist before."""
    gone: Forgotten = field(default_factory=Forgotten)
    """What was forgotten, including dependent items."""


Op = Literal["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "prefix", "contains", "icontains", "exists"]


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
Order = Literal[
    "written", "updated", "created", "occurred", "written_asc", "updated_asc", "created_asc", "occurred_asc"
]
"""By which time memories are listed, newest first; with `_asc`, oldest first. `written` is the order of writing."""
SearchOrder = Literal["relevance", "occurred", "created", "occurred_asc", "created_asc"]
"""By what the hits of a search are ordered; the most relevant ones are found in any order."""
Facet = Literal["kind", "key", "person", "agent", "tag", "month"]
"""What memories are counted by. `person` is who said it: a named speaker of its sources; `agent` is who wrote it."""
