"""Keeps what can still be read of damaged files, for `holdfast doctor --accept-loss`.

Only whoever owns the data can accept a loss, so nothing else calls this. The damaged files are first copied into
`damaged/` in the data folder and never deleted from there. What SQLite can read is saved in another copy, which takes
the file's place only after it has passed every check.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import apsw

from holdfast.domain.errors import Damaged, StorageError
from holdfast.domain.timestamps import now
from holdfast.storage.sqlite.connection import (
    CATALOGUE_LABEL,
    FileLabel,
    connect,
    query,
    translate_errors,
)
from holdfast.storage.sqlite.folder import FILE_SUFFIXES, SqliteFolder
from holdfast.storage.sqlite.health import check_file, list_profiles
from holdfast.storage.sqlite.witness import (
    LogPosition,
    WitnessRecord,
    create_witness,
    load_record,
    log_path,
    log_salt,
)

COUNTED_TABLES = {"profile": ("message", "memory"), "catalogue": ("profile", "credential")}


@dataclass(frozen=True, slots=True)
class SalvagedFile:
    """A damaged file: what was wrong, where its remains were copied, and how many rows are left (None: unreadable)."""

    name: str
    family: str
    problem: str
    aside: Path
    counts: dict[str, int] | None


def salvage_folder(folder: Path, keyring: Path | None) -> list[SalvagedFile]:
    """Salvage every damaged file of a folder that nobody has open."""
    owned = SqliteFolder(folder, keyring)
    aside = folder / "damaged" / now().strftime("%Y%m%dT%H%M%S.%fZ")
    try:
        catalogue = folder / "catalogue.db"
        found = [_salvage_if_damaged(catalogue, owned.key, CATALOGUE_LABEL, aside)]
        found += [
            _salvage_if_damaged(each.path, each.key, each.label, aside / each.path.parent.relative_to(folder))
            for each in list_profiles(folder, owned.key)
        ]
    finally:
        owned.release()
    return [each for each in found if each is not None]


def _salvage_if_damaged(path: Path, key: bytes, label: FileLabel, aside: Path) -> SalvagedFile | None:
    try:
        problems = check_file(path, key, label).problems
        if not problems:
            return None
        problem = "; ".join(problems)
    except Damaged as bad:
        problem = str(bad).removesuffix(bad.fix or "").strip()
    with translate_errors(path, label):
        _copy_aside(path, aside)
        return SalvagedFile(label.name, label.family, problem, aside, _salvage(path, key, label, aside))


def _copy_aside(path: Path, aside: Path) -> None:
    aside.mkdir(parents=True, exist_ok=True, mode=0o700)
    for suffix in FILE_SUFFIXES:
        source = Path(f"{path}{suffix}")
        if source.exists():
            shutil.copy2(source, aside / source.name)


def _salvage(path: Path, key: bytes, label: FileLabel, aside: Path) -> dict[str, int] | None:
    """Put what is readable in the file's place and count it; None, and everything stays, when nothing is."""
    if not path.exists() or not path.stat().st_size:
        return None
    copy = aside / f"{path.name}.salvaged"
    shutil.copy2(path, copy)
    if log_path(path).exists() and not _is_log_superseded(path, key):
        shutil.copy2(log_path(path), log_path(copy))
    counts = _checked_counts(copy, key, label.family)
    if counts is not None:
        for suffix in FILE_SUFFIXES[1:]:
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        create_witness(path, key, WitnessRecord(complete=True, log=LogPosition(), bytes=copy.stat().st_size))
        shutil.move(copy, path)
    for suffix in FILE_SUFFIXES:
        Path(f"{copy}{suffix}").unlink(missing_ok=True)
    return counts


def _is_log_superseded(path: Path, key: bytes) -> bool:
    """Whether the file has everything that was in this log; its readable beginning would bring older pages back."""
    try:
        record = load_record(path, key)
    except ValueError:
        return False
    return record is not None and record.complete and log_salt(path) == record.log.salt


def _checked_counts(path: Path, key: bytes, family: str) -> dict[str, int] | None:
    """Check every page, move the log into the file, and count the rows; None when that cannot be done."""
    try:
        with translate_errors(path):
            db = connect(path, key, writing=True)
            try:
                if query(db, "PRAGMA integrity_check(1)") != [("ok",)]:
                    return None
                counts = {table: query(db, f"SELECT count(*) FROM {table}")[0][0] for table in COUNTED_TABLES[family]}
                query(db, "PRAGMA wal_checkpoint(TRUNCATE)")
                return counts
            except apsw.SQLError:  # not even the tables are left
                return None
            finally:
                db.close()
    except StorageError:
        return None
