"""Which files a sealed process may read: its interpreter, its libraries, and the one document; on Linux, by Landlock.

Text that a parser gives back is shown to whoever sent the document. If a hostile document ever ran code of its own in
the parser, it could otherwise hand out what the service can read: other profiles, the keyring.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION, _BENEATH = 1, 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_FIRST_RIGHTS, _TRUNCATE = (1 << 13) - 1, 1 << 14
_PR_SET_NO_NEW_PRIVS = 38
_SYSTEM = (
    "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime",
    "/etc/mime.types", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system", "/dev/null", "/dev/urandom",
)  # fmt: skip


def fence(documents: Iterable[Path]) -> bool:
    """From now on nothing else can be opened; whether the kernel knows how."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)
    if version < 1:
        return False
    rights = _FIRST_RIGHTS | (_TRUNCATE if version >= 3 else 0)
    rules = libc.syscall(_CREATE, ctypes.create_string_buffer(struct.pack("Q", rights)), ctypes.c_size_t(8), 0)
    if rules < 0:
        return False
    for path, right in _readable(documents):
        _allow(libc, rules, path, right)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    done = libc.syscall(_RESTRICT, rules, 0) == 0
    os.close(rules)
    return bool(done)


def _readable(documents: Iterable[Path]) -> Iterable[tuple[Path, int]]:
    for step in (*_SYSTEM, *_libraries(), *filter(None, sys.path)):
        yield Path(step), _READ_FILE | (_READ_FOLDER if os.path.isdir(step) else 0)
    for path in documents:
        yield path, _READ_FILE


def _libraries() -> Iterable[str]:
    return (f"{prefix}/{name}" for prefix in {sys.prefix, sys.base_prefix} for name in ("lib", "lib64"))


def _allow(libc: ctypes.CDLL, rules: int, path: Path, right: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there, or not for us, need not be allowed
    try:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", right, place))
        if libc.syscall(_ADD, rules, _BENEATH, rule, 0) != 0:
            raise OSError(ctypes.get_errno(), "the kernel refuses a rule of Landlock", str(path))
    finally:
        os.close(place)
