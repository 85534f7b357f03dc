"""Finds the values of a text: numbers, amounts, dates, times, addresses, links, paths and names, each as one span.

The invariant: a value is never cut. "4,000 euros", "May 4, 2019" and "12 Kestrel Way, Unit 3, Leeds" are one span
each, whatever commas they contain. `mask_values` hides those commas from rules that split a text at commas, and
`ValueMask.restored` puts them back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.text.cache import cached_by_text
from holdfast.text.lexicon import word_list
from holdfast.text.lexicon.calendar import A_FULL_WEEKDAY, MONTH_INDEX
from holdfast.text.lexicon.numbers import ONE_TO_NINETEEN, TENS

DATE, TIME, NUMBER, AMOUNT, ADDRESS, LINK, NAME = "date", "time", "number", "amount", "address", "link", "name"
_MONTH = "(?:" + "|".join(sorted(MONTH_INDEX, key=len, reverse=True)) + r")\b"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![\w.,:]*\d)"
_DAYS = rf"(?:{_DAY}\s?[-–]\s?)?{_DAY}"
_YEAR = r"(?:1[89]|20)\d\d(?![\d.,]*\d)"
_FIGURE = r"\d+(?:[.,:]\d+)*"
_UNIT = (
    r"(?:euros?|eur|dollars?|usd|pounds?|gbp|quid|bucks|francs?|chf|cents?|pence|percent|per cent|million|billion|"
    r"thousand|hundred|grand|kgs?|kilos?|grams?|g|mg|mcg|lbs?|stone|ounces?|oz|ml|litres?|liters?|km|kilomet(?:re|er)s?|miles?|"
    r"met(?:re|er)s?|m|cm|mm|feet|foot|ft|inch(?:es)?|gb|mb|tb|kb|mbit|ghz|hz|watts?|kw|kwh|degrees?|seconds?|secs?|"
    r"minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|months?|years?|yrs?)\b"
)
_COUNT_WORD = "(?:" + "|".join([*ONE_TO_NINETEEN, *TENS, "hundred", "thousand", "million"]) + ")"
_CAPITAL = r"[A-ZÀ-ÞŁŚŻĐ][\w'’&.-]*(?<![.'’-])"
_STREET = (
    r"(?:Street|St|Road|Rd|Way|Lane|Ln|Avenue|Ave|Drive|Dr|Close|Court|Ct|Place|Pl|Square|Sq|Terrace|Gardens|Crescent|"
    r"Hill|Row|Boulevard|Blvd|Quay|Walk|Park|Grove|Mews|Parade|Rise|View|Green|Wharf|Strand|Highway|Path)\b\.?"
)
_LINE = rf"(?:(?:Unit|Flat|Apt|Apartment|Suite|Floor|Room|Block)\.? ?\w+|{_CAPITAL}(?: {_CAPITAL}){{0,2}})"
_POSTCODE = r"(?:[A-Z]{1,2}\d[\dA-Z]?(?: \d[A-Z]{2})?|\d{4,5})"
_AFTER_LINE = r"(?=\s*(?:[,.;!?)]|$)|\s+(?:and|but|by|from|now|since|if|so|\d)\b)"
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        LINK,
        re.compile(
            r"https?://[^\s\"'<>]+[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|"
            r"(?<![\w/])~?\.{0,2}/?[\w@-][\w.@-]*(?:/[\w.@*-]*[\w*])+/?|"
            r"(?<![\w/])/[\w.@-]+\w"
        ),
    ),
    (
        ADDRESS,
        re.compile(
            rf"(?:(?:Flat|Unit|Apt|Apartment|Suite) ?\w+, )?\b\d{{1,5}}[a-zA-Z]? (?:{_CAPITAL} ){{1,3}}{_STREET}"
            rf"(?:, {_LINE}(?:{_AFTER_LINE}|(?= {_POSTCODE}\b)))*(?:,? {_POSTCODE}\b)?(?: {_CAPITAL}{_AFTER_LINE})?|"
            rf"\b[A-ZÄÖÜ]\w+(?:straße|strasse|str\.|gasse|weg|platz|allee) \d+[a-z]?(?:, (?:\d{{4,5}} )?{_CAPITAL})?"
        ),
    ),
    (
        DATE,
        re.compile(
            rf"\b(?:(?:the )?{_DAYS}(?: of)? {_MONTH}(?:,? {_YEAR})?|"
            rf"{_MONTH}(?:(?<=\b\w\w\w)\.)? (?:the )?{_DAYS}(?:,? {_YEAR})?|{_MONTH},? {_YEAR}|"
            r"\d{4}-\d\d-\d\d|\d{1,2}([./-])\d{1,2}\1\d{2,4}|(?:the )?\d{1,2}(?:st|nd|rd|th)|"
            rf"{A_FULL_WEEKDAY}s?|today|tomorrow|yesterday)(?!\w)",
            re.I,
        ),
    ),
    (
        TIME,
        re.compile(
            r"\b\d{1,2}(?:[:.h]\d\d)? ?(?:[ap]m\b|[ap]\.m\.)|\b\d{1,2}(?::\d\d){1,2}\b|\b\d{1,2} o'clock\b", re.I
        ),
    ),
    (
        AMOUNT,
        re.compile(
            rf"[$€£¥]\s?{_FIGURE}\s?(?:k|m|bn|{_UNIT})?(?![\w])|(?<![\w.,])[+-]?{_FIGURE}(?:\s?[-–]\s?{_FIGURE})?"
            rf"(?:\s?[$€£¥%]|(?:\s|-)?{_UNIT}(?:\s(?:euros?|dollars?|pounds?)\b)?)|"
            rf"\b{_COUNT_WORD}(?:(?:-| and | ){_COUNT_WORD})*(?: |-){_UNIT}",
            re.I,
        ),
    ),
    (
        NUMBER,
        re.compile(
            rf"(?<![\w.,])\+?\d{{2,5}}(?:[ -]\d{{2,5}}){{2,5}}\b|"
            rf"(?<![\w.,])[vV#+]?\d+(?:[.,:/+-]?\w+)*(?:\s?[-–x/]\s?\d[\w.,]*\w|(?<=\d) over \d+)?|"
            rf"\b{_COUNT_WORD}(?:(?:-| and | ){_COUNT_WORD})*\b",
            re.I,
        ),
    ),
    (
        NAME,
        re.compile(
            rf"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St)\.? )?{_CAPITAL}(?: (?:(?:of|de|da|do|del|la|le|van|von|der|upon|of the) )?"
            rf"(?:{_CAPITAL}|\d[\w.-]*\b)){{0,5}}"
        ),
    ),
)
MAX_SCANNED_CHARACTERS = 12_000
"""How many characters of a text are searched: as many as the rules read. Chosen by hand, to bound the time."""
_SENTENCE_START = re.compile(r"(?:^|[.!?…:;\n\"“(]\s*|^[-*•]\s*)$")
_COMMON_START = frozenset(
    word_list(
        "i i'm i've i'll i'd we my our the a an he she they it its it's this that these those there here you your his "
        "her their and but or so then now today yesterday tomorrow tonight also just please no yes ok okay oh ah well "
        "hi hello hey thanks if when while since because as at in on for from to with after before until last next "
        "our every each all any some most one two three is are was were do does did don't can could would should will "
        "have has had what where who why how which not never always actually sorry wait correction update btw fyi ps "
        "still only even both another new old good great nice got had turns after dear note remember remind keep use "
        "run make let let's"
    )
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text."""

    type: str
    start: int
    end: int
    text: str


def values(text: str) -> list[Value]:
    """The values of a text in order; they do not overlap, and the longest possible reading of each wins."""
    return list(_values(text))


@cached_by_text
def _values(text: str) -> tuple[Value, ...]:
    text = text[:MAX_SCANNED_CHARACTERS]
    found: list[Value] = []
    covered = bytearray(len(text))
    for type_, pattern in _PATTERNS:
        for m in pattern.finditer(text):
            start, end = m.span()
            if type_ == NAME:
                start = _name_start(text, start, end)
            while start < end and text[start].isspace():
                start += 1
            if start < end and text[start:end] != "I" and not any(covered[start:end]):
                found.append(Value(type_, start, end, text[start:end]))
                covered[start:end] = b"\1" * (end - start)
    return tuple(sorted(found, key=lambda each: each.start))


def value_type(text: str) -> str | None:
    """The type of a text that is one value, apart from an article or a preposition before it; otherwise None."""
    bare = re.sub(r"^(?:the|an?|on|at|in|by|to|for|around|about) ", "", text.strip(" .!,;:"), flags=re.I)
    found = values(f"x {bare}")
    return (
        found[0].type if len(found) == 1 and found[0].text.removeprefix("the ") == bare.removeprefix("the ") else None
    )


def _name_start(text: str, start: int, end: int) -> int:
    """Where a name begins: a word that has its capital from the beginning of the sentence is no part of it."""
    first = text[start:end].split(" ", 1)[0]
    if first.lower().replace("’", "'") not in _COMMON_START:
        return start
    return (
        min(end, start + len(first) + 1)
        if _SENTENCE_START.search(text[max(0, start - 4) : start]) or first == "I"
        else start
    )


_COMMA = "ʼ"
"""Stands for a comma within a value: a letter to every pattern, and not a character that people type."""
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,]*\d)")


@dataclass(frozen=True, slots=True)
class ValueMask:
    """What was written for the values of some texts, so that they can be restored."""

    originals: tuple[tuple[str, str], ...] = ()
    """(as masked, as written)"""
    empty: bool = False
    """Whether nothing is masked, so that there is nothing to restore."""

    def restored(self, text: str) -> str:
        for masked, original in self.originals:
            if masked in text:
                text = re.sub(rf"(?<![\d.,]){re.escape(masked)}(?![\w,]*\d)", original.replace("\\", r"\\"), text)
        return text.replace(_COMMA, ",")


def mask_values(texts: Iterable[str]) -> tuple[list[str], ValueMask]:
    """The texts without the commas inside values: "4000 euros", "May 4 2019"; and what restores them."""
    originals: dict[str, str] = {}
    masked = [_masked(text, originals) for text in texts]
    empty = not originals and not any(_COMMA in text for text in masked)
    return masked, ValueMask(tuple(sorted(originals.items(), key=lambda pair: -len(pair[0]))), empty)


def _masked(text: str, originals: dict[str, str]) -> str:
    if "," not in text:
        return text
    for each in reversed(values(text)):
        if "," not in each.text:
            continue
        if each.type == DATE:
            plain = each.text.replace(",", "")
            originals[plain] = each.text
        else:
            plain = _THOUSANDS.sub(lambda m: _plain_number(m[0], originals), each.text).replace(", ", f"{_COMMA} ")
        text = text[: each.start] + plain + text[each.end :]
    return text


def _plain_number(number: str, originals: dict[str, str]) -> str:
    plain = number.replace(",", "")
    originals[plain] = number
    return plain
