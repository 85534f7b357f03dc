"""Connections to one encrypted SQLite file: opens it with its own key, checks it before anything is written, and raises
SQLite's errors as ours.

AEGIS is an AEAD, so a flipped bit in a page is an error and never a wrong row. Damage to the log is noticed by the
witness (witness.py). SQLite before 3.51.3 can lose acknowledged commits (the WAL-reset race), so it is rejected at
import.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from holdfast.domain.errors import (
    Busy,
    Damaged,
    HoldfastError,
    ReadOnly,
    StorageError,
    StorageFull,
)
from holdfast.domain.identifiers import split_reference
from holdfast.domain.json_codec import compact_json
from holdfast.storage.sqlite.where import add_functions
from holdfast.storage.sqlite.witness import (
    WitnessRecord,
    count_stranded_commits,
    load_record,
    log_salt,
    lost_piece,
    witness_path,
)

MIN_SQLITE_VERSION = (3, 51, 3)
"""The first version without the WAL-reset race."""

if tuple(map(int, apsw.sqlite_lib_version().split("."))) < MIN_SQLITE_VERSION or not hasattr(apsw, "mc_version"):
    raise StorageError(
        f"Holdfast needs apsw-sqlite3mc with SQLite {'.'.join(map(str, MIN_SQLITE_VERSION))} or newer, and "
        f"found SQLite "
        f"{apsw.sqlite_lib_version()}. Run: pip uninstall -y apsw && pip install --force-reinstall apsw-sqlite3mc"
    )

_WRITER_PRAGMAS = (
    "journal_mode = WAL", "synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON", "secure_delete = ON",
    "temp_store = MEMORY",
)  # fmt: skip
_READER_PRAGMAS = ("query_only = ON", "temp_store = MEMORY")
WRITE_FLAGS, READ_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE, apsw.SQLITE_OPEN_READONLY
WITNESS_LEVELS = {"profile": 9, "catalogue": 6}
"""The migration from which on a file has a witness. Files before it can be read without one."""
_DISK_ADVICE = "Nothing that was acknowledged is lost. Check the disk and repeat the call."
_PERMISSION_ADVICE = "Check the folder's owner and permissions."
_DATABASE_BYTES = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
MAX_LOOKS = 10
"""How often a file is looked at again because its owner wrote to it meanwhile. Chosen by hand; not measured."""
Row = tuple[Any, ...]
SOURCES = "(SELECT json_group_array(s.message ORDER BY s.place) FROM source s WHERE s.memory = memory.n)"
"""The column with the ids of a memory's source messages, in order."""
_OF_ID = "SELECT n FROM memory WHERE ref > ?1 || '@' AND ref < ?1 || 'A' AND id = ?1 ORDER BY version DESC"
_BY_REFERENCE = (
    "SELECT n FROM memory WHERE ref = ?1",
    "SELECT n FROM memory WHERE id = ?1 AND superseded_by IS NULL",
    f"{_OF_ID} LIMIT 1",
    f"{_OF_ID.replace('?1', '(SELECT id FROM memory WHERE origin = ?1)')} LIMIT 1",
)

_ITEMS = """
SELECT id, n FROM message WHERE id IN (SELECT value FROM json_each(?1))
UNION ALL SELECT ref, -n FROM memory WHERE ref IN (SELECT value FROM json_each(?1))
"""
_MAY_NAME_MEMORY = """
SELECT wanted.value FROM json_each(?) AS wanted
 WHERE EXISTS (SELECT 1 FROM memory WHERE ref > wanted.value || '@' AND ref < wanted.value || 'A')
    OR EXISTS (SELECT 1 FROM memory WHERE origin = wanted.value)
    OR EXISTS (SELECT 1 FROM memory WHERE ref = wanted.value)
"""


def memory_number(db: apsw.Connection, reference: str) -> int | None:
    """The row of a memory: of the version that a reference names, or of the newest one of an id; see `Store.get`."""
    for statement in _BY_REFERENCE if split_reference(reference)[1] is not None else _BY_REFERENCE[1:]:
        for (n,) in query(db, statement, (reference,)):
            return int(n)
    return None


def memory_numbers(db: apsw.Connection, references: Sequence[str]) -> dict[str, int]:
    """Reference → row of its memory, for those that name one; see `memory_number`. One statement sorts out the others:
    most ids of new messages name nothing."""
    named = query(db, _MAY_NAME_MEMORY, (compact_json(list(references)),)) if references else []
    numbers = ((reference, memory_number(db, reference)) for (reference,) in named)
    return {reference: n for reference, n in numbers if n is not None}


def item_numbers(db: apsw.Connection, references: Set[str]) -> dict[str, int]:
    """Reference of a message or of a version of a memory → its item: message.n, or -memory.n."""
    return dict(query(db, _ITEMS, (compact_json(sorted(references)),))) if references else {}


def version_numbers(db: apsw.Connection, reference: str) -> list[int]:
    """The row of the version that a reference names, or the rows of all versions of a memory, newest first."""
    n = memory_number(db, reference)
    if n is None:
        return []
    ((id, ref),) = query(db, "SELECT id, ref FROM memory WHERE n = ?", (n,))
    return [n] if ref == reference else [each for (each,) in query(db, _OF_ID, (id,))]


def exact_references(db: apsw.Connection, ids: Sequence[str]) -> list[str]:
    """References to versions in the place of ids of memories; what names a version or a message stays."""
    listed = (compact_json([id for id in ids if "@" not in id]),)
    said = query(db, "SELECT id FROM message WHERE id IN (SELECT value FROM json_each(?))", listed)
    messages = {id for (id,) in said}
    exact = []
    for id in ids:
        known = id in messages or split_reference(id)[1] is not None
        found = [] if known else query(db, "SELECT ref FROM memory WHERE n = ?", (memory_number(db, id),))
        exact.append(found[0][0] if found else id)
    return exact


class FileLabel(NamedTuple):
    """Whose file it is: the family of its migrations, and its name in error messages."""

    family: str
    name: str

    @property
    def fix(self) -> str:
        backup = (
            "Restore catalogue.db and the files next to it with the same name from a backup"
            if self.family == "catalogue"
            else "Other profiles are not affected. Restore it and the files next to it with the same name from a backup"
        )
        return (
            f"{backup}; `holdfast doctor` shows details, and `holdfast doctor --accept-loss` keeps what is left of it."
        )


CATALOGUE_LABEL = FileLabel("catalogue", "The catalogue")


def profile_label(namespace: str, profile: str) -> FileLabel:
    return FileLabel("profile", f"Profile {namespace}/{profile}")


def query(db: apsw.Connection, sql: str, bound: Sequence[Any] = ()) -> list[Row]:
    return db.execute(sql, bound).fetchall()


def connect(
    path: Path,
    key: bytes,
    *,
    writing: bool,
    flags: int = WRITE_FLAGS,
    check: Callable[[apsw.Connection], None] = lambda db: None,
) -> apsw.Connection:
    """Open a file. `check` sees it after the first read and before anything can be written."""
    db = apsw.Connection(str(path), flags=flags)
    try:
        db.set_busy_timeout(5000)
        add_functions(db)
        # Closing the last connection would checkpoint and unlink the log: 10–22 ms on a busy disk.
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        for pragma in ("cipher = 'aegis'", f'key = "raw:{key.hex()}"'):
            query(db, f"PRAGMA {pragma}")  # one by one, reading all rows: what is not read is not run
        query(db, "SELECT count(*) FROM sqlite_schema")  # a wrong key raises at the first read
        check(db)
        for pragma in _WRITER_PRAGMAS if writing else _READER_PRAGMAS:
            query(db, f"PRAGMA {pragma}")
    except BaseException:
        db.close()
        raise
    return db


def connect_checked(
    path: Path, key: bytes, label: FileLabel, *, writing: bool = False, flags: int = WRITE_FLAGS, new: bool = False
) -> tuple[apsw.Connection, WitnessRecord | None]:
    """Open a file that has everything its witness vouches for, else raise Damaged and change nothing.

    The owner of the file may be writing to it: what does not agree is looked at again until nobody writes between two
    looks.
    """
    for _ in range(MAX_LOOKS):
        record, legible = _load_witness(path, key)
        try:
            _check_pieces(path, label, record, new=new)
            check = _contents_check(path, label, record, legible=legible, new=new)
            return connect(path, key, writing=writing, flags=flags, check=check), record
        except Damaged:
            if _load_witness(path, key) == (record, legible):
                raise
    raise Busy(f"{path} is written to without a pause.", fix="Try again.")


def _load_witness(path: Path, key: bytes) -> tuple[WitnessRecord | None, bool]:
    """The witness's record, and whether it could be read."""
    try:
        return load_record(path, key), True
    except ValueError:
        return None, False


def _check_pieces(path: Path, label: FileLabel, record: WitnessRecord | None, *, new: bool) -> None:
    """Raise Damaged when the files themselves show a loss, before SQLite opens them: it deletes an empty file's log."""
    problem = None
    if not new and not path.exists():
        problem = "the file is missing"
    elif not new and not path.stat().st_size:
        problem = "the file is empty"
    elif record is not None:
        problem = lost_piece(path, record)
    if problem is not None:
        raise damage(label, path, problem)


def _contents_check(
    path: Path, label: FileLabel, record: WitnessRecord | None, *, legible: bool, new: bool
) -> Callable[[apsw.Connection], None]:
    def check(db: apsw.Connection) -> None:
        problem = _contents_problem(db, path, label.family, record, legible=legible, new=new)
        if problem is not None:
            raise damage(label, path, problem)

    return check


def _contents_problem(
    db: apsw.Connection, path: Path, family: str, record: WitnessRecord | None, *, legible: bool, new: bool
) -> str | None:
    level = _migration_level(db)
    if not legible:
        return f"its witness {witness_path(path).name} is damaged"
    if not level and not new:
        return "nothing of what was in it can be read; its log is damaged or missing"
    if record is None and level >= WITNESS_LEVELS[family]:
        return f"its witness {witness_path(path).name} is missing"
    ((_, used, _),) = query(db, "PRAGMA wal_checkpoint(NOOP)")
    if record is not None:
        if record.log.frames > used and log_salt(path) == record.log.salt:
            lost_pages = record.log.frames - max(0, used)
            return f"{lost_pages:,} of the {record.log.frames:,} pages in its log cannot be read"
    elif lost := count_stranded_commits(path, used):
        return f"{lost:,} committed changes in its log cannot be read"
    elif used <= 0 and path.stat().st_size < query(db, _DATABASE_BYTES)[0][0]:
        return "the file is cut off"
    return None


def damage(label: FileLabel, path: Path, problem: str) -> Damaged:
    return Damaged(f"{label.name}: {problem} ({path}).", fix=label.fix)


def _migration_level(db: apsw.Connection) -> int:
    if not query(db, "SELECT 1 FROM sqlite_schema WHERE name = 'migration'"):
        return 0
    return int(query(db, "SELECT coalesce(max(number), 0) FROM migration")[0][0])


@contextmanager
def translate_errors(path: Path, label: FileLabel | None = None) -> Iterator[None]:
    """Raise errors of SQLite and of the operating system as ours."""
    whose = "" if label is None else f"{label.name}: "
    try:
        yield
    except HoldfastError:
        raise
    except (apsw.NotADBError, apsw.CorruptError, apsw.ReadOnlyError) as bad:
        if isinstance(bad, apsw.ReadOnlyError) and not _is_writable(path):
            raise ReadOnly(f"{whose}{path} cannot be written ({bad}).", fix=_PERMISSION_ADVICE) from bad
        raise Damaged(
            f"{whose}{path} is damaged or was encrypted with another key ({bad}).",
            fix=(label or FileLabel("profile", "")).fix,
        ) from bad
    except apsw.FullError as bad:
        raise StorageFull(f"No space left for {path}; nothing was written.", fix="Free some space and repeat.") from bad
    except (apsw.PermissionsError, PermissionError) as bad:
        reason = getattr(bad, "strerror", None) or bad
        raise ReadOnly(f"{whose}{path} cannot be written ({reason}).", fix=_PERMISSION_ADVICE) from bad
    except apsw.CantOpenError as bad:
        if not path.exists() and not _is_writable(path):
            raise ReadOnly(f"{path.parent} cannot be written.", fix=_PERMISSION_ADVICE) from bad
        raise StorageError(
            f"{path} cannot be opened ({bad}).", fix="If many profiles are open, lower open_files or raise `ulimit -n`."
        ) from bad
    except (apsw.BusyError, apsw.LockedError) as bad:
        raise Busy(f"{path} is locked by another connection ({bad}).", fix="Try again.") from bad
    except apsw.IOError as bad:
        raise StorageError(f"{whose}{path}: the disk failed ({bad}).", fix=_DISK_ADVICE) from bad
    except apsw.Error as bad:
        raise StorageError(f"{whose}{path}: {type(bad).__name__}: {bad}") from bad
    except OSError as bad:
        if bad.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(
                f"No space left for {path}; nothing was written.", fix="Free some space and repeat."
            ) from bad
        if bad.errno == errno.EROFS:
            raise ReadOnly(f"{path} is on a read-only file system.") from bad
        raise StorageError(f"{whose}{path}: {bad.strerror or bad}.", fix=_DISK_ADVICE) from bad


def _is_writable(path: Path) -> bool:
    """Whether a database file, its folder and what lies beside it may be written: else its header forbids it."""
    beside = path.parent.glob(f"{path.name}*")
    return all(os.access(each, os.W_OK) for each in (path.parent, *beside))
