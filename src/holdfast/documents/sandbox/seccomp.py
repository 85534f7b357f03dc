"""Confines a process before it parses an untrusted document.

Resource limits of the kernel bound its CPU time, memory and open files, and forbid writing files. Opening sockets and
starting programs is refused twice: by an audit hook in Python, and on Linux by a seccomp filter that also covers native
code, which a hostile PDF would attack. None of this can be undone by the process.
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

from holdfast.documents.sandbox.landlock import restrict_files
from holdfast.documents.types import ParseLimits

_REFUSED_EVENTS = (
    "socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "pty.",
    "os.kill", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod", "os.chown",
    "os.truncate", "shutil.", "ftplib.", "http.client.", "smtplib.", "urllib.Request", "webbrowser.",
)  # fmt: skip
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_EPERM, _ALLOW = 0x00050001, 0x7FFF0000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_REFUSED_CALLS = {
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
_OPEN_CALLS = {"x86_64": ((2, 1), (257, 2)), "aarch64": ((56, 2),)}
"""open and openat, each with the index of the argument that holds its flags."""


def enter_sandbox(limits: ParseLimits, documents: Iterable[Path] = ()) -> None:
    """Leave this process able only to compute, read these documents and write to open descriptors."""
    restrict_files(documents)
    _set_resource_limits(limits)
    install_seccomp_filter()
    sys.addaudithook(_refuse_event)


def _set_resource_limits(limits: ParseLimits) -> None:
    extend_cpu_limit(limits)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits.open_files, limits.open_files))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "darwin":  # macOS defines this limit and refuses to set it
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))


def extend_cpu_limit(limits: ParseLimits) -> None:
    """Allow another `cpu_seconds` from now, within the total for the document."""
    soft = min(int(time.process_time()) + 1 + limits.cpu_seconds, limits.total_cpu_seconds)
    # Two seconds between SIGXCPU and SIGKILL, which cannot be ignored.
    resource.setrlimit(resource.RLIMIT_CPU, (soft, limits.total_cpu_seconds + 2))


def install_seccomp_filter() -> bool:
    """Install the filter on Linux machines whose call numbers are known; return whether it is active."""
    machine = os.uname().machine
    if sys.platform != "linux" or machine not in _REFUSED_CALLS:
        return False
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _ARCHITECTURE[machine]), (_ANSWER, 0, 0, _EPERM), (_LOAD, 0, 0, 0)]
    # Numbers from 2^30 are the x32 calls of x86-64: the same calls under other numbers.
    steps += [(_AT_LEAST, 0, 1, 0x40000000), (_ANSWER, 0, 0, _EPERM)]
    for call in _REFUSED_CALLS[machine]:
        steps += [(_EQUAL, 0, 1, call), (_ANSWER, 0, 0, _EPERM)]
    for call, argument in _OPEN_CALLS[machine]:
        steps += [(_EQUAL, 0, 4, call), (_LOAD, 0, 0, 16 + 8 * argument)]
        steps += [(_ANY_BIT, 0, 1, _WRITE_FLAGS), (_ANSWER, 0, 0, _EPERM), (_ANSWER, 0, 0, _ALLOW)]
    steps.append((_ANSWER, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _refuse_event(event: str, args: tuple[object, ...]) -> None:
    if event.startswith(_REFUSED_EVENTS):
        raise PermissionError(f"a parser may not do this: {event}")
    if event == "open" and len(args) == 3 and isinstance(args[2], int) and args[2] & _WRITE_FLAGS:
        raise PermissionError(f"a parser may not write files: {args[0]!r}")


def exit_with_parent() -> None:
    """Exit when standard input closes: it is a pipe that only the parent holds."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
