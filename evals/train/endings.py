"""Messages beside the statements that were current before them: what the reader learns about endings from.

Every message of the annotated conversations (`training-*`, `tuning-*`, `talks-*`; never `unread*`), of lives and of
timelines meets the statements that it may end, as in the product: the extractor draws statements, the weights of
`text/supersession.py` rank those that are current by the whole message, and the annotation says which of them end, and
which parts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import numpy as np

from holdfast.domain.types import Message
from holdfast.models.rules import RuleExtractor
from holdfast.models.statement_reader import encoded_candidate, encoded_message
from holdfast.text import statement_parts, supersession
from holdfast.text.supersession import ComparedStatement, StatementSource, told_in
from holdfast.text.wordpiece import WordPiece

from ..data.timelines import compounds, contrasts, timelines
from ..profiles import CachedEmbedder
from .judge import cases, fold_of, message_of
from .life_cases import life_cases

LEAST_IN_LIVES = 0.3
"""Confidence of the statements of lives that are compared: less than the product's, which learns from lives to keep
more. Chosen by hand; not measured."""
KEPT, NEAREST = 12, 24
"""How many candidates of a message are packed, and how many of the nearest of each statement are ranked."""


@dataclass
class Known:
    """A statement that is current, the message it was drawn from, and the numbers of what it says."""

    statement: ComparedStatement
    source: str
    says: set[int]
    vector: Any = None


@dataclass
class Said:
    """A message, what was drawn from it, and the numbers of what it ends; `doubtful` messages told those."""

    said: StatementSource
    drafts: list[Known]
    ends: set[int]
    doubtful: set[str] = field(default_factory=set)


async def packed_lives(pieces: WordPiece, embedder: CachedEmbedder, names: Sequence[str] = ()) -> AsyncIterator[Any]:
    """Of every file of lives, or of the named ones."""
    keen, pack = RuleExtractor(embedder, least=LEAST_IN_LIVES), Packer(pieces, embedder)
    for case in life_cases(names):
        yield await pack.talk(case["id"], "lives", await said_in_case(case, keen), case["expected"])


async def packed_talks(pieces: WordPiece, embedder: CachedEmbedder) -> AsyncIterator[Any]:
    """Of conversations, timelines, contrasts and compounds."""
    plain, pack = RuleExtractor(embedder), Packer(pieces, embedder)
    for case in cases():
        yield await pack.talk(case["id"], "conversation", await said_in_case(case, plain), case["expected"])
    for name, lines in timelines().items():
        source = "life" if name.startswith("timelines-life") else "timeline"
        yield await pack.talk(name, source, await _from_lines(lines, plain), [])
    for name, lines in contrasts().items():
        said = await _from_lines(lines, plain)
        queries = [query for later in said[1:] for query in await pack.queries([said[0], later], [])]
        yield _talk(name, "contrast", queries, sum(bool(each.ends) for each in said))
    for name, given in compounds().items():
        yield _talk(name, "compound", await pack.compound(given), sum(bool(ends) for _, ends in given.later))


def _talk(name: str, source: str, queries: list[Any], changes: int) -> dict[str, Any]:
    return {"name": name, "source": source, "fold": fold_of(name), "changes": changes, "queries": queries}


async def said_in_case(case: dict[str, Any], extractor: RuleExtractor) -> list[Said]:
    expected = case["expected"]
    ends: dict[str, set[int]] = {}
    for number, message in case.get("ended", {}).items():
        ends.setdefault(message, set()).add(int(number))
    for item in expected:
        if item["supersedes"] is not None:
            for message in item["from"][-1:]:
                ends.setdefault(message, set()).add(item["supersedes"])
    found: list[Said] = []
    for _, group in groupby(case["messages"], key=lambda message: message["session"]):
        messages = [message_of(message) for message in group]
        sources = supersession.statement_sources(messages)
        drafts = await extractor.extract(messages, [])
        for message in messages:
            mine = [draft for draft in drafts if draft.sources[-1] == message.id]
            told = [
                Known(_statement(draft, message), message.content, _says(draft.content, draft.sources, expected))
                for draft in mine
                if not draft.tentative
            ]
            gone = ends.get(message.id, set())
            doubtful = {source for n in gone for source in expected[n]["from"]}
            if message.role == "user" or gone or told:
                found.append(Said(sources[message.id], told, gone, doubtful))
    return found


def _statement(draft: Any, message: Message) -> ComparedStatement:
    return ComparedStatement(draft.kind, draft.content, message.session_id, draft.sources, draft.key)


def _says(content: str, sources: Iterable[str], expected: list[dict[str, Any]]) -> set[int]:
    text, mine = content.casefold(), set(sources)
    return {
        n
        for n, item in enumerate(expected)
        if mine & set(item["from"])
        and all(any(word.casefold() in text for word in each.split("|")) for each in item["says"])
    }


async def _from_lines(lines: list[Any], extractor: RuleExtractor) -> list[Said]:
    at = datetime(2025, 3, 4, tzinfo=UTC)
    found = []
    for n, line in enumerate(lines):
        said = Message(f"m{n}", f"s{n // 3}", "user", line.text, at, None, at)
        drafts = [draft for draft in await extractor.extract([said], []) if not draft.tentative]
        best = max(drafts, key=lambda draft: draft.confidence, default=None)
        told = [Known(_statement(draft, said), line.text, {n} if draft is best else set()) for draft in drafts]
        if not told and line.kind != "none":
            told = [Known(ComparedStatement(line.kind, line.text, said.session_id, (said.id,)), line.text, {n})]
        gone = {line.replaces} - {None}
        found.append(Said(StatementSource(line.text), told, gone, {f"m{each}" for each in gone}))
    return found


@dataclass
class Packer:
    pieces: WordPiece
    embedder: CachedEmbedder

    async def talk(self, name: str, source: str, said: list[Said], expected: list[dict[str, Any]]) -> dict[str, Any]:
        return _talk(name, source, await self.queries(said, expected), sum(bool(each.ends) for each in said))

    async def queries(self, said: list[Said], expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
        current: list[Known] = []
        found = []
        for each in said:
            await self._embed(each.drafts)
            if current:
                found += await self._compared(each, current, expected)
            current = [known for known in current if not known.says & each.ends] + each.drafts
        return found

    async def _embed(self, some: Sequence[Known]) -> None:
        if some:
            for known, vector in zip(some, await self.embedder.embed([k.statement.text for k in some]), strict=True):
                known.vector = np.array(vector, float)

    async def _compared(self, each: Said, current: list[Known], expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """A query for the message, or where it is long, for each statement drawn from it."""
        drafts = each.drafts
        if not drafts:
            whole = ComparedStatement("fact", each.said.message[:200], "", ("",))
            drafts = [Known(whole, each.said.message, set())]
            await self._embed(drafts)
        groups: dict[str, list[Known]] = {}
        for draft in drafts:
            groups.setdefault(told_in(draft.statement, each.said), []).append(draft)
        return [self._query(text, some, each, current, expected) for text, some in groups.items()]

    def _query(
        self, text: str, drafts: list[Known], each: Said, current: list[Known], expected: list[dict[str, Any]]
    ) -> dict[str, Any]:
        vectors = np.array([known.vector for known in current])
        cosines = vectors @ np.array([draft.vector for draft in drafts]).T
        near = np.unique(np.argsort(-cosines, axis=0, kind="stable")[:NEAREST])
        known = [current[n].statement for n in near]
        whole = replace(drafts[0].statement, text=text, key=None)
        rows = supersession.features(whole, known, list(cosines[near].max(1)))
        odds = dict(zip(near.tolist(), supersession.message_log_odds(rows).tolist(), strict=True))
        best: dict[int, tuple[float, Any]] = {}
        for draft, column in zip(drafts, cosines.T, strict=True):
            rows = supersession.features(draft.statement, known, list(column[near]))
            for n, chance, row in zip(near.tolist(), supersession.supersession_probabilities(rows), rows, strict=True):
                if float(chance) > best.get(n, (-1.0, None))[0]:
                    best[n] = float(chance), row
        order = sorted(odds, key=lambda n: -odds[n])
        right = {n: says_what_ends(current[n], each) for n in range(len(current))}
        lost = [n for n, ends in right.items() if ends and n not in order[:KEPT]]
        kept = order[:KEPT]
        return self._packed(text, each.said.before, [current[n] for n in kept], each, expected) | {
            "right": [right[n] for n in kept],
            "odds": [round(odds[n], 3) for n in kept],
            "features": [best[n][1].round(4).tolist() for n in kept],
            "known": len(current),
            "lost": len(lost),
        }

    def _packed(
        self, text: str, before: str, known: list[Known], each: Said | None, expected: list[dict[str, Any]]
    ) -> dict[str, Any]:
        candidates = [encoded_candidate(self.pieces, one.statement.text, one.source) for one in known]
        return {
            "said": encoded_message(self.pieces, text, before),
            "ids": [one.ids for one in candidates],
            "span": [list(one.span) for one in candidates],
            "parts": [[list(part) for part in one.parts] for one in candidates],
            "part_right": [_parts_right(one, each, expected) if each else [] for one in known],
        }

    async def compound(self, given: Any) -> list[dict[str, Any]]:
        """A statement of several parts beside each later one."""
        whole = Known(ComparedStatement("fact", given.text, "s0", ("m0",)), given.text, set())
        await self._embed([whole])
        spans = statement_parts.part_spans(given.text)
        part_of = [max(n for n, (start, _) in enumerate(given.spans) if n == 0 or start < stop) for _, stop in spans]
        found = []
        for text, ends in given.later:
            new = Known(ComparedStatement("fact", text, "s1", ("m1",)), text, set())
            await self._embed([new])
            row = supersession.features(new.statement, [whole.statement], [float(new.vector @ whole.vector)])
            odds = supersession.message_log_odds(row)
            query = self._packed(text, "", [whole], None, []) | {
                "right": [int(bool(ends))],
                "odds": odds.round(4).tolist(),
                "features": row.round(4).tolist(),
                "known": 1,
                "lost": 0,
            }
            query["part_right"] = [[int(each in ends) for each in part_of] if ends else []]
            found.append(query)
        return found


def says_what_ends(known: Known, said: Said) -> int | None:
    """1 or 0; None where the message that told the statement told something else that ends."""
    if known.says & said.ends:
        return 1
    return None if set(known.statement.sources) & said.doubtful else 0


def _parts_right(known: Known, said: Said, expected: list[dict[str, Any]]) -> list[int | None]:
    """Which parts of a statement end, where the annotation tells."""
    gone, left = known.says & said.ends, known.says - said.ends
    spans = statement_parts.part_spans(known.statement.text) if gone and expected else []
    found: list[int | None] = []
    for start, stop in spans:
        text = known.statement.text[start:stop].casefold()
        ended, stays = (_share(text, [expected[n] for n in some]) for some in (gone, left))
        found.append(None if ended == stays else int(ended > stays))
    return found


def _share(text: str, items: list[dict[str, Any]]) -> float:
    """How much of one of the items the text says, at most."""
    return max(
        (
            sum(any(word.casefold() in text for word in each.split("|")) for each in item["says"]) / len(item["says"])
            for item in items
            if item["says"]
        ),
        default=0.0,
    )
