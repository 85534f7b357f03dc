"""Checks a data folder for `holdfast doctor`. Nothing is created, migrated or repaired, and no lock is kept."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from holdfast.storage import keyring
from holdfast.storage.sqlite.connection import (
    CATALOGUE_LABEL,
    FileLabel,
    connect_checked,
    profile_label,
    query,
    translate_errors,
)
from holdfast.storage.sqlite.file import migrations
from holdfast.storage.sqlite.folder import FILE_SUFFIXES, check_catalogue_exists

try:
    import fcntl
except ImportError:  # Windows; see folder.py
    fcntl = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """A profile in the catalogue: its name, its file and its key."""

    namespace: str
    profile: str
    path: Path
    key: bytes

    @property
    def label(self) -> FileLabel:
        return profile_label(self.namespace, self.profile)


@dataclass(frozen=True, slots=True)
class FileHealth:
    """The state of one file. `changed` lists applied migrations that differ from those of this Holdfast."""

    problems: tuple[str, ...]
    level: int
    newest: int
    encrypted: bool = True
    changed: tuple[str, ...] = ()
    waiting: int = 0
    aside: int = 0
    reason: str | None = None


def library_version() -> str:
    return f"SQLite {apsw.sqlite_lib_version()} with {getattr(apsw, 'mc_version', 'no cipher')}"


def lock_owner(folder: Path) -> str | None:
    """The id of the process that has the folder open, if any."""
    if fcntl is None or not (folder / "lock").exists():
        return None
    with translate_errors(folder / "lock"):
        handle = os.open(folder / "lock", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return os.pread(handle, 100, 0).decode(errors="replace").strip() or "unknown"
    finally:
        os.close(handle)
    return None


def load_master_key(path: Path) -> bytes:
    with translate_errors(path):
        return keyring.load_master_key(path, new=False)


def list_profiles(folder: Path, key: bytes) -> list[ProfileFile]:
    """List every profile of the catalogue."""
    statement = (
        "SELECT namespace.name, profile.name, file, key FROM profile "
        "JOIN namespace ON namespace.id = profile.namespace ORDER BY 1, 2"
    )
    path = folder / "catalogue.db"
    check_catalogue_exists(folder)
    with translate_errors(path, CATALOGUE_LABEL):
        db, _ = connect_checked(path, key, CATALOGUE_LABEL)
        try:
            rows = query(db, statement)
        finally:
            db.close()
    files = folder / "profiles"
    return [ProfileFile(namespace, name, files / file[:2] / f"{file}.db", key) for namespace, name, file, key in rows]


def check_file(path: Path, key: bytes, label: FileLabel) -> FileHealth:
    """Check a file as opening it does, and read every used page with its key; the cipher detects a flipped bit."""
    with translate_errors(path, label):
        db, _ = connect_checked(path, key, label)
        try:
            found = _database_health(db, label.family)
        finally:
            db.close()
    return replace(found, encrypted=not _is_plain(path))


def is_migrated(folder: Path, key: bytes) -> bool:
    """Whether all files of the folder have the tables of this Holdfast."""
    files = [(each.path, each.key, each.label) for each in list_profiles(folder, key)]
    return all(
        _applied_level(path, own, label) >= migrations(label.family)[-1][0]
        for path, own, label in [(folder / "catalogue.db", key, CATALOGUE_LABEL), *files]
    )


def _applied_level(path: Path, key: bytes, label: FileLabel) -> int:
    with translate_errors(path, label):
        db, _ = connect_checked(path, key, label)
        try:
            return int(query(db, "SELECT coalesce(max(number), 0) FROM migration")[0][0])
        finally:
            db.close()


def stray_files(folder: Path, known: Iterable[ProfileFile]) -> list[Path]:
    """Files under profiles/ that belong to no profile."""
    wanted = {f"{each.path}{suffix}" for each in known for suffix in FILE_SUFFIXES}
    return sorted(path for path in (folder / "profiles").rglob("*") if path.is_file() and str(path) not in wanted)


def _is_plain(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _database_health(db: apsw.Connection, family: str) -> FileHealth:
    lines = [str(row[0]) for row in query(db, "PRAGMA quick_check(5)")]
    tables = {name for (name,) in query(db, "SELECT name FROM sqlite_schema")}
    problems = tuple(line for line in lines if line != "ok")
    newest = migrations(family)[-1][0]
    if "migration" not in tables:
        return FileHealth(problems, 0, newest)
    done: dict[int, str] = dict(query(db, "SELECT number, sha256 FROM migration"))
    changed = tuple(name for number, name, sha, _ in migrations(family) if done.get(number, sha) != sha)
    level = max(done, default=0)
    if family != "profile" or not level:
        return FileHealth(problems, level, newest, changed=changed)
    states: dict[str, int] = dict(query(db, "SELECT state, count(*) FROM message GROUP BY state"))
    reasons = query(db, "SELECT failure FROM message WHERE state = 'aside' AND failure IS NOT NULL LIMIT 1")
    return FileHealth(
        problems,
        level,
        newest,
        changed=changed,
        waiting=states.get("waiting", 0),
        aside=states.get("aside", 0),
        reason=reasons[0][0] if reasons else None,
    )
