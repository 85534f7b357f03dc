"""Says whose words an answer quotes: "According to page.txt: …" for what a document or a tool brought.

The name of a document and of a tool is text from outside like their words: it is written on one line, cut, and put in
quotation marks unless it is the name of a file or an address, so that it cannot pass for a person.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from holdfast.domain.ports.storage import Store
from holdfast.domain.results import Hit
from holdfast.domain.types import SECOND_HAND_TRUST, Json, Message

MAX_NAME_CHARACTERS = 80
"""Characters of a source's name that an answer shows. Chosen by hand."""
_ADDRESS = re.compile(r"https?://[^\s\"]+|[\w@%+~-][\w@%+~.-]*\.[A-Za-z]\w{0,4}")
_UNSHOWN = re.compile(r"[^\w\s.,:;/@%&=?#+~()'-]+")


async def source_names(store: Store, hits: Sequence[Hit]) -> dict[str, str]:
    """Hit → what its source is called, for those that a document or a tool brought."""
    brought = [hit for hit in hits if hit.trust in SECOND_HAND_TRUST]
    sources = await store.get([source for hit in brought for source in hit.sources]) if brought else []
    about = {item.id: item.metadata for item in sources if isinstance(item, Message) and item.role in SECOND_HAND_TRUST}
    names = {}
    for hit in brought:
        from_sources = next((about[source] for source in hit.sources if about.get(source)), {})
        names[hit.id] = source_name(hit.trust, hit.metadata or from_sources)
    return names


def source_name(trust: str, metadata: Mapping[str, Json]) -> str:
    """What a document or a tool is called in an answer."""
    if trust == "tool":
        named = shown_name(metadata.get("tool") or metadata.get("name"))
        return f"a tool ({named})" if named else "a tool"
    for field in ("name", "title", "url", "file"):
        if named := shown_name(metadata.get(field)):
            return named if _ADDRESS.fullmatch(named) else f'the document "{named}"'
    return "a document"


def shown_name(name: Json) -> str:
    """A name from outside on one line, without quotation marks, brackets and invisible characters."""
    kept = " ".join(_UNSHOWN.sub(" ", str(name or "")).split())
    return kept if len(kept) <= MAX_NAME_CHARACTERS else f"{kept[: MAX_NAME_CHARACTERS - 1]}…"


async def attributed(store: Store, hit: Hit, text: str) -> str:
    """The text that a hit gave, with whose words it is if they are a document's or a tool's."""
    names = await source_names(store, [hit])
    return f"According to {names[hit.id]}: {text}" if hit.id in names else text
