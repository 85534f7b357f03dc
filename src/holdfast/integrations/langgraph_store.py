"""A LangGraph store over a profile: long-term memory with search by meaning. Needs `langgraph-checkpoint`.

An item is a memory of one kind. The memory's key is the item's namespace and key as a path; its value is the item's
value. Every put writes a version. Items are embedded by the profile's own embedder, so the store takes no embedder.
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

from holdfast import (
    Hit,
    InvalidInput,
    Memory,
    NotFound,
    Profile,
    Stale,
)
from holdfast.domain.limits import MAX_QUERY_BYTES
from holdfast.integrations.sync_or_async import AwaitableProfile, run_without_loop
from holdfast.service.facades.file_keys import key_of_path, steps_of
from holdfast.service.facades.notes import PAGE_SIZE, truncated_content

if TYPE_CHECKING:
    from holdfast.domain.ports.profile import AsyncProfile

Namespace = tuple[str, ...]
MIN_REFRESH_SHARE = 0.05
"""A read renews an item's TTL only after this share of it has passed, because each renewal writes a version.

Chosen by hand; not measured.
"""
_CREATED, _UPDATED, _TTL = "created_at", "updated_at", "ttl"
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "$gt": lambda one, other: one > other,
    "$gte": lambda one, other: one >= other,
    "$lt": lambda one, other: one < other,
    "$lte": lambda one, other: one <= other,
}


class HoldfastStore(BaseStore):
    """Items by namespace and key, searchable by meaning, with an optional TTL.

    Over a profile of a Holdfast it has blocking and asynchronous methods; over one of an AsyncHoldfast only the latter.
    `fields` are the paths in a value that are searched, unless a put sets others with `index`.
    """

    supports_ttl = True

    def __init__(
        self,
        profile: Profile | AsyncProfile,
        *,
        kind: str = "item",
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
    ) -> None:
        self._blocking = isinstance(profile, Profile)
        self._profile: Any = AwaitableProfile(profile) if isinstance(profile, Profile) else profile
        self._kind = kind
        self._fields = tuple(fields)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations. Reads see the state before the batch; of several puts to one item, the last one wins."""
        if not self._blocking:
            raise TypeError("A store over a profile of an AsyncHoldfast has asynchronous methods only (aget, aput, …).")
        return run_without_loop(self._run_ops(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations, with the same semantics as `batch`."""
        if self._blocking:
            return await asyncio.to_thread(self.batch, [*ops])
        return await self._run_ops(ops)

    async def _run_ops(self, ops: Iterable[Op]) -> list[Result]:
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            match op:
                case GetOp():
                    results.append(await self._get_item(op))
                case SearchOp():
                    results.append(await self._search_items(op))
                case ListNamespacesOp():
                    results.append(await self._list_namespaces(op))
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
            truncated_content("\n".join(texts)) or op.key.strip() or self._kind,
            kind=self._kind,
            key=key_of_path((*op.namespace, op.key)),
            value=dict(op.value),
            metadata=metadata if op.ttl is None else {**metadata, _TTL: op.ttl},
            ttl=None if op.ttl is None else op.ttl * 60,
            embed=bool(texts),
            trust="agent",
        )

    def _texts(self, op: PutOp) -> list[str]:
        """The texts of an item that are searched."""
        if op.index is False:
            return []
        found = [
            text
            for path in (self._fields if op.index is None else op.index)
            for text in get_text_at_path(op.value, path if path == "$" else tokenize_path(path))
        ]
        return [text for text in found if text.strip()]

    async def _get_item(self, op: GetOp) -> Item | None:
        head = await self._head((*op.namespace, op.key))
        if head is None:
            return None
        if op.refresh_ttl:
            await self._renew_ttl(head)
        return Item(**_item_fields(head))

    async def _search_items(self, op: SearchOp) -> list[SearchItem]:
        """With a query: the matching items, best first, then the others. Without: all items, newest first."""
        wanted = op.offset + max(op.limit, 0)
        found: dict[str, tuple[Memory | Hit, float | None]] = {}
        if wanted and op.query and op.query.strip():
            for hit in await self._hits(op, PAGE_SIZE if op.filter else min(wanted, PAGE_SIZE)):
                if _filter_matches(hit.value, op.filter):
                    found[hit.id] = hit, hit.score
        if len(found) < wanted:
            async for memory in self._all_items(op.namespace_prefix):
                if memory.id not in found and _filter_matches(memory.value, op.filter):
                    found[memory.id] = memory, None
                    if len(found) >= wanted:
                        break
        page = list(found.values())[op.offset : wanted]
        for each, _ in page:
            if op.refresh_ttl and _TTL in each.metadata:
                await self._renew_ttl(await self._profile.get(each.id) if isinstance(each, Hit) else each)
        return [SearchItem(**_item_fields(each), score=score) for each, score in page]

    async def _hits(self, op: SearchOp, limit: int) -> list[Hit]:
        query = (op.query or "").encode()[:MAX_QUERY_BYTES].decode(errors="ignore")
        hits: list[Hit] = await self._profile.search(
            query, limit=limit, kind=self._kind, key_prefix=_key_prefix(op.namespace_prefix)
        )
        return hits

    async def _list_namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        literal = max(
            (_literal_prefix(each.path) for each in conditions if each.match_type == "prefix"), key=len, default=()
        )
        found = {_namespace_and_key(memory.key)[0] async for memory in self._all_items(literal)}
        matching = {each for each in found if all(_namespace_matches(condition, each) for condition in conditions)}
        short = sorted({each[: op.max_depth] for each in matching})
        return short[op.offset : op.offset + op.limit]

    async def _head(self, steps: Namespace) -> Memory | None:
        page = await self._profile.list(kind=self._kind, key=key_of_path(steps), limit=1)
        return page[0] if len(page) else None

    async def _all_items(self, namespace: Namespace) -> AsyncIterator[Memory]:
        """All items in a namespace and below it, newest first."""
        cursor: str | None = None
        while True:
            page = await self._profile.list(
                kind=self._kind, key_prefix=_key_prefix(namespace), limit=PAGE_SIZE, cursor=cursor
            )
            for memory in page:
                yield memory
            if (cursor := page.cursor) is None:
                return

    async def _renew_ttl(self, memory: Memory) -> None:
        minutes, end = memory.metadata.get(_TTL), memory.expires_at
        if minutes is None or end is None:
            return
        life = timedelta(minutes=minutes)
        if datetime.now(UTC) + life - end > life * MIN_REFRESH_SHARE:
            with suppress(Stale, NotFound):  # another put or delete came first
                await self._profile.revise(memory.id, etag=memory.etag, ttl=life)


def _key_prefix(namespace: Namespace) -> str:
    return f"{key_of_path(namespace)}/" if namespace else "/"


def _namespace_and_key(key: str | None) -> tuple[Namespace, str]:
    *namespace, name = steps_of(key or "/") or ("",)
    return tuple(namespace), name


def _item_fields(found: Memory | Hit) -> dict[str, Any]:
    namespace, key = _namespace_and_key(found.key)
    created, updated = (found.metadata.get(name) or found.created_at.isoformat() for name in (_CREATED, _UPDATED))
    return {
        "namespace": namespace, "key": key, "value": found.value,
        "created_at": datetime.fromisoformat(created), "updated_at": datetime.fromisoformat(updated),
    }  # fmt: skip


def _literal_prefix(path: Namespace) -> Namespace:
    """The part of a path before its first wildcard."""
    return path[: path.index("*")] if "*" in path else path


def _namespace_matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _filter_matches(value: Any, filter: Mapping[str, Any] | None) -> bool:
    return all(_condition_matches(value.get(name), wanted) for name, wanted in (filter or {}).items())


def _condition_matches(value: Any, wanted: Any) -> bool:
    """Whether a part of a value matches a condition. Values that cannot be compared do not match."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_operator_matches(value, operator, operand) for operator, operand in wanted.items())
        return isinstance(value, dict) and all(
            _condition_matches(value.get(name), inner) for name, inner in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        alike = isinstance(value, list) and len(value) == len(wanted)
        return alike and all(_condition_matches(one, other) for one, other in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _operator_matches(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(value == operand) == (operator == "$eq")
    if operator not in _COMPARISONS:
        raise ValueError(f"Unsupported operator: {operator}")
    limit = float(operand)
    try:
        return _COMPARISONS[operator](float(value), limit)
    except (TypeError, ValueError, OverflowError):
        return False
