"""All errors, as one tree.

    HoldfastError                     code            exit  retry
    ├── InvalidInput                  invalid_input      2  no     a value breaks a rule; names field, value, limit
    │   └── KeyReused                 key_reused         2  no     an idempotency key was reused for another request
    ├── NotFound                      not_found          3  no     no such namespace, profile, memory, session
    ├── AlreadyExists                 already_exists     4  no     the name is taken
    ├── Conflict                      conflict           5  yes    another write came first; read again, decide again
    │   ├── Stale                     stale              5  no     the memory changed since the caller read it
    │   └── CannotUndo                cannot_undo        5  no     later changes depend on it, or it was a forget
    ├── Busy                          busy               6  yes    another process owns the data folder
    ├── StorageError                  storage            7  no     the disk or the file failed
    │   ├── StorageFull               storage_full       7  yes    no space left; nothing was written
    │   ├── QuotaExceeded             quota_exceeded     7  no     a profile or namespace holds as much as it may
    │   ├── ReadOnly                  read_only          7  no     the folder or file cannot be written
    │   ├── Damaged                   damaged            7  no     a profile's file fails its checks; others still work
    │   │   └── DamagedArchive        damaged            7  no     an archive to import is cut off or was changed
    │   ├── KeyMissing                key_missing        7  no     the keyring is absent or is not this folder's
    │   └── TooNew                    too_new            7  no     written by a newer Holdfast
    ├── Unauthorised                  unauthorised      10  no     the server does not know the token
    ├── Forbidden                     forbidden         10  no     the credential lacks the right
    ├── TooMany                       too_many_requests 10  yes    over the rate limit; retry after `after` seconds
    ├── Unreachable                   unreachable       10  yes    a server does not answer
    ├── ModelError                    model              8  yes    a model failed; writes are not lost
    │   └── ModelUnavailable          model_unavailable  8  yes    it is down, slow or at its limit; retry later
    └── Closed                        closed             9  no     used after close()

Every error says what was wrong, with which value, and what to do. `code` is stable and machine-readable,
`exit` is the CLI's exit status, `retryable` says whether the same call may succeed later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

UPGRADE_FIX = "Upgrade Holdfast: in a newer checkout of it, run: pip install ."
"""Not by its name: the package index has another project under it."""
MAX_NEAREST = 3
"""How many names an error proposes. Chosen by hand; not measured."""
MIN_LIKENESS, MIN_SHORT_LIKENESS = 0.6, 0.75
"""How like a name must be to be proposed, by difflib's ratio; more for one of up to two letters, which is
alike to most names that have both ("id" and "kind"). Chosen by hand; not measured."""
MAX_SHORT_NAME = 2
FIND_IDS = "Give an id; list (with a key, or without) and search show the ids of memories."
"""The `fix` of an error about an unknown id."""


class HoldfastError(Exception):
    """The root of the tree: catching it catches every error that Holdfast raises on purpose."""

    code: ClassVar[str] = "error"
    exit: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, field: str | None = None, fix: str | None = None) -> None:
        super().__init__(message if fix is None else f"{message} {fix}")
        self.field = field
        self.fix = fix


class InvalidInput(HoldfastError):
    code = "invalid_input"
    exit = 2


class KeyReused(InvalidInput):
    code = "key_reused"


class NotFound(HoldfastError):
    code = "not_found"
    exit = 3


class AlreadyExists(HoldfastError):
    code = "already_exists"
    exit = 4


class Conflict(HoldfastError):
    code = "conflict"
    exit = 5
    retryable = True


class Stale(Conflict):
    code = "stale"
    retryable = False


class CannotUndo(Conflict):
    code = "cannot_undo"
    retryable = False


class Busy(HoldfastError):
    code = "busy"
    exit = 6
    retryable = True


class StorageError(HoldfastError):
    code = "storage"
    exit = 7


class StorageFull(StorageError):
    code = "storage_full"
    retryable = True


class QuotaExceeded(StorageError):
    code = "quota_exceeded"


class ReadOnly(StorageError):
    code = "read_only"


class Damaged(StorageError):
    code = "damaged"


class DamagedArchive(Damaged):
    """An archive that somebody wants imported is cut off, changed or no archive at all; nothing was imported."""


class KeyMissing(StorageError):
    code = "key_missing"


class TooNew(StorageError):
    code = "too_new"


class Unauthorised(HoldfastError):
    code = "unauthorised"
    exit = 10


class Forbidden(HoldfastError):
    code = "forbidden"
    exit = 10


class TooMany(HoldfastError):
    code = "too_many_requests"
    exit = 10
    retryable = True

    def __init__(self, message: str, after: int = 1) -> None:
        super().__init__(message)
        self.after = after


class Unreachable(HoldfastError):
    code = "unreachable"
    exit = 10
    retryable = True


class ModelError(HoldfastError):
    code = "model"
    exit = 8
    retryable = True


class ModelUnavailable(ModelError):
    code = "model_unavailable"


class Closed(HoldfastError):
    code = "closed"
    exit = 9


def install_fix(extra: str) -> str:
    """How to install an optional part. Where Holdfast is installed, its name means the installed one to pip."""
    return f"In the environment of Holdfast, run: pip install 'holdfast[{extra}]'"


def quoted_value(value: Any, limit: int = 60) -> str:
    """A value as quoted in an error message: short, unambiguous, on one line."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def nearest_names(given: str, names: Iterable[str]) -> str:
    """A sentence with the names most like the given one, after a space; empty where none is alike."""
    from difflib import get_close_matches

    least = MIN_SHORT_LIKENESS if len(given) <= MAX_SHORT_NAME else MIN_LIKENESS
    alike = get_close_matches(given, list(names), MAX_NEAREST, least)
    return f" Did you mean {' or '.join(map(repr, alike))}?" if alike else ""
