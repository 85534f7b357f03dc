"""Time expressions made absolute: "last spring" and a reference date give a window.

Pure and linear: one pass over the words of at most `SCANNED` characters, at most `FOUND` windows; each word that can
open an expression tries a few anchored patterns without nested quantifiers, so hostile text costs no more than ordinary
text of its length.

Choices, where English leaves one. Weeks start on Monday, seasons are northern and meteorological. "last Friday" is the
latest Friday before today, "this Friday" the coming one (today included), "next Friday" the Friday of next week. "Two
weeks ago" is that calendar week, months and years likewise; "a few" is 2 to 5, "a couple" 2 to 3. A bare "Friday",
"in May" or "3 March" leans the way the clause does ("went", "will"); without a lean, weekdays and "the 14th" look
ahead and the rest takes the nearest. "before X" and "after X" are open: they reach to OPEN_START or OPEN_STOP.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

SCANNED = 20_000
FOUND = 200
OPEN_START, OPEN_STOP = 1900, 2200


@dataclass(frozen=True, slots=True)
class Window:
    """`start` up to but not including `stop`, and the words that say so."""

    start: datetime
    stop: datetime
    text: str
    span: tuple[int, int]


Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class _Scene:
    now: datetime
    anchor: Span | None
    around: re.Match[str]
    forced: int | None = None

    @property
    def lean(self) -> int:
        return _lean(self.around.string, *self.around.span()) if self.forced is None else self.forced

    @property
    def today(self) -> datetime:
        return self.now.replace(hour=0, minute=0, second=0, microsecond=0)


def _listed(words: str) -> list[str]:
    return words.split()


_MONTHS = _listed("january february march april may june july august september october november december")
_WEEKDAYS = _listed("monday tuesday wednesday thursday friday saturday sunday")
_MONTH = {name[:n]: i for i, name in enumerate(_MONTHS) for n in (3, len(name))} | {"sept": 8}
_WEEKDAY = {name[:n]: i for i, name in enumerate(_WEEKDAYS) for n in (3, len(name))} | {
    "tues": 1, "thur": 3, "thurs": 3,
}  # fmt: skip
_SEASON = {"spring": 2, "summer": 5, "autumn": 8, "fall": 8, "winter": 11}
_HOLIDAY = {
    "christmas eve": (12, 24), "christmas day": (12, 25), "christmas": (12, 25), "boxing day": (12, 26),
    "new year's eve": (12, 31), "new years eve": (12, 31), "new year's day": (1, 1), "new year's": (1, 1),
    "halloween": (10, 31), "valentine's day": (2, 14), "valentines day": (2, 14), "valentine's": (2, 14),
    "st patrick's day": (3, 17), "st. patrick's day": (3, 17), "independence day": (7, 4),
}  # fmt: skip
_COUNT = {w: n for n, w in enumerate(_listed("one two three four five six seven eight nine ten eleven twelve"), 1)}
_COUNT |= {"a": 1, "an": 1, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_FUZZY = {"couple": (2, 3), "few": (2, 5), "several": (3, 7)}
_ORDINALS = _listed(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third "
    "twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
)
_ORDINAL = {w: n for n, w in enumerate(_ORDINALS, 1)}
_DECADES = {"twenties": 2020, "sixties": 1960, "seventies": 1970, "eighties": 1980, "nineties": 1990}
_HOURS = {
    "today": (0, 24), "yesterday": (-24, 0), "tomorrow": (24, 48), "tonight": (18, 24), "last night": (-6, 6),
    "this morning": (5, 12), "this afternoon": (12, 18), "this evening": (17, 24), "the other day": (-168, 0),
    "the other night": (-168, 0), "the other week": (-504, 0), "the day before yesterday": (-48, -24),
    "day before yesterday": (-48, -24), "the day after tomorrow": (48, 72), "day after tomorrow": (48, 72),
    "the night before last": (-30, -18), "yesterday morning": (-19, -12), "yesterday evening": (-7, 0),
    "tomorrow morning": (29, 36), "tomorrow evening": (41, 48), "tomorrow night": (42, 48),
    "yesterday afternoon": (-12, -6), "tomorrow afternoon": (36, 42),
}  # fmt: skip


def _either(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=len, reverse=True)
    return "(?:" + "|".join(re.escape(word).replace("\\ ", r"\s+") for word in longest_first) + ")"


_M, _W, _S, _H = _either(_MONTH), _either(_WEEKDAY), _either(_SEASON), _either(_HOLIDAY)
_N = rf"(?:\d{{1,4}}|(?:an?\s+)?(?:couple(?:\s+of)?|few)|several|{_either(_COUNT)})"
_U = r"(?:minute|hour|day|week|weekend|fortnight|month|quarter|year|decade)"
_Y = r"(?:1[89]|20)\d\d"
_D = rf"(?:(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?|{_either(_ORDINAL)})(?![\w:%])"
_TO = r"\s*(?:-|–|—|\bto\b|\bthrough\b|\buntil\b|\btill\b|\band\b)\s*"
_IN = re.compile(
    r"\b(in|since|until|till|by|before|after|during|early|mid|late|around|of|from|between|to|and|on|last|next|through|"
    r"year|over)(?:\s+the)?[\s-]*$", re.I
)  # fmt: skip
_FIRM = frozenset(_listed("in since until till by before after during early mid late around of"))
_CUE = re.compile(
    r"\b(?:(?P<future>(?:getting|get|be) [a-z]+ed|(?:got|been|was|were) (?:moved|pushed|postponed|"
    r"rescheduled|delayed|extended|"
    r"shifted|changed|brought)|will|ll|won't|going to|gonna|plan|planning|planned|upcoming|due|"
    r"deadline|remind|needs? to|ha(?:ve|s) "
    r"to|must|should|booked|booking|scheduled|reserved|registered|signed up|flying|leaving|"
    r"starts?|coming|tomorrow|let's|"
    r"want|hope|hoping|expect(?:ing)?|by|until|till|can|meets?|ends?|looking forward|appointment|"
    r"expires|is|are|am)|(?P<past>was|were|had|"
    r"did|didn't|went|got|came|saw|met|took|bought|made|been|gave|left|began|ate|flew|drove|ran|"
    r"won|lost|spent|told|said|"
    r"thought|found|ago|back|since|born|broke|built|wrote|read|held|sold|became|quit|fell|felt|knew|sent|did|(?!need\b|"
    r"indeed\b|speed\b|feed\b|seed\b)[a-z]{2,}ed))\b",
    re.I,
)


def _lean(text: str, start: int, stop: int) -> int:
    """-1 past, 1 future: the nearest cue before the expression in its sentence, else the first after it."""
    before = re.split(r"[.!?;\n]", text[max(0, start - 90) : start])[-1]
    cues = [*_CUE.finditer(before)][-1:] or [*_CUE.finditer(re.split(r"[.!?;\n]", text[stop : stop + 60])[0])][:1]
    return (1 if cues[0]["future"] else -1) if cues else 0


def _month(day: datetime, index: int, months: int = 1) -> Span:
    """`months` calendar months from month `index` (0 is January) of the day's year on."""
    first = day.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
    edges = [divmod(first.year * 12 + index + n, 12) for n in (0, months)]
    start, stop = (first.replace(year=y, month=m + 1) for y, m in edges)
    return start, stop


def _unit(day: datetime, unit: str, shift: int) -> Span:
    """The calendar unit that holds this day, `shift` units on."""
    if unit in ("week", "weekend", "fortnight"):
        monday = day - timedelta(day.weekday() - 7 * shift * (2 if unit == "fortnight" else 1))
        return (monday + timedelta(5), monday + timedelta(7)) if unit == "weekend" else (monday, monday + timedelta(7))
    if unit == "day":
        return day + timedelta(shift), day + timedelta(shift + 1)
    size = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    base = (day.month - 1) // size * size if size < 120 else -(day.year % 10 * 12)
    return _month(day, base + shift * size, size)


def _pick(spans: list[Span], which: str, scene: _Scene, ahead: bool = False) -> Span:
    """One of a repeating thing's occurrences, given in order: "last", "this", "next" or as the clause leans."""
    today = scene.today
    past, future = [s for s in spans if s[1] <= today], [s for s in spans if s[0] > today]
    current = [s for s in spans if s[0] <= today < s[1]]
    if which in ("last", "previous", "past"):
        return past[-1]
    if which in ("next", "coming", "upcoming", "following"):
        return future[0]
    if scene.lean < 0:
        return current[0] if current and not ahead else past[-1]
    if current or ahead or scene.lean > 0:
        return (current + future)[0]
    if which == "this":
        return next(s for s in spans if s[0].year == today.year)
    return past[-1] if today - past[-1][1] <= future[0][0] - today else future[0]


def _yearly(index: int, months: int, scene: _Scene, which: str, year: str | None) -> Span:
    if year:
        return _month(scene.today.replace(day=1, year=int(year)), index, months)
    spans = [_month(scene.today, index + 12 * n, months) for n in range(-3, 4)]
    return _pick(spans, which, scene)


def _date(month: int, day: int, scene: _Scene, which: str = "", year: str | None = None) -> Span:
    """A day of a month (0 is January); 29 February falls on the leap years around."""
    first = scene.today.replace(day=1)
    years = [int(year)] if year else [first.year + n for n in range(-5, 6)]
    spans = []
    for y in years:
        start, stop = _month(first.replace(year=y), month)
        if day <= (stop - start).days:
            spans.append(_unit(start, "day", day - 1))
    return spans[0] if year else _pick(spans, which, scene)


def _weekday(index: int, which: str, scene: _Scene) -> Span:
    if which == "next":
        return _unit(_unit(scene.today, "week", 1)[0], "day", index)
    monday = _unit(scene.today, "week", 0)[0]
    lean = 0 if which == "this" and scene.lean >= 0 else scene.lean
    return _pick(
        [_unit(monday, "day", index + 7 * n) for n in (-2, -1, 0, 1, 2)], which, replace(scene, forced=lean), True
    )


def _count(words: str) -> tuple[int, int]:
    """How many, as a range: "a few" is not a number."""
    for word in words.lower().split():
        if word in _FUZZY:
            return _FUZZY[word]
    n = int(words) if words.isdigit() else _COUNT[words.lower()]
    return n, n


def _offset(m: re.Match[str], scene: _Scene) -> Span | None:
    """N units ago, from now, earlier, later; "in N units"."""
    (low, high), unit, word = _count(m["n"]), m["u"].lower(), (m["way"] or "in").lower().split()[0]
    if word == "in" and scene.lean < 0:
        return None
    sign, base = (-1 if word in ("ago", "back", "earlier", "before") else 1), scene.today
    if word in ("earlier", "later"):
        if not scene.anchor:
            return None
        base = scene.anchor[0]
    if unit in ("minute", "hour"):
        step = timedelta(hours=1) if unit == "hour" else timedelta(minutes=1)
        first, last = sorted((scene.now + sign * low * step, scene.now + sign * high * step))
        return first, last + step
    if m["exact"]:
        return _unit(_unit(base, "month", sign * low * 12)[0] + timedelta(base.day - 1), "day", 0)
    if unit == "decade":
        unit, low, high = "year", low * 10, high * 10
    near, far = _unit(base, unit, sign * low), _unit(base, unit, sign * high)
    return min(near[0], far[0]), max(near[1], far[1])


def _stretch(m: re.Match[str], scene: _Scene) -> Span | None:
    """The past three weeks, the next few days: up to today, or from today on."""
    high, unit, which = _count(m["n"] or "one")[1], m["u"].lower(), m["which"].lower()
    if unit in ("minute", "hour") or (m["n"] is None and which != "past"):
        return None
    sign = -1 if which in ("last", "past", "previous") else 1
    edge = scene.today + sign * timedelta(high * {"day": 1, "week": 7, "fortnight": 14}.get(unit, 0))
    if unit in ("month", "quarter", "year", "decade"):
        shifted = _unit(scene.today, unit, sign * high)[0]
        edge = _month(shifted, scene.today.month - 1 if unit != "month" else shifted.month - 1)[0]
        edge += timedelta(min(scene.today.day, 28) - 1)
    return (edge, scene.today + timedelta(1)) if sign < 0 else (scene.today, edge + timedelta(1))


def _relative(m: re.Match[str], scene: _Scene) -> Span | None:
    """last, this or next week, May, summer, Friday, Christmas."""
    which, what = m["which"].lower().split()[-1], re.sub(r"\s+", " ", m["what"].lower())
    which = "last" if m["which"].lower() == "this past" else which
    shift = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0}.get(which, 1)
    if what in _MONTH:
        if what in ("may", "march", "mar") and m["what"].islower() and which == "this":
            return None
        return _yearly(_MONTH[what], 1, scene, which, None)
    if what in _SEASON:
        return (
            None
            if what == "fall" and which == "this" and scene.lean < 0
            else _yearly(_SEASON[what], 3, scene, which, None)
        )
    if what in _WEEKDAY:
        return None if what == "sun" and which == "this" else _weekday(_WEEKDAY[what], which, scene)
    if what in _HOLIDAY:
        return _date(_HOLIDAY[what][0] - 1, _HOLIDAY[what][1], scene, which)
    base = scene.anchor[0] if which == "following" and scene.anchor else scene.today
    if (which == "following" and not scene.anchor) or (what == "weekend" and which == "coming"):
        shift = 0 if what == "weekend" else shift
    return _unit(base, what, shift)


def _beside(m: re.Match[str], scene: _Scene) -> Span | None:
    """The week before last, the summer before, the day after: beside the expression before it, else beside today."""
    what, sign, last = m["what"].lower(), -1 if m["way"].lower() == "before" else 1, bool(m["last"])
    base = scene.anchor[0] if scene.anchor and not last else scene.today
    if what in _SEASON:
        spans = [_month(base, _SEASON[what] + 12 * n, 3) for n in range(-4, 5)]
        past = [s for s in spans if s[1] <= base]
        return past[-2 if last else -1] if sign < 0 else [s for s in spans if s[0] > base][1 if last else 0]
    if what in ("day", "night") and not scene.anchor:
        return None
    return _unit(base, "day" if what == "night" else what, sign * (2 if last else 1))


def _day_number(words: str) -> int:
    return _ORDINAL.get(words.lower()) or int(re.sub(r"\D", "", words))


def _calendar(m: re.Match[str], scene: _Scene) -> Span | None:
    """3 March 2024, May 7th, 3–5 May."""
    name, day, other = m["m"], m["d"], m["e"]
    if name.islower() and name in ("may", "march", "mar") and day.isdigit() and not m["y"]:
        return None
    first = _date(_MONTH[name.lower()], _day_number(day), scene, "", m["y"])
    if not other:
        return first
    last = _date(_MONTH[name.lower()], _day_number(other), scene, "", str(first[0].year))
    return (first[0], last[1]) if first[0] < last[1] else None


def _numeric(m: re.Match[str], scene: _Scene) -> Span | None:
    """ISO; else month first unless that cannot be, and day first when written with dots."""
    a, b, c = int(m[1]), int(m[3]), int(m[4])
    if len(m[1]) == 4:
        year, month, day = a, b, c
    else:
        month, day = (b, a) if a > 12 or m[2] == "." else (a, b)
        year = c + (2000 if c < 70 else 1900) if c < 100 else c
    return _unit(scene.today.replace(year=year, month=month, day=day), "day", 0)


def _named(m: re.Match[str], scene: _Scene) -> Span | None:
    """A month, season, weekday, holiday, year or quarter by itself: most need a preposition or a year to be one."""
    word, year = re.sub(r"\s+", " ", m["what"].lower()), m["y"]
    prep = _IN.search(m.string, max(0, m.start() - 16), m.start())
    before = prep[1].lower() if prep else ""
    if word in _MONTH:
        sure = (len(word) > 4 and word not in ("march", "april", "august")) or word == "july"
        if not (
            year or before in _FIRM or (m["what"][0].isupper() and (sure or before in ("from", "between", "to", "and")))
        ):
            return None
        return _yearly(_MONTH[word], 1, scene, "", year)
    if word in _SEASON:
        in_the = (prep is not None and "the" in prep[0].lower().split()) or before in ("since", "until", "by", "last")
        return _yearly(_SEASON[word], 3, scene, "", year) if year or in_the else None
    if word in _WEEKDAY:
        sure = len(word) > 5 or (m["what"][0].isupper() and word not in ("sat", "sun", "wed", "mon"))
        skip = re.search(
            r"\b(?:every|each|other|alternate|second|a|any|black|good)\s+$",
            m.string[max(0, m.start() - 12) : m.start()],
            re.I,
        )
        return (
            None
            if skip or not (sure or before in ("on", "by", "until", "since"))
            else _weekday(_WEEKDAY[word], "", scene)
        )
    month, day = _HOLIDAY[word]
    return _date(month - 1, day, scene, "", year)


def _year(m: re.Match[str], scene: _Scene) -> Span | None:
    ok = _IN.search(m.string, max(0, m.start() - 16), m.start())
    months = 12 * (int(m["e"] or m["y"]) - int(m["y"]) + 1)
    return _month(scene.today.replace(day=1, year=int(m["y"])), 0, months) if ok and months > 0 else None


def _decade(m: re.Match[str], scene: _Scene) -> Span | None:
    year = int(m["full"] or 0) or _DECADES.get((m["name"] or "").lower()) or 0
    if m["short"]:
        year = int(m["short"]) * 10 + (2000 if m["short"] in "01" else 1900)
    return _month(scene.today.replace(day=1, year=year), 0, 120)


def _nth(m: re.Match[str], scene: _Scene) -> Span | None:
    """The 14th: of this month or of the one the clause leans to."""
    if which := m["which"]:
        month = _unit(scene.today, "month", {"last": -1, "this": 0, "next": 1}[which.lower()])[0]
        return _unit(month, "day", _day_number(m["d"]) - 1)
    spans = []
    for n in range(-3, 4):
        start, stop = _month(scene.today, scene.today.month - 1 + n)
        if (day := _day_number(m["d"])) <= (stop - start).days:
            spans.append(_unit(start, "day", day - 1))
    return _pick(spans, "", scene, scene.lean == 0)


def _nth_week(m: re.Match[str], scene: _Scene) -> Span | None:
    """The first week, last weekend, second Tuesday of a month."""
    start, stop = _yearly(_MONTH[m["m"].lower()], 1, scene, "", m["y"])
    word, what = m["nth"].lower(), m["what"].lower()
    if what == "week":
        week = stop - timedelta(7) if word == "last" else start + timedelta(7 * (_ORDINAL[word] - 1))
        return week, min(week + timedelta(7), stop)
    days = [start + timedelta(n) for n in range((stop - start).days)]
    hits = [d for d in days if d.weekday() == (5 if what == "weekend" else _WEEKDAY[what])]
    first = hits[-1 if word == "last" else _ORDINAL[word] - 1]
    return first, first + timedelta(2 if what == "weekend" else 1)


def _hours(m: re.Match[str], scene: _Scene) -> Span | None:
    start, stop = _HOURS[re.sub(r"\s+", " ", m[0].lower())]
    return scene.today + timedelta(hours=start), scene.today + timedelta(hours=stop)


def _quarter(m: re.Match[str], scene: _Scene) -> Span | None:
    return _yearly(int(m["q"]) * 3 - 3, 3, scene, "", m["y"])


def _the_unit(m: re.Match[str], scene: _Scene) -> Span | None:
    """The week, the month: a time only at its end, its start, or over it."""
    before = m.string[max(0, m.start() - 14) : m.start()].lower()
    if m["u"].lower() == "weekend" and re.search(r"\b(?:over|at|for|on|until|by)\s+$", before):
        return _unit(scene.today, "weekend", -1 if scene.lean < 0 else 0)
    return (
        _unit(scene.today, m["u"].lower(), 0) if re.search(r"\b(?:end|start|beginning|middle) of\s+$", before) else None
    )


Builder = Callable[[re.Match[str], _Scene], Span | None]
_OPENERS: dict[str, list[tuple[re.Pattern[str], Builder]]] = {}


def _rule(openers: Iterable[str], pattern: str, build: Builder) -> None:
    for word in openers:
        _OPENERS.setdefault(word, []).append((re.compile(pattern.replace(" ", r"\s+"), re.I), build))


_NUMBERS = [*_COUNT, *_FUZZY, "#"]
_WHICH = r"(?P<which>this past|this coming|last|past|previous|this|current|next|coming|upcoming|following)"
_OF_Y = rf"(?:,?\s+(?:of\s+)?(?P<y>{_Y})\b)?"
_rule([w.split()[0] for w in _HOURS], _either(_HOURS) + r"\b", _hours)
_rule(
    ["the", *_ORDINALS, "last"],
    rf"(?:the )?(?P<nth>first|second|third|fourth|fifth|last) (?P<what>week|weekend|{_W})(?: (?:of|"
    rf"in) )(?P<m>{_M})\b{_OF_Y}",
    _nth_week,
)
_rule(
    ["the", *(w.split("-")[0] for w in _ORDINAL), "#"],
    rf"(?:the )?(?P<d>{_D})(?:{_TO}(?:the )?(?P<e>{_D}))? (?:of )?(?P<m>{_M})\b(?:\.(?=\s+\d))?{_OF_Y}",
    _calendar,
)
_rule(_MONTH, rf"(?P<m>{_M})\.? (?:the )?(?P<d>{_D})(?:{_TO}(?P<e>{_D}))?(?:,?\s+(?P<y>{_Y})\b)?", _calendar)
_rule(["#"], r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?=\b|T)(?:T\S{1,30})?(?![-/.]?\d)", _numeric)
_rule(["#"], r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)(?![-/.]?\w)", _numeric)
_rule(["the", "last", "past", "next", "coming", "previous"],
      rf"(?:the )?(?P<which>last|past|previous|next|coming) (?:(?P<n>{_N}) )?(?P<u>{_U})s?\b", _stretch)  # fmt: skip
_rule(
    ["the"],
    rf"the (?P<what>{_U}|night|{_S}) (?P<way>before|after)(?P<last> (?:last|"
    r"next))?\b(?=\s*(?:[,.;:!?)]|$|(?:we|i|he|she|they|it)\b))",
    _beside,
)
_rule(
    ["the", "this", "last", "past", "previous", "current", "next", "coming", "upcoming", "following"],
    rf"(?:the )?{_WHICH} (?P<what>week|weekend|month|quarter|year|decade|{_W}|{_M}|{_S}|{_H})\b(?! " r"(?:of|in) \w)",
    _relative,
)
_rule(
    ["the"],
    r"the (?P<what>next|following|previous) day\b",
    lambda m, s: _unit(s.anchor[0], "day", -1 if m["what"].lower() == "previous" else 1) if s.anchor else None,
)
_rule(
    _NUMBERS,
    rf"(?P<n>{_N}) (?P<u>{_U})s? (?P<way>ago|back|from now|from today|earlier|later)\b(?P<exact> today)?",
    _offset,
)
_rule(
    ["in", "within"],
    rf"(?P<way>)(?:in|within)(?: about| around)? (?P<n>{_N}) (?P<u>{_U})s?\b(?:['’] time| time)?(?P<exact>)(?! of\b)",
    _offset,
)
_rule(
    ["the", *_SEASON, *_MONTH, *_WEEKDAY, *(w.split()[0].split("'")[0] for w in _HOLIDAY)],
    rf"(?P<what>{_M}|{_S}|{_W}|{_H})(?!\w|\s+(?:morning|afternoon|evening|night|lunch|"
    rf"dinner)s\b)(?:\.(?=\s+\d))?{_OF_Y}",
    _named,
)
_rule(["#"], rf"(?P<y>{_Y})(?:[-–](?P<e>{_Y}))?(?![\w%-]|[.,:/]\d)", _year)
_rule(
    ["the", "#", *_DECADES],
    rf"(?:the )?(?:(?P<full>(?:1[89]|20)\d0)s|(?<=\s)['’]?(?P<short>\d)0s|(?P<name>{_either(_DECADES)}))\b",
    _decade,
)
_rule([f"q{n}" for n in "1234"], rf"q(?P<q>[1-4])\b{_OF_Y}", _quarter)
_rule(
    ["the"],
    r"the (?P<d>(?:3[01]|[12]?\d)(?:st|nd|rd|th))\b(?: of (?P<which>last|this|next) month\b|"
    r"(?=\s*(?:[,.;:!?)]|$|(?:at|and|or|but|not|for|we|i|to|with)\b)))",
    _nth,
)
_rule(["the"], r"the (?P<u>week|weekend|month|quarter|year)\b", _the_unit)

_WORD = re.compile(r"(?<![\w@#/.$€£])(?:[A-Za-z]+[1-4]?|\d+)")


def _found(text: str, reference: datetime) -> list[Window]:
    found: list[Window] = []
    end = 0
    for word in _WORD.finditer(text):
        opener = word[0].lower()
        if len(found) == FOUND:
            break
        if word.start() < end or not (rules := _OPENERS.get("#" if opener[0].isdigit() else opener)):
            continue
        for pattern, build in rules:
            if not (m := pattern.match(text, word.start())):
                continue
            anchor = (found[-1].start, found[-1].stop) if found else None
            try:
                span = build(m, _Scene(reference, anchor, m))
            except (ValueError, OverflowError, IndexError, StopIteration):
                continue
            if span:
                found.append(Window(*span, m[0], m.span()))
                end = m.end()
                break
    return found


_PART = re.compile(r"\b(early|mid|late|(?:the )?(?:start|beginning|middle|end) of)[\s-]+(?:in\s+)?$", re.I)
_WEEK_OF = re.compile(r"\b(?:the )?(week|weekend|month) (?:of|starting|beginning)\s+(?:the\s+)?$", re.I)
_SHIFT = re.compile(
    rf"\b(?:the )?(?:({_N}) )?(day|night|week|weekend|month|year)s? (before|after|from)\s+(?:the\s+)?$", re.I
)
_EDGE = re.compile(r"\b(since|until|till|up to|through|before|after|ever since)\s+(?:the\s+)?$", re.I)


def _modified(w: Window, text: str, reference: datetime) -> Window:
    """What stands before an expression changes it: early May, the week of 3 May, two days before, since, until."""
    start, stop, first = w.start, w.stop, w.span[0]
    today = reference.replace(hour=0, minute=0, second=0, microsecond=0)
    day = timedelta(1)
    if (m := _PART.search(text, max(0, first - 24), first)) and stop - start > day * 2:
        third, first = (stop - start).days // 3 * day, m.start()
        word = m[1].lower()
        if "mid" in word:
            start, stop = start + third, stop - third
        elif "end" in word or "late" in word:
            start = stop - third
        else:
            stop = start + third
    elif m := _WEEK_OF.search(text, max(0, first - 30), first):
        (start, stop), first = _unit(start, m[1].lower(), 0), m.start()
    elif m := _SHIFT.search(text, max(0, first - 40), first):
        (low, high), sign = _count(m[1] or "a"), -1 if m[3].lower() == "before" else 1
        unit, first = m[2].lower().replace("night", "day"), m.start()
        if m[1] and unit == "week" and stop - start <= day:
            unit, low, high = "day", low * 7, high * 7
        near, far = _unit(start, unit, sign * low), _unit(start, unit, sign * high)
        start, stop = min(near[0], far[0]), max(near[1], far[1])
    if m := _EDGE.search(text, max(0, first - 20), first):
        word, first = m[1].lower(), m.start()
        if "since" in word and start < reference:
            stop = today + day if start <= today else stop
        elif word in ("until", "till", "up to", "through"):
            start = min(start, today) if stop > today else start
        elif word == "before":
            start, stop = (today if start > today else today.replace(year=OPEN_START, month=1, day=1)), start
        elif word == "after":
            start, stop = stop, (today + day if stop <= today else today.replace(year=OPEN_STOP, month=1, day=1))
    return Window(start, stop, text[first : w.span[1]], (first, w.span[1]))


def _single(w: Window) -> str:
    """weekday, week or date: what a window is when it stands next to another."""
    if w.text.lower().split()[-1].rstrip(".") in _WEEKDAY and " of " not in w.text:
        return "weekday"
    days = (w.stop - w.start).days
    return "week" if days == 7 and "week" in w.text.lower() else "date" if days == 1 else ""


def _pair(a: Window, b: Window, text: str) -> Window | None:
    """Two neighbours that are one: "from Monday to Thursday", "Friday, 7 March", "Monday next week"."""
    gap, span = text[a.span[1] : b.span[0]].lower(), (a.span[0], b.span[1])
    if re.fullmatch(r",?\s*(?:(?:on|of|the)\s+)*", gap):
        kinds = _single(a), _single(b)
        day, week = (a, b) if kinds == ("weekday", "week") else (b, a) if kinds == ("week", "weekday") else (None, None)
        if day and week:
            start = week.start + timedelta(day.start.weekday())
            return Window(start, start + timedelta(1), text[span[0] : span[1]], span)
        return replace(b, text=text[span[0] : span[1]], span=span) if kinds == ("weekday", "date") else None
    if not re.fullmatch(_TO + r"(?:the\s+|early\s+|late\s+)?", gap):
        return None
    opening = re.search(r"\b(from|between)\s+(?:the\s+)?$", text[max(0, span[0] - 14) : span[0]], re.I)
    if not opening and not re.search("[-–—]|to|through", gap):
        return None
    first, start, stop = (opening.start() + max(0, span[0] - 14) if opening else span[0]), a.start, b.stop
    if stop <= start and (_single(a), _single(b)) == ("weekday", "weekday"):
        stop += timedelta(7)
    return Window(start, stop, text[first : span[1]], (first, span[1])) if start < stop else None


def windows(text: str, reference: datetime) -> list[Window]:
    """Every time expression, in order, in the reference's time zone."""
    text = text[:SCANNED]
    joined: list[Window] = []
    for w in _found(text, reference):
        both = _pair(joined[-1], w, text) if joined else None
        joined[-1:] = [both] if both else [*joined[-1:], w]
    made = []
    for w in joined:
        try:
            made.append(_modified(w, text, reference))
        except (ValueError, OverflowError):
            continue
    return made


def window(text: str, reference: datetime) -> Window | None:
    """The first time expression, or None."""
    found = windows(text, reference)
    return found[0] if found else None


def _said(day: datetime) -> str:
    return f"{day.day} {_MONTHS[day.month - 1].title()} {day.year}"


def _months_phrase(start: datetime, months: int) -> str | None:
    name = _MONTHS[start.month - 1].title()
    if months == 1:
        return f"{name} {start.year}"
    if months == 3:
        season = {v: k for k, v in _SEASON.items() if k != "fall"}.get(start.month - 1)
        return f"{season} {start.year}" if season else f"Q{(start.month + 2) // 3} {start.year}"
    if start.month == 1 and months == 12:
        return str(start.year)
    return f"the {start.year}s" if start.month == 1 and months == 120 and start.year % 10 == 0 else None


def _part_phrase(start: datetime, stop: datetime) -> str | None:
    """early May 2023, late 2024: a third of a month or of a year."""
    for unit in ("month", "year"):
        first, last = _unit(start, unit, 0)
        third = (last - first).days // 3 * timedelta(1)
        thirds = ((first, first + third), (first + third, last - third), (last - third, last))
        if (start, stop) in thirds:
            return (
                f"{('early', 'mid', 'late')[thirds.index((start, stop))]} "
                f"{_months_phrase(first, 1 if unit == 'month' else 12)}"
            )
    return None


def phrase(w: Window) -> str:
    """For people: "7 May 2023", "the week of 3 March 2025", "summer 2022"."""
    start, stop = w.start, w.stop
    if start.year == OPEN_START:
        return f"before {_said(stop)}"
    if stop.year == OPEN_STOP:
        return f"from {_said(start)} on"
    days = (stop - start).total_seconds() / 86400
    if days < 1:
        part = (
            "night"
            if start.hour >= 18
            else "evening"
            if start.hour >= 17
            else "afternoon"
            if start.hour >= 12
            else "morning"
        )
        return f"the {part} of {_said(start)}"
    if days == 1:
        return _said(start)
    if days == 7 and start.weekday() == 0:
        return f"the week of {_said(start)}"
    if days == 2 and start.weekday() == 5:
        return f"the weekend of {_said(start)}"
    months = (stop.year - start.year) * 12 + stop.month - start.month
    whole = _months_phrase(start, months) if start.day == stop.day == 1 else None
    last = stop - timedelta(seconds=1)
    first = _said(start) if start.year != last.year else _said(start).rsplit(" ", 1)[0]
    first = str(start.day) if (start.year, start.month) == (last.year, last.month) else first
    return whole or _part_phrase(start, stop) or f"{first} – {_said(last)}"
