"""Port: removing memories, messages, sessions, people and documents for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Unpack

if TYPE_CHECKING:
    from holdfast.domain.arguments import Narrowed
    from holdfast.domain.types import Forgotten


class ProfileForget(Protocol):
    """Removing memories, messages, sessions, people and documents for good."""

    async def forget(
        self,
        id: str,
        *,
        dry_run: bool = False,
        etag: str | None = None,
        sources: bool = False,
        idempotency_key: str | None = None,
    ) -> Forgotten:
        """Delete a memory (all versions, and its words in the messages it is based on) or a message for good.

        Other memories that are based on the same messages stay. With `sources`, these messages go as a whole. With
        `etag`, only if the memory has not changed since it was read; else raises Stale.
        """
        ...

    async def forget_session(
        self, session_id: str, *, dry_run: bool = False, idempotency_key: str | None = None
    ) -> Forgotten:
        """Delete a session for good, with the traces of queries made in it. An unknown session is not an error."""
        ...

    async def forget_where(
        self, *, dry_run: bool = False, idempotency_key: str | None = None, **narrowed: Unpack[Narrowed]
    ) -> Forgotten:
        """Delete every memory that satisfies all conditions, each as `forget` does; `dry_run` only reports them."""
        ...

    async def forget_person(self, name: str, *, dry_run: bool = False, idempotency_key: str | None = None) -> Forgotten:
        """Delete what a person said and everything that names them, for good; `dry_run` only reports it.

        A message that names the person goes whole, with what the user said about themselves in it.
        """
        ...

    async def forget_document(self, id: str, *, dry_run: bool = False, idempotency_key: str | None = None) -> Forgotten:
        """Delete a document for good: its passages, the memories that are based on nothing else, and its original."""
        ...
