"""Port: Schemas of kinds: register, migrate, roll back, drop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from holdfast.domain.arguments import Using
    from holdfast.domain.reports import KindInfo, Migrated
    from holdfast.domain.types import Json


class ProfileKinds(Protocol):
    """Schemas of kinds: register, migrate, roll back, drop."""

    async def register_kind(
        self, kind: str, schema: Mapping[str, Any], *, version: int = 1, reverse: Json = None
    ) -> KindInfo:
        """Register a JSON Schema that new values of a kind must satisfy; `reverse` maps values to the previous version.

        The first version applies at once; a later one after `migrate_kind` has converted the memories.
        """
        ...

    async def kinds(self) -> tuple[KindInfo, ...]:
        """List every kind that has a schema, by name."""
        ...

    async def kind(self, kind: str) -> KindInfo:
        """Return one kind's schemas, and the number of memories at each version."""
        ...

    async def drop_kind(self, kind: str, *, force: bool = False) -> bool:
        """Remove a kind's schemas; False when it had none. Refused while the kind has memories, unless `force`."""
        ...

    async def migrate_kind(self, kind: str, *, to: int, using: Using | None = None, dry_run: bool = True) -> Migrated:
        """Convert a kind's memories to a version: by a mapping, by a function of the value, or unchanged.

        `dry_run` only reports what would happen. After an interruption, a repeated call continues where it stopped.
        """
        ...

    async def rollback_kind(self, kind: str, *, to: int, dry_run: bool = True) -> Migrated:
        """Restore the values that a kind's memories had at a lower version, as new versions of the memories.

        Values written since are converted by the reverse mappings where there are any; else they remain only in the
        history.
        """
        ...
