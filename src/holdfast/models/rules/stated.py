"""Applies the table of facts to a clause, positive or negated.

A clear negation ("no longer", "… any more") keeps the key of what it denies, so that it supersedes it; a plain "not" is
a fact only where the key names the value (likes, diet), else it could displace a fact it says nothing about.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ...names import topic
from ...when import Window, meant
from . import about_people, about_things, about_ways
from .cast import Cast
from .changes import changed, left
from .found import Found, dated, sentence
from .row import Row
from .voice import REGULAR, Subject, alone, main, theirs, third
from .words import CANONICAL, COUNTRIES, PARTNERS, RELATIONS, TECHNOLOGY

_SAYS = (*about_people.ROWS, *about_ways.ROWS)
_NO_LONGER = re.compile(
    r"(?P<be>am|are|is)? ?(?:no longer|not) (?P<rest>.+?)(?P<end> any ?more| any longer| these days)?$", re.I
)
_NOT_ANY_MORE = re.compile(
    r"(?:do not|don't|doesn't|does not|can't|cannot) (?P<rest>.+?) (?:any ?more|any longer)$", re.I
)
_NOT_ALLERGIC = re.compile(r"(?:am|is|are) not (?P<be>allergic to (?P<v>[\w-]+(?: [\w-]+)?))(?:$|,)", re.I)
_STOPPED = re.compile(
    r"(?:have |has )?(?:stopped|quit|gave up) (?P<verb>eating|working|living|drinking|using|"
    r"driving|learning|studying) (?P<rest>.+)",
    re.I,
)
_GERUND = {"living": "live", "using": "use", "driving": "drive", "learning": "am learning"}
_UNCLEAR = re.compile(r"\b(?:you|your|it|this|that|he|she|they|them|there|these|those)\b", re.I)
_ARTICLE = re.compile(r"^(?:the|an?|my|our|his|her|their|some|all|really|eating|drinking) ", re.I)
_GROUPS = {
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
"""Of a group, a clause states one: the first row that matches."""
_DATE_WORD = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|"
    r"august|september|"
    r"october|november|december|christmas",
    re.I,
)


def stated(clause: str, cast: Cast, found: list[Window], lower: bool) -> list[Found]:
    """The facts in a clause."""
    for row in about_things.ROWS:
        if (not row.lower or lower) and (m := row.pattern.match(clause)):
            made = _found(row, m, cast.author, found, _filled(row.content, m, cast.author) or theirs(clause))
            if made and row.name == "their-name" and m["k"].lower() in RELATIONS:
                cast.learn(m["v"], m["k"].lower())
            if made and not (row.name == "measure" and not row.content and _UNCLEAR.search(clause)):
                if row.name == "measure":
                    made = _owned(made, clause, cast.author, found)
                return [made]
    parsed = cast.parsed(clause)
    if not parsed:
        return []
    subject, rest = parsed
    if (halves := changed(main(rest))) and (begun := _positive(subject, halves[1], found, lower)):
        return _denied(subject, f"no longer {halves[0]}", found, lower) + begun if halves[0] else begun
    return _denied(subject, rest, found, lower) or _positive(subject, main(rest), found, lower)


_INTRODUCED = re.compile(
    rf"\b(?:my|our) (?P<rel>{'|'.join(sorted(map(re.escape, RELATIONS), key=len, reverse=True))}),? "
    rf"(?-i:(?P<name>[A-Z][a-zà-ÿ]+))",
    re.I,
)


def introduced(clause: str, author: Subject) -> list[Found]:
    """Who is who, from a clause that tells of something else: "my sister Noor is visiting"."""
    if not (m := _INTRODUCED.search(clause)):
        return []
    relation, name = m["rel"].lower(), m["name"]
    content = f"{author.owner} {relation} is called {name}."
    return [Found("fact", "introduced", author, content, 0.8, f"{topic(relation)}-{topic(name)}", "")]


def _owned(made: Found, clause: str, author: Subject, found: list[Window]) -> Found:
    content = re.sub(r"^(?:my|our)\b", author.owner, clause, flags=re.I)
    return replace(made, content=sentence(dated(theirs(content), found)))


def _positive(subject: Subject, rest: str, found: list[Window], lower: bool) -> list[Found]:
    made: dict[str, Found] = {}
    for row in _SAYS:
        group = _GROUPS.get(row.name, row.name)
        if group in made or (row.lower and not lower) or (group == "lasting" and made):
            continue
        if m := row.pattern.match(rest):
            one = _found(row, m, subject, found, _content(row, m, subject, rest))
            if one:
                made[group] = one
    if "job" in made and "employer" in made:
        said = f"{subject.name} {'work' if subject.plural else 'works'} at {made['employer'].value}"
        made["employer"] = replace(made["employer"], content=sentence(said))
    return list(made.values())


def _denied(subject: Subject, rest: str, found: list[Window], lower: bool) -> list[Found]:
    """The facts that a clause ends."""
    if m := _NOT_ALLERGIC.match(rest):
        said = sentence(f"{subject.name} is not allergic to {m['v']}")
        return [replace(one, rule="denied", content=said) for one in _positive(subject, f"am {m['be']}", [], lower)]
    m = _NO_LONGER.match(rest)
    if m and (m["end"] or "no longer" in rest[:14].lower()):
        positive = main(f"{m['be']} {m['rest']}" if m["be"] else m["rest"])
    elif m := _NOT_ANY_MORE.match(rest):
        positive = m["rest"]
    elif ended := left(main(rest)):
        positive = ended
    elif m := _STOPPED.match(rest):
        positive = f"{_GERUND.get(m['verb'].lower(), m['verb'].lower()[:-3])} {m['rest']}"
    else:
        return []
    for w in found:
        positive = re.sub(rf"(?: (?:in|on|since|at))? {re.escape(w.text)}", "", positive)
    made = []
    for one in _positive(subject, positive, [], lower):
        predicate = third(positive, subject.plural)
        be = re.match(r"(is|are) (.+)", predicate)
        said = f"{be[1]} no longer {be[2]}" if be else f"no longer {predicate}"
        content = sentence(dated(f"{subject.name} {said}", found))
        made.append(replace(one, rule="no-longer", content=content, window=meant(found, bounded=False)))
    return made


def _found(row: Row, m: re.Match[str], subject: Subject, found: list[Window], content: str) -> Found | None:
    value = m["v"].strip()
    if row.name == "moved" and (
        value.lower() in TECHNOLOGY or re.search(r"\d|[a-z][A-Z]", value) or _DATE_WORD.match(value)
    ):
        return None
    if row.name in ("home", "moved", "employer", "origin") and _DATE_WORD.fullmatch(value):
        return None
    if (row.name == "likes" and _UNCLEAR.search(value)) or (row.name == "measure" and m["k"].split()[-1] in RELATIONS):
        return None
    if row.name == "habit" and value.split()[0].lower() not in REGULAR:
        return None
    key = _topic(row, m, value)
    if not content or (row.topic and not key):
        return None
    inside = [
        w for w in found if w.text in content and row.name not in ("birthday", "their-date") and key != "birthday"
    ]
    return Found(
        "fact",
        row.name,
        subject,
        sentence(dated(content, inside)),
        row.confidence,
        key or None,
        value,
        _asked(row, m, subject),
        meant(inside, bounded=False) if row.name in ("deadline", "moved") else None,
    )


def _topic(row: Row, m: re.Match[str], value: str) -> str:
    groups = {k: _slug(v or "") for k, v in m.groupdict().items()}
    v, k = groups.get("v", ""), groups.get("k") or groups.get("k2", "")
    if row.name == "likes":
        v = _TRAILING.sub("", v)
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
    made = row.topic.replace("{-k}", f"-{k}" if k else "").replace("{pair}", pair).replace("{k2}", groups.get("k2", ""))
    made = made.replace("{v}", re.sub(r"^(?:\w+-)?degree-in-", "", v)).replace("{k}", k)
    return CANONICAL.get(made, made)[:80]


_TRAILING = re.compile(
    r"(?:-(?:though|too|either|anyway|again|now|lately|these-days|anymore|any-more|as-well|so-much|a-lot|very-much|much|"
    r"at-all|tbh|lol|really|still|also|in|on|at|of|to|with|for|and|or|but|the|a|an))+$"
)
"""What ends a sentence and is no part of what it is about."""


def _slug(text: str) -> str:
    return topic(_ARTICLE.sub("", text.strip().lower()).replace(".", " ").replace("/", " ").replace("'", ""))


def _filled(template: str, m: re.Match[str], subject: Subject) -> str:
    if not template:
        return ""
    groups = {k: (v or "").strip() for k, v in m.groupdict().items()}
    k, v = groups.get("k") or groups.get("k2") or "", theirs(groups["v"])
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
    )


def _content(row: Row, m: re.Match[str], subject: Subject, rest: str) -> str:
    if row.content:
        return _filled(row.content, m, alone(subject))
    rest = rest.replace(m["v"], m["v"].title()) if row.lower else rest
    said = rest if not _UNCLEAR.search(rest[m.end() :]) else rest[: m.end()]
    predicate = third(said, subject.plural)
    if predicate or not subject.first:
        return f"{subject.name} {predicate}" if predicate else ""
    return f'{alone(subject).name} said: "{said}"'


def _asked(row: Row, m: re.Match[str], subject: Subject) -> tuple[str, ...]:
    return tuple(_filled(q, m, alone(subject)) for q in row.queries)
