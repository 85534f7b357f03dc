"""The master key in its file: 32 random bytes that open everything else, made once and never overwritten."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from .errors import KeyMissing


def master_key(keyring: Path, *, new: bool) -> bytes:
    """The key in this file; made when it is not there and nothing was encrypted yet (`new`)."""
    try:
        text = keyring.read_text()
        if not text and new:
            return _made(keyring)  # a crash came before the first key was on disk
        key = bytes.fromhex(json.loads(text)["master_key"])
        if len(key) != 32:
            raise ValueError("a master key has 32 bytes")
        return key
    except FileNotFoundError:
        if new:
            return _made(keyring)
        raise KeyMissing(
            f"The keyring {keyring} is missing and data was encrypted with it.",
            fix="Put it back (or set HOLDFAST_KEYRING to where it is); without it nothing can be decrypted.",
        ) from None
    except (ValueError, KeyError, TypeError) as bad:
        raise KeyMissing(
            f"The keyring {keyring} is not readable ({bad}).",
            fix="Restore it from a backup; without it nothing can be decrypted.",
        ) from bad


def _made(keyring: Path) -> bytes:
    key = secrets.token_bytes(32)
    keyring.parent.mkdir(parents=True, exist_ok=True)
    fresh = keyring.with_name(f"{keyring.name}.new")  # whole or not at all
    made = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(made, "w") as out:
        json.dump({"version": 1, "master_key": key.hex()}, out)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(keyring)
    _sync_folder(keyring.parent)
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
