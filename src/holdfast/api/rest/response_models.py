"""Response models of the OpenAPI document."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from holdfast.domain.credentials import Credential
from holdfast.domain.graph import Entity, EntityChange
from holdfast.domain.records import AdminAction, CredentialReach, Edit, JobStatus, Trace
from holdfast.domain.reports import KindInfo
from holdfast.domain.reports import Retained as ByRule
from holdfast.domain.results import Document, Hit, Namespace, ProfileInfo, Review, Session
from holdfast.domain.types import Memory, Message
from holdfast.domain.usage import Spent
from holdfast.service.facades.agent_memory import Item
from holdfast.service.facades.notes import Note


@dataclass
class Hits:
    hits: list[Hit]


@dataclass
class ItemsFoundResponse:
    results: list[Hit]


@dataclass
class Memories:
    memories: list[Memory]
    cursor: str | None
    total: int | None


@dataclass
class AboutResponse:
    memories: list[Memory]


@dataclass
class Entities:
    entities: list[Entity]


@dataclass
class EntityChanges:
    changes: list[EntityChange]


class LinkResponse(BaseModel):
    from_: str = Field(alias="from")
    to: str
    relation: str
    memory: str
    since: datetime | None
    until: datetime | None
    ended: bool


@dataclass
class GraphResponse:
    entities: list[Entity]
    links: list[LinkResponse]
    truncated: bool


@dataclass
class Versions:
    versions: list[Memory]


@dataclass
class Messages:
    messages: list[Message]
    cursor: str | None


@dataclass
class Sessions:
    sessions: list[Session]


@dataclass
class SummaryResponse:
    summary: str


@dataclass
class Retention:
    retention: Any


@dataclass
class RetainedResponse:
    retained: list[ByRule]


@dataclass
class CadenceResponse:
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
    cursor: str | None


@dataclass
class NamedItemsResponse:
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
    """A page or file that is being added: `processing`, `completed` or `failed`."""

    jobId: str  # noqa: N815  (as the memory API spells it)
    status: str
    stage: str
    progress: int
    name: str
    chunks: int
    error: str | None


@dataclass
class ItemsResponse:
    items: list[Item]


@dataclass
class Deleted:
    deleted: bool


@dataclass
class Revoked:
    revoked: bool


@dataclass
class KindResponse:
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
class CredentialsResponse:
    credentials: list[Credential]


@dataclass
class Issued:
    credential: Credential
    token: str
    url: str | None
    """The whole secret URL, at the address that the request was sent to; null for a key."""
    warnings: list[str]
    """What will keep it from being of use, such as a namespace that does not exist yet."""


@dataclass
class SignedIn:
    """The browser's credential and the server's version; both are null if it is not signed in."""

    credential: Credential | None
    version: str | None


@dataclass
class SignedOut:
    signed_out: bool


@dataclass
class NotesResponse:
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
    credentials: list[CredentialReach]
    acts: list[AdminAction]


@dataclass
class Acts:
    acts: list[AdminAction]


@dataclass
class HealthResponse:
    ok: bool


@dataclass
class Envelope:
    """The format of every response of the Agent Memory contract."""

    result: Any
    success: bool
    errors: list[dict[str, Any]]
    messages: list[Any]
    result_info: dict[str, Any] | None = None
