"""How a process makes itself harmless before it reads what a stranger wrote.

Limits of the kernel bound its CPU time, memory and open files, and let it write no file. No socket can be opened and
no program started: an audit hook refuses it in Python, and on Linux a filter of system calls refuses it in native code
as well, which is where a hostile PDF would strike. None of it can be taken back.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from .fence import fence
from .types import Limits

_REFUSED = (
    "socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "pty.",
    "os.kill", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod", "os.chown",
    "os.truncate", "shutil.", "ftplib.", "http.client.", "smtplib.", "urllib.Request", "webbrowser.",
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_EPERM, _ALLOW = 0x00050001, 0x7FFF0000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CALLS = {
    # Sockets: socket, socketpair, connect, bind, listen, accept, accept4, sendto, sendmsg, sendmmsg, io_uring_setup.
    # Processes: execve, execveat, ptrace, process_vm_writev, kill, tkill, tgkill, pidfd_open, fork, vfork.
    # Files: truncate, ftruncate, creat, rename(at, at2), mkdir(at), rmdir, link(at), symlink(at), unlink(at), chmod,
    # fchmodat, chown, fchownat, mknod(at), openat2. The kernel: mount, bpf, keyctl, userfaultfd, perf_event_open.
    "x86_64": (
        41, 53, 42, 49, 50, 43, 288, 44, 46, 307, 425, 59, 322, 101, 311, 62, 200, 234, 434, 57, 58,
        76, 77, 85, 82, 264, 316, 83, 258, 84, 86, 265, 88, 266, 87, 263, 90, 268, 92, 260, 133, 259, 437,
        165, 321, 250, 323, 298,
    ),
    "aarch64": (
        198, 199, 203, 200, 201, 202, 242, 206, 211, 269, 425, 221, 281, 117, 271, 129, 130, 131, 434,
        45, 46, 38, 276, 34, 37, 36, 35, 53, 54, 33, 437, 40, 280, 219, 282, 241,
    ),
}  # fmt: skip
_OPENS = {"x86_64": ((2, 1), (257, 2)), "aarch64": ((56, 2),)}
"""open and openat, and which of their arguments says whether the file is to be written."""


def seal(limits: Limits, documents: Iterable[Path] = ()) -> None:
    """From now on this process can compute, read these documents, and write to what is already open."""
    fence(documents)
    _limit(limits)
    refuse_system_calls()
    sys.addaudithook(_refuse)


def _limit(limits: Limits) -> None:
    more_time(limits)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits.open_files, limits.open_files))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "darwin":  # where the kernel knows the limit and refuses to set it
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))


def more_time(limits: Limits) -> None:
    """Something was read: from here on the next piece may take as long again, within what all may take."""
    soft = min(int(time.process_time()) + 1 + limits.cpu_seconds, limits.total_cpu_seconds)
    # Two seconds between the signal that kills and the one that cannot be ignored.
    resource.setrlimit(resource.RLIMIT_CPU, (soft, limits.total_cpu_seconds + 2))


def refuse_system_calls() -> bool:
    """A seccomp filter, on the Linux machines whose call numbers are known; whether there is one now."""
    machine = os.uname().machine
    if sys.platform != "linux" or machine not in _CALLS:
        return False
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _ARCHITECTURE[machine]), (_ANSWER, 0, 0, _EPERM), (_LOAD, 0, 0, 0)]
    # Numbers from 2^30 are the x32 calls of x86-64: the same kernel by another door.
    steps += [(_AT_LEAST, 0, 1, 0x40000000), (_ANSWER, 0, 0, _EPERM)]
    for call in _CALLS[machine]:
        steps += [(_EQUAL, 0, 1, call), (_ANSWER, 0, 0, _EPERM)]
    for call, argument in _OPENS[machine]:
        steps += [(_EQUAL, 0, 4, call), (_LOAD, 0, 0, 16 + 8 * argument)]
        steps += [(_ANY_BIT, 0, 1, _WRITING), (_ANSWER, 0, 0, _EPERM), (_ANSWER, 0, 0, _ALLOW)]
    steps.append((_ANSWER, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    return bool(libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0)


def _refuse(event: str, args: tuple[object, ...]) -> None:
    if event.startswith(_REFUSED):
        raise PermissionError(f"a parser may not do this: {event}")
    if event == "open" and len(args) == 3 and isinstance(args[2], int) and args[2] & _WRITING:
        raise PermissionError(f"a parser may not write files: {args[0]!r}")


def die_with_the_parent() -> None:
    """Standard input is a pipe that only the parent holds: when it ends, nobody waits for an answer any more."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
