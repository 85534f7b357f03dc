"""Finds facts by the tables of patterns, positive or negated.

A clear negation ("no longer", "… any more") keeps the key of the fact it denies, so that it supersedes that fact. A
plain "not" is a fact only where the key names the value (likes, diet); otherwise it could supersede a fact about
something else.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import takewhile

from holdfast.domain.identifiers import topic_key
from holdfast.models.rules.findings.changes import change_predicates, ended_predicate
from holdfast.models.rules.findings.finding import RuleFinding, as_sentence, with_absolute_dates
from holdfast.models.rules.patterns import habits, people, possessions
from holdfast.models.rules.patterns.row import FactRow
from holdfast.models.rules.patterns.vocabulary import CANONICAL, TECHNOLOGY
from holdfast.models.rules.people.participants import Participants
from holdfast.models.rules.people.pronouns import GIVEN_NAME
from holdfast.models.rules.people.third_person import (
    REGULAR_VERBS,
    Subject,
    main_predicate,
    third_person_predicate,
    third_person_text,
    without_others,
)
from holdfast.text.dates import Window, meant_window
from holdfast.text.lexicon.calendar import A_FULL_MONTH, A_FULL_WEEKDAY
from holdfast.text.lexicon.geography import COUNTRIES, PLACES
from holdfast.text.lexicon.kinship import PARTNERS, RELATIONS
from holdfast.text.lexicon.negation import CANNOT, DO_NOT
from holdfast.text.lexicon.organisations import is_organisation

_PREDICATE_ROWS = (*people.ROWS, *habits.ROWS)
_NO_LONGER = re.compile(
    r"(?P<be>am|are|is)? ?(?:no longer|not) (?P<rest>.+?)(?P<end> any ?more| any longer| these days)?$", re.I
)
_NEGATED_ANY_MORE = re.compile(rf"(?:{DO_NOT}|{CANNOT}) (?P<rest>.+?) (?:any ?more|any longer)$", re.I)
_NEGATED_ALLERGY = re.compile(
    r"(?:am|is|are) not (?:actually |really )?(?P<be>allergic to (?P<v>[\w-]+(?: (?!after\b|at\b|any)[\w-]+)?))"
    r"(?: after all| at all| any ?more| actually| either)?(?:$|,)",
    re.I,
)
_COMPANY = re.compile(
    r"(?P<head>(?P<verb>lives?|works?|(?:am|is|are) (?:living|working))\b.+?) with "
    r"(?P<who>(?:my|our|his|her|their) .+)",
    re.I,
)
"""A statement about a place that also names people: each can change without the other."""
_LISTED_ROWS = frozenset(("allergy", "condition"))
"""Rows whose value may be a list, each item of which can end on its own."""
_NAMED_ONES = re.compile(
    r"(?P<count>.+?)(?:,|:| called| named| -)? (?P<names>(?-i:NAME)(?:(?:, (?:and )?| and | & )(?-i:NAME))+)$".replace(
        "NAME", r"[A-ZÀ-Þ][\w'-]+"
    ),
    re.I,
)
"""Several of a kind with the name of each: "two cats, Miso and Tofu"."""
_SINGULAR = {"children": "child", "grandchildren": "grandchild", "puppies": "puppy"}
_AND = re.compile(r",? (?:and|or|&) (?:also |to )?|, (?:to )?")
_LAST_AND = re.compile(r"\b(?:and|or) |& ")
_ANOTHER_ONE = re.compile(r",? and (?=(?:my|our|his|her|their)\b)|, (?=(?:my|our|his|her|their)\b)")
_STOPPING = re.compile(
    r"(?:have |has )?(?:stopped|quit|gave up) (?P<verb>eating|working|living|drinking|using|"
    r"driving|learning|studying) (?P<rest>.+)",
    re.I,
)
_PRESENT_OF_GERUND = {"living": "live", "using": "use", "driving": "drive", "learning": "am learning"}
_UNCLEAR_PRONOUN = re.compile(r"\b(?:you|your|it|this|that|he|she|they|them|there|these|those)\b", re.I)
_LEADING_ARTICLE = re.compile(r"^(?:the|an?|my|our|his|her|their|some|all|really|eating|drinking) ", re.I)
_GROUP_BY_ROW = {
    name: group
    for group, names in {
        "taste": ("seat", "versus", "prefer-for", "likes"),
        "use": ("choice", "decision", "uses"),
        "home": ("home", "dwelling", "moved"),
        "have": ("named-one", "counted", "owns"),
        "born": ("birthday", "birthplace"),
        "lasting": ("ongoing", "habit"),
    }.items()
    for name in names
}
"""A clause states at most one fact per group: that of the first row that matches."""
_DATE_WORD = re.compile(
    rf"{A_FULL_WEEKDAY}|{A_FULL_MONTH}|christmas",
    re.I,
)


def fact_findings(clause: str, participants: Participants, dates: list[Window], lower: bool) -> list[RuleFinding]:
    """The facts in a clause."""
    for row in possessions.ROWS:
        if (not row.lower or lower) and (m := row.pattern.match(clause)):
            whole = clause[m.end() :].strip(" ,;.!")  # what is said after the value stays with it
            content = "" if whole else _filled_template(row.content, m, participants.author)
            content = content or third_person_text(re.sub(r"^(?:my|our)\b", participants.author.owner, clause))
            finding = _row_finding(row, m, participants.author, dates, content)
            if finding and row.name == "their-name" and m["k"].lower() in RELATIONS:
                participants.learn_name(m["v"], m["k"].lower())
            if finding and not (row.name == "measure" and not row.content and _UNCLEAR_PRONOUN.search(clause)):
                if row.name == "measure":
                    finding = _with_owner(finding, clause, participants.author, dates)
                return [finding]
    parsed = participants.parse(clause)
    if not parsed:
        return []
    subject, rest = parsed
    if (halves := change_predicates(main_predicate(rest))) and (
        begun := _positive_facts(subject, halves[1], dates, lower)
    ):
        return _ended_facts(subject, f"no longer {halves[0]}", dates, lower) + begun if halves[0] else begun
    return _ended_facts(subject, rest, dates, lower) or _positive_facts(subject, main_predicate(rest), dates, lower)


_INTRODUCTION = re.compile(
    rf"\b(?:my|our) (?P<rel>{'|'.join(sorted(map(re.escape, RELATIONS), key=len, reverse=True))}),? "
    rf"(?-i:(?P<name>{GIVEN_NAME}))",
    re.I,
)


def introduction_findings(clause: str, author: Subject) -> list[RuleFinding]:
    """The name of a relation, introduced in a clause about something else: "my sister Noor is visiting"."""
    if not (m := _INTRODUCTION.search(clause)):
        return []
    relation, name = m["rel"].lower(), m["name"]
    content = f"{author.owner} {relation} is called {name}."
    return [RuleFinding("fact", "introduced", author, content, 0.8, f"{topic_key(relation)}-{topic_key(name)}", "")]


def is_only_introduction(clause: str) -> bool:
    """Whether the clause only names a relation: "my wife Carla"."""
    return _INTRODUCTION.fullmatch(clause.strip(" ,")) is not None


def _with_owner(finding: RuleFinding, clause: str, author: Subject, dates: list[Window]) -> RuleFinding:
    content = re.sub(r"^(?:my|our)\b", author.owner, clause, flags=re.I)
    return replace(finding, content=as_sentence(with_absolute_dates(third_person_text(content), dates)))


def _positive_facts(subject: Subject, rest: str, dates: list[Window], lower: bool) -> list[RuleFinding]:
    if (m := _COMPANY.fullmatch(rest)) and (stated := _single_facts(subject, m["head"], dates, lower)):
        return stated + _company_facts(subject, m["verb"], m["who"])
    return _single_facts(subject, rest, dates, lower)


def _company_facts(subject: Subject, verb: str, people: str) -> list[RuleFinding]:
    """A fact for each of the people whom somebody lives or works with."""
    found = []
    queries = (f"Who does {without_others(subject).inline} {verb.split()[-1]} with?",)
    for who in _ANOTHER_ONE.split(people):
        named = introduction_findings(re.sub(r"^(?:his|her|their)\b", "my", who), without_others(subject))
        said = as_sentence(f'{without_others(subject).name} said: "with {who}"')
        key = f"{_slug(verb)}-with-{_slug(who)}"[:80]
        found += [replace(one, queries=queries) for one in named] or [
            RuleFinding("fact", "company", subject, said, 0.8, key, who, queries)
        ]
    return found


_DEGREE = re.compile(r"\s*(?:very|really|so|quite|pretty|badly|severely|seriously|mostly|mainly|extremely)\b", re.I)


_REMARK = re.compile(
    r"\s*(?:(?:he|she|it|they|i|we|which|that|not|nearly|almost|always|has|have|had|need|found)\b|carr(?:y|ies)\b|"
    r"(?:come|make|get|swell|give|bring|cause|break|turn|end|stop|send|take|need|react|itch|sneeze|leave|start|blow|puff|"
    r"can|could|will)s?\b|came\b|got\b|made\b|gave\b|brought\b|ended\b|nearly\b|so\b)",
    re.I,
)
"""What is said of the first items of a list: "allergic to penicillin, comes up in hives"."""


def _listed_findings(row: FactRow, m: re.Match[str], subject: Subject, rest: str) -> list[RuleFinding]:
    """A finding for each item of a list: "allergic to nuts and shellfish" is two facts."""
    said = [item for item in _AND.split(m["v"].strip()) if item.strip()]
    items = list(takewhile(lambda item: not _REMARK.match(item), _listed_items(m["v"].strip())))
    has_remark = len(said) > 1 and _REMARK.match(said[1])
    found = []
    for item in items if len(said) > 1 else ():
        alone = rest[: m.start("v")] + item
        # "allergic to peanuts, proper epipen allergic" and "very badly": the second is no item of the list
        one = None if "allergic" in item or _DEGREE.match(item) else row.pattern.match(alone)
        text = rest[: m.end("v")] if has_remark else alone
        if one and (finding := _row_finding(row, one, subject, [], _row_content(row, one, subject, text))):
            found.append(finding)
    return found


def _listed_items(text: str) -> list[str]:
    """The items of a list; a comma stands between two only where "and" follows: "nuts, in case of ambulance" is one."""
    last = max((border.end() for border in _LAST_AND.finditer(text)), default=0)
    return [item for item in _AND.split(text[:last] + text[last:].split(",")[0]) if item.strip()]


def _named_findings(subject: Subject, several: str, names: list[str]) -> list[RuleFinding]:
    """A fact for each of several that are named: each can leave without the others."""
    one, owner = _SINGULAR.get(several, several.removesuffix("s")), without_others(subject)
    queries = (f"What is the name of {owner.inline}'s {one}?", f"What {several} does {owner.inline} have?")
    return [
        RuleFinding(
            "fact",
            "named-one",
            subject,
            f"{owner.owner} {one} is called {name}.",
            0.9,
            f"{one}-{_slug(name)}",
            name,
            queries,
        )
        for name in names
    ]


def _single_facts(subject: Subject, rest: str, dates: list[Window], lower: bool) -> list[RuleFinding]:
    listed: list[RuleFinding] = []
    by_group: dict[str, RuleFinding] = {}
    for row in _PREDICATE_ROWS:
        group = _GROUP_BY_ROW.get(row.name, row.name)
        if group in by_group or (row.lower and not lower) or (group == "lasting" and by_group):
            continue
        if m := row.pattern.match(rest):
            if row.name == "counted" and (named := _NAMED_ONES.fullmatch(rest)) and named.end("count") == m.end():
                listed += _named_findings(subject, m["k"].lower(), _AND.split(named["names"]))
                rest = named["count"]
            if row.name in _LISTED_ROWS and (items := _listed_findings(row, m, subject, rest)):
                listed += items
                continue
            one = _row_finding(row, m, subject, dates, _row_content(row, m, subject, rest))
            if one:
                by_group[group] = one
    if "job" in by_group and "employer" in by_group:
        content = f"{subject.name} {'work' if subject.plural else 'works'} at {by_group['employer'].value}"
        by_group["employer"] = replace(by_group["employer"], content=as_sentence(content))
    return [*by_group.values(), *listed]


def _ended_facts(subject: Subject, rest: str, dates: list[Window], lower: bool) -> list[RuleFinding]:
    """The facts that a clause ends."""
    if m := _NEGATED_ALLERGY.match(rest):
        said = as_sentence(f"{subject.name} is not allergic to {m['v']}")
        return [
            replace(one, rule="denied", content=said) for one in _positive_facts(subject, f"am {m['be']}", [], lower)
        ]
    m = _NO_LONGER.match(rest)
    if m and (m["end"] or "no longer" in rest[:14].lower()):
        positive = main_predicate(f"{m['be']} {m['rest']}" if m["be"] else m["rest"])
    elif m := _NEGATED_ANY_MORE.match(rest):
        positive = m["rest"]
    elif ended := ended_predicate(main_predicate(rest)):
        positive = ended
    elif m := _STOPPING.match(rest):
        positive = f"{_PRESENT_OF_GERUND.get(m['verb'].lower(), m['verb'].lower()[:-3])} {m['rest']}"
    else:
        return []
    for w in dates:
        positive = re.sub(rf"(?: (?:in|on|since|at))? {re.escape(w.text)}", "", positive)
    findings = []
    for one in _positive_facts(subject, positive, [], lower):
        predicate = third_person_predicate(positive, subject)
        be = re.match(r"(is|are) (.+)", predicate)
        said = f"{be[1]} no longer {be[2]}" if be else f"no longer {predicate}"
        content = as_sentence(with_absolute_dates(f"{subject.name} {said}", dates))
        findings.append(replace(one, rule="no-longer", content=content, window=meant_window(dates, bounded=False)))
    return findings


def _row_finding(
    row: FactRow, m: re.Match[str], subject: Subject, dates: list[Window], content: str
) -> RuleFinding | None:
    value = m["v"].strip()
    if row.name == "moved" and (
        is_organisation(value)
        or _is_no_home(value, m.string[m.end("v") :], lower=row.lower)
        or value.lower() in TECHNOLOGY
        or re.search(r"\d|[a-z][A-Z]", value)
        or _DATE_WORD.match(value)
    ):
        return None
    if row.name in ("home", "moved", "employer", "origin") and _DATE_WORD.fullmatch(value):
        return None
    if (row.name == "likes" and _UNCLEAR_PRONOUN.search(value)) or (
        row.name == "measure" and m["k"].split()[-1] in RELATIONS
    ):
        return None
    if row.name == "habit" and value.split()[0].lower() not in REGULAR_VERBS:
        return None
    key = _row_topic(row, m, value)
    if not content or (row.topic and not key):
        return None
    inside = [
        w for w in dates if w.text in content and row.name not in ("birthday", "their-date") and key != "birthday"
    ]
    return RuleFinding(
        "fact",
        row.name,
        subject,
        as_sentence(with_absolute_dates(content, inside)),
        row.confidence,
        key or None,
        value,
        _row_questions(row, m, subject),
        meant_window(inside, bounded=False) if row.name in ("deadline", "moved") else None,
    )


_FOR_SOMETHING = re.compile(
    r"\s+(?:for (?!(?:a |the |my |our |his |her |their )?(?:new |first )?(?:work|job|uni|university|college|school|"
    r"love|good|now|while|bit|time|year|months?|course|degree|masters|phd|research|family|summer|winter|baby|kids)\b)|"
    r"instead\b|as (?:our|the|my)\b)",
    re.I,
)


def _is_no_home(value: str, after: str, *, lower: bool) -> bool:
    """Whether "moved to X" speaks of no home: "moved to Matthews for flour". A name in
    small letters must be that of a known place: "moved to decaf"."""
    if value.lower() in PLACES:
        return False
    return lower or _FOR_SOMETHING.match(after) is not None


def _row_topic(row: FactRow, m: re.Match[str], value: str) -> str:
    groups = {k: _slug(v or "") for k, v in m.groupdict().items()}
    v, k = groups.get("v", ""), groups.get("k") or groups.get("k2", "")
    if row.name == "likes":
        v = _TRAILING_WORDS.sub("", v)
    if row.name in ("home", "moved"):
        return "home-country" if value.lower() in COUNTRIES else "home-city"
    if row.name == "their-name" and k in PARTNERS:
        return "partner"
    if row.name == "diet":
        return "diet" if row.topic == "diet" or v in ("meat", "fish", "red-meat", "pork", "beef") else f"diet-{v}"
    if row.name == "counted":
        if re.match(r"an? ", value, re.I):
            return f"has-{k}"
        k = CANONICAL.get(k) or (k if k.endswith(("s", "fish", "n")) else k + "s")
    if row.name == "uses":
        v = re.sub(r"-v?\d[\w-]*$", "", v) or v
    if row.name == "size":
        return f"{k}-size" if k else "clothing-size"
    if row.name == "allergy" and v in ("peanut", "nut", "egg", "cat", "dog", "strawberry", "bee"):
        v = {"strawberry": "strawberries"}.get(v, v + "s")
    pair = "-".join(sorted((v, groups.get("w", ""))))
    key = row.topic.replace("{-k}", f"-{k}" if k else "").replace("{pair}", pair).replace("{k2}", groups.get("k2", ""))
    key = key.replace("{v}", re.sub(r"^(?:\w+-)?degree-in-", "", v)).replace("{k}", k)
    return CANONICAL.get(key, key)[:80]


_TRAILING_WORDS = re.compile(
    r"(?:-(?:though|too|either|anyway|again|now|lately|these-days|anymore|any-more|as-well|so-much|a-lot|very-much|much|"
    r"at-all|tbh|lol|really|still|also|in|on|at|of|to|with|for|and|or|but|the|a|an))+$"
)
"""Words at the end of a value that are not part of its topic."""


def _slug(text: str) -> str:
    return topic_key(
        _LEADING_ARTICLE.sub("", text.strip().lower()).replace(".", " ").replace("/", " ").replace("'", "")
    )


def _filled_template(template: str, m: re.Match[str], subject: Subject) -> str:
    if not template:
        return ""
    groups = {k: (v or "").strip() for k, v in m.groupdict().items()}
    k, v = groups.get("k") or groups.get("k2") or "", third_person_text(groups["v"])
    title = v.title() if v.islower() else v
    optional = template.replace("{ k}", f" {k}" if k else "").replace("{ for k}", f" for {k}" if k else "")
    verbs = {"{lives}": "live" if subject.plural else "lives", "{works}": "work" if subject.plural else "works"}
    for name, verb in verbs.items():
        optional = optional.replace(name, verb)
    return (
        optional.replace("{S}", subject.name)
        .replace("{s}", subject.inline)
        .replace("{K}", f"The {k}" if m[0].lower().startswith(("the ", "our ")) else k)
        .replace("{k2}", groups.get("k2", ""))
        .replace("{k}", k)
        .replace("{V}", title)
        .replace("{v}", v)
        .replace("{w}", groups.get("w", ""))
        .replace("{ w}", f" {groups['w']}" if groups.get("w") else "")
    )


def _row_content(row: FactRow, m: re.Match[str], subject: Subject, rest: str) -> str:
    if row.content:
        return _filled_template(row.content, m, without_others(subject))
    rest = rest.replace(m["v"], m["v"].title()) if row.lower else rest
    said = rest if not _UNCLEAR_PRONOUN.search(rest[m.end() :]) else rest[: m.end()]
    predicate = third_person_predicate(said, subject)
    if predicate or not subject.first:
        return f"{subject.name} {predicate}" if predicate else ""
    return f'{without_others(subject).name} said: "{said}"'


def _row_questions(row: FactRow, m: re.Match[str], subject: Subject) -> tuple[str, ...]:
    return tuple(_filled_template(q, m, without_others(subject)) for q in row.queries)
