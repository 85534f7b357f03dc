"""Splits an item into the parts that are indexed, and builds the text of each part that a model embeds. Pure.

Embedders silently ignore everything after 256 to 512 tokens, and in a long text BM25 gives a single fact little weight.
So long text is indexed by passage, an item ranks as its best passage does, and no part of a text is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from holdfast.domain.types import Item, Memory, Message, Part
from holdfast.text import static_vectors, tokens
from holdfast.text.lexicon.sentences import ENDS, QUESTION_MARKS, WIDE_ENDS

MAX_PASSAGE_CHARS = 900
"""Chosen by hand so that ordinary prose stays far below the tokens an embedder reads; not measured."""
MAX_PASSAGE_TOKENS = 450
"""Below the 512 tokens that the default embedder reads, with room for the text put before the passage."""
MAX_QUERIES_CHARS = 300
"""How many characters of the questions that a memory answers are embedded with it. Chosen by hand; not measured.
Questions that repeat its own words are not: with them, 80.3 instead of 80.1 of 100 pieces of LoCoMo's evidence were
found, for twice the tokens."""
_ASKED_OF_ANYTHING = frozenset(tokens.tokens("known say said mention mentioned happened do did user"))
"""Words of questions that can be asked of any memory."""
_BREAK = re.compile(rf"\n{{2,}}|\n|(?<=[{ENDS}{WIDE_ENDS}])\s+|(?<=[{WIDE_ENDS}])|\s+")


def index_parts(item: Item) -> tuple[Part, ...]:
    """The item's passages with their words. The speaker's name, the key and the keywords are added to every passage."""
    extra = tokens.tokens(_extra_words(item))
    embed = not (isinstance(item, Memory) and item.kind == "task")
    asks = _is_question(item)
    found: list[Part] = []
    for start, stop in passage_spans(item.content):
        for first, last, ids in _passages_within_tokens(item.content, start, stop):
            words = (*tokens.tokens(item.content[first:last]), *extra)
            found.append(Part(item.ref, len(found), first, last, words, embed, ids, asks))
    return tuple(found)


def part_with_words(item: Item, part: Part) -> Part:
    """Computes the words and token ids of a part again, because a store does not return them."""
    passage = item.content[part.start : part.stop]
    words = (*tokens.tokens(passage), *tokens.tokens(_extra_words(item)))
    return replace(part, words=words, tokens=static_vectors.token_ids(passage)[0], asks=_is_question(item))


def _is_question(item: Item) -> bool:
    return item.content.rstrip().endswith(QUESTION_MARKS)


def _passages_within_tokens(text: str, start: int, stop: int) -> Iterator[tuple[int, int, bytes]]:
    """The passage with its token ids, halved until it has no more tokens than a model reads (Han, code, hex)."""
    ids, count = static_vectors.token_ids(text[start:stop])
    if count <= MAX_PASSAGE_TOKENS or stop - start < 50:
        yield start, stop, ids
        return
    for first, last in passage_spans(text[start:stop], (stop - start + 1) // 2):
        yield from _passages_within_tokens(text, start + first, start + last)


def embedded_text(item: Item, part: Part) -> str:
    """The text of a part that is embedded: a memory's passage after those questions it answers that add words to it."""
    passage = item.content[part.start : part.stop]
    if isinstance(item, Message):
        return f"{item.speaker}: {passage}" if item.speaker else passage
    own_words = {*tokens.tokens(passage), *tokens.tokens(" ".join(item.keywords)), *_ASKED_OF_ANYTHING}
    asked = " ".join(each for each in item.queries if not own_words.issuperset(tokens.question_words(each)))
    asked = asked[:MAX_QUERIES_CHARS]
    named = f"{item.key.replace('-', ' ')}: {passage}" if item.key else passage
    return f"{asked} {named}" if asked else named


def passage_spans(text: str, limit: int = MAX_PASSAGE_CHARS) -> Iterator[tuple[int, int]]:
    """Cut the text into passages of at most `limit` characters, at the strongest break in the second half of each."""
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
            3
            if mark.startswith("\n\n")
            else 2
            if "\n" in mark
            else 1
            if text[found.start() - 1] in ENDS + WIDE_ENDS
            else 0
        )
        ranks[rank] = found.end()
    return ranks[max(ranks)] if ranks else start + limit


def _extra_words(item: Item) -> str:
    if isinstance(item, Message):
        return item.speaker or ""
    return " ".join([(item.key or "").replace("-", " "), *item.keywords])
