"""Finds events, past and planned, with their dates. A plan without a date is not an event."""

from __future__ import annotations

import re
from datetime import timedelta

from holdfast.models.rules.findings.finding import RuleFinding, as_sentence, with_absolute_dates
from holdfast.models.rules.people.participants import Participants
from holdfast.models.rules.people.third_person import (
    Subject,
    is_past,
    main_predicate,
    third_person_predicate,
    third_person_text,
    without_others,
)
from holdfast.text.dates import Window, meant_window, window_phrase

_EVENT_VERB = re.compile(
    r"(?:have |has )?(?:visited|bought|purchased|went (?:to|on|hiking|skiing|camping)|started|"
    r"moved(?! on\b)|got (?:married|engaged|divorced|"
    r"promoted|fired|hired|laid off|back from|accepted|a new)|finished(?! (?:my|the) (?:coffee|tea|lunch|dinner|"
    r"breakfast|beer))|met|booked|graduated|"
    r"adopted|joined|quit|signed up|"
    r"completed|ran (?:a|my|the)|won|attended|sold|passed (?:my|the)|broke (?:my|up)|travel+ed|flew|launched|released|"
    r"deployed|shipped|celebrated|hosted|retired|ordered|upgraded|was (?:promoted|hired|fired|"
    r"diagnosed)|were (?:promoted|"
    r"hired)|had (?:surgery|a baby|an accident|an operation)|took up|participated|volunteered|"
    r"renewed|cancel+ed|planted|"
    r"repaired|gave birth|became|enrolled|subscribed|migrated|merged|resigned|harvested|recovered)\b",
    re.I,
)
_VAGUE_OBJECT = re.compile(
    r"^(?:\w+ ){1,3}?(?:it|this|that|them|one|these|those|some|looking|thinking|noticing|"
    r"wondering|to (?:think|notice|"
    r"wonder|feel|look|get|see|realize|use))\b",
    re.I,
)
_FUTURE = re.compile(
    r"(?:turns? \d+\b|will\b(?! (?:try|definitely|probably|check|look|keep|consider|make|aim|see|think|go with|"
    r"let|give|also|need|have to|be (?:sure|able)))|(?:am|are|is) (?:going to|flying|travel+ing|"
    r"leaving|moving|meeting|starting|visiting|getting|having(?! (?:trouble|issues|a hard|"
    r"problems|difficult|an issue))|going|"
    r"attending|hosting|launching|releasing|presenting|returning|driving|planning|taking|seeing|"
    r"arriving|running|off)\b|(?:have|"
    r"has|have got|has got) (?:an? |my |another |the )(?:[\w'-]+ ){0,3}(?:meeting|appointment|"
    r"flight|interview|exam|test|surgery|call|"
    r"trip|date|party|wedding|concert|reservation|vacation|holiday|checkup|check-up|presentation|"
    r"demo|class|race|marathon|"
    r"match|deadline|session|dinner|booking)\b)",
    re.I,
)
_PLANNED_EVENT = re.compile(
    r"(?P<who>my|our|the) (?P<what>(?:[\w'-]+ ){0,3}(?:flight|meeting|appointment|wedding|exam|"
    r"interview|party|concert|conference|trip|"
    r"surgery|launch|release|demo|presentation|train|match|race|marathon|class|reservation|"
    r"booking|checkup|test|retreat|"
    r"migration|review|graduation|funeral|visit|call|retrospective|move|delivery|outage|event)) "
    r"(?:is|will be|was|starts|"
    r"started|begins|leaves|takes place|took place|has been|got|happened|went|ended|ends)\b",
    re.I,
)
_SECOND_PERSON = re.compile(r"\b(?:you|your)\b", re.I)


_PROPOSAL = re.compile(
    r"(?:let's|lets|let us|shall we) (?:meet|get together|catch up|have (?:lunch|dinner|coffee|breakfast|drinks|a \w+))"
    r"\b",
    re.I,
)


def is_proposal(clause: str) -> bool:
    """Whether the clause proposes to meet."""
    return bool(_PROPOSAL.match(clause))


def event_findings(clause: str, participants: Participants, dates: list[Window]) -> list[RuleFinding]:
    """The events in a clause; `dates` are its dates."""
    when = meant_window(dates)
    if when and (m := _PLANNED_EVENT.match(clause)):
        owner = participants.author.owner if m["who"].lower() != "the" else "The"
        content = f"{owner} {third_person_text(clause[len(m['who']) :].strip())}"
        what, s = m["what"].lower(), participants.author.inline
        queries = (f"When is {s}'s {what}?", f"When is the {what}?", f"What does {s} have planned?")
        return [
            RuleFinding(
                "event",
                "planned",
                participants.author,
                as_sentence(with_absolute_dates(content, dates)),
                0.85,
                None,
                when.text,
                queries,
                when,
            )
        ]
    if when and is_proposal(clause):
        content = as_sentence(with_absolute_dates(f'{participants.author.name} said: "{clause}"', dates))
        return [RuleFinding("event", "proposed", participants.author, content, 0.75, None, when.text, (), when)]
    parsed = participants.parse(clause)
    if not parsed:
        return []
    subject, rest = parsed[0], main_predicate(parsed[1])
    verb = re.sub(r"^(?:have|has) (?:just |recently |finally |already )?", "", rest, flags=re.I).split(" ")[0].lower()
    if _VAGUE_OBJECT.match(rest) or len(rest.split()) < 2 or re.match(r"(?:did not|didn't|never|had to)\b", rest):
        return []
    if when and (
        _FUTURE.match(rest) or (is_past(verb) and verb not in ("wanted", "needed", "used", "tried", "thought"))
    ):
        rule, confidence = ("event-ahead", 0.8) if _FUTURE.match(rest) else ("event", 0.85)
    elif _EVENT_VERB.match(rest):
        rule, confidence = "event-undated", 0.7
    else:
        return []
    return [_event(rule, confidence, participants.author, subject, rest, dates, when)]


def _event(
    rule: str, confidence: float, author: Subject, subject: Subject, rest: str, dates: list[Window], when: Window | None
) -> RuleFinding:
    if subject.plural and re.match(r"(?:got|are getting) (?:married|engaged|divorced)\b", rest, re.I):
        subject = without_others(subject)
    predicate = third_person_predicate(rest, subject, author)
    clear = predicate and not _SECOND_PERSON.search(rest)
    content = f"{subject.name} {predicate}" if clear else f'{author.name} said: "{rest}"'
    return RuleFinding(
        "event",
        rule,
        subject,
        as_sentence(with_absolute_dates(content, dates)),
        confidence,
        None,
        when.text if when else "",
        _event_questions(rule, without_others(subject).inline, predicate or third_person_text(rest), when),
        when,
    )


def _event_questions(rule: str, s: str, predicate: str, when: Window | None) -> tuple[str, ...]:
    timeless = re.sub(rf"(?:\b(?:on|in|at) )?{re.escape(when.text)}", "", predicate) if when else predicate
    what = " ".join(timeless.split()[:9])
    what = re.sub(r"(?: (?:in|on|at|by|for|the|and|to|a|from|with))+$", "", what)
    first = f"When {'is' if rule == 'event-ahead' else 'was'} it that {s} {what}?"
    if not when:
        return first, f"What did {s} do?", f"Has {s} talked about this: {what}?"
    prep = "on" if when.stop - when.start <= timedelta(1) else "in"
    return first, f"What {'will' if rule == 'event-ahead' else 'did'} {s} do {prep} {window_phrase(when)}?"
