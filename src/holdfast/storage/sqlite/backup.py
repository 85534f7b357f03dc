"""Copies a data folder while a process may be writing to it, with SQLite's backup API: each file is consistent.

The catalogue is copied first, and the profiles that the copy lists are copied after it. A profile deleted meanwhile is
deleted from the copied catalogue too; a profile created meanwhile is not in it. A damaged file is not copied: a backup
must not pass for one of data that is lost. Each copy has a witness, like every file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw

from holdfast.domain.errors import Damaged, NotFound
from holdfast.storage.sqlite.connection import (
    CATALOGUE_LABEL,
    READ_FLAGS,
    FileLabel,
    connect,
    connect_checked,
    query,
    translate_errors,
)
from holdfast.storage.sqlite.folder import check_catalogue_exists
from holdfast.storage.sqlite.health import ProfileFile, list_profiles
from holdfast.storage.sqlite.witness import LogPosition, WitnessRecord, create_witness, witness_path


def copy_folder(folder: Path, target: Path, key: bytes, on_progress: Callable[[int, int], None]) -> list[Path]:
    """Copy the folder and return the copied files, each followed by its witness, the catalogue first."""
    check_catalogue_exists(folder)
    if not (folder / "catalogue.db").exists():
        raise NotFound(f"There is no data folder at {folder}.", field="data")
    with translate_errors(target):
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
    catalogue = target / "catalogue.db"
    _copy(folder / "catalogue.db", catalogue, key, CATALOGUE_LABEL)
    profiles = list_profiles(target, key)
    _delete_log_files(catalogue)
    files = [catalogue, witness_path(catalogue)]
    for n, each in enumerate(profiles):
        on_progress(n, len(profiles))
        source = folder / each.path.relative_to(target)
        if _copy_unless_deleted(source, each, folder, key):
            files += [each.path, witness_path(each.path)]
        else:
            _delete_profile(catalogue, key, each)
    on_progress(len(profiles), len(profiles))
    return files


def _copy_unless_deleted(source: Path, each: ProfileFile, folder: Path, key: bytes) -> bool:
    """Copy one profile; False when it was deleted after the catalogue was copied."""
    try:
        if source.exists():
            with translate_errors(each.path.parent):
                each.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _copy(source, each.path, each.key, each.label)
            return True
    except Exception:
        if _is_listed(folder, key, each):
            raise
        for path in (each.path, witness_path(each.path)):
            path.unlink(missing_ok=True)
        return False
    if _is_listed(folder, key, each):
        raise Damaged(f"{each.label.name}: its file {source} is missing.", fix=each.label.fix)
    return False


def _is_listed(folder: Path, key: bytes, each: ProfileFile) -> bool:
    now = {(one.namespace, one.profile, one.path.name) for one in list_profiles(folder, key)}
    return (each.namespace, each.profile, each.path.name) in now


def _copy(source: Path, target: Path, key: bytes, label: FileLabel) -> None:
    fresh = target.with_name(f"{target.name}.new")
    with translate_errors(source, label):
        source_db, _ = connect_checked(source, key, label, flags=READ_FLAGS)
        try:
            with translate_errors(fresh):
                _run_backup(source_db, fresh, key)
        finally:
            source_db.close()
    _delete_log_files(fresh)
    with translate_errors(target):
        create_witness(target, key, WitnessRecord(complete=True, log=LogPosition(), bytes=fresh.stat().st_size))
        fresh.replace(target)


def _run_backup(source_db: apsw.Connection, target: Path, key: bytes) -> None:
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    target_db = connect(target, key, writing=True)
    try:
        with target_db.backup("main", source_db, "main") as backup:
            backup.step(-1)  # all pages in one step: one snapshot, whatever is written meanwhile
        query(target_db, "PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        target_db.close()


def _delete_profile(catalogue: Path, key: bytes, each: ProfileFile) -> None:
    """Delete a profile and its key from the copied catalogue."""
    with translate_errors(catalogue):
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
    _delete_log_files(catalogue)


def _delete_log_files(path: Path) -> None:
    """Delete the write-ahead log and its index, which are empty after the checkpoint."""
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
