"""Lists every table and column that may hold what somebody said, and how it is erased when that is forgotten.

A table or column that is missing here fails a test: a new column needs an entry that says how it is erased.
"""

from __future__ import annotations

GONE = "the row goes"
GONE_OR_SHORTENED = "the row goes, or loses the words of a forgotten memory"
SCRUBBED = "ids and words are taken out"
REBUILT = "removed, and made anew from what is left"
NOT_SAID = "nothing that anybody said: names of models, states, counts"

PLACES: dict[str, dict[str, str]] = {
    "message": {
        "id": GONE, "session": GONE, "role": NOT_SAID, "speaker": GONE, "agent": GONE, "content": GONE_OR_SHORTENED,
        "metadata": GONE_OR_SHORTENED, "state": NOT_SAID, "failure": GONE, "holder": NOT_SAID,
    },
    "memory": {
        "id": GONE, "kind": GONE, "key": GONE, "summary": GONE, "content": GONE, "value": GONE, "metadata": GONE,
        "keywords": GONE, "queries": GONE, "session": GONE, "agent": GONE, "trust": NOT_SAID, "superseded_by": GONE,
        "origin": GONE, "ref": GONE,
        "extractor": NOT_SAID, "fingerprint": GONE,
    },
    "source": {"message": GONE},
    "part": {"words": GONE, "tokens": GONE, "model": NOT_SAID, "near": GONE, "data": GONE},
    "posting": {"word": GONE},
    "vector": {"model": NOT_SAID, "data": GONE},
    "vector_block": {"model": NOT_SAID, "data": REBUILT},
    "word": {"words": GONE, "word": GONE, "rank": NOT_SAID},
    "event": {"type": NOT_SAID, "data": "ids and names are taken out; events that tell of a forgetting keep ids"},
    "once": {
        "key": "a digest", "request": "a hash", "answer": SCRUBBED, "new": SCRUBBED,
        "memories": "ids of what this request forgot", "messages": "ids of what this request forgot",
        "shortened": "ids of messages that stay",
    },
    "job": {"id": NOT_SAID, "kind": NOT_SAID, "messages": SCRUBBED},
    "trace": {
        "id": NOT_SAID, "operation": NOT_SAID, "credential": NOT_SAID, "agent": SCRUBBED, "session": SCRUBBED,
        "turn": SCRUBBED, "details": SCRUBBED,
    },
    "usage": {"month": NOT_SAID, "model": NOT_SAID, "task": NOT_SAID},
    "document": {
        "id": "a hash", "session": GONE, "state": NOT_SAID, "holder": NOT_SAID,
        "data": "goes with the document or its last passage",
    },
    "original": {
        "document": GONE,
        "data": "goes with the document, and with the first of its passages; the key of a file elsewhere alike",
    },
    "mention": {"name": GONE, "shown": GONE, "type": NOT_SAID},
    "tie": {"subject": GONE, "relation": NOT_SAID, "object": GONE},
    "entity_change": {"id": NOT_SAID, "data": "goes with the last mention of a name in it, and with a person it names"},
    "edit": {"id": NOT_SAID, "verb": NOT_SAID, "data": SCRUBBED},
    "setting": {"name": "chosen by the owner, or the hash of an encrypted file", "value": REBUILT},
}  # fmt: skip
