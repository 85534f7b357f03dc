"""A disk that fails: an apsw VFS under the cipher that counts writes and syncs and breaks at the one it is told to.

`FaultyDisk(...)` takes the place of the default VFS in this process while the `with` block runs. Writes and syncs of
witnesses, which do not go through SQLite, count as well.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Callable
from typing import Any, Literal, Self

import apsw

from holdfast.storage.sqlite import witness

Fault = Literal["full", "io", "torn", "kill"]
NAME = "faulty"


class FaultyDisk:
    """Breaks at the nth write or sync of a file, and for `length` operations; 0 never breaks."""

    current: FaultyDisk | None = None

    def __init__(self, at: int = 0, fault: Fault = "io", length: int = 1) -> None:
        self.at, self.fault, self.length = at, fault, length
        self.done = 0
        self.broke = 0
        self._counting = threading.Lock()
        self._plain: dict[str, Callable[..., Any]] = {}

    def __enter__(self) -> Self:
        _register()
        FaultyDisk.current = self
        apsw.set_default_vfs(f"multipleciphers-{NAME}")
        for name in ("_encode", "_sync"):  # every write of a witness, and every sync of one
            self._plain[name] = getattr(witness, name)
            setattr(witness, name, self._breaking(self._plain[name]))
        return self

    def __exit__(self, *_: object) -> None:
        apsw.set_default_vfs("multipleciphers-unix")
        for name, plain in self._plain.items():
            setattr(witness, name, plain)
        FaultyDisk.current = None

    def breaks(self) -> bool:
        with self._counting:
            self.done += 1
            breaks = self.at <= self.done < self.at + self.length if self.at else False
            self.broke += breaks
        return breaks

    def _breaking(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            if self.breaks():
                if self.fault == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise OSError(errno.ENOSPC if self.fault == "full" else errno.EIO, "injected")
            return plain(*given)

        return call


class FaultyFile(apsw.VFSFile):
    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        disk = FaultyDisk.current
        if disk is None or not disk.breaks():
            return super().xWrite(data, offset)
        if disk.fault == "torn":
            super().xWrite(bytes(data)[: len(data) // 2], offset)
        if disk.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise apsw.FullError("injected: disk full") if disk.fault == "full" else apsw.IOError("injected: write failed")

    def xSync(self, flags: int) -> None:  # noqa: N802
        disk = FaultyDisk.current
        if disk is None or not disk.breaks():
            return super().xSync(flags)
        if disk.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise apsw.FullError("injected: disk full") if disk.fault == "full" else apsw.IOError("injected: sync failed")


class FaultyVFS(apsw.VFS):
    def __init__(self) -> None:
        super().__init__(NAME, "unix")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return FaultyFile("unix", name, flags)


_registered: list[FaultyVFS] = []


def _register() -> None:
    if not _registered:
        _registered.append(FaultyVFS())
        apsw.Connection(":memory:", vfs=f"multipleciphers-{NAME}").close()  # has the cipher put on top of it
