"""Kinds with schemas, of one profile: register, look at, migrate, roll back, drop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import kinds, mappings, names, restate, schemas
from .errors import AlreadyExists, InvalidInput, NotFound, shown
from .kinds import Kind, KindInfo, version_number, version_of
from .migrate import Migrated, Migration
from .ports import Store
from .recorder import traced
from .reported import Reported
from .restate import Using, Way
from .results import Page
from .trail import note
from .types import Json, Memory, Message, Test


class Kinded(Reported):
    """A profile of this process's data folder, as far as its kinds have schemas."""

    @traced
    async def register_kind(
        self, kind: str, schema: Mapping[str, Any], *, version: int = 1, reverse: Json = None
    ) -> KindInfo:
        """Hold what is written of a kind to a JSON Schema; `reverse` maps its values to those of the version before.

        The first version counts at once; a further one when `migrate_kind` has brought the memories there.
        """
        name, number = names.kind(kind), version_number(version)
        text = schemas.checked(schema)
        if reverse is not None:
            mappings.read(reverse, "reverse")
        store = await self._written_to()
        async with self._writing():
            found = await self._registered(store)
            held = found.get(name, Kind(name, number, {}, {}))
            if len(held.schemas) >= kinds.MOST_VERSIONS:
                raise InvalidInput(f"Kind {name!r} has {kinds.MOST_VERSIONS} versions.", field="version")
            if held.schemas.get(number, text) != text and await self._counted(store, name, number):
                raise AlreadyExists(
                    f"Version {number} of {name!r} has another schema, and memories.", field="version",
                    fix=f"Register it as version {max(held.schemas) + 1}.",
                )  # fmt: skip
            ways = {n: each for n, each in held.reverse.items() if n != number}
            ways |= {} if reverse is None else {number: reverse}
            made = replace(held, schemas=held.schemas | {number: text}, reverse=ways)
            await self._lay_down(store, made)
        return made.info

    async def kinds(self) -> tuple[KindInfo, ...]:
        """Every kind that has a schema, by name."""
        found = await self._registered(await self._read())
        return tuple(found[name].info for name in sorted(found))

    async def kind(self, kind: str) -> KindInfo:
        """One kind's schemas, and how many memories are at each version."""
        store = await self._read()
        held = await self._kind(store, kind)
        counts: dict[str, int] = {}
        async for memory in _of_kind(store, held.name):
            at = version_of(memory)
            counts["" if at is None else str(at)] = counts.get("" if at is None else str(at), 0) + 1
        return replace(held.info, memories=counts)

    @traced
    async def drop_kind(self, kind: str, *, force: bool = False) -> bool:
        """Hold a kind to no schema any more; False when it had none. Refuses while it has memories, unless `force`."""
        name, store = names.kind(kind), await self._store()
        async with self._writing():
            if name not in await self._registered(store):
                return False
            if not force and await self._counted(store, name):
                raise AlreadyExists(f"There are memories of kind {name!r}.", field="kind", fix="Drop it with force.")
            await store.journal.lay_down(kinds.PREFIX + name, None)
            self._holdfast._forget_laid_down(self._who)
        return True

    @traced
    async def migrate_kind(self, kind: str, *, to: int, using: Using | None = None, dry_run: bool = True) -> Migrated:
        """Bring a kind's memories to a version: by a mapping, by a function of the value, or as they are.

        With `dry_run` only tell what would become of them. Interrupted, it goes on where it stopped when asked again.
        """
        given, store = restate.checked_using(using), await self._store()
        held = await self._kind(store, kind)
        held.known(version_number(to, "to"), "to")
        if to < held.current:
            raise InvalidInput(f"Kind {held.name!r} is at version {held.current}; roll it back to {to}.", field="to")
        if held.migrating not in (None, to):
            raise AlreadyExists(f"Kind {held.name!r} is on its way to version {held.migrating}.", field="to")
        if given is None and held.migrating == to:
            given = held.using
        way = restate.forward(held, to, given, self._holdfast._clock)
        kept = None if callable(given) else given
        return await self._migrated(store, way, replace(held, migrating=to, using=kept), dry_run)

    @traced
    async def rollback_kind(self, kind: str, *, to: int, dry_run: bool = True) -> Migrated:
        """Give a kind's memories the values again that they had at a lower version, as new versions of them.

        What was written since goes by the reverse mappings where there are some, and is history only where not.
        """
        store = await self._store()
        held = await self._kind(store, kind)
        held.known(version_number(to, "to"), "to")
        if to > held.current:
            raise InvalidInput(f"Kind {held.name!r} is at version {held.current}; there is no way back.", field="to")
        way = restate.backward(store, held, to, self._holdfast._clock)
        return await self._migrated(store, way, replace(held, migrating=to, using=None), dry_run)

    async def _migrated(self, store: Store, way: Way, under_way: Kind, dry_run: bool) -> Migrated:
        migration = Migration(store, way, self._writing)
        if dry_run:
            return await migration.rehearsed()
        async with self._writing():
            await self._lay_down(store, under_way)

        async def settled() -> None:
            held = await self._kind(store, way.kind.name)
            await self._lay_down(store, replace(held, current=way.to, migrating=None, using=None))

        async def nothing() -> None: ...

        await migration.run(settled)
        grace = self._holdfast._seen_everywhere
        if grace:  # others may have gone by the old schema until now
            await asyncio.sleep(grace)
            await migration.run(nothing)
        done = migration.told()
        note(kind=done.kind, to=done.to, migrated=done.migrated, failed=done.failed)
        return done

    async def _understood(self, store: Store, memory: Memory | Message, version: int | None) -> Memory | Message:
        """The memory at the version that a reader asks for."""
        if version is None:
            return memory
        if isinstance(memory, Message):
            raise InvalidInput("A message has no versions.", field="version")
        found = await self._kinds_in_use()
        return await restate.understood(store, found.get(memory.kind), memory, version_number(version))

    async def _all_understood(self, store: Store, page: Page, kind: object, version: int | None) -> Page:
        if version is None:
            return page
        if not isinstance(kind, str):
            raise InvalidInput(f"version goes with one kind, not with {shown(kind)}.", field="version")
        read = [await self._understood(store, each, version) for each in page]
        return replace(page, items=tuple(each for each in read if isinstance(each, Memory)))

    async def _kind(self, store: Store, kind: str) -> Kind:
        found = (await self._registered(store)).get(names.kind(kind))
        if found is None:
            raise NotFound(f"Kind {kind!r} has no schema in this profile.", field="kind", fix="Register one first.")
        return found

    async def _kinds_in_use(self) -> dict[str, Kind]:
        """What new values are held to: as last read, a moment old at most; nothing while somebody imports."""
        return {} if kinds.free() else kinds.opened(await self._holdfast._laid_down(self._who))

    async def _registered(self, store: Store) -> dict[str, Kind]:
        return kinds.opened(await store.journal.settings())

    async def _lay_down(self, store: Store, kind: Kind) -> None:
        await store.journal.lay_down(kinds.PREFIX + kind.name, kind.laid_down())
        self._holdfast._forget_laid_down(self._who)

    async def _counted(self, store: Store, kind: str, version: int | None = None) -> bool:
        """Whether there is any memory of it."""
        async for memory in _of_kind(store, kind):
            if version in (None, version_of(memory)):
                return True
        return False

    if TYPE_CHECKING:

        def _writing(self) -> AbstractAsyncContextManager[None]: ...


async def _of_kind(store: Store, kind: str) -> AsyncIterator[Memory]:
    cursor = None
    while True:
        page = await store.scan(Test("kind", "eq", kind), now=None, limit=500, cursor=cursor)
        for memory in page:
            yield memory
        cursor = page.cursor
        if cursor is None:
            return
