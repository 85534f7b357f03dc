"""A data folder copied while a process may be writing to it: SQLite's own backup, one consistent file at a time.

The catalogue comes first, and what is copied is what the copy lists. A profile that is deleted meanwhile leaves the
copied catalogue too; one that is made meanwhile is not in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw

from ..errors import NotFound
from .check import Listed, listed
from .file import READ, connect, query, translated


def copied(folder: Path, target: Path, key: bytes, seen: Callable[[int, int], None]) -> list[Path]:
    """The files of the copy, the catalogue first."""
    if not (folder / "catalogue.db").exists():
        raise NotFound(f"There is no data folder at {folder}.", field="data")
    with translated(target):
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
    catalogue = target / "catalogue.db"
    _copy(folder / "catalogue.db", catalogue, key)
    profiles = listed(target, key)
    _tidy(catalogue)
    made = [catalogue]
    for n, each in enumerate(profiles):
        seen(n, len(profiles))
        source = folder / each.path.relative_to(target)
        if _copied_unless_gone(source, each, folder, key):
            made.append(each.path)
        else:
            _strike(catalogue, key, each)
    seen(len(profiles), len(profiles))
    return made


def _copied_unless_gone(source: Path, each: Listed, folder: Path, key: bytes) -> bool:
    """False for a profile that its owner has deleted since the catalogue was copied."""
    try:
        if source.exists():
            with translated(each.path.parent):
                each.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _copy(source, each.path, each.key)
            return True
    except Exception:
        if _still_there(folder, key, each):
            raise
        each.path.unlink(missing_ok=True)
        return False
    if _still_there(folder, key, each):
        raise NotFound(f"{source}, the file of a profile, is missing.", fix="See: holdfast doctor")
    return False


def _still_there(folder: Path, key: bytes, each: Listed) -> bool:
    now = {(one.namespace, one.profile, one.path.name) for one in listed(folder, key)}
    return (each.namespace, each.profile, each.path.name) in now


def _copy(source: Path, target: Path, key: bytes) -> None:
    fresh = target.with_name(f"{target.name}.new")
    with translated(source):
        given = connect(source, key, writing=False, flags=READ)
        try:
            with translated(fresh):
                _pour(given, fresh, key)
        finally:
            given.close()
    _tidy(fresh)
    fresh.replace(target)


def _pour(given: apsw.Connection, target: Path, key: bytes) -> None:
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    taking = connect(target, key, writing=True)
    try:
        with taking.backup("main", given, "main") as backup:
            backup.step(-1)  # at once: one snapshot, whatever is written meanwhile
        query(taking, "PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        taking.close()


def _strike(catalogue: Path, key: bytes, each: Listed) -> None:
    """Take a deleted profile, and its key, out of the copied catalogue."""
    with translated(catalogue):
        db = connect(catalogue, key, writing=True)
        try:
            query(
                db,
                "DELETE FROM profile WHERE name = ? AND namespace = (SELECT id FROM namespace WHERE name = ?)",
                (each.profile, each.namespace),
            )
            query(db, "PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            db.close()
    _tidy(catalogue)


def _tidy(path: Path) -> None:
    """Without the log and its index, which are empty by now."""
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
