"""Encrypts a file with a key of its own before it leaves the profile's storage.

The key is stored in the profile's own storage and nowhere else, encrypted with the profile. Deleting it there makes
every copy of the file unreadable at once. The file's name is the SHA-256 of the encrypted bytes: it reveals nothing,
and shows whether the file is complete.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from holdfast.domain.errors import Damaged
from holdfast.storage.rows import PIECE_BYTES

TAG_BYTES = 16
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class EncryptedFile:
    """The values that decrypt a file: its name, its key, and the size of the original."""

    name: str
    key: bytes
    size: int

    @classmethod
    def decode(cls, record: bytes) -> EncryptedFile:
        fields = json.loads(record)
        return cls(fields["name"], bytes.fromhex(fields["key"]), fields["size"])

    def encode(self) -> bytes:
        return json.dumps({"v": FORMAT_VERSION, "name": self.name, "key": self.key.hex(), "size": self.size}).encode()

    def place(self, number: int) -> tuple[int, int] | None:
        """The byte range of the encrypted piece with this number; None past the end."""
        start = number * PIECE_BYTES
        if not 0 <= start < self.size:
            return None
        first = number * (PIECE_BYTES + TAG_BYTES)
        return first, first + min(PIECE_BYTES, self.size - start) + TAG_BYTES

    def opened(self, number: int, encrypted: bytes) -> bytes:
        try:
            return bytes(AESGCM(self.key).decrypt(_nonce(number), encrypted, None))
        except InvalidTag:
            raise Damaged(
                f"The file {self.name} among the originals was changed after it was written.",
                fix="Restore it from a copy, or add the document again.",
            ) from None


def encrypt_file(original: Path, into: Path) -> EncryptedFile:
    """Encrypt a file into another. Each piece decrypts by itself, and only at its own number."""
    key = secrets.token_bytes(32)
    cipher, sha, size, number = AESGCM(key), hashlib.sha256(), 0, 0
    with original.open("rb") as source, into.open("wb") as target:
        while piece := source.read(PIECE_BYTES):
            data = cipher.encrypt(_nonce(number), piece, None)
            sha.update(data)
            target.write(data)
            size, number = size + len(piece), number + 1
    name = sha.hexdigest()
    return EncryptedFile(f"{name[:2]}/{name}", key, size)


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")  # unique: a key encrypts one file only
