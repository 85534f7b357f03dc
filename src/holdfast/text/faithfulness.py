"""Proves that a memory says what its messages say, and quotes the author where that cannot be proved. Pure.

The invariant (promise 10): every content word of a proved memory stands in one cited message, in the message's order;
persons may be mapped ("I" → "the user"), verbs inflected, words of the rules' own templates added, and computed dates
appended in brackets. Every value (number, amount, date, time, address, link, name) that it takes from a message is
whole. Words of a second message are allowed in two forms, and only if it is cited: a person's name for a pronoun, and
one value for a value of the same type. Whatever a checker cannot prove becomes a quotation, which needs no proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from holdfast.text.content_words import QUALIFIERS, TEMPLATE_WORDS, ContentWord, content_words
from holdfast.text.elided_subject import may_speak_of_another
from holdfast.text.lexicon.calendar import MONTHS
from holdfast.text.lexicon.sentences import BUT_OF_ANOTHER_CLAUSE
from holdfast.text.values import AMOUNT, NAME, NUMBER, Value, values
from holdfast.text.wording.well_formed import (
    ANSWERED,
    COMPUTED_DATE,
    CUT_END,
    LOOSE_END,
    QUOTED,
    REFERENCE,
    is_balanced,
    is_well_formed,
)

_NUMERIC_DATE = re.compile(r"(?<![\w/.-])(\d{1,2})[-/](\d{1,2})[-/](\d{4})(?![-/.]?\w)")
_WRITTEN_DATE = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})\b", re.I)
_ENDING = re.compile(
    r"\b(?:no longer|any ?more|any longer|not|quit|resigned|left|leaving|leave|stopped|stop|gave up|given up|switched|"
    r"moved|migrated|fired|laid off|sold|these days|ended|over|never again)\b|n['’]t\b",
    re.I,
)
"""Words that let a memory say "no longer"."""
_CORRECTING = re.compile(
    r"\b(?:sorry|wait|no|nope|actually|i mean|i meant|meant|correction|oops|whoops|not|scratch)\b", re.I
)
_PRONOUN = re.compile(r"\b(?:he|she|they|it|his|her|hers|him|them|their|its|this|that|those|these|one)\b", re.I)


def is_proved(memory: str, cited: Sequence[str], names: Iterable[str] = ()) -> bool:
    """Whether the memory says what its cited messages say, in well-formed English. `names` are the speakers' names."""
    return is_well_formed(memory) and is_faithful(memory, cited, names)


def is_faithful(memory: str, cited: Sequence[str], names: Iterable[str] = ()) -> bool:
    """Whether every content word of the memory comes from its cited messages as the invariant says."""
    texts = [_plain(text) for text in cited]
    memory = _plain(memory)
    if texts and may_speak_of_another(memory, texts[-1]):
        return False
    if m := QUOTED.fullmatch(memory):
        return any(_is_verbatim(m["said"], text) for text in texts) and _is_named(m["of"] or "", texts)
    if m := ANSWERED.fullmatch(memory):
        return any(_is_verbatim(m["asked"], text) for text in texts) and any(
            _is_verbatim(said, text) or _is_aligned(content_words(said), text)
            for text in texts
            for said in (m["said"], COMPUTED_DATE.sub("", m["said"]))
        )
    if m := REFERENCE.search(memory):
        if not any(_is_verbatim(m["of"], text) for text in texts):
            return False
        memory = memory[: m.start()] + memory[m.end() :]
    ended = "no longer" in memory.lower()
    if ended:
        texts = [text for text in texts if _ENDING.search(text)]
        memory = re.sub(r"\bno longer\b", "", memory, flags=re.I)
    if len(texts) > 1:
        memory = _without_computed_dates(memory, texts)
    own = {stem for name in names for stem in (each.stem for each in content_words(name))}
    words = content_words(COMPUTED_DATE.sub("", memory))
    said = [word for word in words if word.stem not in own]
    texts = [_with_written_dates(text, memory) for text in texts]
    if any(_is_aligned(each, text, negated=ended) for text in texts for each in (said, words)):
        return True
    return any(
        _is_named_elsewhere(said, main, other)
        or (main is not other and (_is_corrected(said, main, other) or _is_answer(said, main, other)))
        for main in texts
        for other in texts
    )


def missing_words(memory: str, cited: Sequence[str], names: Iterable[str] = ()) -> set[str]:
    """The stems of the memory's content words that no cited message has."""
    known = {word.stem for text in (*cited, *names) for word in content_words(_plain(text))} | TEMPLATE_WORDS
    return {word.stem for word in content_words(COMPUTED_DATE.sub("", _plain(memory)))} - known - QUALIFIERS


def quoted_words(memory: str) -> tuple[str, list[str]]:
    """What the memory quotes, or else all its words, and its computed dates, each in its brackets."""
    quoted = QUOTED.fullmatch(_plain(memory))
    said = quoted["said"] if quoted else COMPUTED_DATE.sub("", memory)
    return said, COMPUTED_DATE.findall(memory)


def has_words(text: str, stems: Iterable[str]) -> bool:
    """Whether the text has all these stems."""
    return set(stems) <= {word.stem for word in content_words(_plain(text))}


def quotation(author: str, memory: str, sentence: str, message: str, *, exact: bool = False) -> str:
    """The author's clause that the memory was made of, or the whole sentence, as a quotation; the computed dates of the
    memory stay in brackets after it. `exact`: only the words from the first to the last that the memory has."""
    message = _plain(message)
    start, end = _word_span(memory, message) if exact else _clause_span(memory, _plain(sentence), message)
    said = message[start:end].strip(" \t\n,;:-–—*•").rstrip(".").replace('"', "'")
    said = LOOSE_END.sub("", said)
    if not is_well_formed(f'{author} said: "{said}"'):
        said = re.sub(r"\s*[()]\s*", " ", said).strip()
    dates = "".join(dict.fromkeys(COMPUTED_DATE.findall(memory)))
    return f'{author} said: "{said}"{dates}' + ("." if dates else "")


_CLAUSE_BORDER = re.compile(
    rf"\s*;\s+|\s+[–—-]+\s+|,?\s+{BUT_OF_ANOTHER_CLAUSE}|,?\s+(?:and|so|because|although|though|while)\s+"
    r"(?=(?:i|i'm|im|i've|we|we're|my|our|he|she|it|they|the|please)\b)|"
    r",\s+(?=(?:i|i'm|i've|we|we're|my|our|she|he|please)\b)",
    re.I,
)


def _word_span(memory: str, message: str) -> tuple[int, int]:
    """The shortest span of the message that has all words of the memory which it has at all, with whole values."""
    said = re.sub(r'^[^"]{1,80}? said: "|"\W*$', "", COMPUTED_DATE.sub("", memory))
    wanted = {word.stem for word in content_words(said)} - TEMPLATE_WORDS
    there = [word for word in content_words(message) if word.stem in wanted]
    wanted &= {word.stem for word in there}
    best = (0, len(message))
    for first in range(len(there)):
        seen: set[str] = set()
        for last in range(first, len(there)):
            seen.add(there[last].stem)
            if seen >= wanted:
                span = there[first].start, there[last].end
                best = min(best, span, key=lambda each: each[1] - each[0])
                break
    start, end = best
    for value in values(message):
        start = value.start if value.start < start < value.end else start
        end = value.end if value.start < end < value.end else end
    return start, end


def _clause_span(memory: str, sentence: str, message: str) -> tuple[int, int]:
    """The span in the message of the clauses that share words with the memory."""
    start = message.find(sentence)
    start, end = (start, start + len(sentence)) if start >= 0 else (0, len(message))
    stems = {word.stem for word in content_words(COMPUTED_DATE.sub("", memory))}
    there = [word for word in content_words(message[start:end]) if word.stem in stems - TEMPLATE_WORDS]
    if not there:
        return start, end
    first, last = start + there[0].start, start + there[-1].end
    spans = values(message)
    borders = [
        m.span()
        for m in _CLAUSE_BORDER.finditer(message, start, end)
        if not any(value.start < m.end() and m.start() < value.end for value in spans)
    ]
    begin = max((stop for _, stop in borders if stop <= first), default=start)
    finish = min((at for at, _ in borders if at >= last), default=end)
    clause = message[begin:finish]
    if len(clause.split()) < 3 or CUT_END.search(clause.rstrip(" ,")) or not is_balanced(clause):
        begin, finish = start, end
    for value in spans:
        if value.start < begin < value.end:
            begin = value.start
        if value.start < finish < value.end:
            finish = value.end
    return (begin, finish) if is_balanced(message[begin:finish]) else (0, len(message))


def _plain(text: str) -> str:
    return text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')


def _is_verbatim(said: str, text: str) -> bool:
    """Whether the words stand in the text as written, and do not begin or end within a value."""
    said, text = " ".join(said.split()), " ".join(text.replace('"', "'").split())
    at = text.find(said.replace('"', "'"))
    if not said or at < 0:
        return False
    end = at + len(said)
    if CUT_END.search(said) and not re.match(r"\W*(?:$|[.!?…)])", text[end:]):
        return False
    is_sentence_end = re.match(r"[.!?]\s", text[end:]) is not None
    return not any(
        (value.start < at < value.end and text[at - 1] != " ")
        or (value.start < end < value.end and value.type != NAME and not is_sentence_end)
        for value in values(text)
    )


def _without_computed_dates(memory: str, texts: Sequence[str]) -> str:
    """The memory without the dates that two messages give together: "3 April" and then "no wait, the 5th"."""

    def computed(m: re.Match[str]) -> str:
        day = re.compile(rf"\b{m[1]}(?:st|nd|rd|th)\b")
        return "" if any(day.search(text) for text in texts) else m[0]

    return _WRITTEN_DATE.sub(computed, memory)


def _with_written_dates(text: str, memory: str) -> str:
    """The text with its numeric dates as the memory writes them, where day, month and year agree."""
    written = [(int(m[1]), MONTHS.index(m[2].lower()) + 1, int(m[3]), m[0]) for m in _WRITTEN_DATE.finditer(memory)]

    def words(m: re.Match[str]) -> str:
        a, b, year = int(m[1]), int(m[2]), int(m[3])
        return next((text for d, month, y, text in written if y == year and {(d, month)} & {(a, b), (b, a)}), m[0])

    return _NUMERIC_DATE.sub(words, text) if written else text


def _is_aligned(said: list[ContentWord], text: str, replaced: Value | None = None, *, negated: bool = False) -> bool:
    """Whether the words stand in the text; `replaced` is a value of the text that they leave out, and `negated` says
    that they are known to state the opposite."""
    there = content_words(text)
    if negated:
        there = [word for word in there if word.stem not in QUALIFIERS]
    if not said:
        return True
    spans = values(text)
    tries = (said, [word for word in said if word.stem not in TEMPLATE_WORDS])
    if any(_positions_hold(each, there, spans, replaced) for each in tries):
        return True
    return any(_is_turned(each, there, spans, replaced) for each in tries)


def _positions_hold(
    said: list[ContentWord], there: list[ContentWord], spans: list[Value], replaced: Value | None = None
) -> bool:
    """Whether the words stand in this order among the others, with whole values and the same negations."""
    if not said:
        return True
    for first in (n for n, word in enumerate(there) if word.stem == said[0].stem):
        taken = _taken(said, there, first)
        if taken and _is_whole(taken, there, spans, replaced) and _keeps_negation(said, taken, there):
            return True
    return False


def _taken(said: list[ContentWord], there: list[ContentWord], first: int) -> list[int]:
    taken, at = [], first
    for word in said:
        while at < len(there) and there[at].stem != word.stem:
            at += 1
        if at == len(there):
            return []
        taken.append(at)
        at += 1
    return taken


def _is_turned(said: list[ContentWord], there: list[ContentWord], spans: list[Value], replaced: Value | None) -> bool:
    """Whether the clause was turned: its end stands before its beginning ("last week we moved")."""
    for cut in range(1, len(said)):
        for first in (n for n, word in enumerate(there) if word.stem == said[cut].stem):
            tail = _taken(said[cut:], there, first)
            if not tail:
                continue
            head = _taken(said[:cut], there, tail[-1] + 1)
            taken = [*tail, *head]
            if head and _is_whole(taken, there, spans, replaced) and _keeps_negation(said, taken, there):
                return True
    return False


def _is_whole(taken: list[int], there: list[ContentWord], spans: list[Value], replaced: Value | None) -> bool:
    """Whether every value of the text is taken whole or not at all."""
    picked = set(taken)
    for value in spans:
        inside = [n for n, word in enumerate(there) if value.start <= word.start < value.end]
        some = picked.intersection(inside)
        if some and len(some) < len(inside) and value != replaced:
            return False
    return True


def _keeps_negation(said: list[ContentWord], taken: list[int], there: list[ContentWord]) -> bool:
    """Whether the words do not leave out a negation of theirs: among them, or up to two words before them."""
    if any(word.stem in QUALIFIERS for word in said):
        return True
    first, last = min(taken), max(taken)
    before = (n for n in range(max(0, first - 2), first) if there[first].start - there[n].end < MAX_NEGATION_GAP)
    return not any(there[n].stem in QUALIFIERS for n in (*before, *range(first, last + 1)))


MAX_NEGATION_GAP = 20
"""Maximum characters between a negation and the word that it negates. Chosen by hand; not measured."""


def _is_named_elsewhere(said: list[ContentWord], main: str, other: str) -> bool:
    """Whether the memory begins with a person or thing of another message, for a pronoun of this one."""
    if not _PRONOUN.search(main):
        return False
    others = [word.stem for word in content_words(other)]
    return any(
        _contains([word.stem for word in said[:n]], others) and _is_aligned(said[n:], main)
        for n in range(min(5, len(said)), 0, -1)
    )


def _is_named(name: str, texts: Sequence[str]) -> bool:
    """Whether one of the texts has the words of the name, one after another."""
    stems = [word.stem for word in content_words(name)]
    return any(_contains(stems, [word.stem for word in content_words(text)]) for text in texts)


def _contains(some: list[str], stems: list[str]) -> bool:
    """Whether these stems stand one after another among the others."""
    return any(stems[i : i + len(some)] == some for i in range(len(stems) - len(some) + 1))


def _is_corrected(said: list[ContentWord], main: str, other: str) -> bool:
    """Whether the memory is one message with one of its values replaced by a value of the same type of the other."""
    for new in values(other):
        new_words = [word.stem for word in content_words(new.text)]
        n = len(new_words)
        for i in range(len(said) - n + 1):
            if n and [word.stem for word in said[i : i + n]] == new_words:
                rest = [*said[:i], *said[i + n :]]
                for old in values(main):
                    if _same_type(old, new) and _is_aligned(rest, main, old):
                        return True
    if not _CORRECTING.search(other) or len(other.split()) > MAX_CORRECTION_WORDS:
        return False
    others, total = [word.stem for word in content_words(other)], len(content_words(main))
    plain = [(i, n) for n in (1, 2, 3) for i in range(len(said) - n + 1)]
    return any(
        _contains([word.stem for word in said[i : i + n]], others)
        and len(said) - n < total
        and _is_aligned([*said[:i], *said[i + n :]], main)
        for i, n in plain
    )


MAX_CORRECTION_WORDS = 8
"""Maximum words of a message whose only purpose is to correct a word of another one. Chosen by hand; not measured."""


def _is_answer(said: list[ContentWord], question: str, reply: str) -> bool:
    """Whether the memory consists of words of a question, and then of the reply to it."""
    if "?" not in question:
        return False
    asked = re.split(r"(?<=[.!?])\s+", question.strip())[-1]
    return any(_is_aligned(said[:n], asked) and _is_aligned(said[n:], reply) for n in range(1, len(said) + 1))


def _same_type(old: Value, new: Value) -> bool:
    numeric = {NUMBER, AMOUNT}
    return old.type == new.type or {old.type, new.type} <= numeric
