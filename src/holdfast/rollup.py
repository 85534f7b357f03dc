"""Roll up what was said: on a cadence, runs of messages (or of memories of one kind) become memories of kind `summary`.

What is covered stays. A summary names what it covers as its sources (or in `metadata.covers`), so that whoever forgets
one of these forgets the summary too, and the next round makes another from what is left.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from . import names, passages
from .errors import InvalidInput, shown
from .ports import Store, Summariser
from .types import All, Change, Json, Memory, Test, Turn

log = logging.getLogger("holdfast")
SETTING = "summaries"
KIND = "summary"
MAKER = "rollup/1"
MOST = 40
"""How many are rolled up into one summary at most."""
LATELY = 2_000
"""How many of the newest messages are looked at, round by round."""
_EVERY = re.compile(r"every\s+(\d{1,3})\s+(?:turns?|messages?)")
_DAILY = re.compile(r"daily\s+at\s+([01]?\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class Cadence:
    """When to roll up, and what: messages, or memories of this kind."""

    every: int | None = None
    daily: time | None = None
    kind: str | None = None


def cadence(given: Json) -> Cadence | None:
    """From "every 20 turns", "daily at 03:00" (UTC) or "off", alone or as {"cadence": …, "of": kind or "messages"}."""
    told = given if isinstance(given, dict) else {"cadence": given}
    words, of = told.get("cadence", "off"), told.get("of", "messages")
    if set(told) - {"cadence", "of"} or not isinstance(words, str) or not isinstance(of, str):
        raise InvalidInput(f"summaries is {shown(given)}; give a cadence, and `of` what.", field=SETTING)
    kind = None if of == "messages" else names.kind(of)
    if words.strip() in ("off", ""):
        return None
    if found := _EVERY.fullmatch(words.strip()):
        if 2 <= int(found[1]) <= MOST:
            return Cadence(every=int(found[1]), kind=kind)
    elif found := _DAILY.fullmatch(words.strip()):
        return Cadence(daily=time(int(found[1]), int(found[2])), kind=kind)
    raise InvalidInput(
        f"summaries is {shown(words)}; write every 20 turns (2 to {MOST}), daily at 03:00, or off.", field=SETTING
    )


async def roll_up(store: Store, by: Summariser, laid_down: Json, now: datetime) -> int:
    """Write the summaries that are due; how many."""
    wanted = cadence(laid_down)
    if wanted is None:
        return 0
    written = 0
    for run, closed in await (_turns(store, wanted.kind) if wanted.kind else _conversations(store)):
        for part in _due(run, wanted, now, closed=closed):
            await _write(store, by, part, wanted.kind, now)
            written += 1
    return written


Run = tuple[list[Turn], bool]
"""Turns that no summary covers; and whether something covered comes after them, so that there will be no more."""


async def _conversations(store: Store) -> list[Run]:
    said = await store.said(None, before=2**62, limit=LATELY)
    resting = await store.resting_on([message.id for message in said])
    made = [memory for memory in resting if memory.current and memory.extractor.startswith(MAKER)]
    covered = {source for memory in made for source in memory.sources}
    sessions: dict[str, list[Turn]] = {}
    for each in said:
        if each.role == "document":  # it was read, not said; and what is rolled up is an agent's word
            continue
        turn = Turn(each.id, each.said_at, each.speaker or each.role, each.content, each.session_id)
        sessions.setdefault(each.session_id, []).append(turn)
    return [run for turns in sessions.values() for run in _uncovered(turns, covered)]


async def _turns(store: Store, kind: str) -> list[Run]:
    """The same for memories of one kind, oldest first."""
    page = await store.scan(Test("kind", "eq", kind), now=None, limit=LATELY)
    mine = All((Test("kind", "eq", KIND), Test("metadata.of", "eq", kind)))
    made = await store.scan(mine, now=None, limit=LATELY)
    covered = {id for memory in made for id in memory.metadata.get("covers", [])}
    turns = [Turn(each.id, each.created_at, each.agent or each.kind, each.content, each.session_id) for each in page]
    return _uncovered(turns[::-1], covered)


def _uncovered(turns: Sequence[Turn], covered: set[str]) -> list[Run]:
    runs: list[Run] = []
    run: list[Turn] = []
    for turn in turns:
        if turn.id not in covered:
            run.append(turn)
        elif run:
            runs.append((run, True))
            run = []
    return [*runs, (run, False)] if run else runs


def _due(run: list[Turn], wanted: Cadence, now: datetime, *, closed: bool) -> list[list[Turn]]:
    if wanted.every is not None:
        size = wanted.every
        parts = [run[n : n + size] for n in range(0, len(run), size)]
        return parts if closed or len(parts[-1]) == size else parts[:-1]
    turned = datetime.combine(now.astimezone(UTC).date(), wanted.daily or time(), UTC)
    before = turned if now >= turned else turned - timedelta(days=1)
    past = [turn for turn in run if turn.at < before]
    return [past[n : n + MOST] for n in range(0, len(past), MOST)]


async def _write(store: Store, by: Summariser, covered: list[Turn], kind: str | None, now: datetime) -> None:
    text = await by.summarise(covered) or f"{len(covered)} turns without news."
    ids = tuple(turn.id for turn in covered)
    memory = Memory(
        id=names.memory_id(now, MAKER, *ids),
        kind=KIND,
        content=text,
        summary=text.strip().splitlines()[0][:80],
        created_at=now,
        updated_at=now,
        metadata={"of": "messages", "from": ids[0]} if kind is None else {"of": kind, "covers": list(ids)},
        session_id=covered[0].session_id,
        trust="agent",
        sources=ids if kind is None else (),
        occurred_at=covered[0].at,
        occurred_until=max(turn.at for turn in covered) + timedelta(microseconds=1),
        extractor=f"{MAKER}:{by.name}",
    )
    await store.apply(Change(memories=(memory,), parts=passages.parts(memory)))


async def covering(store: Store, messages: Sequence[str], memories: Sequence[str]) -> list[str]:
    """Summaries of any of these: what is forgotten must not live on in them."""
    found = await store.resting_on(messages) if messages else []
    ids = {memory.id for memory in found if memory.extractor.startswith(MAKER)}
    if memories:
        rolled = All((Test("kind", "eq", KIND), Test("metadata.covers", "exists", True)))
        page = await store.scan(rolled, now=None, limit=2**31)
        ids |= {memory.id for memory in page if not set(memories).isdisjoint(memory.metadata["covers"])}
    return sorted(ids)
