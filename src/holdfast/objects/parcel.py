"""A file on its way out: shut with a key of its own, under a name that tells nothing but whether it is whole.

The key lies in the profile's own storage and nowhere else, encrypted with the profile. Who deletes it there has made
the file unreadable at once, wherever copies of it are. The name is the SHA-256 of the shut bytes.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ..errors import Damaged
from ..stored import PIECE

TAG = 16
VERSION = 1


@dataclass(frozen=True, slots=True)
class Parcel:
    """What opens it: its name, its key, and how long it was."""

    name: str
    key: bytes
    size: int

    @classmethod
    def read(cls, told: bytes) -> Parcel:
        found = json.loads(told)
        return cls(found["name"], bytes.fromhex(found["key"]), found["size"])

    def told(self) -> bytes:
        return json.dumps({"v": VERSION, "name": self.name, "key": self.key.hex(), "size": self.size}).encode()

    def place(self, number: int) -> tuple[int, int] | None:
        """From where to where the shut piece of this number lies; None past the end."""
        start = number * PIECE
        if not 0 <= start < self.size:
            return None
        first = number * (PIECE + TAG)
        return first, first + min(PIECE, self.size - start) + TAG

    def opened(self, number: int, shut: bytes) -> bytes:
        try:
            return bytes(AESGCM(self.key).decrypt(_nonce(number), shut, None))
        except InvalidTag:
            raise Damaged(
                f"The file {self.name} among the originals was changed after it was written.",
                fix="Restore it from a copy, or add the document again.",
            ) from None


def shut(original: Path, into: Path) -> Parcel:
    """Write the file, shut, into another; each piece can be opened by itself, in its own place only."""
    key = secrets.token_bytes(32)
    cipher, sha, size, number = AESGCM(key), hashlib.sha256(), 0, 0
    with original.open("rb") as source, into.open("wb") as target:
        while piece := source.read(PIECE):
            data = cipher.encrypt(_nonce(number), piece, None)
            sha.update(data)
            target.write(data)
            size, number = size + len(piece), number + 1
    name = sha.hexdigest()
    return Parcel(f"{name[:2]}/{name}", key, size)


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")  # a key shuts one file only
