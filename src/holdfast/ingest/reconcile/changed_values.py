"""What stays of a statement of which one value has changed. Pure.

"The flight is on 3 February at 7:40 with SAS" loses its time when "the flight is now at 9:15"; day and airline stay.
A value counts as changed if the newer statement has another value of the same type and with the same words next to it.
In case of doubt nothing stays: what is left out is only forgotten, what is kept in error is untrue.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.text import tokens
from holdfast.text.lexicon.calendar import A_FULL_WEEKDAY
from holdfast.text.lexicon.patterns import ASIDE
from holdfast.text.similarity import UNSPECIFIC_STEMS
from holdfast.text.statement_parts import Span, framed_span, part_spans
from holdfast.text.values import AMOUNT, DATE, NAME, NUMBER, TIME, Value, values
from holdfast.text.wording.well_formed import LEFT_OUT

_PREPOSITION = "on|at|in|by|from|to|for|around|about|with|until|till|behind|near|under|via|over|during|as|every|each"
_OVER = re.compile(
    r"\b(?:cancel\w*|called off|fell through|no longer|not|never|sold|stopped|quit|left|died|ended|gone|gave up|off)\b|"
    r"n['’]t\b",
    re.I,
)
"""A statement with such a word may end the other as a whole."""
_BEFORE = re.compile(
    rf"(?P<cut>(?:\b(?P<prep>{_PREPOSITION}) )?(?:(?:the|an?|my|our|their|her|his|every|each) )?(?P<label>[\w.]+ )?)$",
    re.I,
)
_WEEKDAY = re.compile(A_FULL_WEEKDAY, re.I)
_BETWEEN = re.compile(r"(?:,? (?:and|or|to) |, | ?[–-] ?| )(?:on |at )?", re.I)
_CLOSED = re.compile(rf"$|[.,;!\")]| (?:{_PREPOSITION}|and|but|so|because|where|which|when|now)\b", re.I)
_ARTICLE = re.compile(r"\b(?:the|an?|my|our|their|her|his) $", re.I)
_BE = re.compile(r"\b(?:is|are|was|were|be)$", re.I)
_DANGLING = re.compile(
    rf"\b(?:is|are|was|were|and|but|or|{_PREPOSITION}|of|the|an?)[\s,.\"]*$|\b(?:and|but|or)\s*[,.]|\b(?:is|are|was|were),",
    re.I,
)
_LAST_ASIDE = re.compile(rf"({ASIDE.pattern})\.?$")
_PHRASE = re.compile(rf"\S+ \S+ (?:{_PREPOSITION}) (?:the |an? )?\w{{3}}")
_LEFT = re.compile(
    r"(?P<what>(?-i:[A-ZÀ-Þ])[\w'’-]+) (?:has |have |is |just |has just )?(?:left|quit|leaving|moved out|dropped out|"
    r"resigned|is out|stepped down|died|passed away|no longer)\b",
    re.I,
)
"""A person who is no longer one of several."""
_DROPPED = re.compile(
    r"\b(?:gave up|given up|stopped (?:taking|playing|doing|using|eating)|quit|dropped|sold|got rid of|gave away|"
    r"(?:took|taken|came|come|am|is|are) (?:me |him |her |them |the user )?off|"
    r"no longer (?:take|play|do|use|have|eat)s?) (?:the |my |our |their |his |her )?(?P<what>[\w-]+)",
    re.I,
)
"""A thing that is no longer one of several."""
_LOST = re.compile(
    r"\b(?:the|my|our) (?P<what>[a-z][\w-]+) (?:has |have )?(?:just )?"
    r"(?:died|passed away|ran away|is gone|was sold|was stolen)\b",
    re.I,
)
_DAY_DROPPED = re.compile(
    r"\b(?:skip(?:ping|ped)?|no longer|no more|not|stopped|dropp(?:ed|ing)|cancel(?:led|ed|ling)|never|gave up|"
    r"giving up)\b"
    rf"(?: [\w'’]+){{0,4}}? (?P<what>{A_FULL_WEEKDAY})s?\b",
    re.I,
)
"""A thing, an animal or a day that is no longer one of several."""
_NUMERIC = {NUMBER, AMOUNT}


@dataclass(frozen=True, slots=True)
class _Slot:
    """A value, or neighbouring values of one type, and what stands beside it."""

    type: str
    start: int
    end: int
    text: str
    preposition: str
    labels: frozenset[str]
    """Stems of the words next to it: "python" of "python 3.11", "replica" of "3 replicas"."""


def without_changed_values(old: str, new: str) -> str | None:
    """The old statement without the values that the new one changes; None when nothing else of it is sure to stay."""
    dates = _LAST_ASIDE.search(old)
    old, change = ASIDE.sub("", old), ASIDE.sub("", new)
    body = framed_span(old)
    text, change = old[slice(*body)], change[slice(*framed_span(change))]
    if _OVER.search(change) or not _are_about_one_thing(text, change):
        return None
    mine, theirs = _slots(change), _slots(text)
    said = frozenset(tokens.question_words(change))
    changed = [slot for slot in theirs if any(_replaces(each, slot, theirs, said) for each in mine)]
    if not changed or len({slot.type for slot in changed}) < len(changed):
        return None
    cuts = [_cut_span(text, slot) for slot in changed]
    left = _without_spans(text, [cut for cut in cuts if cut is not None])
    if None in cuts or _DANGLING.search(left) or not _is_telling(left, changed, theirs):
        return None
    undated = any(slot.type == DATE for slot in changed) or loses_date(text, left)
    kept = dates[1] if dates is not None and not undated else ""
    return old[: body[0]] + left + kept + old[body[1] :]


MAX_PRICE_WORDS = 6
"""Maximum number of words of a clause that says little else than how much something is. Chosen by hand."""


_BEFORE_FIGURE = re.compile(
    r"(?P<what>[^\W\d_][\w-]+)(?:['’]?s)? (?:(?:is|are|was|were|to|at|now|up|goes|go|costs?|from) )*$", re.I
)


def parts_with_new_figures(old: str, new: str) -> tuple[Span, ...]:
    """The parts of the old statement whose one figure is another in a clause of the new one about the same thing: rolls
    at 2.60 in "bread 4.20, rolls 2.60" end with "rolls are 2.80"."""
    clauses = [new[slice(*span)] for span in part_spans(new)] or [new]
    told = [found for clause in clauses if (found := _figure_of(clause))]
    ended = []
    for span in part_spans(old):
        mine = _figure_of(old[slice(*span)])
        if mine and any(mine[0] != figure and mine[1] == of for figure, of in told):
            ended.append(span)
    return tuple(ended)


def _figure_of(clause: str) -> tuple[str, str] | None:
    """The one figure of a short clause, and what it is of: the word before it; None for other clauses."""
    figures = [value for value in values(clause) if value.type in _NUMERIC]
    if len(figures) != 1 or len(clause.split()) > MAX_PRICE_WORDS:
        return None
    of = _BEFORE_FIGURE.search(clause, 0, figures[0].start)
    stems = tokens.question_words(of["what"]) if of else []
    return (figures[0].text, stems[0]) if stems and stems[0] not in UNSPECIFIC_STEMS else None


def changes_date(old: str, new: str) -> bool:
    """Whether both have a date."""
    return _has_date(ASIDE.sub("", old)) and _has_date(ASIDE.sub("", new))


def loses_date(old: str, left: str) -> bool:
    """Whether the old statement has a date, and what is left of it has none."""
    return _has_date(ASIDE.sub("", old)) and not _has_date(ASIDE.sub("", left))


def _has_date(text: str) -> bool:
    return any(value.type == DATE for value in values(text))


def _are_about_one_thing(one: str, other: str) -> bool:
    mine, theirs = ({*tokens.question_words(text)} - {"user", "other"} for text in (one, other))
    return bool(mine & theirs)


def _slots(text: str) -> list[_Slot]:
    groups: list[list[Value]] = []
    for value in values(text):
        last = groups[-1][-1] if groups else None
        between = text[last.end : value.start] if last is not None else ""
        if last is not None and last.type == value.type and _BETWEEN.fullmatch(between):
            groups[-1].append(value)
        else:
            groups.append([value])
    return [_slot(text, group) for group in groups]


def _slot(text: str, group: Sequence[Value]) -> _Slot:
    start, end = group[0].start, group[-1].end
    before = _BEFORE.search(text, 0, start)
    preposition = (before["prep"] or "").lower() if before else ""
    type_ = group[0].type
    if type_ == NUMBER and preposition == "at" and re.fullmatch(r"[012]?\d", text[start:end]):
        type_ = TIME
    after = re.match(r"(?:[-\s](?:of )?)([a-z]\w+)", text[end:])
    beside = " ".join(filter(None, [before["label"] if before else "", after[1] if after else ""]))
    unit = re.sub(r"[\d.,:–-]+", " ", text[start:end]) if type_ == AMOUNT else ""
    labels = frozenset(tokens.question_words(f"{beside} {unit}"))
    return _Slot(type_, start, end, text[start:end], preposition, labels)


def _replaces(new: _Slot, old: _Slot, others: Sequence[_Slot], said: frozenset[str]) -> bool:
    """Whether the new value, of a statement with the words that are said, stands in the place of the old one."""
    if new.text.casefold() == old.text.casefold():
        return False
    if new.type in (DATE, TIME):
        return new.type == old.type
    if new.type == NAME:
        return old.type == NAME and bool(new.preposition) and new.preposition == old.preposition
    if not {new.type, old.type} <= _NUMERIC:
        return False
    alone = sum(each.type in _NUMERIC for each in others) == 1
    return bool(said & old.labels) or (alone and not (new.labels and old.labels))


def _cut_span(text: str, slot: _Slot) -> Span | None:
    """The span of the value with the words that make no sense without it; None when there is no such span."""
    before = _BEFORE.search(text, 0, slot.start)
    closed = _CLOSED.match(text, slot.end)
    if of := re.compile(r" of (?=\w)").match(text, slot.end):
        stands_alone = slot.type == AMOUNT and not (before and before["prep"])  # not "on for … tenants"
        return (slot.start, of.end()) if stands_alone else None
    if slot.type == NAME:
        noun = re.compile(r"(?:['’]s?)?(?: [a-z]+)?").match(text, slot.end)
        end = noun.end() if noun and not closed else slot.end
        return _spaced(text, before.start("prep"), end) if before and before["prep"] else None
    if not closed:  # "the 7:12 train" is still a train, but "on Friday nights" is no day without its own
        if _BE.search(text[: slot.start].rstrip()):
            return None
        is_named = slot.type not in _NUMERIC and _ARTICLE.search(text[: slot.start])
        return (slot.start, slot.end + 1) if is_named else _phrase_span(text, slot)
    if before and before["prep"]:
        return _spaced(text, before.start("prep"), slot.end)
    start = slot.start - len(before["label"] or "") if before else slot.start
    if _BE.search(text[:start].rstrip()):
        return _spaced(text, start, slot.end)
    return _phrase_span(text, slot) if slot.type in _NUMERIC else _spaced(text, slot.start, slot.end)


def _phrase_span(text: str, slot: _Slot) -> Span | None:
    """The phrase between commas that has the value, with the comma before it: "12 kids" is not "kids" without its
    figure. None for the first phrase, on which the others depend."""
    comma = text.rfind(", ", 0, slot.start)
    end = re.compile(r"[,;](?= )|$").search(text, slot.end)
    return (comma, end.start()) if comma >= 0 and end else None


def _spaced(text: str, start: int, end: int) -> Span:
    """The span with the space before it."""
    return (start - 1 if start and text[start - 1] == " " else start), end


def _without_spans(text: str, spans: Sequence[Span]) -> str:
    """The text without the spans; where words on both sides of one are of the same clause, dots show that some are left
    out."""
    for start, end in sorted(spans, reverse=True):
        before, after = text[:start].rstrip(), text[end:].lstrip()
        inside = before and after and before[-1] not in ".,;:!?…" and after[0] not in '.,;:!?)"'
        text = f"{before} {LEFT_OUT} {after}" if inside else f"{text[:start]}{text[end:]}"
    return re.sub(r",(?=[\s,]*,)", "", re.sub(r"\s+", " ", text)).strip()


def _is_telling(left: str, changed: Sequence[_Slot], slots: Sequence[_Slot]) -> bool:
    """Whether another value or a phrase stays apart from the subject. Where a name has changed, only figures and days
    are sure to stay: a new employer may be in another city."""
    kept = [slot for slot in slots if slot not in changed and slot.start > 0 and slot.text in left[1:]]
    if any(slot.type == NAME for slot in changed):
        return any(slot.type != NAME for slot in kept)
    return bool(kept) or _PHRASE.search(left) is not None


def without_member(old: str, new: str) -> str | None:
    """The old statement without the one of several people or things that, as the new one says, is no longer among them;
    None when it is about nothing else, or counts them."""
    new = ASIDE.sub("", new)
    gone = _LEFT.search(new) or _DAY_DROPPED.search(new) or _DROPPED.search(new) or _LOST.search(new)
    thing = gone["what"] if gone is not None else ""
    if not thing or any(value.type in _NUMERIC for value in values(ASIDE.sub("", old))):
        return None
    is_day = _WEEKDAY.fullmatch(thing) is not None
    member = rf"(?:(?:the|an?|my|our|their) )?{re.escape(thing)}{'s?' if is_day else ''}(?!['’\w-])(?! (?-i:[A-ZÀ-Þ]))"
    after, before = (rf"(?={A_FULL_WEEKDAY}s?\b)", r"(?:(?<=day)|(?<=days))") if is_day else (r"(?=\w)", "")
    first = re.compile(rf"(?<=\w ){member}(?:, (?:and )?| and | & ){after}", re.I if is_day else 0)
    later = re.compile(
        rf"{before}(?:, (?:and )?| and | & ){member}(?=$|[.,;!\"]| (?:and|or|{_PREPOSITION})\b)", re.I if is_day else 0
    )
    found = later.search(old) or first.search(old)
    if found is None:
        return None
    return _without_spans(old, [found.span()])
