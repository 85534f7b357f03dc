"""Rolls up runs of messages, or of memories of one kind, into memories of kind `summary`, on a cadence.

The items that a summary covers stay. The summary lists them as its sources (or in `metadata.covers`), so that
forgetting one of them forgets the summary too, and the next round makes another from the remaining items.
"""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

from holdfast.domain import identifiers
from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.ports.models import Summariser, Turn
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import All, Change, Json, Memory, Test
from holdfast.storage.summary_cover import (
    COVERED_FIELD,
    SUMMARY_EXTRACTOR,
    SUMMARY_KIND,
    covered_ids,
    find_covering_summaries,
)

log = logging.getLogger("holdfast")
SETTING = "summaries"
MAX_TURNS_PER_SUMMARY = 40
"""How many turns one summary covers at most. Chosen by hand; not measured."""
MAX_RECENT_ITEMS = 2_000
"""How many of the newest messages or memories a round looks at. Chosen by hand; not measured."""
_EVERY = re.compile(r"every\s+(\d{1,3})\s+(?:turns?|messages?)")
_DAILY = re.compile(r"daily\s+at\s+([01]?\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class SummaryCadence:
    """When to roll up, and what: messages, or memories of `kind`."""

    every: int | None = None
    daily: time | None = None
    kind: str | None = None


def parse_cadence(given: Json) -> SummaryCadence | None:
    """Parse "every 20 turns", "daily at 03:00" (UTC) or "off", alone or as {"cadence": …, "of": kind or "messages"}."""
    settings = given if isinstance(given, dict) else {"cadence": given}
    words, of = settings.get("cadence", "off"), settings.get("of", "messages")
    if set(settings) - {"cadence", "of"} or not isinstance(words, str) or not isinstance(of, str):
        raise InvalidInput(f"summaries is {quoted_value(given)}; give an object with cadence and of.", field=SETTING)
    kind = None if of == "messages" else identifiers.validate_kind(of)
    if words.strip() in ("off", ""):
        return None
    if found := _EVERY.fullmatch(words.strip()):
        if 2 <= int(found[1]) <= MAX_TURNS_PER_SUMMARY:
            return SummaryCadence(every=int(found[1]), kind=kind)
    elif found := _DAILY.fullmatch(words.strip()):
        return SummaryCadence(daily=time(int(found[1]), int(found[2])), kind=kind)
    raise InvalidInput(
        f"summaries is {quoted_value(words)}; write every 20 turns (2 to {MAX_TURNS_PER_SUMMARY}), daily at "
        f"03:00, or off.",
        field=SETTING,
    )


async def roll_up(store: Store, by: Summariser, wanted: SummaryCadence, now: datetime) -> int:
    """Write the summaries that are due; returns how many."""
    written = 0
    kind = wanted.kind
    for run, closed in await (_load_memory_runs(store, kind, now) if kind else _load_conversation_runs(store)):
        for part in _due_parts(run, wanted, now, closed=closed):
            written += await _write_summary(store, by, part, wanted.kind, now)
    return written


UncoveredRun = tuple[list[Turn], bool]
"""Turns that no summary covers; and whether a covered turn follows, so that the run will not grow."""


async def _load_conversation_runs(store: Store) -> list[UncoveredRun]:
    from holdfast.lifecycle.shortened_messages import stated_text

    said = await store.messages(None, before=2**62, limit=MAX_RECENT_ITEMS)
    resting = await store.resting_on([message.id for message in said])
    made = [memory for memory in resting if memory.current and memory.extractor.startswith(SUMMARY_EXTRACTOR)]
    covered = {source for memory in made for source in memory.sources}
    drawn: dict[str, list[Memory]] = defaultdict(list)
    for memory in resting:
        for source in memory.sources:
            drawn[source].append(memory)
    sessions: dict[str, list[Turn]] = {}
    for each in said:
        if each.role == "document":  # not part of the conversation; and a summary has the trust of an agent
            continue
        turn = Turn(
            each.id, each.said_at, each.speaker or each.role, stated_text(each, drawn[each.id]), each.session_id
        )
        sessions.setdefault(each.session_id, []).append(turn)
    return [run for turns in sessions.values() for run in _uncovered_runs(turns, covered)]


async def _load_memory_runs(store: Store, kind: str, now: datetime) -> list[UncoveredRun]:
    """Load the runs of memories of one kind, oldest first."""
    page = await store.scan(Test("kind", "eq", kind), now=now, limit=MAX_RECENT_ITEMS)
    mine = All((Test("kind", "eq", SUMMARY_KIND), Test("metadata.of", "eq", kind)))
    made = await store.scan(mine, now=None, limit=MAX_RECENT_ITEMS)
    covered = {id for memory in made for id in covered_ids(memory)}
    covered |= {each.ref for each in page if each.draft_id in covered}
    return _uncovered_runs([_memory_turn(each) for each in page][::-1], covered)


def _memory_turn(memory: Memory) -> Turn:
    value = _fields_value(memory)
    text = memory.content if value is None else "\n".join(f"{name}: {said}" for name, said in _field_texts(value))
    return Turn(
        memory.ref, memory.created_at, memory.agent or memory.kind, text or memory.content, memory.session_id,
        fields=bool(value is not None and text),
    )  # fmt: skip


def _fields_value(memory: Memory) -> dict[str, Json] | None:
    """The object that the memory's text is the JSON of; None when the text is words."""
    if not memory.content.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(memory.content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _field_texts(value: dict[str, Json]) -> Iterator[tuple[str, str]]:
    """The names and texts of an object's fields; a field of an inner object has both names."""
    level: list[tuple[str, Json]] = list(value.items())
    while level:
        name, found = level.pop(0)
        if isinstance(found, dict):
            level[:0] = [(f"{name} {inner}", each) for inner, each in found.items()]
        elif isinstance(found, list):
            plain = [each for each in found if not isinstance(each, dict | list) and each is not None]
            level[:0] = [(name, each) for each in found if isinstance(each, dict | list)]
            if plain:
                yield name, ", ".join(map(_plain_text, plain))
        elif found is not None and _plain_text(found):
            yield name, _plain_text(found)


def _plain_text(value: Json) -> str:
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value)


def _uncovered_runs(turns: Sequence[Turn], covered: set[str]) -> list[UncoveredRun]:
    runs: list[UncoveredRun] = []
    run: list[Turn] = []
    for turn in turns:
        if turn.id not in covered:
            run.append(turn)
        elif run:
            runs.append((run, True))
            run = []
    return [*runs, (run, False)] if run else runs


def _due_parts(run: list[Turn], wanted: SummaryCadence, now: datetime, *, closed: bool) -> list[list[Turn]]:
    if wanted.every is not None:
        size = wanted.every
        parts = [run[n : n + size] for n in range(0, len(run), size)]
        return parts if closed or len(parts[-1]) == size else parts[:-1]
    todays = datetime.combine(now.astimezone(UTC).date(), wanted.daily or time(), UTC)
    before = todays if now >= todays else todays - timedelta(days=1)
    past = [turn for turn in run if turn.at < before]
    return [past[n : n + MAX_TURNS_PER_SUMMARY] for n in range(0, len(past), MAX_TURNS_PER_SUMMARY)]


def _title(text: str) -> str:
    return text.strip().splitlines()[0][:80]


def no_news(turns: int) -> str:
    return f"{turns} turns without news."


async def _write_summary(store: Store, by: Summariser, covered: list[Turn], kind: str | None, now: datetime) -> bool:
    """Write one summary; False when it was written before and merged or revised since."""
    from holdfast.text import passages

    text = await by.summarise(covered) or no_news(len(covered))
    ids = tuple(turn.id for turn in covered)
    memory = Memory(
        id=identifiers.memory_id(max(turn.at for turn in covered), SUMMARY_EXTRACTOR, *ids),  # one for all processes
        kind=SUMMARY_KIND,
        content=text,
        summary=_title(text),
        created_at=now,
        updated_at=now,
        metadata={"of": "messages", "from": ids[0]} if kind is None else {"of": kind, COVERED_FIELD: list(ids)},
        session_id=covered[0].session_id,
        trust="agent",
        sources=ids if kind is None else (),
        occurred_at=covered[0].at,
        occurred_until=max(turn.at for turn in covered) + timedelta(microseconds=1),
        extractor=f"{SUMMARY_EXTRACTOR}:{by.name}",
    )
    applied = await store.apply(Change(memories=(memory,), parts=passages.index_parts(memory)))
    return memory.id in applied.new


async def summaries_without(store: Store, wrong: Sequence[Memory], now: datetime) -> list[tuple[Memory, Memory]]:
    """Each current summary that repeats memories which are now marked wrong, and its next version without them."""
    from holdfast.lifecycle.shortened_messages import text_without

    sources = [source for memory in wrong for source in memory.sources]
    found = await store.get(await find_covering_summaries(store, sources, [memory.ref for memory in wrong]))
    pairs = []
    for summary in found:
        if not isinstance(summary, Memory) or not summary.current:
            continue
        drawn = await store.resting_on(summary.sources) if summary.sources else []
        drawn += [item for item in await store.get(covered_ids(summary)) if isinstance(item, Memory)]
        gone = {memory.ref for memory in wrong} | {memory.ref for memory in drawn if memory.marked_wrong}
        kept = [memory for memory in drawn if memory.current and memory.ref not in gone and memory.id != summary.id]
        text = text_without(summary.content, wrong, kept) or no_news(len(summary.sources or covered_ids(summary)))
        if text != summary.content:
            new = replace(summary, id=identifiers.memory_id(now), origin=None, content=text, summary=_title(text))
            pairs.append((summary, replace(new, updated_at=now).next_of(summary)))
    return pairs
