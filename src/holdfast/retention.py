"""What may be kept for how long: parsed from what an owner lays down, shown before it is done, done in small steps.

    {"ttl": {"event": "365d"},                          memories of this kind, from now on, expire after so long
     "forget": [{"kind": "turn", "older_than": "90d"},  memories that were last written longer ago
                {"kind": "note", "beyond": 1000},       all but the newest of a kind
                {"kind": "task", "session_ended": "7d"},memories whose session was last heard of longer ago
                {"kind": "message", "older_than": "2y"},messages, with the memories that rest on nothing else
                {"kind": "session", "older_than": "1y"}]}  sessions whose last message is older

What is pinned stays, and the messages it rests on with it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from .errors import InvalidInput, shown
from .inventory import EVERYTHING, every_message
from .ports import Store
from .types import All, Change, Json, Memory, Not, Test, Where

SETTING = "retention"
PINNED = "pinned"
PAGE = 200
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdwy])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_557_600}
LONGEST = timedelta(days=36_525)
KINDLESS = ("message", "session")


@dataclass(frozen=True, slots=True)
class Rule:
    kind: str
    older_than: timedelta | None = None
    beyond: int | None = None
    session_ended: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    ttl: dict[str, timedelta] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()

    def expiry(self, kind: str, now: datetime) -> datetime | None:
        """When a memory of this kind that is written now expires, unless its writer says otherwise."""
        return now + self.ttl[kind] if kind in self.ttl else None


@dataclass(frozen=True, slots=True)
class Retained:
    """What a rule took, or would take: how many memories and messages, and the first few of their ids."""

    rule: dict[str, Json]
    memories: int
    messages: int
    first: tuple[str, ...] = ()


def policy(given: Json) -> Policy:
    """What an owner wrote, checked; errors name the path."""
    if given is None:
        return Policy()
    told = _object(given, SETTING, ("ttl", "forget"))
    ttl = _object(told.get("ttl", {}), "retention.ttl")
    rules = told.get("forget", [])
    if not isinstance(rules, list):
        raise InvalidInput(f"retention.forget is {shown(rules)}; give a list of rules.", field="retention.forget")
    return Policy(
        {kind: span(value, f"retention.ttl.{kind}") for kind, value in ttl.items()},
        tuple(_rule(rule, f"retention.forget[{n}]") for n, rule in enumerate(rules)),
    )


def _rule(given: Json, path: str) -> Rule:
    told = _object(given, path, ("kind", "older_than", "beyond", "session_ended"))
    kind = told.get("kind")
    if not isinstance(kind, str) or not kind:
        raise InvalidInput(f"{path}.kind is {shown(kind)}; name a kind, message or session.", field=f"{path}.kind")
    limits = [name for name in ("older_than", "beyond", "session_ended") if told.get(name) is not None]
    if len(limits) != 1 or (kind in KINDLESS and limits != ["older_than"]):
        one = "older_than" if kind in KINDLESS else "one of older_than, beyond, session_ended"
        raise InvalidInput(f"{path} has {', '.join(limits) or 'no limit'}; give {one}.", field=path)
    beyond = told.get("beyond")
    if beyond is not None and (not isinstance(beyond, int) or isinstance(beyond, bool) or beyond < 0):
        raise InvalidInput(f"{path}.beyond is {shown(beyond)}; give a whole number.", field=f"{path}.beyond")
    spans = {name: span(told[name], f"{path}.{name}") for name in limits if name != "beyond"}
    return Rule(kind, spans.get("older_than"), beyond, spans.get("session_ended"))


def _object(given: Json, path: str, known: tuple[str, ...] | None = None) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{path} is {shown(given)}; give an object.", field=path)
    for name in given:
        if known is not None and name not in known:
            raise InvalidInput(f"{path} has {shown(name)}; known are {', '.join(known)}.", field=f"{path}.{name}")
    return given


def span(value: Json, path: str) -> timedelta:
    read = _SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    length = timedelta(seconds=float(read[1]) * _SECONDS[read[2]]) if read and len(read[1]) < 12 else None
    if length is None or not timedelta(0) < length <= LONGEST:
        raise InvalidInput(f"{path} is {shown(value)}; write a span like 12h, 30d, 8w or 1y.", field=path)
    return length


async def applied(store: Store, laid_down: Json, now: datetime, *, dry_run: bool = False) -> list[Retained]:
    """Forget what the rules say, a few hundred at a time, so that no writer waits for long."""
    done = []
    told = policy(laid_down)
    for rule, words in zip(told.rules, (laid_down or {}).get("forget", []), strict=True):
        memories = messages = 0
        first: list[str] = []
        going = _messages(store, rule, now) if rule.kind in KINDLESS else _memories(store, rule, now)
        async for ids in going:
            gone = (await store.apply(Change(forget=tuple(ids), rehearsed=dry_run))).gone
            memories, messages = memories + len(gone.memories), messages + len(gone.messages)
            first += [*gone.memories, *gone.messages][: 10 - len(first)]
        done.append(Retained(dict(words), memories, messages, tuple(first)))
    return done


async def _memories(store: Store, rule: Rule, now: datetime) -> AsyncIterator[list[str]]:
    """Of a kind, page by page, those that a rule takes, with their earlier versions."""
    unpinned = Not(Test(f"metadata.{PINNED}", "eq", True))
    where: Where = All((Test("kind", "eq", rule.kind), unpinned))
    ended = await _ended(store, now - rule.session_ended) if rule.session_ended is not None else set()
    cursor, seen = None, 0
    while True:
        page = await store.scan(where, now=None, limit=PAGE, cursor=cursor)
        taken = []
        for memory in page:
            seen += 1
            old = rule.older_than is not None and memory.updated_at < now - rule.older_than
            if old or (rule.beyond is not None and seen > rule.beyond) or memory.session_id in ended:
                taken.append(memory)
        if taken:
            yield [version for memory in taken for version in await _versions(store, memory)]
        cursor = page.cursor
        if cursor is None:
            return


async def _versions(store: Store, memory: Memory) -> list[str]:
    return [version.id for version in await store.history(memory.id)] if memory.version > 1 else [memory.id]


async def _ended(store: Store, before: datetime) -> set[str | None]:
    """Sessions that were last heard of before then."""
    last: dict[str | None, datetime] = {}
    async for message in every_message(store):
        last[message.session_id] = max(last.get(message.session_id, message.said_at), message.said_at)
    return {session for session, at in last.items() if at < before}


async def _messages(store: Store, rule: Rule, now: datetime) -> AsyncIterator[list[str]]:
    assert rule.older_than is not None
    before = now - rule.older_than
    held = await _held_by_pins(store)
    ended = await _ended(store, before) if rule.kind == "session" else None
    some: list[str] = []
    async for message in every_message(store):
        old = message.said_at < before if ended is None else message.session_id in ended
        if old and message.id not in held:
            some.append(message.id)
            if len(some) == PAGE:
                yield some
                some = []
    if some:
        yield some


async def _held_by_pins(store: Store) -> set[str]:
    page = await store.scan(Test(f"metadata.{PINNED}", "eq", True), now=None, limit=EVERYTHING)
    return {source for memory in page for source in memory.sources}
