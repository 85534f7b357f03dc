"""Pure: an item → the parts that are indexed, and the text of each that a model embeds.

Embedders cut off silently at 256 to 512 tokens and BM25 drowns a fact in a long answer, so long text is indexed by
passage and an item is as good as its best passage. No tail is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from . import statics, words
from .types import Item, Memory, Message, Part

PASSAGE_CHARS = 900
PASSAGE_TOKENS = 450
QUERY_CHARS = 300
_BREAK = re.compile(r"\n{2,}|\n|(?<=[.!?。！？])\s+|(?<=[。！？])|\s+")


def parts(item: Item) -> tuple[Part, ...]:
    """The item's passages with their words. A speaker's name, a key and keywords are words of every passage."""
    extra = words.tokens(_extra_words(item))
    embed = not (isinstance(item, Memory) and item.kind == "task")
    asks = _asks(item)
    found: list[Part] = []
    for start, stop in spans(item.content):
        for first, last, ids in _dense(item.content, start, stop):
            tokens = (*words.tokens(item.content[first:last]), *extra)
            found.append(Part(item.id, len(found), first, last, tokens, embed, ids, asks))
    return tuple(found)


def filled(item: Item, part: Part) -> Part:
    """The same part with its words again, which a store does not give back."""
    passage = item.content[part.start : part.stop]
    held = (*words.tokens(passage), *words.tokens(_extra_words(item)))
    return replace(part, words=held, tokens=statics.token_ids(passage)[0], asks=_asks(item))


def _asks(item: Item) -> bool:
    return item.content.rstrip().endswith(("?", "？"))


def _dense(text: str, start: int, stop: int) -> Iterator[tuple[int, int, bytes]]:
    """The passage with its token ids; cut again where it has more tokens than a model reads (Han, code, hex)."""
    ids, count = statics.token_ids(text[start:stop])
    if count <= PASSAGE_TOKENS or stop - start < 50:
        yield start, stop, ids
        return
    for first, last in spans(text[start:stop], (stop - start + 1) // 2):
        yield from _dense(text, start + first, start + last)


def embedded_text(item: Item, part: Part) -> str:
    """What the embedder sees of a part; of a memory, first the questions that it answers."""
    passage = item.content[part.start : part.stop]
    if isinstance(item, Message):
        return f"{item.speaker}: {passage}" if item.speaker else passage
    asked = " ".join(item.queries)[:QUERY_CHARS]
    named = f"{item.key.replace('-', ' ')}: {passage}" if item.key else passage
    return f"{asked} {named}" if asked else named


def spans(text: str, limit: int = PASSAGE_CHARS) -> Iterator[tuple[int, int]]:
    """Cut the text into passages of at most `limit` characters, at the strongest break that fills one half."""
    start = 0
    while len(text) - start > limit:
        stop = _best_break(text, start, limit)
        yield start, stop
        start = stop
    yield start, len(text)


def _best_break(text: str, start: int, limit: int) -> int:
    ranks: dict[int, int] = {}
    for found in _BREAK.finditer(text, start + limit // 2, start + limit):
        mark = found.group()
        rank = (
            3 if mark.startswith("\n\n") else 2 if "\n" in mark else 1 if text[found.start() - 1] in ".!?。！？" else 0
        )
        ranks[rank] = found.end()
    return ranks[max(ranks)] if ranks else start + limit


def _extra_words(item: Item) -> str:
    if isinstance(item, Message):
        return item.speaker or ""
    return " ".join([(item.key or "").replace("-", " "), *item.keywords])
