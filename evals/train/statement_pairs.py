"""Statements beside what was known before them: what `supersession` learns from.

Every statement that the extractor draws from the annotated conversations (`training-*`, `tuning-*`; never `unread*`),
from lives and from the timelines meets the nearest of those that are still true, as in the product.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.domain.types import Draft, Message
from holdfast.ingest.reconcile.candidates import MAX_RELATED
from holdfast.models.local import ArcticEmbedder
from holdfast.models.rules import RuleExtractor
from holdfast.text import supersession
from holdfast.text.supersession import ComparedStatement, StatementSource

from ..data.timelines import Compound, Line, compounds, contrasts, timelines
from ..profiles import CachedEmbedder, cached_embedder
from .judge import cases, fold_of, message_of
from .life_cases import life_cases

Array = NDArray[np.float64]
LEAST_IN_LIVES = 0.3
"""Confidence of the statements of lives that are compared: less than the product's, which learns from lives to keep
more. Chosen by hand; not measured."""


@dataclass
class ToldStatement:
    """A statement, how it was said, the marks of what it says (numbers of expected items or lines), and
    which of those it replaces; `doubtful` are messages that hold an old value in words that were not expected."""

    statement: ComparedStatement
    said: StatementSource
    says: set[int]
    replaces: set[int]
    doubtful: set[str]


@dataclass
class Query:
    """A new statement and the nearest that are current; `right` is NaN where the annotation does not tell."""

    new: int
    known: list[int]
    right: Array
    features: Array


@dataclass
class Talk:
    name: str
    source: str
    told: list[ToldStatement]
    queries: list[Query]
    changes: int
    """Statements that replace one that was found, near or not."""

    @property
    def fold(self) -> int:
        return fold_of(self.name)


async def talks() -> AsyncIterator[Talk]:
    embedder = cached_embedder(ArcticEmbedder())
    extractor = RuleExtractor(embedder)
    for case in cases():
        yield await _talk(case["id"], "conversation", await _from_case(case, extractor), embedder)
    async for talk in life_talks():
        yield talk
    for name, lines in timelines().items():
        source = "life" if name.startswith("timelines-life") else "timeline"
        yield await _talk(name, source, await _from_timeline(lines, extractor), embedder)
    for talk in await _contrasts(extractor, embedder):
        yield talk
    for name, compound in compounds().items():
        yield await _compound(name, compound, embedder)


async def life_talks(names: Sequence[str] = ()) -> AsyncIterator[Talk]:
    """Of every file of lives, or of the named ones."""
    embedder = cached_embedder(ArcticEmbedder())
    keen = RuleExtractor(embedder, least=LEAST_IN_LIVES)
    for case in life_cases(names):
        yield await _talk(case["id"], "lives", await _from_life(case, keen, embedder), embedder)


async def _from_case(case: dict[str, Any], extractor: RuleExtractor) -> list[ToldStatement]:
    found: list[ToldStatement] = []
    for session, group in groupby(case["messages"], key=lambda message: message["session"]):
        messages = [message_of(message) for message in group]
        sayings = supersession.statement_sources(messages)
        for draft in (each for each in await extractor.extract(messages, []) if not each.tentative):
            content = draft.content.casefold()
            from_here = {n: item for n, item in enumerate(case["expected"]) if set(item["from"]) & set(draft.sources)}
            says = {
                n
                for n, item in from_here.items()
                if all(any(word.casefold() in content for word in each.split("|")) for each in item["says"])
            }
            old = {case["expected"][n]["supersedes"] for n in says} - {None}
            maybe = {item["supersedes"] for item in from_here.values()} - {None}
            doubtful = {source for n in maybe for source in case["expected"][n]["from"]}
            found.append(ToldStatement(_statement(draft, session), sayings[draft.sources[-1]], says, old, doubtful))
    return found


async def _from_life(case: dict[str, Any], extractor: RuleExtractor, embedder: CachedEmbedder) -> list[ToldStatement]:
    """What ends a statement is told of a message. Of its drafts, the one with the topic's next value ends it; else the
    one that is nearest in meaning, and of the others nothing is known."""
    found = await _from_case(case, extractor)
    for number, message in case["ended"].items():
        old = [each for each in found if number in each.says]
        enders = [each for each in found if each.statement.sources[-1] == message]
        if not old or not enders:
            continue
        topic = case["expected"][number]["topic"]
        right = [each for each in enders if any(case["expected"][n]["topic"] == topic for n in each.says)]
        if not right:
            vectors = await embedder.embed([each.statement.text for each in (old[0], *enders)])
            right = [enders[int(np.argmax([float(vectors[0] @ vector) for vector in vectors[1:]]))]]
        for each in right:
            each.replaces.add(number)
        for each in enders:
            each.doubtful.update(case["expected"][number]["from"])
    return found


async def _from_timeline(lines: list[Line], extractor: RuleExtractor) -> list[ToldStatement]:
    found: list[ToldStatement] = []
    at = datetime(2025, 3, 4, tzinfo=UTC)
    for n, line in enumerate(lines):
        said = Message(f"m{n}", f"s{n // 3}", "user", line.text, at, None, at)
        drafts = await extractor.extract([said], [])
        best = max(drafts, key=lambda draft: draft.confidence, default=None)
        for draft in drafts:
            old = {line.replaces} - {None} if draft is best else set()
            doubtful = {f"m{each}" for each in {line.replaces} - {None}}
            says = {n} if draft is best else set[int]()
            found.append(
                ToldStatement(_statement(draft, said.session_id), StatementSource(line.text), says, old, doubtful)
            )
    return found


async def _contrasts(extractor: RuleExtractor, embedder: CachedEmbedder) -> list[Talk]:
    """Each later statement of a group beside the older one, and beside some of other groups."""
    groups = contrasts()
    olds = [await _drawn(lines[0], f"{name}-0", extractor) for name, lines in groups.items()]
    vectors = np.array(await embedder.embed([each.statement.text for each in olds]), float)
    dice = np.random.default_rng(0)
    found = []
    for n, (name, lines) in enumerate(groups.items()):
        others = [int(each) for each in dice.permutation(len(olds)) if each != n][: MAX_RELATED - 1]
        told = [olds[n], *(olds[each] for each in others)]
        known_vectors = vectors[[n, *others]]
        queries = []
        for number, line in enumerate(lines[1:], 1):
            new = await _drawn(line, f"{name}-{number}", extractor)
            told.append(new)
            crowd = list(range(int(dice.choice([1, 1, 4, 9, MAX_RELATED]))))
            cosines = known_vectors[crowd] @ np.array(await embedder.embed([new.statement.text]), float)[0]
            right = np.array([float(each == 0 and line.replaces is not None) for each in crowd])
            known = [told[each].statement for each in crowd]
            queries.append(
                Query(len(told) - 1, crowd, right, supersession.features(new.statement, known, list(cosines)))
            )
        found.append(Talk(name, "contrast", told, queries, sum(line.replaces is not None for line in lines)))
    return found


async def _compound(name: str, given: Compound, embedder: CachedEmbedder) -> Talk:
    """A statement of several parts beside each later one."""
    whole = ComparedStatement("fact", given.text, "s0", ("m0",))
    told = [ToldStatement(whole, StatementSource(given.text), set(), set(), set())]
    queries = []
    first = np.array(await embedder.embed([given.text]), float)[0]
    for n, (text, ends) in enumerate(given.later, 1):
        new = ComparedStatement("fact", text, f"s{n}", (f"m{n}",))
        told.append(ToldStatement(new, StatementSource(text), set(), set(), set()))
        cosine = float(first @ np.array(await embedder.embed([text]), float)[0])
        row = supersession.features(new, [whole], [cosine])
        queries.append(Query(len(told) - 1, [0], np.array([float(bool(ends))]), row))
    return Talk(name, "compound", told, queries, sum(bool(ends) for _, ends in given.later))


async def _drawn(line: Line, name: str, extractor: RuleExtractor) -> ToldStatement:
    """As the extractor tells it, or where it would not, as written."""
    at = datetime(2025, 3, 4, tzinfo=UTC)
    drafts = await extractor.extract([Message(name, name, "user", line.text, at, None, at)], [])
    best = max(drafts, key=lambda draft: draft.confidence, default=None)
    plain = ComparedStatement(line.kind, line.text, name, (name,))
    return ToldStatement(
        plain if best is None else _statement(best, name), StatementSource(line.text), set(), set(), set()
    )


def _statement(draft: Draft, session: str) -> ComparedStatement:
    return ComparedStatement(draft.kind, draft.content, session, draft.sources, draft.key)


async def _talk(name: str, source: str, told: list[ToldStatement], embedder: CachedEmbedder) -> Talk:
    texts = [each.statement.text for each in told]
    vectors = np.array(await embedder.embed(texts), float) if told else np.zeros((0, 1))
    current: list[int] = []
    queries, changes = [], 0
    for n, new in enumerate(told):
        cosines = vectors[current] @ vectors[n] if current else np.zeros(0)
        near = np.argsort(-cosines, kind="stable")[:MAX_RELATED]
        known = [current[each] for each in near]
        stale = {each for each in current if told[each].says & new.replaces}
        changes += bool(stale)
        if known:
            right = np.array([_right(told[each], new) for each in known])
            features = supersession.features(
                new.statement, [told[each].statement for each in known], list(cosines[near])
            )
            queries.append(Query(n, known, right, features))
        current = [each for each in current if each not in stale] + [n]
    return Talk(name, source, told, queries, changes)


def _right(old: ToldStatement, new: ToldStatement) -> float:
    if old.says & new.replaces:
        return 1.0
    return np.nan if set(old.statement.sources) & new.doubtful else 0.0
