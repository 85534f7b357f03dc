"""Requests that their senders may repeat: the key they chose goes with the change, whole or not at all."""

from __future__ import annotations

import hashlib
import json

from . import names
from .errors import KeyReused
from .ports import Store
from .records import Once

KEY_BYTES = 255


def once(key: object, *request: object) -> Once | None:
    """A key and the hash of what was asked with it; None when there is no key."""
    if key is None:
        return None
    asked = json.dumps(request, sort_keys=True, default=str, ensure_ascii=False)
    name = names.text(key, "idempotency_key", limit=KEY_BYTES)
    return Once(name, hashlib.sha256(asked.encode(errors="surrogatepass")).hexdigest())


async def first(store: Store, wanted: Once | None) -> Once | None:
    """What the first request with this key did, if there was one; another request with the same key is refused."""
    found = None if wanted is None else await store.journal.once(wanted.key)
    if found is not None and wanted is not None and found.request != wanted.request:
        raise KeyReused(
            f"The idempotency key {wanted.key!r} was used for another request.",
            field="idempotency_key",
            fix="Use a new key for each request.",
        )
    return found
