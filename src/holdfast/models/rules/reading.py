"""What a sentence tells: each of its clauses to the first rules that know it."""

from __future__ import annotations

import re
from dataclasses import replace

from ...types import Message
from ...when import Window, window, windows
from .cast import Cast
from .changes import in_two
from .clauses import asks, bare, clauses, hypothetical, ironic, reported
from .found import Found
from .happened import happened, proposed
from .orders import instruction, system_instruction, task
from .standing import lasting_question, standing
from .stated import introduced, stated
from .told import counted, promises, spoken, told
from .values import taking_part
from .voice import Subject, expanded
from .words import listed

_IFFY = re.compile(r"\b(?:if|suppose|imagine|pretend|let's say|hypothetically)\b", re.I)
_CONDITION = re.compile(r"^if\b[^,:]{3,60}[,:] ", re.I)
_ORDERED = re.compile(r"^.*?\b(?=from now on,? \w|please (?:always|never)\b)", re.I)
_OF_NOTE = re.compile(
    r"\b(?:day one|first (?:day|week)|met|bought|moved|visited|went|got|started|finished|booked|saw|flew|joined|i|"
    r"i'm|im|"
    r"i've|we|my|our|me|she|he|always|never|ever|don't|please|use|stop|todo|"
    r"remember|deadline|port|due|call|answer|reply|"
    r"from now on|whenever|forget|the)\b|\b[A-Z][a-z]{1,20} (?:lives|works|is|moved|has)|^(?:no|"
    r"sorry|actually|not)\b",
    re.I,
)
_BEGAN = frozenset(listed("moved employer no-longer degree age school diet status named-one decision choice"))
"""Facts whose statement may tell of an event as well: it happened on a day."""
_FRAMED = re.compile(
    r"((?:for|on|in|at) (?!that|this|it|now|fact|case|short)[a-z]+(?: [a-z]+)?),? (?=(?:i|we) (?!am|was|will)\w)", re.I
)
_SUBJECT = re.compile(r"(?:i|i'm|i've|i'll|we|we're|we've|we'll|my|our|she|he|the)\b|(?-i:[A-Z])", re.I)
_ASKED_TO = re.compile(r"(?:please )?(?:can|could|would|will) you (?:please )?(?=remind (?:me|us) to\b)", re.I)
_DIARY = re.compile(
    r"(?:just |finally |recently )?(?:met|bought|moved|visited|went|got|started|finished|booked|"
    r"saw|flew|adopted|joined|sold|"
    r"ordered|signed up|graduated|ran|tried|attended|watched|sent|painted|called|fixed|cleaned|planted|built|"
    r"installed|repaired|renewed|cancell?ed|paid|submitted|cooked|baked|picked up|handed in|"
    r"emailed|posted|replaced|hired|"
    r"switched|migrated|deployed|merged|released|rented|learned|talked to|spoke (?:to|with))\b (?!it\b|you\b|that\b)",
    re.I,
)
"""A diary leaves out the "I"."""
_INTRODUCED = re.compile(
    r"^(?:hi|hello|hey)(?: there| all| everyone)?[\s,!.]+(?:i'm|i am) (?-i:(?P<name>[A-Z][a-z]{1,20}))"
    r"(?=[,.!]|$| and\b)",
    re.I,
)


def ordered_by_system(sentence: str, cast: Cast) -> list[Found]:
    made = [system_instruction(clause, cast.author) for clause in clauses(sentence)[:1]]
    return [m for m in made if m]


def read(sentence: str, cast: Cast, message: Message, lower: bool) -> list[Found]:
    """What a sentence tells; `lower`: the message has no capitals to tell a name by."""
    if ironic(sentence):
        return []
    spoken_before, cast.here = cast.before, []
    made = _read(sentence, cast, message, lower)
    if not made and not _IFFY.search(sentence):
        cast.before = spoken_before
        made = spoken(bare(sentence), cast, windows(sentence, message.said_at))
    cast.heed(sentence)
    return made


def _read(sentence: str, cast: Cast, message: Message, lower: bool) -> list[Found]:
    sentence = _ASKED_TO.sub("", sentence).rstrip("?") if _ASKED_TO.match(sentence) else sentence
    sentence = _INTRODUCED.sub(r"My name is \g<name>", sentence)
    whole = clauses(_joined(bare(sentence), message))
    if whole and not asks(sentence):
        ordered = _ORDERED.sub("", bare(sentence).rstrip(" .!"))
        if order := instruction(ordered, cast.author):
            return [order]
    if wish := lasting_question(bare(sentence)):
        order = standing(wish, cast.author, cast.before)
        return [order] if order else []
    if _IFFY.search(sentence):
        order = _order_on_condition(sentence, cast.author)
        return [order] if order else []
    made: list[Found] = []
    for clause in whole[:8]:
        made += read_clause(clause, cast, message, lower)
        cast.heed(clause)
        cast.before = clause if len(clause.split()) > 3 or not cast.before else f"{cast.before} {clause}"[-300:]
    return in_two(made)


def _order_on_condition(sentence: str, author: Subject) -> Found | None:
    """ "If you need me, don't call": the condition is left to the message, the order is kept."""
    rest = _CONDITION.sub("", bare(sentence).rstrip(" .!"))
    return None if asks(sentence) or _IFFY.search(rest) else standing(rest, author)


def _joined(sentence: str, message: Message) -> str:
    """Without the comma after an opening date, which would part it from its clause."""
    w = window(sentence[:50], message.said_at)
    if not w or w.span[0] > 8 or not sentence.startswith(",", w.span[1]):
        return sentence
    return sentence[: w.span[1]] + " " + sentence[w.span[1] :].lstrip(" ,")


def _date_last(clause: str, found: list[Window]) -> str:
    """ "Last week we moved" → "we moved last week": the rules begin at the subject."""
    if not found or found[0].span[0] > 8:
        return clause
    end = found[0].span[1]
    date, rest = clause[:end], clause[end:].lstrip(" ,")
    return f"{rest} {date[:1].lower()}{date[1:]}" if date and _SUBJECT.match(rest) else clause


def _subject_first(clause: str) -> str:
    """ "For flights I want a window seat" → "I want a window seat for flights"."""
    m = _FRAMED.match(clause)
    return f"{clause[m.end() :]} {m[1][:1].lower()}{m[1][1:]}" if m else clause


def read_clause(clause: str, cast: Cast, message: Message, lower: bool = False) -> list[Found]:
    """What one clause tells: a task, facts, happenings, or else what `told` makes of it."""
    if hypothetical(clause) or reported(clause):
        return []
    clause = _subject_first(clause)
    clause = expanded(f"I {clause[:1].lower()}{clause[1:]}" if _DIARY.match(clause) else clause)
    found = windows(clause, message.said_at)
    if (turned := _date_last(clause, found)) != clause:
        clause, found = turned, windows(turned, message.said_at)
    if to_do := task(clause, cast.author, found):
        return [to_do]
    noted = bool(_OF_NOTE.search(clause) or cast.of_someone(clause) or proposed(clause))
    facts = stated(clause, cast, found, lower) if noted else []
    events = happened(clause, cast, found) if noted else []
    if not facts and not events:
        made = told(clause, cast, found, cast.before)
        return made + introduced(clause, cast.author) if any(f.kind == "event" for f in made) else made
    if events and not facts:
        if promises(clause):
            return [replace(e, kind="task", rule="told-task") for e in events]
        events = [replace(e, topic=e.topic or taking_part(clause)) for e in events]
        events = _with_amounts(events, counted(clause, cast.author)) + introduced(clause, cast.author)
    if any(f.rule not in _BEGAN for f in facts):
        return facts
    dated = [e for e in events if e.window]
    return [replace(f, window=None) if dated and f.rule == "moved" else f for f in facts] + (dated if facts else events)


def _with_amounts(events: list[Found], amounts: list[Found]) -> list[Found]:
    """An amount is a fact of its own, so the event beside it does not repeat it."""
    for one in amounts:
        events = [replace(e, content=e.content.replace(f", {one.value}", "")) for e in events]
    return events + amounts
