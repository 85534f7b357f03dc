"""Facts about a data folder for `holdfast doctor`: nothing is created, migrated or repaired, and no lock is kept."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import apsw

from .. import keyring
from ..errors import Damaged
from .file import connect, migrations, query, translated

try:
    import fcntl
except ImportError:  # Windows; see folder.py
    fcntl = None  # type: ignore[assignment]

RESTORE = "Restore it from a backup."


@dataclass(frozen=True, slots=True)
class Listed:
    """A profile as the catalogue knows it."""

    namespace: str
    profile: str
    path: Path
    key: bytes


@dataclass(frozen=True, slots=True)
class Health:
    """What one file says about itself. `changed` names migrations that are not the ones this Holdfast has."""

    problems: tuple[str, ...]
    level: int
    newest: int
    encrypted: bool = True
    changed: tuple[str, ...] = ()
    waiting: int = 0
    aside: int = 0
    reason: str | None = None


def library() -> str:
    return f"SQLite {apsw.sqlite_lib_version()} with {getattr(apsw, 'mc_version', 'no cipher')}"


def owner(folder: Path) -> str | None:
    """The process that has the folder open, if any."""
    if fcntl is None or not (folder / "lock").exists():
        return None
    with translated(folder / "lock"):
        handle = os.open(folder / "lock", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return os.pread(handle, 100, 0).decode(errors="replace").strip() or "unknown"
    finally:
        os.close(handle)
    return None


def master_key(path: Path) -> bytes:
    with translated(path):
        return keyring.master_key(path, new=False)


def listed(folder: Path, key: bytes) -> list[Listed]:
    """Every profile of the catalogue."""
    every = (
        "SELECT namespace.name, profile.name, file, key FROM profile "
        "JOIN namespace ON namespace.id = profile.namespace ORDER BY 1, 2"
    )
    path = folder / "catalogue.db"
    with translated(path):
        db = connect(path, key, writing=False)
        try:
            rows = query(db, every)
        finally:
            db.close()
    files = folder / "profiles"
    return [Listed(namespace, name, files / file[:2] / f"{file}.db", key) for namespace, name, file, key in rows]


def health(path: Path, key: bytes, family: str) -> Health:
    """Read every page in use with its key; the cipher notices a flipped bit."""
    if not path.exists():
        raise Damaged(f"{path} is missing.", fix=RESTORE)
    with translated(path):
        db = connect(path, key, writing=False)
        try:
            found = _health(db, family)
            lost = _lost(db, path)
        finally:
            db.close()
    problems = (*found.problems, f"{lost} committed changes in its log cannot be read") if lost else found.problems
    return replace(found, problems=problems, encrypted=not _is_plain(path))


def strays(folder: Path, known: Iterable[Listed]) -> list[Path]:
    """Files under profiles/ that belong to no profile."""
    wanted = {f"{each.path}{suffix}" for each in known for suffix in ("", "-wal", "-shm")}
    return sorted(path for path in (folder / "profiles").rglob("*") if path.is_file() and str(path) not in wanted)


def _is_plain(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _lost(db: apsw.Connection, path: Path) -> int:
    """Commits behind a damaged frame of the write-ahead log: SQLite takes the first bad checksum for the log's end."""
    log = Path(f"{path}-wal")
    ((_, used, _),) = query(db, "PRAGMA wal_checkpoint(NOOP)")
    if used < 0 or not log.exists():
        return 0
    with log.open("rb") as file:
        head = file.read(32)
        size = int.from_bytes(head[8:12]) + 24
        lost, at = 0, 32 + used * size
        while len(frame := _at(file, at)) == 24:
            lost += frame[8:16] == head[16:24] and any(frame[4:8])  # of this round of the log, and a commit
            at += size
    return lost


def _at(file: BinaryIO, place: int) -> bytes:
    file.seek(place)
    return file.read(24)


def _health(db: apsw.Connection, family: str) -> Health:
    said = [str(row[0]) for row in query(db, "PRAGMA quick_check(5)")]
    tables = {name for (name,) in query(db, "SELECT name FROM sqlite_schema")}
    problems = tuple(line for line in said if line != "ok")
    newest = migrations(family)[-1][0]
    if "migration" not in tables:
        return Health(problems, 0, newest)
    done: dict[int, str] = dict(query(db, "SELECT number, sha256 FROM migration"))
    changed = tuple(name for number, name, sha, _ in migrations(family) if done.get(number, sha) != sha)
    level = max(done, default=0)
    if family != "profile" or not level:
        return Health(problems, level, newest, changed=changed)
    states: dict[str, int] = dict(query(db, "SELECT state, count(*) FROM message GROUP BY state"))
    reasons = query(db, "SELECT failure FROM message WHERE state = 'aside' AND failure IS NOT NULL LIMIT 1")
    return Health(
        problems,
        level,
        newest,
        changed=changed,
        waiting=states.get("waiting", 0),
        aside=states.get("aside", 0),
        reason=reasons[0][0] if reasons else None,
    )
