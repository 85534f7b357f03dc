"""Finds the value that a sign assigns to a name: `DB_PASSWORD=…`, `{"secret": "…"}`, `<password>…</password>`."""

from __future__ import annotations

import re

from holdfast.text.redaction import labels, values
from holdfast.text.redaction.label_context import (
    CLAUSE_END,
    QUOTED,
    Label,
    bare_span,
    is_long_enough,
    is_quoted_secret,
    phrase_span,
    pin_span,
)
from holdfast.text.redaction.normalised_text import ReadableText, Span

_ASSIGNED = re.compile(
    r"(?P<close>\\{0,3}[\"'`]|[\])}*_]{1,2}|\\?[\"']\])?\s{0,8}(?:\([^()\n]{1,80}\)\s?)?"
    r"(?::\s{0,2}&?(?:'[a-z]{1,12}\s)?(?:mut\s)?[A-Za-z_][\w.]{0,30}(?:\[[\w, .|]{1,30}\]|<\w{1,20}>|\?"
    r"|!)?(?:\s?\|\s?\w{1,20})?"
    r"\s{0,4}=(?!=|[ \t]{0,8}(?:\n|$))|\s{1,4}(?:string|\[\]byte|text|str)\s{0,4}=(?!=)|<-(?=\s?[\"'])"
    r"|,?\s{0,8}\\?[\"']?(?:\w{1,20}:)?value\\?[\"']?\s{0,3}[:=]|(?:\|\||\?\?)=?(?=\s?[\"'])|\bor(?=\s[\"'])|:=|=>|->|={1,3}|::?|→|(?<=\s)"
    r"\|(?=\s))[*_]{0,2}[ \t]{0,8}(?:\n[ \t]{0,12})?[*_]{0,2}"
    r"(?:[|>][+-]?\n[ \t]{1,12})?(?:!!?(?:str|binary)\s{1,4})?"
)
_LISTED = re.compile(r"\\?[\"']\s{0,4},\s{0,4}(?=\\?[\"'])")
_CALL_BEFORE = re.compile(r"\w\(\s{0,2}\\?[\"'][#\w.-]{0,60}\Z")
_CALLED = re.compile(r"\(\s{0,2}(?=\\?[\"'`])")
_ELEMENT = re.compile(r"(?:[^<>\n]{0,40}|</\w{1,20}>\s{0,8}<\w{1,20})>(?:\s{0,3}\n\s{0,8})?(?=[^<>\s@])")
_SCHEME = re.compile(
    r"(?:bearer|basic|token|apikey|api-key|digest|bot|key|negotiate|splunk|geniekey|it's|its|it is)\s{1,8}", re.I
)
_UNQUOTED = re.compile(r"[^\s]{1,300}")
_SETTING = re.compile(r"[ \t-]{0,40}[\w. -]{1,80}(?:[ \t]{0,8}[:=][ \t]{0,8})\"?")
_MORE_LINES = re.compile(r"[^\n]{0,200}\n[^\n]*\S")
_NEXT_PAIR = re.compile(r"[ ]{1,4}\w{1,40}=")
_STOP_INSIDE = re.compile(
    r";(?=\s?[\w ]+=|$)|&(?=[\w.%-]+=)|,(?=[\w.-]+[=:]|$)|</|\\n|\\r|[\"'](?=[\s,;:}\])>]|$)|[`>\])}]+[,;.]*$|,?\|$"
)


def lead_to_value(text: str, label: Label) -> re.Match[str] | None:
    """What assigns a value to a name: a sign, a pair of quotes with a comma, a tag's end, a call's bracket."""
    found = _ASSIGNED.match(text, label.stop)
    if found is None and _CALL_BEFORE.search(text, max(0, label.start - 80), label.start):
        found = _LISTED.match(text, label.stop)
    if found is None and "<" in text[max(0, label.start - 60) : label.start]:
        found = _ELEMENT.match(text, label.stop)
    return found or _CALLED.match(text, label.stop)


def assigned_span(readable: ReadableText, label: Label, m: re.Match[str]) -> Span | None:
    """The value of an assignment, a pair, an element or a header."""
    text = readable.text
    quoted = QUOTED.match(text, m.end())
    if quoted is not None:
        called = (
            m[0].startswith("(") and not values.is_made_up(quoted["value"]) and not values.is_worded(quoted["value"], 3)
        )
        return quoted.span("value") if is_quoted_secret(label, quoted["value"]) and not called else None
    if text.startswith(('""', "''"), m.end()):
        return None
    scheme = _SCHEME.match(text, m.end())
    begin = scheme.end() if scheme else m.end()
    if "|" in m[0]:
        return bare_span(readable, label, begin)
    word = _UNQUOTED.match(text, begin)
    if word is None:
        return None
    operator = m[0].strip()[-1:]
    tight = operator == "=" and not m[0][-1:].isspace() and not m[0][:1].isspace()
    value = _cut(word[0], keep_all=tight and label.name.isupper())
    if value.startswith(('"', "'", "`")):
        value = value[1:]
        begin += 1
    if not value or value.startswith("-----"):
        return None
    span = (begin, begin + len(value))
    if label.sort == "pin":
        made_up = values.is_made_up(value) and len(value) < 20
        return pin_span(text, label, begin) or (span if made_up else None)
    if "\n" in m[0] and not values.is_made_up(value) and _MORE_LINES.match(text, span[1]):
        return None  # a prompt, and what the program writes next
    return _unquoted_span(readable, label, span, tight)


def _unquoted_span(readable: ReadableText, label: Label, span: Span, tight: bool) -> Span | None:
    text = readable.text
    value = text[span[0] : span[1]]
    bare = value.rstrip(".,;:!?)")
    if values.is_placeholder(value) or values.is_placeholder(bare) or value.endswith(":"):
        return None
    if label.plain_words_count and _is_phrase(text, label, span, tight):
        return span[0], span[0] + len(bare)
    if values.is_reference(value):
        return None
    if label.sort == "bare" and not (values.is_made_up(bare) and len(bare) > 5 and ":" not in bare and "/" not in bare):
        return None
    if values.is_expression(value) or (values.is_expression(bare) and not tight):
        return None
    if bare.isdigit() and label.sort in ("token", "key") and label.name.lower().endswith("s"):
        return None  # a number of them
    stop = span[0] + len(bare) if not tight else span[1]
    if values.is_made_up(bare) or (bare.isdigit() and len(bare) > (3 if label.plain_words_count else 9)):
        return (span[0], stop) if is_long_enough(label, bare) else None
    if tight and label.name.isupper() and len(bare) > 2:
        return span[0], stop
    if not (label.plain_words_count or (label.sort == "secret" and tight)) or len(bare) < 4:
        return None
    if (phrase := phrase_span(readable, label, span[0])) is not None:
        return phrase
    ends = CLAUSE_END.match(text, span[0] + len(bare)) or (tight and _NEXT_PAIR.match(text, span[0] + len(bare)))
    described = values.is_vague(bare, by_ending=not tight or bare.islower())
    return (span[0], stop) if ends and not described and "?" not in text[stop : stop + 2] else None


def _is_phrase(text: str, label: Label, span: Span, tight: bool) -> bool:
    """Whether a password in settings or a command is words with signs between: `password: toaster_in_bath`."""
    value = text[slice(*span)]
    if not values.is_worded(value, 2 if tight and (label.name.isupper() or "-" in value) else 3):
        return False
    if labels.has_label(value.lower()):
        return False
    line = text.rfind("\n", 0, label.start) + 1
    ends = span[1] == len(text) or text[span[1]] in "\n\r"
    return (tight and text[span[1] : span[1] + 1] in ("", "\n", " ", "'", '"')) or (
        ends and _SETTING.fullmatch(text, line, span[0]) is not None
    )


def _cut(value: str, keep_all: bool) -> str:
    """The value without what follows it in the same word: another pair, a closing bracket or quote."""
    if keep_all and not re.search(r"[&;,][\w.]+=", value):
        return value.rstrip("\"'`,;")
    found = _STOP_INSIDE.search(value, 1)
    return value[: found.start()] if found else value
