"""Several profiles asked at once: a person's, a team's, a project's. Ranked together, each hit with its origin.

Of one that nobody has written to, nothing is found. Whoever may not read one of them is told the same whether or not it
is there. Each profile's own journal gets a trace of what
was asked, with what was found in it and in no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Unpack

from . import names
from .errors import InvalidInput, NotFound, shown
from .given import Moment, Narrowed
from .ports import Store
from .profile import LocalProfile
from .results import Answer, Citation, Context, Hit, Origin
from .trail import Trail
from .united import MARK, United, of_one, parted

MOST = 50
Places = Iterable[str | tuple[str, str]]
"""Profiles by name, or by namespace and name."""


def placed(namespace: str, profiles: object) -> tuple[Origin, ...]:
    """Which profiles are meant, each once, in the order given."""
    home = names.namespace(namespace)
    if isinstance(profiles, str) or not isinstance(profiles, Iterable):
        raise InvalidInput(f"profiles is {shown(profiles)}; give a list of names.", field="profiles")
    found = dict.fromkeys(_origin(home, each) for each in profiles)
    if not 1 <= len(found) <= MOST:
        raise InvalidInput(f"profiles names {len(found)}; give 1 to {MOST}.", field="profiles")
    return tuple(found)


def _origin(home: str, given: object) -> Origin:
    if isinstance(given, Origin):
        return Origin(names.namespace(given.namespace), names.profile(given.profile))
    if isinstance(given, list | tuple) and len(given) == 2:
        return Origin(names.namespace(given[0]), names.profile(given[1]))
    return Origin(home, names.profile(given))


def unreadable(n: int) -> NotFound:
    """One answer for every profile that may not be read: nobody learns whether it is there."""
    return NotFound(
        f"profiles[{n}] is no profile that can be read here.",
        field=f"profiles[{n}]",
        fix="Name profiles that the credential may read.",
    )


class AsyncAcross:
    """Several profiles of this process's data folder, to be asked together."""

    def __init__(self, profiles: Sequence[LocalProfile]) -> None:
        self._profiles = profiles
        self.profiles = tuple(Origin(each.namespace, each.name) for each in profiles)

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        min_relevance: float = 0.0,
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> list[Hit]:
        """Ranked hits of all the profiles, each with its origin; with `min_relevance` only those as surely about it."""
        several = _Several(self._profiles)
        when: Any = {"reference_date": reference_date, "as_of": as_of}
        found = await several.search(query, limit=limit, min_relevance=min_relevance, **when, **narrowed)
        return [self._placed(hit) for hit in found]

    async def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        thinking_level: str = "low",
        response_length: str = "medium",
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Answer:
        """A cited answer from all the profiles; each hit and citation says where it is from."""
        found = await _Several(self._profiles).recall(
            query, limit=limit, thinking_level=thinking_level, response_length=response_length,
            reference_date=reference_date, as_of=as_of, **narrowed,
        )  # fmt: skip
        return self._answer(found)

    async def recall_stream(
        self,
        query: str,
        *,
        limit: int | None = None,
        thinking_level: str = "low",
        response_length: str = "medium",
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> AsyncIterator[str | Answer]:
        """As recall: the answer's words as they come, and the whole Answer last."""
        asked = _Several(self._profiles).recall_stream(
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
        reference_date: Moment | None = None,
        as_of: Moment | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Context:
        """A block to paste into a prompt, from all the profiles; each line says where it is from."""
        several = _Several(self._profiles)
        block = await several.context(
            query, tokens=tokens, summaries=summaries, reference_date=reference_date, as_of=as_of, **narrowed
        )
        return replace(block, hits=tuple(map(self._placed, block.hits)))

    def _placed(self, hit: Hit) -> Hit:
        n, id = parted(hit.id)
        message = None if hit.message_id is None else parted(hit.message_id)[1]
        sources = tuple(parted(source)[1] for source in hit.sources)
        return replace(hit, id=id, message_id=message, sources=sources, origin=self.profiles[n])

    def _answer(self, found: Answer) -> Answer:
        def cited(citation: Citation) -> Citation:
            n, id = parted(citation.hit)
            return replace(citation, hit=id, origin=self.profiles[n])

        return replace(found, hits=tuple(map(self._placed, found.hits)), citations=tuple(map(cited, found.citations)))


class _Several(LocalProfile):
    """One question to several profiles."""

    def __init__(self, profiles: Sequence[LocalProfile]) -> None:
        super().__init__(profiles[0]._holdfast, profiles[0].namespace, profiles[0].name)
        self._profiles = profiles
        self._united: United | None = None

    async def _read(self) -> Store:
        if self._united is None:
            written = [await profile._is_written() for profile in self._profiles]
            stores = [await profile._read() for profile in self._profiles]
            self._united = United(stores, paying=written.index(True) if True in written else 0)
        return self._united

    async def _is_written(self) -> bool:
        return any([await profile._is_written() for profile in self._profiles])

    async def _caught_up(self) -> bool:
        return all(await asyncio.gather(*(profile._caught_up() for profile in self._profiles)))

    def _with_origins(self, hits: list[Hit]) -> list[Hit]:
        def named(hit: Hit) -> Hit:
            profile = self._profiles[parted(hit.id)[0]]
            return replace(hit, origin=Origin(profile.namespace, profile.name))

        return [named(hit) if MARK in hit.id else hit for hit in hits]

    def _record(self, done: Trail, error: str | None = None) -> None:
        """In each profile its own part; in none when one of them could not be read."""
        if self._united is not None:
            for n, profile in enumerate(self._profiles):
                details = of_one(done.details, n) | {"across": len(self._profiles)}
                profile._record(replace(done, details=details), error)
