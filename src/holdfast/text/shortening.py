"""Takes the words of forgotten memories out of a message, and leaves the words of the memories that stay. Pure.

A forgotten memory is grounded in the sentences, and in their clauses, with which it shares most of its words; a memory
that stays, in every clause with words of it that no other clause has as well. A sentence that grounds only forgotten
memories goes wholly. One that grounds memories of both sorts is judged clause by clause, and a clause that grounds both
loses the words that none of those that stay there has. A forgotten memory that is grounded nowhere, because it was
rewritten or translated, takes everything but the clauses of the memories that stay. In the end every word that is
distinctive for the forgotten ones goes, wherever it stands. `OMISSION` stands where something was taken out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from holdfast.text.lexicon.everyday_words import EVERYDAY_WORDS, SMALL_WORDS
from holdfast.text.lexicon.patterns import ASIDE, OMISSION
from holdfast.text.lexicon.sentences import ABBREVIATION, ENDS, WIDE_ENDS
from holdfast.text.tokens import tokens

Span = tuple[int, int]
MIN_PREFIX_CHARS = 5
"""A distinctive word of at least so many characters also takes the words that begin with it: inflections, compounds.
Chosen by hand; not measured."""
MAX_SMALL_WORDS_BETWEEN = 3
"""Up to so many small words between two places where something was taken out go too. Chosen by hand; not measured."""
MAX_SMALL_LETTERS = 2
"""Words in lower case with at most so many letters count as small in every language. Chosen by hand; not measured."""

_FRAME = frozenset(tokens("user said says asks asked needs answered told others according"))
"""Stems of the words with which a memory reports what a message says."""

_MARKS = (  # combining marks and joiners, which `\w` does not match
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u200c\u200d\u3099\u309a"
)
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\u3099\u309a"
_WORD = re.compile(
    rf"(?P<number>\d+(?:[.,]\d+)*(?![^\W_]))|(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])+(?:['’](?:s|t|m|d|re|ve|ll)(?![^\W_]))?",
    re.I,
)
_CLOSING = "\"'”’»)\\]）」』"
_OTHER_ENDS = "।॥؟۔։።"
_SENTENCE_BORDER = re.compile(
    rf"\s*\n\s*|(?<=[{ENDS}…])[{_CLOSING}]*\s+|(?<=[{WIDE_ENDS}{_OTHER_ENDS}])[{_CLOSING}]*\s*"
)
_CONJUNCTIONS = (
    "and|or|but|because|so|then|while|whereas|although|though|since|plus|also|which|who|where|when|if|that|"
    "und|oder|aber|weil|denn|sondern|dass|während|obwohl|et|ou|mais|parce|car|donc|quand|y|pero|porque|cuando|aunque|"
    "e|ed|ma|perché|quando|mas|pois|en|maar|want|omdat|og|men|fordi|och|eller|ale|bo|czy|(?-i:i)|и|или|а|но|потому|когда"
)
_CLAUSE_BORDER = re.compile(
    rf"[,;:]\s+(?:(?:{_CONJUNCTIONS})\s+)?|\s+(?:{_CONJUNCTIONS})\s+|\s+[–—-]\s+|[()\[\]{{}}（）]|[，；、：،؛]\s*"
    r"|(?<=[\u0e00-\u0eff]) +(?=[\u0e00-\u0eff])",
    re.I,
)

_ENDED = re.compile(rf"\s*(?:$|\n|[{ENDS}{WIDE_ENDS}{_OTHER_ENDS}{_CLOSING}])")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text, or two neighbouring characters of a script without spaces, which may overlap."""

    start: int
    stop: int
    stem: str
    small: bool

    @property
    def everyday(self) -> bool:
        return self.stem in EVERYDAY_WORDS and not self.small


def without_memories(
    text: str, gone: Sequence[Sequence[str]], kept: Sequence[Sequence[str]], spared: str = ""
) -> str | None:
    """The text without the words of the memories in `gone`; None when nothing but small words is left.

    Each memory is given by its texts: those of its versions, its values. Words of `spared` are distinctive for none.
    """
    lost = distinctive_words(gone, kept, spared)
    marked = _merged_spans(text, _grounded_spans(text, gone, kept))
    left = _with_marks(text, marked)
    while spans := list(_word_spans(left, lost.__contains__)):
        left = _with_marks(left, _merged_spans(left, spans))
    return left if any(not word.small for word in _words(left)) else None


def unmarked_text(text: str) -> str:
    """What a shortened text still states, without its marks: each side of a mark on a line of its own, and without the
    rest of a clause of which words were taken out."""
    lines: list[str] = []
    for piece in text.split(OMISSION):
        if lines:
            before, rest = _split_last_clause(lines[-1])
            border = _CLAUSE_BORDER.match(piece)
            ends = border is not None or _ENDED.match(piece) is not None
            if any(not word.small for word in _words(rest)[-1:]) and ends:
                before = lines[-1]
            elif _words(rest) and not ends:
                piece = _without_first_clause(piece)
            lines[-1] = before if _words(rest) else lines[-1]
            piece = piece[border.end() :] if border is not None else piece
        lines.append(piece)
    return "\n".join(line.strip() for line in lines if _words(line))


def clauses(text: str) -> list[str]:
    spans = [clause for sentence in _sentence_spans(text) for clause, _ in _clause_spans(text, sentence)]
    return [text[slice(*span)] for span in spans]


def stating_clauses(text: str, statement: str) -> frozenset[str]:
    """The clauses of a text in which a statement is grounded, each by its words in lower case; all words of the text
    together when it is grounded nowhere."""
    found = clauses(text)
    stems, memory = [_content_stems([clause]) for clause in found], _content_stems([statement])
    places = _fullest_places(memory, stems, _telling_places(memory, stems))
    return frozenset(_plain_words(found[place]) for place in places) or frozenset([_plain_words(text)])


def shared_clauses(text: str, one: str, other: str, around: str = "") -> list[str]:
    """The clauses of a text that two statements tell in the same words; none where one of them has words that neither
    the text has nor `around`, what else the statements may quote."""
    spans = [clause for sentence in _sentence_spans(text) for clause, _ in _clause_spans(text, sentence)]
    statements = [ASIDE.sub("", each) for each in (one, other)]
    mine, theirs = (_content_stems([each]) for each in statements)
    if not (mine | theirs) - _FRAME <= {word.stem for word in (*_words(text), *_words(around))}:
        return []
    found = []
    grounding = _staying_grounding(text, spans, [[each] for each in statements])
    for span, places in zip(spans, grounding, strict=True):
        here = _content_stems([text[slice(*span)]])
        if len(places) == 2 and mine & here == theirs & here:
            found.append(text[slice(*span)])
    return found


def _plain_words(text: str) -> str:
    return " ".join(word.group().casefold() for word in _WORD.finditer(text))


def distinctive_words(
    gone: Iterable[Sequence[str]], kept: Iterable[Sequence[str]], spared: str = ""
) -> DistinctiveWords:
    """The words that only the forgotten memories have, and that say what they are about; numbers always do."""
    others = _content_stems(each for memory in kept for each in memory) | _content_stems([spared])
    own = _content_stems(each for memory in gone for each in memory) - others
    return DistinctiveWords(
        frozenset(stem for stem in own if stem not in EVERYDAY_WORDS or stem.isdigit()), frozenset(others)
    )


@dataclass(frozen=True, slots=True)
class DistinctiveWords:
    """Stems that must not be left, and stems that stay although they begin with one."""

    stems: frozenset[str]
    others: frozenset[str]

    def __contains__(self, stem: str) -> bool:
        if stem in self.stems:
            return True
        if len(stem) <= MIN_PREFIX_CHARS or stem in self.others:
            return False
        return any(stem[:length] in self.stems for length in range(MIN_PREFIX_CHARS, len(stem)))

    def occur_in(self, text: str) -> bool:
        return any(word.stem in self for word in _words(text))


def _grounded_spans(text: str, gone: Sequence[Sequence[str]], kept: Sequence[Sequence[str]]) -> list[Span]:
    """The sentences, clauses and words in which the forgotten memories are grounded and none that stays."""
    sentences = list(_sentence_spans(text))
    clauses = [list(_clause_spans(text, sentence)) for sentence in sentences]
    forgotten = _forgotten_grounding(text, sentences, gone)
    staying = iter(_staying_grounding(text, [clause for some in clauses for clause, _ in some], kept))
    found: list[Span] = []
    for sentence, inner, going in zip(sentences, clauses, forgotten, strict=True):
        stay = [[kept[each] for each in next(staying)] for _ in inner]
        if going and not any(stay):
            found.append(sentence)
        elif going:
            found += _clauses_to_remove(text, inner, [gone[each] for each in sorted(going)], stay)
    return found


def _clauses_to_remove(
    text: str,
    clauses: Sequence[tuple[Span, Span]],
    gone: Sequence[Sequence[str]],
    staying: Sequence[Sequence[Sequence[str]]],
) -> Iterator[Span]:
    """Clauses of the forgotten memories only, and of clauses that others have too, the words that those do not have."""
    forgotten = _forgotten_grounding(text, [clause for clause, _ in clauses], gone)
    words = _content_stems(each for memory in gone for each in memory)
    for (clause, with_border), going, kept in zip(clauses, forgotten, staying, strict=True):
        if going and not kept:
            yield with_border
        elif going:
            own = words - _content_stems(each for memory in kept for each in memory)
            yield from ((clause[0] + a, clause[0] + b) for a, b in _word_spans(text[slice(*clause)], own.__contains__))


def _forgotten_grounding(text: str, spans: Sequence[Span], memories: Sequence[Sequence[str]]) -> list[set[int]]:
    """For each span the forgotten memories, by index, that are grounded in it: no other span has more of their words.

    A memory that shares no word but everyday ones with the text is grounded in all spans.
    """
    stems = [_content_stems([text[start:stop]]) for start, stop in spans]
    found: list[set[int]] = [set() for _ in spans]
    for n, versions in enumerate(memories):
        places: set[int] = set()
        for version in versions:
            memory = _content_stems([version])
            places |= _fullest_places(memory, stems, _telling_places(memory, stems))
        for place in places or range(len(spans)):
            found[place].add(n)
    return found


def _staying_grounding(text: str, spans: Sequence[Span], memories: Sequence[Sequence[str]]) -> list[set[int]]:
    """For each span the memories that stay, by index, that are grounded in it: it has words of theirs that no other
    span has as well; of several with the same words of theirs, the one with the fewest others."""
    stems = [_content_stems([text[start:stop]]) for start, stop in spans]
    found: list[set[int]] = [set() for _ in spans]
    for n, versions in enumerate(memories):
        for version in versions:
            memory = _content_stems([version])
            telling = [place for place, each in enumerate(stems) if _telling_stems(memory) & each]
            places = telling or [place for place, each in enumerate(stems) if memory & each]
            fewest: dict[frozenset[str], int] = {}
            for place in places:
                shared, others = memory & stems[place], len(stems[place] - memory)
                fewest[shared] = min(others, fewest.get(shared, others))
            for place in _fullest_places(memory, stems, places):
                if len(stems[place] - memory) == fewest[memory & stems[place]]:
                    found[place].add(n)
    return found


def _telling_stems(memory: frozenset[str]) -> frozenset[str]:
    return memory - EVERYDAY_WORDS


def _telling_places(memory: frozenset[str], spans: Sequence[frozenset[str]]) -> list[int]:
    """The places with most of the memory's telling words; none without any."""
    counts = [len(_telling_stems(memory) & each) for each in spans]
    most = max(counts, default=0)
    return [place for place, count in enumerate(counts) if count and count == most]


def _fullest_places(memory: frozenset[str], spans: Sequence[frozenset[str]], places: Sequence[int]) -> set[int]:
    """The places of which no other has all the memory's words that they have, and more."""
    shared = {memory & spans[place] for place in places}
    full = {some for some in shared if not any(some < more for more in shared)}
    return {place for place in places if memory & spans[place] in full}


def _sentence_spans(text: str) -> Iterator[Span]:
    start = 0
    for border in _SENTENCE_BORDER.finditer(text):
        stop = border.start() + len(border.group().rstrip())
        if border.end() < len(text) and "\n" not in border.group() and ABBREVIATION.search(text, start, stop):
            continue
        if text[start:stop].strip():
            yield start, stop
        start = border.end()
    if text[start:].strip():
        yield start, len(text.rstrip())


def _split_last_clause(text: str) -> tuple[str, str]:
    borders = (*_SENTENCE_BORDER.finditer(text), *_CLAUSE_BORDER.finditer(text))
    at = max((border.end() for border in borders), default=0)
    return text[:at], text[at:]


def _without_first_clause(text: str) -> str:
    borders = filter(None, (_SENTENCE_BORDER.search(text), _CLAUSE_BORDER.search(text)))
    return text[min((border.end() for border in borders), default=len(text)) :]


def _clause_spans(text: str, sentence: Span) -> Iterator[tuple[Span, Span]]:
    """Each clause of a sentence, alone and with the conjunction that goes with it."""
    start, stop = sentence
    borders = list(_CLAUSE_BORDER.finditer(text, start, stop))
    edges = [(start, start), *(border.span() for border in borders), (stop, stop)]
    last = stop - len(text[start:stop]) + len(text[start:stop].rstrip(f"{ENDS}{WIDE_ENDS}{_OTHER_ENDS} "))
    for n, ((before, first), (end, after)) in enumerate(pairwise(edges)):
        end = min(end, max(last, first))
        if not text[first:end].strip():
            continue
        if n == 0:  # the conjunction after the first clause would join nothing
            yield (first, end), (first, after if after < stop else end)
        else:
            lead = text[before:first]
            yield (first, end), (before + len(lead) - len(lead.lstrip(",;:，；、：،؛()[]{}（） ")), end)


def _word_spans(text: str, taken: Callable[[str], bool]) -> Iterator[Span]:
    for word in _words(text):
        if taken(word.stem):
            yield word.start, word.stop


def _merged_spans(text: str, spans: Iterable[Span]) -> list[Span]:
    """Join spans between which, and between marks of an earlier time, there are only small words."""
    earlier = (found.span() for found in re.finditer(re.escape(OMISSION), text))
    merged: list[Span] = []
    for start, stop in sorted((*spans, *earlier)):
        if merged and (start <= merged[-1][1] or _is_small_gap(text[merged[-1][1] : start])):
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _is_small_gap(between: str) -> bool:
    words = _words(between)
    return len(words) <= MAX_SMALL_WORDS_BETWEEN and all(word.small for word in words)


def _with_marks(text: str, spans: Sequence[Span]) -> str:
    pieces, at = [], 0
    for start, stop in spans:
        before, after = text[:start][-1:], text[stop:][:1]
        pieces.append(text[at:start])
        pieces.append(" " if _is_spaced_letter(before) or before in (",", ";", ":", ".", "!", "?") else "")
        pieces.append(OMISSION)
        pieces.append(" " if _is_spaced_letter(after) else "")
        at = stop
    return "".join((*pieces, text[at:]))


def _is_spaced_letter(letter: str) -> bool:
    return letter.isalnum() and re.match(f"[{_UNSPACED}]", letter) is None


def _words(text: str) -> tuple[Word, ...]:
    """The words of a text with their places, in order."""
    found: list[Word] = []
    for match in _WORD.finditer(text):
        word = match.group()
        if match["unspaced"]:
            found += _pair_words(word, match.start())
        else:
            stem = re.sub("[.,]", "", word) if match["number"] else " ".join(tokens(word))
            if stem:
                found.append(Word(*match.span(), stem, _is_small(word, stem)))
    return tuple(found)


def _pair_words(run: str, at: int) -> Iterator[Word]:
    pairs = tokens(run)
    if len(pairs) != max(1, len(run) - 1):  # characters that are composed otherwise: the run is taken as a whole
        yield from (Word(at, at + len(run), pair, False) for pair in pairs)
    else:
        yield from (Word(at + n, min(at + n + 2, at + len(run)), pair, False) for n, pair in enumerate(pairs))


def _is_small(word: str, stem: str) -> bool:
    return stem in SMALL_WORDS or (word.islower() and word.isalpha() and len(word) <= MAX_SMALL_LETTERS)


def _content_stems(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word.stem for text in texts for word in _words(text) if not word.small)
