"""Loads and creates the master key file: 32 random bytes that encrypt all other keys, never overwritten."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from holdfast.domain.errors import KeyMissing


def load_master_key(keyring: Path, *, new: bool) -> bytes:
    """The key in this file; creates the file when it is missing and nothing was encrypted yet (`new`)."""
    try:
        text = keyring.read_text()
        if not text and new:
            return _create_master_key(keyring)  # a crash before the first key was on disk left an empty file
        key = bytes.fromhex(json.loads(text)["master_key"])
        if len(key) != 32:
            raise ValueError("a master key has 32 bytes")
        return key
    except FileNotFoundError:
        if new:
            return _create_master_key(keyring)
        raise KeyMissing(
            f"The keyring {keyring} is missing and data was encrypted with it.",
            fix="Put it back (or set HOLDFAST_KEYRING to where it is); without it nothing can be decrypted.",
        ) from None
    except (ValueError, KeyError, TypeError) as bad:
        raise KeyMissing(
            f"The keyring {keyring} is not readable ({bad}).",
            fix="Restore it from a backup; without it nothing can be decrypted.",
        ) from bad


def _create_master_key(keyring: Path) -> bytes:
    key = secrets.token_bytes(32)
    keyring.parent.mkdir(parents=True, exist_ok=True)
    fresh = keyring.with_name(f"{keyring.name}.new")  # replaced atomically
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as out:
        json.dump({"version": 1, "master_key": key.hex()}, out)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(keyring)
    _sync_folder(keyring.parent)
    return key


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that a new file's name survives power loss too. Windows has no such call and needs none."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
