"""Events: what happened or will, with its window. A plan without a date is not an event."""

from __future__ import annotations

import re
from datetime import timedelta

from ...when import Window, meant, phrase
from .cast import Cast
from .found import Found, dated, sentence
from .voice import Subject, alone, is_past, main, theirs, third

_STRONG = re.compile(
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
_VAGUE = re.compile(
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
_PLANNED = re.compile(
    r"(?P<who>my|our|the) (?P<what>(?:[\w'-]+ ){0,3}(?:flight|meeting|appointment|wedding|exam|"
    r"interview|party|concert|conference|trip|"
    r"surgery|launch|release|demo|presentation|train|match|race|marathon|class|reservation|"
    r"booking|checkup|test|retreat|"
    r"migration|review|graduation|funeral|visit|call|retrospective|move|delivery|outage|event)) "
    r"(?:is|will be|was|starts|"
    r"started|begins|leaves|takes place|took place|has been|got|happened|went|ended|ends)\b",
    re.I,
)
_UNCLEAR = re.compile(r"\b(?:you|your)\b", re.I)


_PROPOSED = re.compile(
    r"(?:let's|lets|let us|shall we) (?:meet|get together|catch up|have (?:lunch|dinner|coffee|breakfast|drinks|a \w+))"
    r"\b",
    re.I,
)


def proposed(clause: str) -> bool:
    """Whether the author proposes to meet."""
    return bool(_PROPOSED.match(clause))


def happened(clause: str, cast: Cast, found: list[Window]) -> list[Found]:
    when = meant(found)
    if when and (m := _PLANNED.match(clause)):
        owner = cast.author.owner if m["who"].lower() != "the" else "The"
        content = f"{owner} {theirs(clause[len(m['who']) :].strip())}"
        what, s = m["what"].lower(), cast.author.inline
        queries = (f"When is {s}'s {what}?", f"When is the {what}?", f"What does {s} have planned?")
        return [
            Found(
                "event", "planned", cast.author, sentence(dated(content, found)), 0.85, None, when.text, queries, when
            )
        ]
    if when and proposed(clause):
        content = sentence(dated(f'{cast.author.name} said: "{clause}"', found))
        return [Found("event", "proposed", cast.author, content, 0.75, None, when.text, (), when)]
    parsed = cast.parsed(clause)
    if not parsed:
        return []
    subject, rest = parsed[0], main(parsed[1])
    verb = re.sub(r"^(?:have|has) (?:just |recently |finally |already )?", "", rest, flags=re.I).split(" ")[0].lower()
    if _VAGUE.match(rest) or len(rest.split()) < 2 or re.match(r"(?:did not|didn't|never|had to)\b", rest):
        return []
    if when and (
        _FUTURE.match(rest) or (is_past(verb) and verb not in ("wanted", "needed", "used", "tried", "thought"))
    ):
        rule, confidence = ("event-ahead", 0.8) if _FUTURE.match(rest) else ("event", 0.85)
    elif _STRONG.match(rest):
        rule, confidence = "event-undated", 0.7
    else:
        return []
    return [_event(rule, confidence, cast.author, subject, rest, found, when)]


def _event(
    rule: str, confidence: float, author: Subject, subject: Subject, rest: str, found: list[Window], when: Window | None
) -> Found:
    if subject.plural and re.match(r"(?:got|are getting) (?:married|engaged|divorced)\b", rest, re.I):
        subject = alone(subject)
    predicate = third(rest, subject.plural)
    clear = predicate and not _UNCLEAR.search(rest)
    content = f"{subject.name} {predicate}" if clear else f'{author.name} said: "{rest}"'
    return Found(
        "event",
        rule,
        subject,
        sentence(dated(content, found)),
        confidence,
        None,
        when.text if when else "",
        _asked(rule, alone(subject).inline, predicate or theirs(rest), when),
        when,
    )


def _asked(rule: str, s: str, predicate: str, when: Window | None) -> tuple[str, ...]:
    timeless = re.sub(rf"(?:\b(?:on|in|at) )?{re.escape(when.text)}", "", predicate) if when else predicate
    what = " ".join(timeless.split()[:9])
    what = re.sub(r"(?: (?:in|on|at|by|for|the|and|to|a|from|with))+$", "", what)
    first = f"When {'is' if rule == 'event-ahead' else 'was'} it that {s} {what}?"
    if not when:
        return first, f"What did {s} do?", f"Has {s} talked about this: {what}?"
    prep = "on" if when.stop - when.start <= timedelta(1) else "in"
    return first, f"What {'will' if rule == 'event-ahead' else 'did'} {s} do {prep} {phrase(when)}?"
