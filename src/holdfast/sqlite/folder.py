"""The data folder on disk: who owns it, where its master key is, where a profile's file goes."""

from __future__ import annotations

import os
from pathlib import Path

from ..announced import LOCK
from ..errors import Busy, NotFound
from ..keyring import master_key
from .file import translated

try:
    import fcntl
except ImportError:  # Windows has no flock; there a second process is not noticed
    fcntl = None  # type: ignore[assignment]


class Folder:
    def __init__(self, path: Path, keyring: Path | None, *, reading: bool = False) -> None:
        self.path = path
        self.keyring = keyring or path / "keyring"
        self._lock: int | None = None
        if reading:
            if not (path / "catalogue.db").exists():
                raise NotFound(f"There is no data folder at {path}.", field="data")
            with translated(self.keyring):
                self.key = master_key(self.keyring, new=False)
            return
        with translated(path):
            (path / "profiles").mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        self._own(self._lock)
        try:
            with translated(self.keyring):
                self.key = master_key(self.keyring, new=not (path / "catalogue.db").exists())
        except BaseException:
            self.release()
            raise

    def file(self, name: str) -> Path:
        folder = self.path / "profiles" / name[:2]
        if self._lock is not None:
            with translated(folder):
                folder.mkdir(exist_ok=True, mode=0o700)
        return folder / f"{name}.db"

    def remove(self, name: str) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.file(name)}{suffix}").unlink(missing_ok=True)

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)

    def _own(self, lock: int) -> None:
        """Two processes on one folder would each believe their caches: the second is refused."""
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
                fix="Wait until it is done or close it; `holdfast serve` lets many share a folder.",
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
