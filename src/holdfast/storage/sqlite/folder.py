"""The data folder on disk: its lock, its master key, and the paths of profile files."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

from holdfast.domain.errors import Busy, Damaged, InvalidInput, NotFound, StorageError
from holdfast.storage.keyring import load_master_key
from holdfast.storage.sqlite.connection import translate_errors
from holdfast.storage.sqlite.server_address import LOCK_FILE
from holdfast.storage.sqlite.witness import LOG_SUFFIX, WITNESS_SUFFIX, log_path, witness_path

try:
    import fcntl
except ImportError:  # Windows has no flock: a second process is not detected there
    fcntl = None  # type: ignore[assignment]


log = logging.getLogger("holdfast")
RESERVE_FILE = "reserve"
MAX_RESERVE_BYTES = 8 * 1024 * 1024
"""Enough to forget some thousand memories. Chosen by hand; not measured."""
LOW_SPACE_BYTES = 2 * 1024**3
"""With more free space than this, nothing is reserved yet."""
FREE_SHARE = 8
"""A new reserve takes at most this part of the free space: a small disk must not be filled by it."""
FILE_SUFFIXES = ("", LOG_SUFFIX, "-shm", WITNESS_SUFFIX)
"""A database file and the files that belong to it."""


def has_no_data(folder: Path) -> bool:
    """Whether nothing was ever kept in this folder: no profile has a file and the catalogue has no witness."""
    profiles = (path for path in (folder / "profiles").rglob("*") if path.is_file())
    return next(profiles, None) is None and not witness_path(folder / "catalogue.db").exists()


def check_catalogue_exists(folder: Path) -> None:
    """Raise Damaged when the catalogue is gone and what belongs to it is not: no new one may take its place."""
    catalogue = folder / "catalogue.db"
    if catalogue.exists() and catalogue.stat().st_size:
        return
    log = log_path(catalogue)
    if has_no_data(folder) and not (log.exists() and log.stat().st_size):
        return
    raise Damaged(
        f"The catalogue {catalogue} is {'empty' if catalogue.exists() else 'missing'}, and the folder has data whose "
        "keys are in it.",
        fix="Restore catalogue.db and the files next to it with the same name from a backup; without it no profile "
        f"can be decrypted. To start with an empty folder, move {folder} away.",
    )


def _make_private_folder(path: Path) -> None:
    """Make the folder for its owner alone; a new one, since an existing one's permissions are its owner's choice."""
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"{path} is a file, not a data folder.", field="data", fix="Name a folder.")
    if not path.exists():
        try:
            path.mkdir(parents=True, exist_ok=True)
        except (FileNotFoundError, NotADirectoryError) as wrong:
            raise StorageError(
                f"The data folder {path} cannot be created: {wrong.strerror}.",
                fix="Name a folder where one can be created.",
            ) from wrong
        path.chmod(0o700)


class DiskReserve:
    """Disk space that a data folder keeps for itself, so that something can be forgotten when the disk is full.

    Deleting rows needs space for the log before it frees any.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / RESERVE_FILE

    def fill(self) -> None:
        """Make the reserve while there is still some space; not before space is getting low."""
        try:
            free = shutil.disk_usage(self._path.parent).free
            if free > LOW_SPACE_BYTES or self._path.exists():
                return
            size = min(MAX_RESERVE_BYTES, free // FREE_SHARE)
            with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(bytes(size))  # written and not only sized: a sparse file reserves nothing
        except OSError as failure:
            log.warning("no space is reserved in %s: %s", self._path.parent, failure)
            self._path.unlink(missing_ok=True)

    def release(self) -> bool:
        """Free the space; False when there is none left to free."""
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        log.warning("the disk is full: the reserve in %s is used to delete data", self._path.parent)
        return True


class SqliteFolder:
    """A data folder, locked by this process unless it is opened for `reading`."""

    def __init__(self, path: Path, keyring: Path | None, *, reading: bool = False) -> None:
        self.path = path
        self.keyring = keyring or path / "keyring"
        self._lock: int | None = None
        self.reserve = DiskReserve(path)
        if reading:
            with translate_errors(path):
                check_catalogue_exists(path)
            if not (path / "catalogue.db").exists():
                raise NotFound(f"There is no data folder at {path}.", field="data")
            with translate_errors(self.keyring):
                self.key = load_master_key(self.keyring, new=False)
            return
        if (path / "catalogue.db").exists():
            with translate_errors(self.keyring):
                load_master_key(self.keyring, new=False)  # before the lock: a folder without its key is not changed
        with translate_errors(path):
            _make_private_folder(path)
            (path / "profiles").mkdir(exist_ok=True, mode=0o700)
            self._lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        self._lock_folder(self._lock)
        try:
            with translate_errors(path):
                check_catalogue_exists(path)
            with translate_errors(self.keyring):
                self.key = load_master_key(self.keyring, new=not (path / "catalogue.db").exists())
        except BaseException:
            self.release()
            raise

    def file(self, name: str) -> Path:
        folder = self.path / "profiles" / name[:2]
        if self._lock is not None:
            with translate_errors(folder):
                folder.mkdir(exist_ok=True, mode=0o700)
        return folder / f"{name}.db"

    def remove(self, name: str) -> None:
        for suffix in FILE_SUFFIXES:
            Path(f"{self.file(name)}{suffix}").unlink(missing_ok=True)

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)

    def _lock_folder(self, lock: int) -> None:
        """Lock the folder for this process. Two processes on one folder would each trust their own caches."""
        if fcntl is None:
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.pread(lock, 100, 0).decode(errors="replace").strip()
            os.close(lock)
            if owner == str(os.getpid()):
                raise Busy(
                    f"The data folder {self.path} is already open in this process.",
                    fix="Use the Holdfast that is open, or close() it first.",
                ) from None
            raise Busy(
                f"The data folder {self.path} is in use by process {owner or 'unknown'}.",
                fix="Wait until it is done, or end it; `holdfast background --stop` ends the background process of "
                "coding agents. To share a folder, run `holdfast serve`; in Python, use Holdfast.connect.",
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
