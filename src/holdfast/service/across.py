"""Search, recall and context over several profiles at once, ranked together, each hit with its origin.

A profile that was never written to yields no hits. When the caller may not read one of the profiles, the error is the
same whether or not that profile exists. Each profile's journal gets a trace of the query with the hits from that
profile only; when more than TRACED_PROFILES are asked, only those get one whose items were among the candidates.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from holdfast.domain import identifiers, limits
from holdfast.domain.arguments import Moment, QueryScope, ResponseLength, ThinkingLevel
from holdfast.domain.errors import InvalidInput, NotFound, quoted_value
from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Answer, Citation, Context, Hit, Origin
from holdfast.domain.tracing import Operation
from holdfast.domain.types import SearchOrder
from holdfast.service.profile.context import ProfileContext
from holdfast.service.profile.local import LocalProfile
from holdfast.service.profile.recall import RecallVerbs

if TYPE_CHECKING:
    from holdfast.storage.views.union import UnionStore

TRACED_PROFILES = 50


def named_profiles(namespace: str, profiles: object) -> tuple[Origin, ...]:
    """Validate the list of profiles and return each of them once, in the order given."""
    home = identifiers.validate_namespace(namespace)
    if isinstance(profiles, str) or not isinstance(profiles, Iterable):
        raise InvalidInput(f"profiles is {quoted_value(profiles)}; give a list of names.", field="profiles")
    found = dict.fromkeys(_origin(home, each) for each in profiles)
    if not 1 <= len(found) <= limits.MAX_PROFILES_ACROSS:
        raise InvalidInput(
            f"profiles has {len(found):,} entries; give 1 to {limits.MAX_PROFILES_ACROSS:,}.", field="profiles"
        )
    return tuple(found)


def _origin(home: str, given: object) -> Origin:
    if isinstance(given, Origin):
        return Origin(identifiers.validate_namespace(given.namespace), identifiers.validate_profile(given.profile))
    if isinstance(given, list | tuple) and len(given) == 2:
        return Origin(identifiers.validate_namespace(given[0]), identifiers.validate_profile(given[1]))
    return Origin(home, identifiers.validate_profile(given))


def unreadable_profile(n: int) -> NotFound:
    """The same error for every profile that the caller may not read, so that it does not reveal whether one exists."""
    return NotFound(
        f"profiles[{n}] does not exist or cannot be read here.",
        field=f"profiles[{n}]",
        fix="Name profiles that the credential may read.",
    )


class AsyncAcross:
    """Several profiles in this process's data folder, queried together."""

    def __init__(self, profiles: Sequence[LocalProfile]) -> None:
        self._contexts = [each.profile_context for each in profiles]
        self.profiles = tuple(Origin(each.namespace, each.name) for each in profiles)

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        min_relevance: float = 0.0,
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        order: SearchOrder = "relevance",
        **narrowed: Unpack[QueryScope],
    ) -> list[Hit]:
        """Return ranked hits from all the profiles, each with its origin; `min_relevance` drops less relevant hits."""
        several = self._united()
        when: Any = {"reference_date": reference_date, "as_of": as_of, "order": order}
        found = await several.search(query, limit=limit, min_relevance=min_relevance, **when, **narrowed)
        return [self._placed(hit) for hit in found]

    async def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        thinking_level: ThinkingLevel = "low",
        response_length: ResponseLength = "medium",
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[QueryScope],
    ) -> Answer:
        """Return a cited answer from all the profiles; each hit and citation has its origin."""
        found = await self._united().recall(
            query, limit=limit, thinking_level=thinking_level, response_length=response_length,
            reference_date=reference_date, as_of=as_of, **narrowed,
        )  # fmt: skip
        return self._answer(found)

    async def recall_stream(
        self,
        query: str,
        *,
        limit: int | None = None,
        thinking_level: ThinkingLevel = "low",
        response_length: ResponseLength = "medium",
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[QueryScope],
    ) -> AsyncIterator[str | Answer]:
        """Like `recall`, but yield the answer's text in pieces as it is written, and the whole Answer last."""
        asked = self._united().recall_stream(
            query, limit=limit, thinking_level=thinking_level, response_length=response_length,
            reference_date=reference_date, as_of=as_of, **narrowed,
        )  # fmt: skip
        async with aclosing(asked) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                yield self._answer(piece) if isinstance(piece, Answer) else piece

    async def context(
        self,
        query: str,
        *,
        tokens: int = 1000,
        summaries: bool = False,
        min_relevance: float = 0.0,
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[QueryScope],
    ) -> Context:
        """Return a block of text for a prompt, built from all the profiles; each line names its origin."""
        several = self._united()
        block = await several.context(
            query, tokens=tokens, summaries=summaries, min_relevance=min_relevance, reference_date=reference_date,
            as_of=as_of, **narrowed,
        )  # fmt: skip
        return replace(block, hits=tuple(map(self._placed, block.hits)))

    def _united(self) -> RecallVerbs:
        return RecallVerbs(_UnionContext(self._contexts))

    def _placed(self, hit: Hit) -> Hit:
        from holdfast.storage.views.union import split_id

        n, id = split_id(hit.id)
        message = None if hit.message_id is None else split_id(hit.message_id)[1]
        sources = tuple(split_id(source)[1] for source in hit.sources)
        return replace(hit, id=id, message_id=message, sources=sources, origin=self.profiles[n])

    def _answer(self, found: Answer) -> Answer:
        from holdfast.storage.views.union import split_id

        def cited(citation: Citation) -> Citation:
            n, id = split_id(citation.hit)
            return replace(citation, hit=id, origin=self.profiles[n])

        return replace(found, hits=tuple(map(self._placed, found.hits)), citations=tuple(map(cited, found.citations)))


class _UnionContext(ProfileContext):
    """Several profiles as one context to read from: the union of their stores. Each profile records its own traces."""

    def __init__(self, contexts: Sequence[ProfileContext]) -> None:
        super().__init__(contexts[0].runtime, contexts[0].namespace, contexts[0].name)
        self._contexts = contexts
        self._united: UnionStore | None = None
        self._failed = False

    async def readable_store(self, exclude_session: str | None = None) -> Store:
        from holdfast.storage.views.union import UnionStore

        if self._united is None:
            openers = [lambda context=context: self._opened(context, exclude_session) for context in self._contexts]
            first = await self._first_written() or self._contexts[0]
            self._united = UnionStore(openers, await self._opened(first, exclude_session))
        return self._united

    async def _opened(self, context: ProfileContext, exclude_session: str | None) -> Store:
        try:
            return await context.readable_store(exclude_session)
        except Exception:
            self._failed = True
            raise

    async def exists(self) -> bool:
        return await self._first_written() is not None

    async def _first_written(self) -> ProfileContext | None:
        for context in self._contexts:
            if await context.exists():
                return context
        return None

    async def caught_up(self) -> bool:
        return all(await asyncio.gather(*(context.caught_up() for context in self._contexts)))

    def with_origins(self, hits: list[Hit]) -> list[Hit]:
        from holdfast.storage.views.proposals import ID_SEPARATOR
        from holdfast.storage.views.union import split_id

        def named(hit: Hit) -> Hit:
            context = self._contexts[split_id(hit.id)[0]]
            return replace(hit, origin=Origin(context.namespace, context.name))

        return [named(hit) if ID_SEPARATOR in hit.id else hit for hit in hits]

    def record(self, done: Operation, error: str | None = None) -> None:
        """Record in each profile its own part of the operation; record nothing if one of them could not be opened."""
        from holdfast.storage.views.union import stores_in, value_of_store

        if self._united is None or self._failed:
            return
        found, size = stores_in(done.details), len(self._contexts)
        for n, context in enumerate(self._contexts):
            if n in found or size <= TRACED_PROFILES:
                details = value_of_store(done.details, n) | {"across": size}
                context.record(replace(done, details=details), error)
