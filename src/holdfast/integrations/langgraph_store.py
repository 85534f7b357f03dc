"""A LangGraph store over a profile: long-term memory for graphs that is found by meaning. Needs `langgraph-checkpoint`.

An item is a memory of one kind whose key is its namespace and its key, as a path; its value is the memory's. Every put
is a version. Items are found by meaning and words with the profile's own embedder, so there is none to configure.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
)

from holdfast import Hit, InvalidInput, LocalProfile, Memory, NotFound, Profile, Stale
from holdfast.names import QUERY_BYTES
from holdfast.notes import PAGE, found_by
from holdfast.paths import keyed, steps_of

from .either import Awaited, at_once

if TYPE_CHECKING:
    from holdfast.remote import RemoteProfile

Namespace = tuple[str, ...]
REFRESHED = 0.05
"""A read prolongs an item's life when this share of it is over: each time it does, a version is written."""
_CREATED, _UPDATED, _TTL = "created_at", "updated_at", "ttl"
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "$gt": lambda one, other: one > other,
    "$gte": lambda one, other: one >= other,
    "$lt": lambda one, other: one < other,
    "$lte": lambda one, other: one <= other,
}


class HoldfastStore(BaseStore):
    """Items by namespace and key, found by meaning, that may expire.

    Over a profile of a Holdfast it serves both kinds of callers, over one of an AsyncHoldfast the asynchronous one.
    `fields` are the paths within a value that it is found by, unless a put says otherwise with `index`.
    """

    supports_ttl = True

    def __init__(
        self,
        profile: Profile | LocalProfile | RemoteProfile,
        *,
        kind: str = "item",
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
    ) -> None:
        self._blocking = isinstance(profile, Profile)
        self._profile: Any = Awaited(profile) if isinstance(profile, Profile) else profile
        self._kind = kind
        self._fields = tuple(fields)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see what was there before the batch; of several puts to one item the last one counts."""
        if not self._blocking:
            raise TypeError("A store over a profile of an AsyncHoldfast has asynchronous methods only (aget, aput, …).")
        return at_once(self._done(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As batch."""
        if self._blocking:
            return await asyncio.to_thread(self.batch, [*ops])
        return await self._done(ops)

    async def _done(self, ops: Iterable[Op]) -> list[Result]:
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            match op:
                case GetOp():
                    results.append(await self._got(op))
                case SearchOp():
                    results.append(await self._found(op))
                case ListNamespacesOp():
                    results.append(await self._namespaces(op))
                case PutOp():
                    puts[op.namespace, op.key] = op
                    results.append(None)
                case _:
                    raise ValueError(f"Unknown operation type: {type(op)}")
        for op in puts.values():
            await self._put(op)
        return results

    async def _put(self, op: PutOp) -> None:
        head = await self._head((*op.namespace, op.key))
        if op.value is None:
            if head is not None:
                await self._profile.forget(head.id)
            return
        try:
            texts = self._texts(op)
        except TypeError as bad:
            raise InvalidInput(f"value is not JSON: {bad}.", field="value") from bad
        now = datetime.now(UTC).isoformat()
        metadata = {_CREATED: now if head is None else head.metadata.get(_CREATED, now), _UPDATED: now}
        await self._profile.remember(
            found_by("\n".join(texts)) or op.key.strip() or self._kind,
            kind=self._kind,
            key=keyed((*op.namespace, op.key)),
            value=dict(op.value),
            metadata=metadata if op.ttl is None else {**metadata, _TTL: op.ttl},
            ttl=None if op.ttl is None else op.ttl * 60,
            embed=bool(texts),
            trust="agent",
        )

    def _texts(self, op: PutOp) -> list[str]:
        """What an item is found by."""
        if op.index is False:
            return []
        found = [
            text
            for path in (self._fields if op.index is None else op.index)
            for text in get_text_at_path(op.value, path if path == "$" else tokenize_path(path))
        ]
        return [text for text in found if text.strip()]

    async def _got(self, op: GetOp) -> Item | None:
        head = await self._head((*op.namespace, op.key))
        if head is None:
            return None
        if op.refresh_ttl:
            await self._prolong(head)
        return Item(**_fields_of(head))

    async def _found(self, op: SearchOp) -> list[SearchItem]:
        """With a query those that answer it, best first, then the rest; without one the newest first."""
        wanted = op.offset + max(op.limit, 0)
        found: dict[str, tuple[Memory | Hit, float | None]] = {}
        if wanted and op.query and op.query.strip():
            for hit in await self._hits(op, PAGE if op.filter else min(wanted, PAGE)):
                if _passes(hit.value, op.filter):
                    found[hit.id] = hit, hit.score
        if len(found) < wanted:
            async for memory in self._every(op.namespace_prefix):
                if memory.id not in found and _passes(memory.value, op.filter):
                    found[memory.id] = memory, None
                    if len(found) >= wanted:
                        break
        told = list(found.values())[op.offset : wanted]
        for each, _ in told:
            if op.refresh_ttl and _TTL in each.metadata:
                await self._prolong(await self._profile.get(each.id) if isinstance(each, Hit) else each)
        return [SearchItem(**_fields_of(each), score=score) for each, score in told]

    async def _hits(self, op: SearchOp, limit: int) -> list[Hit]:
        query = (op.query or "").encode()[:QUERY_BYTES].decode(errors="ignore")
        hits: list[Hit] = await self._profile.search(
            query, limit=limit, kind=self._kind, key_prefix=_prefix(op.namespace_prefix)
        )
        return hits

    async def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        literal = max((_literal(each.path) for each in conditions if each.match_type == "prefix"), key=len, default=())
        found = {_place(memory.key)[0] async for memory in self._every(literal)}
        matching = {each for each in found if all(_matches(condition, each) for condition in conditions)}
        short = sorted({each[: op.max_depth] for each in matching})
        return short[op.offset : op.offset + op.limit]

    async def _head(self, steps: Namespace) -> Memory | None:
        page = await self._profile.list(kind=self._kind, key=keyed(steps), limit=1)
        return page[0] if len(page) else None

    async def _every(self, namespace: Namespace) -> AsyncIterator[Memory]:
        """All items in a namespace and below it, newest first."""
        cursor: str | None = None
        while True:
            page = await self._profile.list(kind=self._kind, key_prefix=_prefix(namespace), limit=PAGE, cursor=cursor)
            for memory in page:
                yield memory
            if (cursor := page.cursor) is None:
                return

    async def _prolong(self, memory: Memory) -> None:
        minutes, end = memory.metadata.get(_TTL), memory.expires_at
        if minutes is None or end is None:
            return
        life = timedelta(minutes=minutes)
        if datetime.now(UTC) + life - end > life * REFRESHED:
            with suppress(Stale, NotFound):  # somebody has put or deleted it meanwhile, and that counts
                await self._profile.revise(memory.id, etag=memory.etag, ttl=life)


def _prefix(namespace: Namespace) -> str:
    return f"{keyed(namespace)}/" if namespace else "/"


def _place(key: str | None) -> tuple[Namespace, str]:
    *namespace, name = steps_of(key or "/") or ("",)
    return tuple(namespace), name


def _fields_of(found: Memory | Hit) -> dict[str, Any]:
    namespace, key = _place(found.key)
    created, updated = (found.metadata.get(name) or found.created_at.isoformat() for name in (_CREATED, _UPDATED))
    return {
        "namespace": namespace, "key": key, "value": found.value,
        "created_at": datetime.fromisoformat(created), "updated_at": datetime.fromisoformat(updated),
    }  # fmt: skip


def _literal(path: Namespace) -> Namespace:
    """The part of a path before its first wildcard."""
    return path[: path.index("*")] if "*" in path else path


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _passes(value: Any, filter: Mapping[str, Any] | None) -> bool:
    return all(_holds(value.get(name), wanted) for name, wanted in (filter or {}).items())


def _holds(value: Any, wanted: Any) -> bool:
    """Whether a part of a value is as wanted. What cannot be compared does not hold."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_compares(value, operator, operand) for operator, operand in wanted.items())
        return isinstance(value, dict) and all(_holds(value.get(name), inner) for name, inner in wanted.items())
    if isinstance(wanted, list | tuple):
        alike = isinstance(value, list) and len(value) == len(wanted)
        return alike and all(_holds(one, other) for one, other in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _compares(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(value == operand) == (operator == "$eq")
    if operator not in _COMPARED:
        raise ValueError(f"Unsupported operator: {operator}")
    limit = float(operand)
    try:
        return _COMPARED[operator](float(value), limit)
    except (TypeError, ValueError, OverflowError):
        return False
