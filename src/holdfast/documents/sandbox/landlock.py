"""Restricts a process to reading its interpreter, its libraries and one document, with Landlock on Linux.

The text that a parser returns is shown to the sender of the document. Without this, a hostile document that runs code
in the parser could return any file that the service can read: other profiles, the keyring.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_SYS_CREATE_RULESET, _SYS_ADD_RULE, _SYS_RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION, _RULE_PATH_BENEATH = 1, 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_ABI_1_RIGHTS, _TRUNCATE_RIGHT = (1 << 13) - 1, 1 << 14
_PR_SET_NO_NEW_PRIVS = 38
_SYSTEM_PATHS = (
    "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime",
    "/etc/mime.types", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system", "/dev/null", "/dev/urandom",
)  # fmt: skip


def restrict_files(documents: Iterable[Path]) -> bool:
    """Forbid opening anything else for the rest of the process; return whether the kernel supports it."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_SYS_CREATE_RULESET, None, ctypes.c_size_t(0), _CREATE_RULESET_VERSION)
    if version < 1:
        return False
    rights = _ABI_1_RIGHTS | (_TRUNCATE_RIGHT if version >= 3 else 0)
    rules = libc.syscall(
        _SYS_CREATE_RULESET, ctypes.create_string_buffer(struct.pack("Q", rights)), ctypes.c_size_t(8), 0
    )
    if rules < 0:
        return False
    for path, right in _readable_paths(documents):
        _allow_path(libc, rules, path, right)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    done = libc.syscall(_SYS_RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return bool(done)


def _readable_paths(documents: Iterable[Path]) -> Iterable[tuple[Path, int]]:
    for place in (*_SYSTEM_PATHS, *_library_folders(), *filter(None, sys.path)):
        yield Path(place), _READ_FILE | (_READ_FOLDER if os.path.isdir(place) else 0)
    for path in documents:
        yield path, _READ_FILE


def _library_folders() -> Iterable[str]:
    return (f"{prefix}/{name}" for prefix in {sys.prefix, sys.base_prefix} for name in ("lib", "lib64"))


def _allow_path(libc: ctypes.CDLL, rules: int, path: Path, right: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a path that does not exist or is not accessible needs no rule
    try:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", right, descriptor))
        if libc.syscall(_SYS_ADD_RULE, rules, _RULE_PATH_BENEATH, rule, 0) != 0:
            raise OSError(ctypes.get_errno(), "the kernel refuses a rule of Landlock", str(path))
    finally:
        os.close(descriptor)
