"""What a profile says, shut with its own key before it reaches the database, and found all the same.

Texts and token lists are encrypted (AES-256-GCM). Words and fingerprints become keyed hashes: equal ones stay equal, so
that the index and the uniqueness of memories work without the database knowing a single word. Vectors, metadata, keys,
names, times and ids stay as they are.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Any

from .. import stored
from ..errors import KeyMissing, StorageError

MESSAGE = (stored.MESSAGE.split(", ").index("content"),)
MEMORY = tuple(stored.MEMORY.split(", ").index(name) for name in ("summary", "content", "value", "keywords", "queries"))
FINGERPRINT = stored.MEMORY.split(", ").index("fingerprint")
NONCE = 12
Row = tuple[Any, ...]


class Seal:
    """Open (nothing is encrypted) without a key."""

    def __init__(self, key: bytes | None = None) -> None:
        self._cipher = None if key is None else _cipher(key)
        self._marking = None if key is None else hashlib.blake2b(b"words", key=key, digest_size=32).digest()

    def shut(self, data: bytes) -> bytes:
        if self._cipher is None:
            return data
        nonce = secrets.token_bytes(NONCE)
        return nonce + bytes(self._cipher.encrypt(nonce, data, None))

    def open(self, data: bytes) -> bytes:
        if self._cipher is None:
            return bytes(data)
        return opened(self._cipher, bytes(data))

    def shut_text(self, text: str) -> str:
        return text if self._cipher is None else base64.b64encode(self.shut(text.encode())).decode()

    def open_text(self, text: str) -> str:
        return text if self._cipher is None else self.open(base64.b64decode(text)).decode()

    def mark(self, text: str) -> str:
        """The same for the same text, and telling nothing of it to whoever lacks the key."""
        if self._marking is None:
            return text
        return hashlib.blake2b(text.encode(), key=self._marking, digest_size=15).hexdigest()

    def shut_row(self, row: Row, places: Iterable[int]) -> Row:
        return row if self._cipher is None else self._each(row, places, self.shut_text)

    def open_row(self, row: Row, places: Iterable[int]) -> Row:
        return row if self._cipher is None else self._each(row, places, self.open_text)

    def _each(self, row: Row, places: Iterable[int], change: Any) -> Row:
        changed = list(row)
        for place in places:
            changed[place] = change(changed[place])
        return tuple(changed)


class Master:
    """The key over all profiles' keys; the database keeps them only wrapped in it."""

    def __init__(self, key: bytes) -> None:
        self._cipher = _cipher(key)
        self.check = hmac.digest(key, b"holdfast master key", "sha256")
        """Tells two master keys apart without telling either."""

    def wrapped(self) -> bytes:
        """A new profile's key."""
        nonce = secrets.token_bytes(NONCE)
        return nonce + bytes(self._cipher.encrypt(nonce, secrets.token_bytes(32), None))

    def unwrapped(self, key: bytes) -> bytes:
        try:
            return opened(self._cipher, key)
        except StorageError as bad:
            raise KeyMissing(
                "A profile's key does not open with this keyring.", fix="Use the one it was made with."
            ) from bad


def opened(cipher: Any, data: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(cipher.decrypt(data[:NONCE], data[NONCE:], None))
    except InvalidTag as bad:
        raise StorageError(
            "Something sealed does not open with its key: it was changed, or the key is another."
        ) from bad


def _cipher(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)
