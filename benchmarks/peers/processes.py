"""CPU and memory of this process, all its threads and all its descendants (Linux)."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from pathlib import Path

_PROC = Path("/proc")
_TICK = os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Makes this process the parent of its daemons, so that a database server that detaches still counts."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def kill_descendants() -> None:
    """Ends whatever a measured process left behind, such as a database server of one that failed."""
    for pid, _ in _descendants():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:  # it has ended
            continue


def cpu_seconds() -> float:
    reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = sum(ticks for _, ticks in _descendants()) / _TICK
    return time.process_time() + reaped.ru_utime + reaped.ru_stime + living


def peak_memory() -> int:
    """Bytes: this process's peak, and its descendants' present shares, in which shared pages count once."""
    own = _kilobytes(_PROC / "self" / "status", "VmHWM:")
    others = sum(_kilobytes(_PROC / str(pid) / "smaps_rollup", "Pss:") for pid, _ in _descendants())
    return (own + others) * 1024


def _descendants() -> list[tuple[int, int]]:
    """(process id, clock ticks of it and of its reaped children) of everything that descends from this process."""
    children: dict[int, list[tuple[int, int]]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            children.setdefault(int(fields[1]), []).append((int(entry.name), sum(map(int, fields[11:15]))))
    found, parents = [], [os.getpid()]
    while parents:
        below = children.get(parents.pop(), [])
        found += below
        parents += [pid for pid, _ in below]
    return found


def _kilobytes(path: Path, name: str) -> int:
    try:
        lines = path.read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)
