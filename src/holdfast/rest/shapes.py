"""What answers look like, for the OpenAPI document: results by name where a list stands alone in JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from ..agent_memory import Item
from ..credentials import Credential
from ..graphs import Entity, EntityChange
from ..kinds import KindInfo
from ..notes import Note
from ..records import Act, Edit, JobStatus, Reach, Trace
from ..results import Document, Hit, Namespace, ProfileInfo, Review, Session
from ..retention import Retained as ByRule
from ..spending import Spent
from ..types import Memory, Message


@dataclass
class Hits:
    hits: list[Hit]


@dataclass
class Found:
    results: list[Hit]


@dataclass
class Memories:
    memories: list[Memory]
    cursor: str | None


@dataclass
class About:
    memories: list[Memory]


@dataclass
class Entities:
    entities: list[Entity]


@dataclass
class EntityChanges:
    changes: list[EntityChange]


class Link(BaseModel):
    from_: str = Field(alias="from")
    to: str
    relation: str
    memory: str
    since: datetime | None
    until: datetime | None
    ended: bool


@dataclass
class Graph:
    entities: list[Entity]
    links: list[Link]
    truncated: bool


@dataclass
class Versions:
    versions: list[Memory]


@dataclass
class Messages:
    messages: list[Message]


@dataclass
class Sessions:
    sessions: list[Session]


@dataclass
class Summary:
    summary: str


@dataclass
class Retention:
    retention: Any


@dataclass
class Retained:
    retained: list[ByRule]


@dataclass
class Cadence:
    cadence: Any


@dataclass
class Used:
    usage: list[Spent]


@dataclass
class Settled:
    settled: bool


@dataclass
class Jobs:
    jobs: list[JobStatus]


@dataclass
class Named:
    items: list[Memory | Message]


@dataclass
class Traces:
    traces: list[Trace]
    cursor: str | None


@dataclass
class Documents:
    documents: list[Document]


@dataclass
class Passages:
    passages: list[Message]


@dataclass
class Task:
    """A page or a file on its way into memory: processing, completed or failed."""

    jobId: str  # noqa: N815  (as the memory API spells it)
    status: str
    stage: str
    progress: int
    name: str
    chunks: int
    error: str | None


@dataclass
class Items:
    items: list[Item]


@dataclass
class Deleted:
    deleted: bool


@dataclass
class Revoked:
    revoked: bool


@dataclass
class Kind:
    kind: str


@dataclass
class Kinds:
    kinds: list[KindInfo]


@dataclass
class Dropped:
    dropped: bool


@dataclass
class Reviews:
    review: list[Review]


@dataclass
class Edits:
    edits: list[Edit]


@dataclass
class Namespaces:
    namespaces: list[Namespace]


@dataclass
class Profiles:
    profiles: list[ProfileInfo]


@dataclass
class Credentials:
    credentials: list[Credential]


@dataclass
class Issued:
    credential: Credential
    token: str


@dataclass
class SignedIn:
    """Who a browser is signed in as, if anybody, and the server's version."""

    credential: Credential | None
    version: str | None


@dataclass
class SignedOut:
    signed_out: bool


@dataclass
class Notes:
    notes: list[Note]


@dataclass
class OneNote:
    note: Note | None


@dataclass
class Removed:
    removed: int


@dataclass
class Withdrawn:
    withdrawn: bool


@dataclass
class Reached:
    credentials: list[Reach]
    acts: list[Act]


@dataclass
class Acts:
    acts: list[Act]


@dataclass
class Health:
    ok: bool


@dataclass
class Envelope:
    """Every answer of the Agent Memory contract."""

    result: Any
    success: bool
    errors: list[dict[str, Any]]
    messages: list[Any]
    result_info: dict[str, Any] | None = None
