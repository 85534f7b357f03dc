"""Passes each clause of a sentence to the rules in order; the first that match give its findings."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, tzinfo

from holdfast.domain.types import Message
from holdfast.models.rules.findings.changes import without_shared_keys
from holdfast.models.rules.findings.events import event_findings, is_proposal
from holdfast.models.rules.findings.facts import fact_findings, introduction_findings, is_only_introduction
from holdfast.models.rules.findings.finding import (
    TOPICLESS_RULES,
    RuleFinding,
    as_sentence,
    with_absolute_dates,
)
from holdfast.models.rules.findings.instructions import instruction_finding, system_instruction_finding, task_findings
from holdfast.models.rules.findings.own_words import amount_findings, clause_findings, is_promise, sentence_findings
from holdfast.models.rules.patterns.salience import has_subject_and_verb, points_back, specific_signs
from holdfast.models.rules.patterns.single_values import participation_topic
from holdfast.models.rules.patterns.standing_orders import order_in_question, standing_order, tells_end
from holdfast.models.rules.patterns.vocabulary import split_words
from holdfast.models.rules.people.participants import Participants, ParticipantsState
from holdfast.models.rules.people.third_person import Subject, without_contractions
from holdfast.models.rules.sentences.clauses import (
    MAX_SENTENCE_CHARACTERS,
    clauses,
    is_hypothetical,
    is_ironic,
    is_question,
    is_reported,
    without_leading_fillers,
)
from holdfast.text.cache import cached_by_text
from holdfast.text.dates import Window, is_yearly_day, meant_window, window, windows
from holdfast.text.endings import CANCELLATION, ending

_SUPPOSITION = re.compile(r"\b(?:if|suppose|imagine|pretend|let's say|hypothetically)\b", re.I)
_IMAGINATION = re.compile(r"\b(?:suppose|imagine|pretend|let's say|hypothetically|if\b.*\bwould|would\b.*\bif)\b", re.I)
"""A supposition that is nothing but one. "Trust pays half if my manager signs it off" is quoted."""
_CONDITION = re.compile(r"^if\b[^,:]{3,60}[,:] ", re.I)
_BEFORE_ORDER = re.compile(r"^.*?\b(?=from now on,? \w|please (?:always|never)\b)", re.I)
_RELEVANT_WORD = re.compile(
    r"\b(?:day one|first (?:day|week)|met|bought|moved|visited|went|got|started|finished|booked|saw|flew|joined|i|"
    r"i'm|im|"
    r"i've|we|my|our|me|she|he|always|never|ever|don't|please|use|stop|todo|"
    r"remember|deadline|port|due|call|answer|reply|"
    r"from now on|whenever|forget|personal best|pb|the)\b|\b[A-Z][a-z]{1,20} (?:lives|works|is|moved|has)|^(?:no|"
    r"sorry|actually|not)\b",
    re.I,
)
_BEGINNING_RULES = frozenset(
    split_words("moved employer no-longer degree age school diet status named-one decision choice")
)
"""Rules for facts whose statement may also be an event, because it happened on a particular day."""
_LEADING_PHRASE = re.compile(
    r"((?:for|on|in|at) (?!that|this|it|now|fact|case|short)[a-z]+(?: [a-z]+)?),? (?=(?:i|we) (?!am|was|will)\w)", re.I
)
_LIMIT = re.compile(r"(?:only|not)\b", re.I)
_CLAUSE_SUBJECT = re.compile(r"(?:i|i'm|i've|i'll|we|we're|we've|we'll|my|our|she|he|the)\b|(?-i:[A-Z])", re.I)
_POLITE_REMINDER = re.compile(r"(?:please )?(?:can|could|would|will) you (?:please )?(?=remind (?:me|us) to\b)", re.I)
_DIARY_VERB = re.compile(
    r"(?:just |finally |recently )?(?:met|bought|moved|visited|went|got|started|finished|booked|"
    r"saw|flew|adopted|joined|sold|"
    r"ordered|signed up|graduated|ran|tried|attended|watched|sent|painted|called|fixed|cleaned|planted|built|"
    r"installed|repaired|renewed|cancell?ed|paid|submitted|cooked|baked|picked up|handed in|"
    r"emailed|posted|replaced|hired|"
    r"switched|migrated|deployed|merged|released|rented|learned|talked to|spoke (?:to|with))\b (?!it\b|you\b|that\b)",
    re.I,
)
"""Verbs that begin a sentence without its subject "I", as in a diary."""
_DIARY_NEED = re.compile(
    r"(?:still |also |really |just |now )*(?:need to|have to|must|gotta|ought to) (?!(?:be|have)\b)(?=[a-z])", re.I
)
"""A need without its subject: "have to call the plumber"."""
_DIARY_PLAN = re.compile(r"starting (?:(?:a |my )?new job )?(?:at|with) (?-i:[A-Z])", re.I)
"""A plan without its subject and auxiliary: "starting at Bolt on Monday"."""
_GREETING_NAME = re.compile(
    r"^(?:hi|hello|hey)(?: there| all| everyone)?[\s,!.]+(?:i'm|i am) (?-i:(?P<name>[A-Z][a-z]{1,20}))"
    r"(?:(?P<comma>,)|(?=[.!]|$| and\b))",
    re.I,
)


def system_findings(sentence: str, participants: Participants) -> list[RuleFinding]:
    """The instruction in a sentence of a system message."""
    orders = [system_instruction_finding(clause, participants.author) for clause in clauses(sentence)[:1]]
    return [order for order in orders if order]


def findings_in_sentence(sentence: str, participants: Participants, message: Message, lower: bool) -> list[RuleFinding]:
    """The findings in a sentence; `lower`: the message has no capitals by which to recognise a name."""
    if is_ironic(sentence):
        return []
    participants.sentence_mentions = []
    content = message.content if len(message.content) <= MAX_SENTENCE_CHARACTERS else ""  # no sentence is all of it
    at = message.said_at
    found, state = _read_sentence(sentence, participants.state(), content, at, at.tzinfo, lower)
    participants.restore(state)
    return list(found)


@cached_by_text
def _read_sentence(
    sentence: str, state: ParticipantsState, content: str, said_at: datetime, _zone: tzinfo | None, lower: bool
) -> tuple[tuple[RuleFinding, ...], ParticipantsState]:
    """The findings in a sentence, and what is known of the participants after it. A message is read again as the
    context of each of the next ones, mostly with the same participants."""
    participants = Participants(Subject())
    participants.restore(state)
    message = Message("", "", "user", content, said_at, timestamp=said_at)
    before = participants.previous_sentence
    findings = _rule_findings(sentence, participants, message, lower)
    if not findings and not _IMAGINATION.search(sentence):
        participants.previous_sentence = before
        findings = sentence_findings(
            without_leading_fillers(sentence), participants, windows(sentence, message.said_at)
        )
    participants.note_mentions(sentence)
    return tuple(findings), participants.state()


def _rule_findings(sentence: str, participants: Participants, message: Message, lower: bool) -> list[RuleFinding]:
    sentence = _POLITE_REMINDER.sub("", sentence).rstrip("?") if _POLITE_REMINDER.match(sentence) else sentence
    sentence = _GREETING_NAME.sub(_named_clause, sentence)
    whole = clauses(_without_date_comma(without_leading_fillers(sentence), message))
    if whole and not is_question(sentence):
        told = without_leading_fillers(sentence).rstrip(" .!")
        ordered = _BEFORE_ORDER.sub("", told)
        if order := instruction_finding(ordered, participants.author):
            return _with_reason(order, told[: len(told) - len(ordered)], participants, message, lower)
    if wish := order_in_question(without_leading_fillers(sentence)):
        order = standing_order(wish, participants.author, participants.previous_sentence)
        return [order] if order else []
    if _SUPPOSITION.search(sentence):
        order = _conditional_order(sentence, participants.author)
        return [order] if order else []
    findings: list[RuleFinding] = []
    unmatched: list[RuleFinding] = []
    for clause in whole[:8]:
        if matched := findings_in_clause(clause, participants, message, lower):
            findings += matched
        elif specific_signs(clause, False) or _stands_alone(clause):
            unmatched += sentence_findings(clause, participants, windows(clause, message.said_at))
        participants.note_mentions(clause)
        participants.previous_sentence = (
            clause
            if len(clause.split()) > 3 or not participants.previous_sentence
            else f"{participants.previous_sentence} {clause}"[-300:]
        )
    return without_shared_keys(findings + unmatched) if findings else []


def _named_clause(greeting: re.Match[str]) -> str:
    """The name of a greeting as a clause of its own: "Hi, I'm Priya, nurse in Leith" is no name with a job in it."""
    return f"My name is {greeting['name']}{';' if greeting['comma'] else ''}"


def _stands_alone(clause: str) -> bool:
    """Whether the clause has a subject of its own, which it names: not "she did"."""
    return has_subject_and_verb(clause) and not points_back(clause)


def _with_reason(
    order: RuleFinding, before: str, participants: Participants, message: Message, lower: bool
) -> list[RuleFinding]:
    """The order, and what its sentence states before it: "I can't stand coriander, please never suggest recipes with
    it"."""
    before = re.sub(r"[\s,;:–-]+(?:so|and|but|please)?[\s,]*$", "", before)
    if len(before.split()) < 3:
        return [order]
    if _BACK_REFERENCE.search(order.value):
        order = replace(order, content=f'{order.content.removesuffix(".")} (of: "{before}").')
    stated = [each for clause in clauses(before) for each in findings_in_clause(clause, participants, message, lower)]
    return without_shared_keys([*stated, order])


_BACK_REFERENCE = re.compile(r"\b(?:it|them|that|those|this)\b", re.I)


def _conditional_order(sentence: str, author: Subject) -> RuleFinding | None:
    """The order in "If you need me, don't call"; the condition remains only in the message."""
    rest = _CONDITION.sub("", without_leading_fillers(sentence).rstrip(" .!"))
    return None if is_question(sentence) or _SUPPOSITION.search(rest) else standing_order(rest, author)


def _without_date_comma(sentence: str, message: Message) -> str:
    """The sentence without the comma after a date at its beginning, which would split the date from its clause."""
    w = window(sentence[:50], message.said_at) if "," in sentence[:51] else None
    if not w or w.span[0] > 8 or not sentence.startswith(",", w.span[1]):
        return sentence
    return sentence[: w.span[1]] + " " + sentence[w.span[1] :].lstrip(" ,")


def _with_date_last(clause: str, dates: list[Window]) -> str:
    """The clause with its date last: "Last week we moved" → "we moved last week". The rules begin at the subject."""
    if not dates or dates[0].span[0] > 8:
        return clause
    end = dates[0].span[1]
    date, rest = clause[:end], clause[end:].lstrip(" ,")
    is_begun = _CLAUSE_SUBJECT.match(rest) and not _LIMIT.match(date)
    return f"{rest} {date[:1].lower()}{date[1:]}" if is_begun and "," not in rest else clause


def _with_subject_first(clause: str) -> str:
    """The clause with its subject first: "For flights I want a window seat" → "I want a window seat for flights"."""
    m = _LEADING_PHRASE.match(clause)
    rest = clause[m.end() :] if m else ""
    return f"{rest} {m[1][:1].lower()}{m[1][1:]}" if m and "," not in rest else clause


def findings_in_clause(
    clause: str, participants: Participants, message: Message, lower: bool = False
) -> list[RuleFinding]:
    """The findings in one clause: a task, facts, events, or else a statement in the author's own words."""
    found = _findings_in_clause(clause, participants, message, lower)
    gone = ending(clause)
    alone = clause.strip(" .!") == message.content.strip(" .!")  # else what is done instead stays with it
    kept = gone is not None and gone.sort == CANCELLATION and not alone
    if (gone is None and not tells_end(clause)) or kept or is_hypothetical(clause) or is_reported(clause):
        return found
    found = [one for one in found if one.rule != "introduced"]
    if not found:
        dates = windows(clause, message.said_at)
        said = as_sentence(with_absolute_dates(f'{participants.author.name} said: "{clause}"', dates))
        found = [RuleFinding("event", "told", participants.author, said, 0.0, window=meant_window(dates))]
    return [
        replace(one, kind="event", rule="ended", confidence=MIN_ENDING_CONFIDENCE)
        if one.rule in TOPICLESS_RULES and one.kind in ("fact", "event")
        else one
        for one in found
    ]


MIN_ENDING_CONFIDENCE = 0.75
"""Confidence that it is worth knowing that somebody or something is gone. Chosen by hand; not measured."""


def _findings_in_clause(
    clause: str, participants: Participants, message: Message, lower: bool = False
) -> list[RuleFinding]:
    if is_hypothetical(clause) or is_reported(clause):
        return []
    clause = _with_subject_first(clause)
    clause = f"I am {clause[:1].lower()}{clause[1:]}" if _DIARY_PLAN.match(clause) else clause
    is_diary = _DIARY_VERB.match(clause) or _DIARY_NEED.match(clause)
    clause = without_contractions(f"I {_in_lower_case(clause)}" if is_diary else clause)
    dates = windows(clause, message.said_at)
    if (turned := _with_date_last(clause, dates)) != clause:
        clause, dates = turned, windows(turned, message.said_at)
    dates = [each for each in dates if not is_yearly_day(clause, each)]
    if to_do := task_findings(clause, participants.author, dates):
        return to_do
    is_relevant = bool(_RELEVANT_WORD.search(clause) or participants.is_about_person(clause) or is_proposal(clause))
    facts = fact_findings(clause, participants, dates, lower) if is_relevant else []
    events = event_findings(clause, participants, dates) if is_relevant else []
    if not facts and not events:
        statements = clause_findings(clause, participants, dates, participants.previous_sentence)
        introduced = introduction_findings(clause, participants.author)
        return introduced if is_only_introduction(clause) else statements + introduced
    if events and not facts:
        if is_promise(clause):
            return [replace(e, kind="task", rule="told-task") for e in events]
        events = [replace(e, topic=e.topic or participation_topic(clause)) for e in events]
        events = _without_repeated_amounts(
            events, amount_findings(clause, participants.author)
        ) + introduction_findings(clause, participants.author)
    if any(f.rule not in _BEGINNING_RULES for f in facts):
        return facts
    dated_events = [e for e in events if e.window]
    return [replace(f, window=None) if dated_events and f.rule == "moved" else f for f in facts] + (
        dated_events if facts else events
    )


def _in_lower_case(clause: str) -> str:
    """The clause with its first word in lower case, also where all of that word is capitals: "PASSED yesterday"."""
    first, space, rest = clause.partition(" ")
    return f"{first.lower()}{space}{rest}"


def _without_repeated_amounts(events: list[RuleFinding], amounts: list[RuleFinding]) -> list[RuleFinding]:
    """Removes the amounts, which are separate facts, from the events; returns the events and the amounts."""
    for one in amounts:
        events = [replace(e, content=e.content.replace(f", {one.value}", "")) for e in events]
    return events + amounts
