"""Gives a draft about a named person the key under which the same trait of that person is known.

"My brother Lars works at Spotify" has the key `brother-lars.employer`, and a later "Lars works at Meta" would have
`lars.employer`: they are one topic of one person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from holdfast.domain.ports.storage import Store
from holdfast.domain.types import Draft, Memory, Test
from holdfast.text.lexicon.kinship import RELATIONS

_NAMED = re.compile(r"(?:(?P<kin>[a-z-]+)-)?(?P<name>[^\W\d_]+)\.(?P<topic>.+)")
_KIN = tuple(sorted(RELATIONS))


async def with_owner_keys(store: Store, drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts, those with a key of a named person under the key that a current memory of that person has."""
    others = {draft.key: _other_keys(draft.key) for draft in drafts if draft.key is not None}
    keys = {key for own, some in others.items() if some for key in (own, *some)}
    if not keys:
        return [*drafts]
    page = await store.scan(Test("key", "in", tuple(sorted(keys))), now=None, limit=10_000)
    known = {memory.key: memory for memory in page.items if memory.key is not None}
    return [_under_known_key(draft, others.get(draft.key or "", ()), known) for draft in drafts]


def _other_keys(key: str) -> tuple[str, ...]:
    """The keys that the same trait of the same person may have."""
    m = _NAMED.fullmatch(key)
    if m is None or (m["kin"] is None and m["name"] in RELATIONS):
        return ()
    if m["kin"] is not None:
        return (f"{m['name']}.{m['topic']}",) if m["kin"] in RELATIONS else ()
    return tuple(f"{owner}.{m['topic']}" for kin in _KIN for owner in (f"{kin}-{m['name']}", kin))


def _under_known_key(draft: Draft, keys: Sequence[str], known: dict[str, Memory]) -> Draft:
    if draft.key in known:
        return draft
    found = [known[key] for key in keys if key in known and _is_about_the_same(draft, known[key])]
    return replace(draft, key=found[0].key) if len(found) == 1 else draft


def _is_about_the_same(draft: Draft, memory: Memory) -> bool:
    m = _NAMED.fullmatch(draft.key or "")
    named = m is not None and re.search(rf"\b{re.escape(m['name'])}\b", memory.content, re.I)
    return bool(named) and memory.kind == draft.kind
