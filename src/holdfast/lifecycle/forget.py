"""Forgets memories, messages, sessions, matches of a filter, people and what has expired.

Forgetting a memory removes all its versions and what says the same, and takes its words out of the messages they rest
on; other memories that rest on these messages stay. Forgetting messages removes the memories that rest on nothing else.
What only a forgotten memory had ended is current again, as if that had never been said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.domain import identifiers
from holdfast.domain.erasure import name_pattern, names_person
from holdfast.domain.errors import Conflict, InvalidInput, NotFound, Stale
from holdfast.domain.idempotency import first_answer
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import Edit, Once
from holdfast.domain.timestamps import now
from holdfast.domain.tracing import note
from holdfast.domain.types import (
    Change,
    Forgotten,
    Memory,
    Message,
    Shortened,
    Test,
    Where,
)
from holdfast.lifecycle.versions import find_restored, load_versions
from holdfast.storage.inventory import every_message
from holdfast.storage.summary_cover import find_covering_summaries

NAMING_FIELDS = ("content", "summary", "kind", "key", "value", "metadata", "keywords", "queries", "session_id")
"""Fields of a memory that may name a person."""
MAX_SHORTENING_ATTEMPTS = 5
"""How often messages are shortened again because they, or what rests on them, changed meanwhile. Chosen by hand; not
measured."""
EARLIER, SAYS_THE_SAME = "an earlier form of it", "says the same of the same message"
SUMMARISES, RESTORED = "a summary of it", "a part of what is current again"
"""Why a memory goes that was not named."""


@dataclass(frozen=True, slots=True)
class ForgetOptions:
    """Options of a forget: dry run, idempotency key, expected version, and documents that go with it."""

    dry_run: bool = False
    once: Once | None = None
    etag: str | None = None
    """Forget only if the memory is still as the caller read it."""
    documents: tuple[str, ...] = ()
    """Ids of documents to remove in the same change."""
    sources: bool = False
    """Whether the messages that a memory rests on go as a whole, and not only its words."""
    expecting_work: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """Wraps a change that leaves parts of messages to embed."""


async def load_first_result(store: Store, how: ForgetOptions) -> Forgotten | None:
    """The result of the first request with this idempotency key, if there was one."""
    done = await first_answer(store, how.once)
    return None if done is None else Forgotten(done.memories, done.messages, done.shortened)


async def forget(store: Store, id: str, how: ForgetOptions) -> Forgotten:
    """Forget a message, or a memory with its versions and its words in the messages they rest on."""
    found = await store.get([id])
    if not found:
        raise NotFound(f"There is no memory or message {id!r} in this profile.", field="id")
    if isinstance(found[0], Memory) and id == found[0].ref:
        raise InvalidInput(
            f"{id!r} is one version; a memory is forgotten with all its versions.",
            field="id",
            fix=f"Forget {found[0].id!r}. To take back only the last change, undo it.",
        )
    if isinstance(found[0], Memory) and not found[0].seen_as(how.etag):
        raise Stale(f"Memory {id} has changed since it was read.", fix="Read it again and decide again.")
    if isinstance(found[0], Message):
        return await forget_items(store, [id], how)
    return await _forget_memories(store, [id], how)


async def forget_session(store: Store, session_id: str, how: ForgetOptions) -> Forgotten:
    """Forget the messages of a session, and the memories written in it that no other session supports."""
    messages = {message.id for message in await store.messages(session_id, limit=2**31)}
    of_session = Test("session_id", "eq", session_id)
    written = await store.scan(of_session, now=None, limit=2**31, superseded=True)
    own = [memory.ref for memory in written.items if set(memory.sources) <= messages]
    return await forget_items(store, [*own, *sorted(messages)], how, asked_in=(session_id,))


async def forget_where(store: Store, where: Where, how: ForgetOptions) -> Forgotten:
    """Forget every memory, current or superseded, that matches a filter; each as `forget` does."""
    found = await store.scan(where, now=None, limit=2**31, superseded=True)
    return await _forget_memories(store, [memory.ref for memory in found.items], how)


async def forget_person(store: Store, name: str, how: ForgetOptions) -> Forgotten:
    """Forget what a person said and what names them: messages, memories with all their versions, and questions.

    Names are compared by whole words and without case, in every text of an item: its content, key, value, metadata and
    session. Everybody with the same name is forgotten too, so look at a dry run first.
    """
    named = (name_pattern(name),)
    ids: dict[str, None] = {}
    async for message in every_message(store):
        author = name.casefold() in ((message.speaker or "").casefold(), (message.agent or "").casefold())
        if author or names_person(named, message.content, message.speaker, message.metadata, message.session_id):
            ids[message.id] = None
    cursor = None
    while True:
        page = await store.scan(None, now=None, limit=500, cursor=cursor, superseded=True)
        for memory in page:
            texts = [getattr(memory, field) for field in NAMING_FIELDS]
            if (memory.agent or "").casefold() == name.casefold() or names_person(named, *texts):
                ids |= dict.fromkeys([version.ref for version in await load_versions(store, memory.ref)])
        cursor = page.cursor
        if cursor is None:
            return await forget_items(store, list(ids), how, people=(name,))


async def _forget_memories(store: Store, ids: Sequence[str], how: ForgetOptions) -> Forgotten:
    """Forget memories with all their versions and what says the same, and shorten the messages these rest on; again
    when those changed."""
    from holdfast.lifecycle.repeated_statements import find_repeated
    from holdfast.lifecycle.shortened_messages import find_shortened_messages, sources_of

    for attempt in range(MAX_SHORTENING_ATTEMPTS):
        memories = await _load_each(store, ids)
        versions = [version for each in memories for version in each]
        repeated = await find_repeated(store, versions, now())
        reasons = dict.fromkeys([memory.ref for memory in repeated.gone], SAYS_THE_SAME)
        named = {item.id for item in await store.get(ids)}
        reasons |= {version.ref: EARLIER for version in versions if version.id not in named}
        refs = [version.ref for version in (*versions, *repeated.gone)]
        summaries = await find_covering_summaries(store, sources_of(memories), [version.id for version in versions])
        reasons |= dict.fromkeys(summaries, SUMMARISES)
        gone = list(dict.fromkeys([*refs, *summaries]))
        shorten = await find_shortened_messages(store, memories, {*gone}, repeated.left, whole=how.sources)
        leaves_parts = not how.dry_run and (bool(repeated.left) or any(each.parts for each in shorten))
        try:
            async with how.expecting_work() if leaves_parts else nullcontext():
                return await forget_items(store, gone, how, shorten=shorten, left=repeated.left, reasons=reasons)
        except Conflict:
            if attempt == MAX_SHORTENING_ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


async def _load_each(store: Store, ids: Sequence[str]) -> list[list[Memory]]:
    """All versions of the memories with these ids, each memory once."""
    found: list[list[Memory]] = []
    seen: set[str] = set()
    for id in ids:
        if id not in seen:
            found.append(await load_versions(store, id))
            seen |= {id, *(version.ref for version in found[-1])}
    return found


async def sweep(store: Store, *, now: datetime, limit: int = 500) -> int:
    """Forget expired memories with what they superseded; the messages they rest on stay. Returns how many."""
    expired = await store.scan(Test("expires_at", "lte", now), now=None, limit=limit, superseded=True)
    going: dict[str, None] = {}
    for memory in expired.items:
        going |= dict.fromkeys(_with_predecessors(memory, await store.history(memory.ref)))
    if going:
        summaries = await find_covering_summaries(store, [], list(going))
        await store.apply(Change(forget=tuple(dict.fromkeys([*going, *summaries]))))
    return len(going)


async def _removed_memories(store: Store, names: Sequence[str]) -> list[Memory]:
    """The versions that a forget removes: those it names, and all versions of a memory that goes."""
    removed = []
    for name in names:
        versions = [each for each in await store.history(name) if name in (each.id, each.ref)]
        named = [each for each in versions if each.ref == name]
        removed += named or versions
    return removed


def _with_predecessors(memory: Memory, versions: Sequence[Memory]) -> list[str]:
    """References of a version and of all that it superseded, directly or through others."""
    going = [memory.ref]
    for ref in going:
        going += [version.ref for version in versions if version.superseded_by == ref and version.ref not in going]
    return going


async def forget_items(
    store: Store,
    ids: list[str],
    how: ForgetOptions,
    asked_in: tuple[str, ...] = (),
    people: Sequence[str] = (),
    shorten: tuple[Shortened, ...] = (),
    left: Sequence[Memory] = (),
    reasons: Mapping[str, str] | None = None,
) -> Forgotten:
    """Forget these items and the summaries that cover them in one change, with the sessions `asked_in` and `people`.
    `left` is what stays of memories that go; `reasons` tells why they do, by reference."""
    from holdfast.text.passages import index_parts  # loads numpy, which a sweep with nothing to forget needs not

    ids = list(dict.fromkeys([*ids, *await find_covering_summaries(store, ids, ids)]))
    change = Change(
        memories=tuple(left), parts=tuple(part for memory in left for part in index_parts(memory)), forget=tuple(ids),
        asked_in=asked_in, people=tuple(people), once=how.once, dry_run=how.dry_run, documents=how.documents,
        shorten=shorten,
    )  # fmt: skip
    try:
        would = (await store.apply(replace(change, dry_run=True, once=None))).gone
        restored = await find_restored(store, await _removed_memories(store, would.memories))
        if restored.gone or restored.kept_ended:
            change = replace(change, forget=(*ids, *restored.gone), kept_ended=restored.kept_ended)
            would = (await store.apply(replace(change, dry_run=True, once=None))).gone
        if (
            would.memories or would.messages or would.shortened
        ):  # logged, so that an attempt to undo it is refused with the reason
            change = replace(change, edit=Edit(identifiers.memory_id(now()), now(), "forget"))
        versions = [memory.ref for memory in await _removed_memories(store, would.memories)]
        indexed = await store.indexed([*versions, *would.messages, *would.shortened])
        done = (await store.apply(change)).gone
    except Conflict:  # the same request ran concurrently, and the other one was first
        found = await load_first_result(store, how)
        if found is None:
            raise
        return found
    places = {
        "message": len(done.messages), "memory": len(versions), "part": len(indexed),
        "vector": sum(vector is not None for _, vector in indexed),
        "session": len(asked_in) if done.memories or done.messages else 0,
    }  # fmt: skip
    counts = {"memories": len(done.memories), "messages": len(done.messages), "shortened": len(done.shortened)}
    note(rehearsed=how.dry_run, **counts)
    told = dict(reasons or {}) | dict.fromkeys(restored.gone, RESTORED)
    return replace(
        done,
        places={name: count for name, count in places.items() if count},
        reasons={
            name: why
            for ref, why in told.items()
            for name in {ref, identifiers.referenced_id(ref)}
            if name in done.memories
        },
        restored=restored.current,
    )
