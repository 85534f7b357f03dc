"""Pure: what is wrong among current memories: groups that say the same, pairs that cannot both be true, junk.

Only memories that share a good part of their rarer words are compared, so that tens of thousands can be looked at.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from . import words
from .alike import _ASIDE, _NAME, _NEGATED, _NUMBER, same
from .types import Memory

ALIKE, FRAMED = 0.5, 0.75
"""How much of their words two must share to be compared, and of their frames to be about the same."""
MOST_WITH_A_WORD = 200
STATED = ("fact", "instruction")
_MANY = re.compile(
    r"\b(?:likes?|loves?|enjoys?|hates?|knows?|met|meets|visit\w*|went|goes|been|speaks?|read\w*|plays?|owns?|has|have|"
    r"friends?|bought|saw|seen|watch\w*|tried|ate|eats|wants?|plans?|interested|works? with|talked|uses?)\b",
    re.I,
)
"""What may be true of several things at once."""
_LETTERS = re.compile(r"[^\W\d_]")
_CHAT = frozenset(
    words.tokens(
        "hi hello hey thanks thank ok okay sure yes no yeah nope bye goodbye please great cool nice lol haha welcome"
    )
)
_LIGHT = frozenset(
    words.question_words("take takes took taking now right currently already still down up about around")
)
"""Words that say neither what it is about nor what is said of it."""
_LIKED = frozenset(words.question_words("like likes love loves enjoy enjoys adore adores"))
_HATES = ("hate", "hates", "dislike", "dislikes", "detest", "detests", "loathe", "loathes")
_DISLIKED = frozenset(words.question_words(" ".join(_HATES)))
LIKING = "like"


@dataclass(frozen=True, slots=True)
class Read:
    """A memory, taken apart."""

    memory: Memory
    stems: frozenset[str]
    frame: frozenset[str]
    """Its stems without numbers, names and light words; liking and disliking are one, and told apart by `denies`."""
    names: frozenset[str]
    numbers: frozenset[str]
    denies: bool


def read(memory: Memory) -> Read:
    text = _ASIDE.sub("", memory.content)
    names = {name.casefold() for name in _NAME.findall(text)}
    stems = frozenset(words.question_words(text))
    named = {stem for name in names for stem in words.tokens(name)}
    frame = frozenset(stem for stem in stems if not stem[0].isdigit()) - named
    liking, disliking = frame & _LIKED, frame & _DISLIKED
    about = (frame - liking - disliking) | ({LIKING} if liking or disliking else set())
    denies = any(word.casefold() not in _HATES for word in _NEGATED.findall(text)) != bool(disliking)
    numbers = frozenset(_NUMBER.findall(text))
    return Read(memory, stems, (about - _LIGHT) or about, frozenset(names), numbers, denies)


def duplicates(memories: Sequence[Memory]) -> list[list[Memory]]:
    """Groups that say the same thing, in the same words or in others."""
    return _groups(memories, lambda each: each.stems, _says_the_same)


def contradictions(memories: Sequence[Memory]) -> list[list[Memory]]:
    """Groups that say something else of the same thing."""
    stated = [memory for memory in memories if memory.kind in STATED]
    return _groups(stated, lambda each: each.frame or each.stems, _contradict)


def junk(memory: Memory) -> bool:
    """Whether it looks like no memory: drawn from a conversation, and a question, a greeting, or hardly words."""
    if not memory.sources or memory.key is not None or memory.value is not None:
        return False
    text = memory.content.strip()
    spoken = set(words.tokens(text))
    letters = len(_LETTERS.findall(text))
    return text.endswith(("?", "？")) or spoken <= _CHAT | words.STOP or letters < len(text.replace(" ", "")) / 2


def _says_the_same(one: Read, other: Read) -> bool:
    mine, theirs = one.memory, other.memory
    if (mine.value, mine.occurred_at) != (theirs.value, theirs.occurred_at) or one.numbers != other.numbers:
        return False
    if None not in (mine.key, theirs.key) and mine.key != theirs.key and one.stems != other.stems:
        return False
    return mine.fingerprint == theirs.fingerprint or same(mine.content, theirs.content)


def _contradict(one: Read, other: Read) -> bool:
    mine, theirs = one.memory, other.memory
    if mine.key is not None and theirs.key is not None:  # topics of their own
        return False
    if mine.content.split()[:1] != theirs.content.split()[:1] or _share(one.frame, other.frame) < FRAMED:
        return False
    if one.denies != other.denies:
        return one.numbers == other.numbers and one.names == other.names
    if one.numbers and other.numbers and one.numbers.isdisjoint(other.numbers):
        return one.names == other.names
    if one.numbers != other.numbers or _MANY.search(mine.content) or _MANY.search(theirs.content):
        return False
    return bool(one.names - other.names) and bool(other.names - one.names) and bool(one.names & other.names)


def _groups(
    memories: Sequence[Memory], by: Callable[[Read], frozenset[str]], together: Callable[[Read, Read], bool]
) -> list[list[Memory]]:
    """Memories of a kind that belong together, directly or by way of others; newest first."""
    every = [read(memory) for memory in memories]
    head = list(range(len(every)))

    def find(n: int) -> int:
        while head[n] != n:
            head[n] = head[head[n]]
            n = head[n]
        return n

    for one, other in _near([by(each) for each in every]):
        mine, theirs = find(one), find(other)
        if mine != theirs and every[one].memory.kind == every[other].memory.kind and together(every[one], every[other]):
            head[mine] = theirs
    groups: dict[int, list[Memory]] = defaultdict(list)
    for n, each in enumerate(every):
        groups[find(n)].append(each.memory)
    return [
        sorted(group, key=lambda memory: (memory.updated_at, memory.id), reverse=True)
        for group in groups.values()
        if len(group) > 1
    ]


def _near(sets: Sequence[Set[str]]) -> Iterator[tuple[int, int]]:
    """Pairs that share enough words. Two sets that do share one of their rarer half, so only that is looked up."""
    common = Counter(stem for each in sets for stem in each)
    holding: dict[str, list[int]] = defaultdict(list)
    for n, each in enumerate(sets):
        rare = sorted(each, key=lambda stem: (common[stem], stem))
        seen: set[int] = set()
        for stem in rare[: len(rare) // 2 + 1]:
            for other in holding[stem]:
                if other not in seen and _share(each, sets[other]) >= ALIKE:
                    yield n, other
                seen.add(other)
            if len(holding[stem]) < MOST_WITH_A_WORD:
                holding[stem].append(n)


def _share(one: Set[str], other: Set[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else float(not one and not other)
