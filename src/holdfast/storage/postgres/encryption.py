"""Encrypts a profile's texts with its own key before they reach the database, and keeps them searchable.

Texts and token lists are encrypted (AES-256-GCM). Words and fingerprints become keyed hashes: equal ones stay equal, so
that the word index and the uniqueness of memories work while the database sees no word. Vectors, metadata, keys, names,
times and ids are not encrypted.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Any

from holdfast.domain.errors import KeyMissing, StorageError
from holdfast.storage import rows

ENCRYPTED_MESSAGE_COLUMNS = (rows.MESSAGE.split(", ").index("content"),)
ENCRYPTED_MEMORY_COLUMNS = tuple(
    rows.MEMORY.split(", ").index(name) for name in ("summary", "content", "value", "keywords", "queries")
)
ANSWER_COLUMN = (rows.ONCE.split(", ").index("answer"),)
FINGERPRINT_COLUMN = rows.MEMORY.split(", ").index("fingerprint")
NONCE_BYTES = 12
Row = tuple[Any, ...]


class ProfileCipher:
    """Encrypts and hashes with a profile's key. Without a key, everything stays as it is."""

    def __init__(self, key: bytes | None = None) -> None:
        self._cipher = None if key is None else _aes_gcm(key)
        self._hash_key = None if key is None else hashlib.blake2b(b"words", key=key, digest_size=32).digest()

    @property
    def encrypts(self) -> bool:
        return self._cipher is not None

    def encrypt(self, data: bytes) -> bytes:
        if self._cipher is None:
            return data
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + bytes(self._cipher.encrypt(nonce, data, None))

    def decrypt(self, data: bytes) -> bytes:
        if self._cipher is None:
            return bytes(data)
        return decrypt_bytes(self._cipher, bytes(data))

    def encrypt_text(self, text: str) -> str:
        return text if self._cipher is None else base64.b64encode(self.encrypt(text.encode())).decode()

    def decrypt_text(self, text: str) -> str:
        return text if self._cipher is None else self.decrypt(base64.b64decode(text)).decode()

    def keyed_hash(self, text: str) -> str:
        """A keyed hash: equal texts give equal hashes, which reveal nothing without the key."""
        if self._hash_key is None:
            return text
        return hashlib.blake2b(text.encode(), key=self._hash_key, digest_size=15).hexdigest()

    def encrypt_row(self, row: Row, columns: Iterable[int]) -> Row:
        return row if self._cipher is None else self._transformed(row, columns, self.encrypt_text)

    def decrypt_row(self, row: Row, columns: Iterable[int]) -> Row:
        return row if self._cipher is None else self._transformed(row, columns, self.decrypt_text)

    def _transformed(self, row: Row, columns: Iterable[int], transform: Any) -> Row:
        changed = list(row)
        for column in columns:
            changed[column] = transform(changed[column])
        return tuple(changed)


class MasterKey:
    """The key that wraps all profiles' keys; the database stores them only wrapped."""

    def __init__(self, key: bytes) -> None:
        self._cipher = _aes_gcm(key)
        self.check = hmac.digest(key, b"holdfast master key", "sha256")
        """A digest that tells two master keys apart without revealing either."""

    def new_wrapped_key(self) -> bytes:
        """A key for a new profile, wrapped."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + bytes(self._cipher.encrypt(nonce, secrets.token_bytes(32), None))

    def unwrap(self, key: bytes) -> bytes:
        try:
            return decrypt_bytes(self._cipher, key)
        except StorageError as bad:
            raise KeyMissing(
                "A profile's key cannot be decrypted with this keyring.",
                fix="Use the keyring that it was created with.",
            ) from bad


def decrypt_bytes(cipher: Any, data: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], None))
    except InvalidTag as bad:
        raise StorageError(
            "Encrypted data cannot be decrypted with its key: it was changed, or this is another key."
        ) from bad


def _aes_gcm(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)
