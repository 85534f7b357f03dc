"""Idempotency keys: the first answer to a key is stored with its change, whole or not at all.

A key belongs to the credential that sent it: another caller may use the same one, and learns nothing of it.
"""

from __future__ import annotations

import hashlib
import json

from holdfast.domain import identifiers, limits
from holdfast.domain.errors import KeyReused
from holdfast.domain.ports.storage import Store
from holdfast.domain.records import Once
from holdfast.domain.tracing import caller

_OWNER_SEPARATOR = "\n"


def idempotent_request(key: object, *request: object) -> Once | None:
    """The idempotency key with a hash of the request; None when there is no key.

    Journals store these hashes. So this JSON encoding must not change, and a new argument of a verb may be part of
    `request` only when the caller gave it.
    """
    if key is None:
        return None
    asked = json.dumps(request, sort_keys=True, default=str, ensure_ascii=False)
    name = identifiers.validate_text(key, "idempotency_key", limit=limits.MAX_IDEMPOTENCY_KEY_BYTES)
    owner = caller().credential
    if owner is not None:
        name = f"{owner}{_OWNER_SEPARATOR}{name}"
    return Once(name, hashlib.sha256(asked.encode(errors="surrogatepass")).hexdigest())


async def first_answer(store: Store, wanted: Once | None) -> Once | None:
    """Load the result of the first request with this key, if any. Raises KeyReused if that request differed."""
    found = None if wanted is None else await store.journal.once(wanted.key)
    if found is not None and wanted is not None and found.request != wanted.request:
        raise KeyReused(
            f"The idempotency key {wanted.key.rpartition(_OWNER_SEPARATOR)[2]!r} was used for another request.",
            field="idempotency_key",
            fix="Use a new key for each request.",
        )
    return found
