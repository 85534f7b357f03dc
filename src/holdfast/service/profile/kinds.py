"""Kinds with schemas of one profile: register, describe, migrate, roll back, drop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.domain import identifiers
from holdfast.domain.arguments import Using
from holdfast.domain.errors import AlreadyExists, InvalidInput, NotFound
from holdfast.domain.ports.profile.kinds import ProfileKinds
from holdfast.domain.ports.storage import Store
from holdfast.domain.tracing import note
from holdfast.domain.types import Json, Memory, Test
from holdfast.service.profile.context import ProfileVerbs
from holdfast.service.recorder import traced

if TYPE_CHECKING:
    from holdfast.domain.reports import KindInfo, Migrated
    from holdfast.ingest.kinds.versions import RegisteredKind
    from holdfast.lifecycle.migration.conversion import Conversion


class KindVerbs(ProfileVerbs, ProfileKinds):
    """Registering, migrating and dropping the schemas of kinds."""

    @traced
    async def register_kind(
        self, kind: str, schema: Mapping[str, Any], *, version: int = 1, reverse: Json = None
    ) -> KindInfo:
        from holdfast.ingest.kinds import json_schema, mapping, versions
        from holdfast.ingest.kinds.versions import RegisteredKind, validate_version

        name, number = identifiers.validate_kind(kind), validate_version(version)
        text = json_schema.validate_schema(schema)
        if reverse is not None:
            mapping.parse_mapping(reverse, "reverse")
        store = await self._context.writable_store()
        async with self._context.write_turn():
            found = await self._registered(store)
            held = found.get(name, RegisteredKind(name, number, {}, {}))
            if len(held.schemas) >= versions.MAX_VERSIONS:
                raise InvalidInput(f"Kind {name!r} has {versions.MAX_VERSIONS} versions.", field="version")
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
        found = await self._registered(await self._context.readable_store())
        return tuple(found[name].info for name in sorted(found))

    async def kind(self, kind: str) -> KindInfo:
        from holdfast.ingest.kinds.versions import schema_version

        store = await self._context.readable_store()
        held = await self._kind(store, kind)
        counts: dict[str, int] = {}
        async for memory in _of_kind(store, held.name):
            at = schema_version(memory)
            counts["" if at is None else str(at)] = counts.get("" if at is None else str(at), 0) + 1
        return replace(held.info, memories=counts)

    @traced
    async def drop_kind(self, kind: str, *, force: bool = False) -> bool:
        from holdfast.ingest.kinds import versions

        name, store = identifiers.validate_kind(kind), await self._context.store()
        async with self._context.write_turn():
            if name not in await self._registered(store):
                return False
            if not force and await self._counted(store, name):
                raise AlreadyExists(f"There are memories of kind {name!r}.", field="kind", fix="Drop it with force.")
            await store.journal.put_setting(versions.SETTING_PREFIX + name, None)
            self._context.invalidate_settings()
        return True

    @traced
    async def migrate_kind(self, kind: str, *, to: int, using: Using | None = None, dry_run: bool = True) -> Migrated:
        from holdfast.ingest.kinds.versions import validate_version
        from holdfast.lifecycle.migration import conversion

        given, store = conversion.validate_converter(using), await self._context.store()
        held = await self._kind(store, kind)
        held.known(validate_version(to, "to"), "to")
        if to < held.current:
            raise InvalidInput(f"Kind {held.name!r} is at version {held.current}; roll it back to {to}.", field="to")
        if held.migrating not in (None, to):
            raise AlreadyExists(f"Kind {held.name!r} is being migrated to version {held.migrating}.", field="to")
        if given is None and held.migrating == to:
            given = held.using
        way = conversion.forward_conversion(held, to, given, self._context.runtime.clock)
        kept = None if callable(given) else given
        return await self._migrated(store, way, replace(held, migrating=to, using=kept), dry_run)

    @traced
    async def rollback_kind(self, kind: str, *, to: int, dry_run: bool = True) -> Migrated:
        from holdfast.ingest.kinds.versions import validate_version
        from holdfast.lifecycle.migration import conversion

        store = await self._context.store()
        held = await self._kind(store, kind)
        held.known(validate_version(to, "to"), "to")
        if to > held.current:
            raise InvalidInput(
                f"Kind {held.name!r} is at version {held.current}; migrate it to {to} instead.", field="to"
            )
        way = conversion.backward_conversion(store, held, to, self._context.runtime.clock)
        return await self._migrated(store, way, replace(held, migrating=to, using=None), dry_run)

    async def _migrated(self, store: Store, way: Conversion, under_way: RegisteredKind, dry_run: bool) -> Migrated:
        from holdfast.lifecycle.migration.migrate import Migration

        migration = Migration(store, way, self._context.write_turn)
        if dry_run:
            return await migration.dry_run()
        async with self._context.write_turn():
            await self._lay_down(store, under_way)

        async def settled() -> None:
            held = await self._kind(store, way.kind.name)
            await self._lay_down(store, replace(held, current=way.to, migrating=None, using=None))

        async def nothing() -> None: ...

        await migration.run(settled)
        grace = self._context.runtime.settings.propagation_seconds
        if grace:  # until now other processes may have written by the old schema
            await asyncio.sleep(grace)
            await migration.run(nothing)
        done = migration.told()
        note(kind=done.kind, to=done.to, migrated=done.migrated, failed=done.failed)
        return done

    async def _kind(self, store: Store, kind: str) -> RegisteredKind:
        found = (await self._registered(store)).get(identifiers.validate_kind(kind))
        if found is None:
            raise NotFound(f"Kind {kind!r} has no schema in this profile.", field="kind", fix="Register one first.")
        return found

    async def _registered(self, store: Store) -> dict[str, RegisteredKind]:
        from holdfast.ingest.kinds import versions

        return versions.registered_kinds(await store.journal.settings())

    async def _lay_down(self, store: Store, kind: RegisteredKind) -> None:
        from holdfast.ingest.kinds import versions

        await store.journal.put_setting(versions.SETTING_PREFIX + kind.name, kind.encode())
        self._context.invalidate_settings()

    async def _counted(self, store: Store, kind: str, version: int | None = None) -> bool:
        """Whether any memory of this kind exists; with `version`, of that schema version."""
        from holdfast.ingest.kinds.versions import schema_version

        async for memory in _of_kind(store, kind):
            if version in (None, schema_version(memory)):
                return True
        return False


async def _of_kind(store: Store, kind: str) -> AsyncIterator[Memory]:
    cursor = None
    while True:
        page = await store.scan(Test("kind", "eq", kind), now=None, limit=500, cursor=cursor)
        for memory in page:
            yield memory
        cursor = page.cursor
        if cursor is None:
            return
