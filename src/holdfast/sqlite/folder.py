"""The data folder on disk: who owns it, where its master key is, where a profile's file goes."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from ..errors import Busy, KeyMissing
from .file import translated

try:
    import fcntl
except ImportError:  # Windows has no flock; there a second process is not noticed
    fcntl = None  # type: ignore[assignment]


class Folder:
    def __init__(self, path: Path, keyring: Path | None) -> None:
        self.path = path
        self.keyring = keyring or path / "keyring"
        with translated(path):
            (path / "profiles").mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        self._own()
        try:
            with translated(self.keyring):
                self.key = self._key()
        except BaseException:
            self.release()
            raise

    def file(self, name: str) -> Path:
        folder = self.path / "profiles" / name[:2]
        with translated(folder):
            folder.mkdir(exist_ok=True, mode=0o700)
        return folder / f"{name}.db"

    def remove(self, name: str) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.file(name)}{suffix}").unlink(missing_ok=True)

    def release(self) -> None:
        os.close(self._lock)

    def _own(self) -> None:
        """Two processes on one folder would each believe their caches: the second is refused."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.pread(self._lock, 100, 0).decode(errors="replace").strip()
            os.close(self._lock)
            if owner == str(os.getpid()):
                raise Busy(
                    f"The data folder {self.path} is already open in this process.",
                    fix="Use the Holdfast that is open, or close() it first.",
                ) from None
            raise Busy(
                f"The data folder {self.path} is in use by process {owner or 'unknown'}.",
                fix="Close that process, or talk to it instead of opening its folder.",
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, str(os.getpid()).encode(), 0)

    def _key(self) -> bytes:
        try:
            text = self.keyring.read_text()
            if not text and not (self.path / "catalogue.db").exists():
                return self._new_key()  # a crash came before the first key was on disk
            held = json.loads(text)
            key = bytes.fromhex(held["master_key"])
            if len(key) != 32:
                raise ValueError("a master key has 32 bytes")
            return key
        except FileNotFoundError:
            return self._new_key()
        except (ValueError, KeyError, TypeError) as bad:
            raise KeyMissing(
                f"The keyring {self.keyring} is not readable ({bad}).",
                fix="Restore it from a backup; without it the data folder cannot be decrypted.",
            ) from bad

    def _new_key(self) -> bytes:
        if (self.path / "catalogue.db").exists():
            raise KeyMissing(
                f"The keyring {self.keyring} is missing and the data folder was encrypted with it.",
                fix="Put it back (or set HOLDFAST_KEYRING to where it is); without it nothing can be decrypted.",
            )
        key = secrets.token_bytes(32)
        self.keyring.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.keyring.with_name(f"{self.keyring.name}.new")  # whole or not at all
        made = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(made, "w") as out:
            json.dump({"version": 1, "master_key": key.hex()}, out)
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(self.keyring)
        _sync_folder(self.keyring.parent)
        return key


def _sync_folder(folder: Path) -> None:
    """A new file's name must survive power loss as well as its content. Windows has no such call and needs none."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
