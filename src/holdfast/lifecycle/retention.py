"""Parses and applies a profile's retention policy: which memories and messages are kept for how long.

    {"ttl": {"event": "365d"},                          memories of this kind, from now on, expire after so long
     "forget": [{"kind": "turn", "older_than": "90d"},  memories that were last written longer ago
                {"kind": "note", "beyond": 1000},       all but the newest of a kind
                {"kind": "task", "session_ended": "7d"},memories whose session ended longer ago
                {"kind": "message", "older_than": "2y"},messages, with the memories that rest on nothing else
                {"kind": "session", "older_than": "1y"}]}  sessions whose last message is older

A dry run shows what a policy would forget. Pinned memories stay, and so do the messages they rest on. Summaries go with
the first of the items they cover.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.ports.storage import Store
from holdfast.domain.types import (
    All,
    Change,
    Json,
    Memory,
    Not,
    Test,
    Where,
)
from holdfast.storage.inventory import NO_LIMIT, every_message
from holdfast.storage.summary_cover import find_covering_summaries

if TYPE_CHECKING:
    from holdfast.domain.reports import Retained

SETTING = "retention"
PINNED_FIELD = "pinned"
PAGE_SIZE = 200
"""How many items one change forgets, while other writers wait. Chosen by hand; not measured."""
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdwy])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_557_600}
MAX_SPAN = timedelta(days=36_525)
"""100 years."""
NON_KIND_TARGETS = ("message", "session")
"""What a rule may select besides a kind of memory."""


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """Forget items of this kind that exceed the one limit that is set."""

    kind: str
    older_than: timedelta | None = None
    beyond: int | None = None
    session_ended: timedelta | None = None


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """A parsed policy: how long memories of a kind last, and rules that forget."""

    ttl: dict[str, timedelta] = field(default_factory=dict)
    rules: tuple[RetentionRule, ...] = ()

    def expiry(self, kind: str, now: datetime) -> datetime | None:
        """When a memory of this kind that is written now expires, unless its writer sets another time."""
        return now + self.ttl[kind] if kind in self.ttl else None


def parse_policy(given: Json) -> RetentionPolicy:
    """Parse a policy. Raises InvalidInput with the path of what is wrong."""
    if given is None:
        return RetentionPolicy()
    settings = _require_object(given, SETTING, ("ttl", "forget"))
    ttl = _require_object(settings.get("ttl", {}), "retention.ttl")
    rules = settings.get("forget", [])
    if not isinstance(rules, list):
        raise InvalidInput(
            f"retention.forget is {quoted_value(rules)}; give a list of rules.", field="retention.forget"
        )
    return RetentionPolicy(
        {kind: parse_span(value, f"retention.ttl.{kind}") for kind, value in ttl.items()},
        tuple(_parse_rule(rule, f"retention.forget[{n}]") for n, rule in enumerate(rules)),
    )


def _parse_rule(given: Json, path: str) -> RetentionRule:
    rule = _require_object(given, path, ("kind", "older_than", "beyond", "session_ended"))
    kind = rule.get("kind")
    if not isinstance(kind, str) or not kind:
        raise InvalidInput(
            f"{path}.kind is {quoted_value(kind)}; name a kind, message or session.", field=f"{path}.kind"
        )
    limits = [name for name in ("older_than", "beyond", "session_ended") if rule.get(name) is not None]
    if len(limits) != 1 or (kind in NON_KIND_TARGETS and limits != ["older_than"]):
        one = "older_than" if kind in NON_KIND_TARGETS else "one of older_than, beyond, session_ended"
        raise InvalidInput(f"{path} has {', '.join(limits) or 'no limit'}; give {one}.", field=path)
    beyond = rule.get("beyond")
    if beyond is not None and (not isinstance(beyond, int) or isinstance(beyond, bool) or beyond < 0):
        raise InvalidInput(f"{path}.beyond is {quoted_value(beyond)}; give a whole number.", field=f"{path}.beyond")
    spans = {name: parse_span(rule[name], f"{path}.{name}") for name in limits if name != "beyond"}
    return RetentionRule(kind, spans.get("older_than"), beyond, spans.get("session_ended"))


def _require_object(given: Json, path: str, known: tuple[str, ...] | None = None) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{path} is {quoted_value(given)}; give an object.", field=path)
    for name in given:
        if known is not None and name not in known:
            raise InvalidInput(
                f"{path} has {quoted_value(name)}; use one of {', '.join(known)}.", field=f"{path}.{name}"
            )
    return given


def parse_span(value: Json, path: str) -> timedelta:
    """Parse a time span such as 12h, 30d, 8w or 1y."""
    match = _SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    length = timedelta(seconds=float(match[1]) * _SECONDS[match[2]]) if match and len(match[1]) < 12 else None
    if length is None or not timedelta(0) < length <= MAX_SPAN:
        raise InvalidInput(f"{path} is {quoted_value(value)}; write a span like 12h, 30d, 8w or 1y.", field=path)
    return length


async def apply_policy(store: Store, setting: Json, now: datetime, *, dry_run: bool = False) -> list[Retained]:
    """Forget what the rules select, a few hundred items per change, so that no writer waits for long."""
    from holdfast.domain.reports import Retained

    done = []
    parsed = parse_policy(setting)
    for rule, words in zip(parsed.rules, (setting or {}).get("forget", []), strict=True):
        memories = messages = 0
        first: list[str] = []
        going = _due_messages(store, rule, now) if rule.kind in NON_KIND_TARGETS else _due_memories(store, rule, now)
        async for ids in going:
            summaries = await _find_unpinned_summaries(store, ids)
            gone = (await store.apply(Change(forget=tuple(dict.fromkeys([*ids, *summaries])), dry_run=dry_run))).gone
            memories, messages = memories + len(gone.memories), messages + len(gone.messages)
            first += [*gone.memories, *gone.messages][: 10 - len(first)]
        done.append(Retained(dict(words), memories, messages, tuple(first)))
    return done


async def _due_memories(store: Store, rule: RetentionRule, now: datetime) -> AsyncIterator[list[str]]:
    """Page by page, the ids of memories that a rule selects, with their earlier versions. Retired ones are due too, but
    are not counted by `beyond`."""
    unpinned = Not(Test(f"metadata.{PINNED_FIELD}", "eq", True))
    where: Where = All((Test("kind", "eq", rule.kind), unpinned))
    ended = await _find_ended_sessions(store, now - rule.session_ended) if rule.session_ended is not None else set()
    cursor, seen = None, 0
    while True:
        page = await store.scan(where, now=None, limit=PAGE_SIZE, cursor=cursor, superseded=True)
        due = []
        for memory in page:
            if not (memory.current or memory.retired):
                continue
            newer, seen = seen, seen + memory.current
            old = rule.older_than is not None and memory.updated_at < now - rule.older_than
            if old or (rule.beyond is not None and newer >= rule.beyond) or memory.session_id in ended:
                due.append(memory)
        if due:
            yield [version.ref for memory in due for version in await store.history(memory.ref)]
        cursor = page.cursor
        if cursor is None:
            return


async def _find_ended_sessions(store: Store, before: datetime) -> set[str | None]:
    """Find the sessions whose last message is older than `before`."""
    last: dict[str | None, datetime] = {}
    async for message in every_message(store):
        last[message.session_id] = max(last.get(message.session_id, message.said_at), message.said_at)
    return {session for session, at in last.items() if at < before}


async def _due_messages(store: Store, rule: RetentionRule, now: datetime) -> AsyncIterator[list[str]]:
    assert rule.older_than is not None
    before = now - rule.older_than
    pinned = await _find_pinned_sources(store)
    ended = await _find_ended_sessions(store, before) if rule.kind == "session" else None
    some: list[str] = []
    async for message in every_message(store):
        old = message.said_at < before if ended is None else message.session_id in ended
        if old and message.id not in pinned:
            some.append(message.id)
            if len(some) == PAGE_SIZE:
                yield some
                some = []
    if some:
        yield some


async def _find_unpinned_summaries(store: Store, ids: list[str]) -> list[str]:
    """Summaries of what goes: they repeat its words. Whoever pinned one keeps it."""
    found = await store.get(await find_covering_summaries(store, ids, ids))
    return [memory.id for memory in found if not (isinstance(memory, Memory) and memory.metadata.get(PINNED_FIELD))]


async def _find_pinned_sources(store: Store) -> set[str]:
    page = await store.scan(Test(f"metadata.{PINNED_FIELD}", "eq", True), now=None, limit=NO_LIMIT)
    return {source for memory in page for source in memory.sources}
