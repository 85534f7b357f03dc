"""Port: writing and reading memories and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, Unpack

if TYPE_CHECKING:
    from holdfast.domain.arguments import Kind, MessageInput, Moment, Narrowed, Revision
    from holdfast.domain.reports import Redigested
    from holdfast.domain.results import Facets, MessagePage, Page, Receipt, Session, Stats
    from holdfast.domain.types import Facet, Json, Memory, Message, Order, Trust


class ProfileMemories(Protocol):
    """Writing and reading memories and messages."""

    async def ingest(
        self,
        messages: Iterable[MessageInput | Mapping[str, Any]],
        *,
        session_id: str | None = None,
        agent: str | None = None,
        wait: bool = False,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Store messages. Search finds them when this returns; with `wait`, they are also digested into memories.

        Messages may have the formats of OpenAI's and Anthropic's clients. Those without text are skipped and counted.
        """
        ...

    async def remember(
        self,
        content: str | None = None,
        *,
        kind: Kind | None = None,
        key: str | None = None,
        value: Json = None,
        metadata: Mapping[str, Json] | None = None,
        session_id: str | None = None,
        agent: str | None = None,
        trust: Trust | None = None,
        occurred_at: Moment | None = None,
        expires_at: Moment | None = None,
        ttl: float | timedelta | None = None,
        embed: bool = True,
        topic: bool = True,
        idempotency_key: str | None = None,
    ) -> Memory:
        """Store one memory on purpose. A memory with the same key is superseded; storing the same twice is one memory.

        Without kind, key and value, a configured language model chooses kind and key. Without a language model it is a
        fact, and a plain statement about one thing gets that topic as its key, unless `topic` is False. With
        `embed=False` it is found by its words and its key only.
        """
        ...

    async def revise(
        self, id: str, *, etag: str | None = None, idempotency_key: str | None = None, **given: Unpack[Revision]
    ) -> Memory:
        """Write a new version of a memory with the given fields; the old version stays in the history.

        With `etag`, only if the memory has not changed since it was read; else raises Stale. A metadata field given as
        None is removed.
        """
        ...

    async def list(
        self,
        *,
        limit: int = 20,
        cursor: str | None = None,
        version: int | None = None,
        as_of: Moment | None = None,
        superseded: bool = False,
        expired: bool = False,
        order: Order = "written",
        total: bool = False,
        **narrowed: Unpack[Narrowed],
    ) -> Page:
        """List current memories, newest first, by page; `version`, for one kind, is the schema version of the values.

        With `as_of`, list the memories that were current then. `superseded` includes versions that are no longer
        current; `expired` includes expired ones that the sweep has not removed yet. With `total`, the page also has the
        number of memories on all pages.
        """
        ...

    async def facets(
        self,
        by: Sequence[Facet] | None = None,
        *,
        limit: int = 20,
        as_of: Moment | None = None,
        superseded: bool = False,
        expired: bool = False,
        **narrowed: Unpack[Narrowed],
    ) -> Facets:
        """Count the memories that `list` would list by kind, key, person, agent, tag and month; `limit` values of each.

        A person is who said it: a named speaker of the messages that a memory is based on. Tags are `metadata.tags`.
        The month is that of `occurred_at`, else of the first message that the memory is based on, else of `created_at`,
        in UTC.
        """
        ...

    async def get(
        self, id: str, *, version: int | None = None, as_of: Moment | None = None, expired: bool = False
    ) -> Memory | Message:
        """Return a memory (also a superseded one) or a message by id; `version` is the schema version of its value.

        With `as_of`, return its state at that time; for the id of a later version, the version that existed then. An
        expired memory is not found, nor are its earlier versions; with `expired`, they are until the sweep removes
        them.
        """
        ...

    async def history(self, id: str, *, as_of: Moment | None = None, expired: bool = False) -> tuple[Memory, ...]:
        """List every version of a memory, newest first; with `as_of`, those that existed at that time; with `expired`,
        also versions that have expired and are not yet removed."""
        ...

    async def messages(
        self, session_id: str | None = None, *, limit: int = 1000, cursor: str | None = None
    ) -> MessagePage:
        """List messages in order, of one session or of all, by page."""
        ...

    async def sessions(self) -> tuple[Session, ...]:
        """List the conversations, in the order in which they began."""
        ...

    async def summary(self, session_id: str | None = None, *, tokens: int | None = None) -> str:
        """Summarise the profile, or one session, as Markdown of at most `tokens` tokens, by default about 2,000."""
        ...

    async def stats(self) -> Stats: ...

    async def redigest(
        self,
        session_id: str | None = None,
        *,
        since: Moment | None = None,
        aside: bool = False,
        dry_run: bool = False,
    ) -> Redigested:
        """Digest messages again, after a better model or prompt; memories extracted from them before are removed.

        Select messages of one session, those said since `since`, or only those set `aside`. Memories written by hand
        stay.
        """
        ...

    async def settle(self, timeout: float | None = None) -> bool:
        """Wait until everything written so far is digested; False when that takes longer than `timeout` seconds."""
        ...
