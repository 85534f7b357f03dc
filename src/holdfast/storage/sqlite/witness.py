"""The witness of a database file: a record beside it of the last commit, by which a lost one is noticed.

SQLite takes the first bad frame of a write-ahead log for its end and a missing log for an empty one, so the log cannot
prove that it is whole. After every commit, before it is acknowledged, the witness notes where the log ends: its salt,
the number of frames and the checksum of the last, which chains all frames before it. Three orders make that a proof:

- A commit is synced before its note is written, so the log is never behind the note. The note is not synced: it
  survives the death of the process, and after a power cut it may be older than the log, which is harmless.
- Before a log may be overwritten, all of it is in the database file, and the witness says so (`complete`), synced.
- A witness is on disk before the database says, by its migration level, that it has one.

The record is authenticated with the file's key: it cannot be changed without it, nor belong to another file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

WITNESS_SUFFIX = "-witness"
LOG_SUFFIX = "-wal"
_MAGIC = b"holdfast-wit-001"
_FIELDS = struct.Struct(">16s?8sQ8sQ")
_MAC_BYTES = 16
_LOG_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A place in a write-ahead log: the generation's salt, the number of frames, and the checksum of the last."""

    salt: bytes = bytes(8)
    frames: int = 0
    checksum: bytes = bytes(8)


@dataclass(frozen=True, slots=True)
class WitnessRecord:
    """What a witness says: everything up to `log` was committed; when `complete`, it is in the file as well.

    `bytes` is the size that the file had when it was last complete; it never shrinks.
    """

    complete: bool
    log: LogPosition
    bytes: int


NOTHING_WITNESSED = WitnessRecord(complete=True, log=LogPosition(), bytes=0)


def log_path(database: Path) -> Path:
    return Path(f"{database}{LOG_SUFFIX}")


def witness_path(database: Path) -> Path:
    return Path(f"{database}{WITNESS_SUFFIX}")


def load_record(database: Path, key: bytes) -> WitnessRecord | None:
    """The record beside a database file; None when there is none. ValueError when it is not as it was written."""
    try:
        data = witness_path(database).read_bytes()
    except FileNotFoundError:
        return None
    fields, mac = data[: _FIELDS.size], data[_FIELDS.size :]
    if len(fields) != _FIELDS.size or not hmac.compare_digest(mac, _authentication_code(fields, key)):
        raise ValueError("it was changed, or written under another key")
    _, complete, salt, frames, checksum, size = _FIELDS.unpack(fields)
    return WitnessRecord(complete, LogPosition(salt, frames, checksum), size)


def is_witnessed(database: Path, key: bytes) -> bool:
    """Whether the file has a witness that was written under this key."""
    try:
        return load_record(database, key) is not None
    except ValueError:
        return False


def create_witness(database: Path, key: bytes, record: WitnessRecord = NOTHING_WITNESSED) -> None:
    """Write a witness anew, synced together with its name."""
    path = witness_path(database)
    fresh = path.with_name(f"{path.name}.new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(_encode(record, key))
        out.flush()
        _sync(out.fileno())
    fresh.replace(path)
    if os.name != "nt":  # Windows cannot sync a folder and need not
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def log_position(log: BinaryIO, frames: int) -> LogPosition | None:
    """The position after so many frames of a log, as the log itself states it; None when it has not that many."""
    log.seek(0)
    header = log.read(_LOG_HEADER_BYTES)
    if len(header) < _LOG_HEADER_BYTES or not frames:
        return None
    page = int.from_bytes(header[8:12])
    log.seek(_LOG_HEADER_BYTES + (frames - 1) * (_FRAME_HEADER_BYTES + page))
    frame = log.read(_FRAME_HEADER_BYTES + page)
    if len(frame) < _FRAME_HEADER_BYTES + page or frame[8:16] != header[16:24]:
        return None
    return LogPosition(frame[8:16], frames, frame[16:24])


def log_salt(database: Path) -> bytes | None:
    """The salt of the log's present generation; None when there is no log or nothing in it."""
    try:
        with log_path(database).open("rb") as log:
            header = log.read(_LOG_HEADER_BYTES)
    except FileNotFoundError:
        return None
    return header[16:24] if len(header) == _LOG_HEADER_BYTES else None


def count_stranded_commits(database: Path, used: int) -> int:
    """Count commits in the log behind the `used` frames that can be read.

    SQLite writes a frame's header before its page. A kill in between leaves an incomplete last frame, and a commit
    that was never acknowledged: it does not count.
    """
    lost = 0
    try:
        log = log_path(database).open("rb")
    except FileNotFoundError:
        return 0
    with log:
        header = log.read(_LOG_HEADER_BYTES)
        step = int.from_bytes(header[8:12]) + _FRAME_HEADER_BYTES
        at, end = _LOG_HEADER_BYTES + max(0, used) * step, os.fstat(log.fileno()).st_size
        log.seek(at)
        while at + step <= end:
            frame = log.read(_FRAME_HEADER_BYTES)
            lost += frame[8:16] == header[16:24] and any(frame[4:8])  # the present generation's, and a commit
            at += step
            log.seek(at)
    return lost


def lost_piece(database: Path, record: WitnessRecord) -> str | None:
    """Which part of what a record vouches for is not beside it, in words; None when all is there.

    It compares sizes, salts and the last checksum. That the frames before it are whole is for SQLite to say.
    """
    size = database.stat().st_size
    if size < record.bytes:
        return f"the file has {size:,} of {record.bytes:,} bytes"
    if record.complete and log_salt(database) != record.log.salt:
        return None
    log = log_path(database)
    if not log.exists():
        return f"its log {log.name} is missing"
    with log.open("rb") as file:
        if log_position(file, record.log.frames) != record.log:
            return f"its log {log.name} is damaged or cut off, and acknowledged changes in it are lost"
    return None


class CommitWitness:
    """Keeps the witness of one database file while a connection writes to it."""

    def __init__(self, database: Path, key: bytes, record: WitnessRecord | None) -> None:
        """`record` is what is beside the file; None when it has no witness yet."""
        self._database = database
        self._key = key
        self._record = record
        self._unwritten = False
        self._frames: int | None = None
        self._file: BinaryIO | None = None
        self._log: BinaryIO | None = None

    def create(self) -> None:
        """Begin to witness a file that had no witness."""
        if self._record is None:
            create_witness(self._database, self._key)
            self._record = NOTHING_WITNESSED

    def note_commit(self, frames: int) -> None:
        """SQLite committed, and its log has so many frames now."""
        self._frames = frames

    def catch_up(self) -> None:
        """Write what could not be written before. No write to the database may begin until this has succeeded."""
        if self._unwritten:
            self._write(sync=True)

    def witness_commit(self) -> int:
        """Write where the log ends after a commit; return its number of frames, 0 when nothing was committed."""
        frames, self._frames = self._frames, None
        if frames is None or self._record is None:
            return frames or 0
        if self._log is None:
            self._log = log_path(self._database).open("rb", buffering=0)
        position = log_position(self._log, frames)
        if position is None:
            raise OSError(f"{log_path(self._database)} was changed by another process while it was written")
        self._record = WitnessRecord(complete=False, log=position, bytes=self._record.bytes)
        self._write(sync=False)
        return frames

    def witness_checkpoint(self) -> None:
        """Write, and sync, that the file has everything that is in the log, which may be overwritten from now on."""
        if self._record is None or (self._record.complete and not self._unwritten):
            return
        size = self._database.stat().st_size
        self._record = WitnessRecord(complete=True, log=self._record.log, bytes=max(size, self._record.bytes))
        self._write(sync=True)

    def close(self) -> None:
        for file in (self._file, self._log):
            if file is not None:
                file.close()
        self._file = self._log = None

    def _write(self, *, sync: bool) -> None:
        assert self._record is not None
        self._unwritten = True
        if self._file is None:
            self._file = witness_path(self._database).open("r+b", buffering=0)
        self._file.seek(0)
        self._file.write(_encode(self._record, self._key))
        if sync:
            _sync(self._file.fileno())
        self._unwritten = False


def _encode(record: WitnessRecord, key: bytes) -> bytes:
    log = record.log
    fields = _FIELDS.pack(_MAGIC, record.complete, log.salt, log.frames, log.checksum, record.bytes)
    return fields + _authentication_code(fields, key)


def _authentication_code(fields: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(fields, key=key, digest_size=_MAC_BYTES, person=b"hf-witness").digest()


def _sync(handle: int) -> None:
    if fcntl is not None and hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync alone leaves it in the drive's cache
        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
    else:
        os.fsync(handle)
