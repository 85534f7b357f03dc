"""A label, and the judgement of what stands near it: a number, a phrase, a quoted text, the next word."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.text.redaction import labels, values
from holdfast.text.redaction.normalised_text import ReadableText, Span

QUOTED = re.compile(
    r"(?:[brufBRUF@$]{1,2})?(?P<quote>\"\"\"|'''|\\{0,3}[\"']|`{1,3})(?P<value>(?:\\[^\n]"
    r"|(?!(?P=quote))[^\\\n]){1,300}?)(?P=quote)"
)
OPENING = re.compile(r"[\"'`*_(]{0,6}")
WORD = re.compile(r"[^\s\"]{1,300}")
CLAUSE_END = re.compile(
    r"[.,;:!?)\"'`*_\]}]*(?:\s{0,8}$|\s{0,8}\n|[.,;!?](?:\s|$)|\s{1,8}(?:and|but|for|so|if|on|in|at|und|et|y|e|-)\b)"
)
_PASS_WORDS = re.compile(r"[^\s.,;:!?\"'()]{1,24}(?:[ ][^\s.,;:!?\"'()]{1,24}){1,11}")
_LISTED_WORDS = re.compile(r"[^\s.,;:!?\"'()]{1,24}(?:,?[ ][^\s.,;:!?\"'()]{1,24}){3,11}(?=[.!]?\s{0,8}(?:\n|$))")
"""The words of a passphrase with commas between, up to the end of the line."""
PIN = re.compile(r"[#*]?\d(?:[ -]?\d){2,11}[#*]?(?![\w.,:/%€$]{0,20}\d)")

_AT_HOST = re.compile(r"[a-z_][a-z0-9._-]*@[a-z][a-z0-9.-]*(?::\S*)?")
"""A user at a host."""


@dataclass(frozen=True, slots=True)
class Label:
    """A word that announces a secret, where it stands, and of which sort it is."""

    sort: str
    start: int
    stop: int
    name: str
    """The whole identifier up to the label's end: DB_PASSWORD."""

    @property
    def plain_words_count(self) -> bool:
        """Whether even a dictionary's word may be the secret."""
        return self.sort in ("password", "short")


def is_identifier(name: str) -> bool:
    return "_" in name.strip("_") or "." in name.strip(".") or re.search(r"[a-z][A-Z]", name) is not None


def is_long_enough(label: Label, value: str) -> bool:
    least = {"password": 4, "short": 4, "pin": 3, "secret": 6, "bare": 6}.get(label.sort, 8)
    return len(value) >= least


def is_quoted_secret(label: Label, value: str) -> bool:
    if values.is_placeholder(value) or values.is_placeholder(value.strip()):
        return False
    if label.plain_words_count and values.is_worded(value, 3):
        return not labels.has_label(value.lower())
    if values.is_reference(value):
        return False
    if label.sort == "pin":
        led = value[:1].isdigit() or re.fullmatch(r"[A-Z]{1,5}_?\d{1,2}", value) is None
        return re.fullmatch(r"[\d -]{3,12}", value) is not None or (led and values.is_made_up(value))
    if _is_label(value.lower()) or any(map(_is_label, value.lower().split())):
        return False
    words = value.split()
    if len(words) > 1:
        return _is_quoted_phrase(label, words)
    if label.plain_words_count and _has_brackets(value):
        return True
    if values.is_made_up(value):
        if label.sort == "bare":
            return values.is_unguessable(value) and re.fullmatch(r"[\w+=-]+", value) is not None
        return is_long_enough(label, value)
    if values.is_expression(value) and "_" not in value:
        return False
    if label.sort == "password" or label.sort == "short":
        return len(value) > 3 and not _is_caption(value) and not _is_message_key(value)
    return label.sort == "secret" and len(value) > 5 and not values.is_vague(value)


def _has_brackets(value: str) -> bool:
    """Whether it has brackets as a password may, and is no call: Kestrel(9)Loft."""
    return (
        re.fullmatch(r"[\w!#*+-]*[([{][^()\[\]{}\s]{1,20}[)\]}]?[\w!#*+-]*[^\W_)\]}][!?*]?", value) is not None
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and len(value) > 5
    )


def _is_quoted_phrase(label: Label, words: list[str]) -> bool:
    """Whether several words in quotes are the secret, and not what a form says about it."""
    if label.sort == "bare":
        return False
    vague = sum(map(values.is_vague, words))
    if not vague:
        return label.plain_words_count or label.sort == "secret" or any(values.is_made_up(word) for word in words)
    if ("phrase" in label.name.lower() or label.name.isupper()) and label.plain_words_count and 2 * vague <= len(words):
        return not values.is_said_in_forms(" ".join(words))
    if label.sort == "secret" and words[-1].isdigit() and 2 * vague <= len(words):
        return True
    if not label.plain_words_count or values.is_said_in_forms(" ".join(words)):
        return False
    return any(each.isdigit() for word in words for each in word) or (len(words) > 4 and "phrase" in label.name.lower())


def _is_label(low: str) -> bool:
    found = labels.label_spans(low)
    return len(found) == 1 and found[0][:2] == (0, len(low))


def _is_caption(value: str) -> bool:
    """Whether it reads as a word on a form: a capital and small letters that describe."""
    return value.isalpha() and values.is_vague(value)


def _is_message_key(value: str) -> bool:
    """Whether a program names what it says of a password: must_be_long, too_short."""
    words = value.split("_")
    return len(words) > 1 and (
        values.is_said_in_forms(" ".join(words)) or 2 * sum(map(values.is_vague, words)) >= len(words)
    )


def is_plain_number(label: Label, value: str) -> bool:
    """Whether a number without letters may be the secret; a year may not."""
    return label.plain_words_count and value.isdigit() and 4 <= len(value) <= 40 and not values.is_technical(value)


def is_counted(text: str, after: int) -> bool:
    """Whether a number of things is told: "8 characters long"."""
    return (
        re.match(
            r"[\s-]*(?:char|digit|letter|word|symbol|day|week|month|year|hour|minute|second|time|bit|byte|of\b"
            r"|x\b|attempt|line|file|page|people|user|test|tr(?:y|ies))",
            text[after : after + 16],
            re.I,
        )
        is not None
    )


def phrase_span(readable: ReadableText, label: Label, start: int) -> Span | None:
    """A password of several words: all of them up to the end of the clause, if none is a word that sentences need."""
    is_phrase = "phrase" in label.name.lower()
    m = (_LISTED_WORDS.match(readable.text, start) if is_phrase else None) or _PASS_WORDS.match(readable.text, start)
    english = readable.low.startswith("pass", label.start)
    if m is None or label.sort != "password" or not english or not CLAUSE_END.match(readable.text, m.end()):
        return None
    words = m[0].split()
    functional = sum(values.is_function_word(word) for word in words)
    numbered = len(words) > 3 and words[-1].isdigit() and not values.is_said_in_forms(m[0])
    if (
        values.is_advice(words[0])
        or functional > ((is_phrase or numbered) and len(words) > 3)
        or labels.has_label(m[0].lower())
    ):
        return None
    vague = sum(values.is_vague(word) and not ("-" in word and not word.islower()) for word in words)
    if 2 * vague >= len(words) + is_phrase:
        return None
    telling = (any(each.isdigit() for each in m[0]) and len(words) > 2) or len(words) > 3 or is_phrase
    return m.span() if telling else None


def pin_span(text: str, label: Label, start: int) -> Span | None:
    """The digits of a PIN, four at least; of the code on a card three are enough."""
    pin = PIN.match(text, start)
    least = 4 if label.name.lower().endswith(("pin", "pins")) else 3
    return pin.span() if pin and sum(map(str.isdigit, pin[0])) >= least else None


def bare_span(readable: ReadableText, label: Label, start: int) -> Span | None:
    """The word right after a label, without a copula."""
    text = readable.text
    if label.sort == "pin":
        return pin_span(text, label, start)
    opening = OPENING.match(text, start)
    start = opening.end() if opening else start
    word = WORD.match(text, start)
    if word is None:
        return None
    value = trimmed(word[0])
    if is_plain_number(label, value) and not is_counted(text, start + len(value)):
        return start, start + len(value)
    if values.is_placeholder(value) or not values.is_made_up(value) or values.is_expression(value):
        return None
    if is_identifier(label.name) and (
        _AT_HOST.fullmatch(value)
        or re.fullmatch(r"[a-z][\w./-]{0,60}:[\w.-]{1,30}", value)
        or readable.text[label.stop - len(label.name) - 1 :][:1] == "/"
    ):
        return None
    if label.sort == "bare" and (values.is_network_name(value) or _AT_HOST.fullmatch(value)):
        return None
    if label.sort == "bare" and not (len(value) > 5 and (values.is_dense(value) or values.is_unguessable(value))):
        return None
    return (start, start + len(value)) if is_long_enough(label, value) else None


def trimmed(word: str) -> str:
    return word.rstrip(".,;:!?)\"'`*_]}>") if not word.endswith("**") else word.rstrip("*.,")
