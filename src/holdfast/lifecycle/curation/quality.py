"""Finds duplicates, contradictions and junk among memories. Pure.

Only memories that share a good part of their rarer words are compared, so that tens of thousands can be checked.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from holdfast.domain.types import Memory
from holdfast.lifecycle.curation.attributes import clashing_attributes
from holdfast.text import tokens
from holdfast.text.courtesies import is_courtesy
from holdfast.text.lexicon.negation import NEGATION
from holdfast.text.lexicon.patterns import ASIDE, CAPITALISED_WORD, FIGURE
from holdfast.text.lexicon.sentences import QUESTION_MARKS
from holdfast.text.similarity import same_meaning

MIN_SHARED_WORDS, MIN_SHARED_FRAME = 0.5, 0.75
"""Jaccard similarity of words for two memories to be compared, and of frames to be about the same thing. Chosen by
hand; not measured."""
MAX_MEMORIES_PER_WORD = 200
"""How many memories a word may bring into comparison. Chosen by hand; not measured."""
COMPARED_KINDS = ("fact", "instruction")
_MANY = re.compile(
    r"\b(?:likes?|loves?|enjoys?|hates?|knows?|met|meets|visit\w*|went|goes|been|speaks?|read\w*|plays?|owns?|has|have|"
    r"friends?|bought|saw|seen|watch\w*|tried|ate|eats|wants?|plans?|interested|works? with|talked|uses?)\b",
    re.I,
)
"""Matches statements that may be true of several things at once, so that two of them do not contradict each other."""
_LETTERS = re.compile(r"[^\W\d_]")
_LIGHT = frozenset(
    tokens.question_words("take takes took taking now right currently already still down up about around")
)
"""Words that identify neither the subject nor what is stated about it."""
_LIKED = frozenset(tokens.question_words("like likes love loves enjoy enjoys adore adores"))
_HATES = ("hate", "hates", "dislike", "dislikes", "detest", "detests", "loathe", "loathes")
_DISLIKED = frozenset(tokens.question_words(" ".join(_HATES)))
LIKING_STEM = "like"


@dataclass(frozen=True, slots=True)
class ParsedMemory:
    """A memory with its stems, names and numbers."""

    memory: Memory
    stems: frozenset[str]
    frame: frozenset[str]
    """Its stems without numbers, names and light words; liking and disliking are one stem and differ in `denies`."""
    names: frozenset[str]
    numbers: frozenset[str]
    denies: bool


def parse_memory(memory: Memory) -> ParsedMemory:
    text = ASIDE.sub("", memory.content)
    names = {name.casefold() for name in CAPITALISED_WORD.findall(text)}
    stems = frozenset(tokens.question_words(text))
    named = {stem for name in names for stem in tokens.tokens(name)}
    frame = frozenset(stem for stem in stems if not stem[0].isdigit()) - named
    liking, disliking = frame & _LIKED, frame & _DISLIKED
    about = (frame - liking - disliking) | ({LIKING_STEM} if liking or disliking else set())
    denies = any(word.casefold() not in _HATES for word in NEGATION.findall(text)) != bool(disliking)
    numbers = frozenset(FIGURE.findall(text))
    return ParsedMemory(memory, stems, (about - _LIGHT) or about, frozenset(names), numbers, denies)


def duplicates(memories: Sequence[Memory]) -> list[list[Memory]]:
    """Groups of memories that say the same thing, in the same words or in others."""
    return _groups(memories, lambda each: each.stems, _says_the_same)


def contradictions(memories: Sequence[Memory]) -> list[list[Memory]]:
    """Groups of memories that say different things about the same thing."""
    stated = [memory for memory in memories if memory.kind in COMPARED_KINDS]
    clashing = clashing_attributes(stated)
    grouped = {memory.id for group in clashing for memory in group}
    others = [memory for memory in stated if memory.id not in grouped]
    return [*clashing, *_groups(others, lambda each: each.frame or each.stems, _contradict)]


def is_junk(memory: Memory) -> bool:
    """Whether an extracted text is not a memory: a question, a greeting, or hardly any words."""
    if not memory.sources or memory.key is not None or memory.value is not None:
        return False
    text = memory.content.strip()
    says_nothing = is_courtesy(text) or tokens.STOP_WORDS.issuperset(tokens.tokens(text))
    letters = len(_LETTERS.findall(text))
    return text.endswith(QUESTION_MARKS) or says_nothing or letters < len(text.replace(" ", "")) / 2


def _says_the_same(one: ParsedMemory, other: ParsedMemory) -> bool:
    mine, theirs = one.memory, other.memory
    if (mine.value, mine.occurred_at) != (theirs.value, theirs.occurred_at) or one.numbers != other.numbers:
        return False
    if None not in (mine.key, theirs.key) and mine.key != theirs.key and one.stems != other.stems:
        return False
    return mine.fingerprint == theirs.fingerprint or same_meaning(mine.content, theirs.content)


def _contradict(one: ParsedMemory, other: ParsedMemory) -> bool:
    mine, theirs = one.memory, other.memory
    if mine.key is not None and theirs.key is not None:  # different keys are different topics
        return False
    if mine.content.split()[:1] != theirs.content.split()[:1] or _jaccard(one.frame, other.frame) < MIN_SHARED_FRAME:
        return False
    if one.denies != other.denies:
        return one.numbers == other.numbers and one.names == other.names
    if one.numbers and other.numbers and one.numbers.isdisjoint(other.numbers):
        return one.names == other.names
    if one.numbers != other.numbers or _MANY.search(mine.content) or _MANY.search(theirs.content):
        return False
    return bool(one.names - other.names) and bool(other.names - one.names) and bool(one.names & other.names)


def _groups(
    memories: Sequence[Memory],
    by: Callable[[ParsedMemory], frozenset[str]],
    together: Callable[[ParsedMemory, ParsedMemory], bool],
) -> list[list[Memory]]:
    """Memories of one kind that belong together, directly or through others; newest first."""
    every = [parse_memory(memory) for memory in memories]
    head = list(range(len(every)))

    def find(n: int) -> int:
        while head[n] != n:
            head[n] = head[head[n]]
            n = head[n]
        return n

    for one, other in _similar_pairs([by(each) for each in every]):
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


def _similar_pairs(sets: Sequence[Set[str]]) -> Iterator[tuple[int, int]]:
    """Pairs that share enough words. Two such sets share a word of their rarer half, so only that half is looked up."""
    common = Counter(stem for each in sets for stem in each)
    holding: dict[str, list[int]] = defaultdict(list)
    for n, each in enumerate(sets):
        rare = sorted(each, key=lambda stem: (common[stem], stem))
        seen: set[int] = set()
        for stem in rare[: len(rare) // 2 + 1]:
            for other in holding[stem]:
                if other not in seen and _jaccard(each, sets[other]) >= MIN_SHARED_WORDS:
                    yield n, other
                seen.add(other)
            if len(holding[stem]) < MAX_MEMORIES_PER_WORD:
                holding[stem].append(n)


def _jaccard(one: Set[str], other: Set[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else float(not one and not other)
