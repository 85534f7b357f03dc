"""Reports of maintenance operations: retention, migration, redigestion, kinds, export and import, audit."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.domain.results import Edited
from holdfast.domain.types import Json


@dataclass(frozen=True, slots=True)
class Retained:
    """What a retention rule removed or would remove: the number of memories and messages, and the first few ids."""

    rule: dict[str, Json]
    memories: int
    messages: int
    first: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A memory that a migration could not convert, and the reason."""

    id: str
    key: str | None
    reason: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """The value of a memory before and after a migration."""

    id: str
    key: str | None
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class Migrated:
    """The result of a migration or a rollback, or with `dry_run` what it would do."""

    kind: str
    to: int
    dry_run: bool
    migrated: int = 0
    already: int = 0
    """Memories that are at this version already."""
    left: int = 0
    """Memories at versions that this migration does not start from."""
    failed: int = 0
    failures: tuple[Failure, ...] = ()
    """The first hundred."""
    differences: tuple[Difference, ...] = ()
    """The first five; a dry run only."""
    undone: tuple[str, ...] = ()
    """Memories whose later edits a rollback left only in the history."""


@dataclass(frozen=True, slots=True)
class Redigested:
    """How many messages wait to be digested again, and how many memories extracted from them were removed."""

    messages: int
    memories: int


@dataclass(frozen=True, slots=True)
class KindVersion:
    """One version of a kind: its schema, and the mapping to the previous version, if any."""

    version: int
    schema: dict[str, Json]
    reverse: Json = None


@dataclass(frozen=True, slots=True)
class KindInfo:
    """A kind and its registered versions. New values must be valid under version `current`."""

    kind: str
    current: int
    versions: tuple[KindVersion, ...]
    migrating: int | None = None
    """The target version of an unfinished migration; new values may be valid under it instead of `current`."""
    memories: dict[str, int] = field(default_factory=dict)
    """Version → number of current memories, "" for those without one; counted only when a single kind is requested."""


@dataclass(frozen=True, slots=True)
class Clash:
    """An archived item that was not imported: the profile has another in its place, or the caller lacks a right."""

    what: str
    """memory, setting, usage or document."""
    name: str
    """kind/key or the text of a memory; the name of a setting or document."""
    archived: str | None = None
    """The id in the archive; `held` is the id in the profile."""
    held: str | None = None
    missing_right: str | None = None
    """The right that writing it takes and that the caller lacks; None when the profile has another in its place."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import, or with `dry_run` what it would do."""

    messages: int = 0
    """How many were written; `known` counts those that already existed."""
    memories: int = 0
    known: int = 0
    waiting: int = 0
    """Imported messages that are not digested yet and now wait."""
    settings: int = 0
    usage: int = 0
    documents: int = 0
    conflicts: tuple[Clash, ...] = ()
    problems: tuple[str, ...] = ()
    """Problems of a damaged archive that was imported with `force`."""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Exported:
    """A written archive: how much it contains, and the SHA-256 in its last line."""

    messages: int
    memories: int
    settings: int
    usage: int
    documents: int
    pieces: int
    """Pieces of documents' originals, of one mebibyte each."""
    bytes: int
    """Size before any compression."""
    sha256: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One type of problem that an audit found: how many memories have it, examples, and the command that fixes it."""

    name: str
    count: int
    """How many memories are affected."""
    share: float
    """Their share of all current memories."""
    examples: tuple[tuple[str, ...], ...]
    """Groups of ids of memories that belong together, a few examples."""
    texts: tuple[str, ...]
    """The texts of the examples."""
    fix: str


@dataclass(frozen=True, slots=True)
class Audit:
    memories: int
    findings: tuple[Finding, ...]
    fixed: Edited | None = None

    def __getitem__(self, name: str) -> Finding:
        return next(finding for finding in self.findings if finding.name == name)
