"""Finds secrets by their names, in programs, settings and forms.

At each word that announces a secret the rules look at what is directly before and after it, never further than a
bounded stretch, so that the cost grows with the text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.text.redaction import labels, values
from holdfast.text.redaction.assigned_values import assigned_span, lead_to_value
from holdfast.text.redaction.label_context import QUOTED, Label, bare_span, is_identifier, is_quoted_secret
from holdfast.text.redaction.normalised_text import ReadableText, Span, word_set

_NAME_BEFORE = re.compile(r"[\w.$-]*\Z")
_WORD_BEFORE = re.compile(r"([A-Z]?[^\W\d_A-Z]+|[A-Z]+\d?)[ _.-]{0,2}\Z")
_ABOUT_KEY = re.compile(r"\s{1,3}(?:ids?|fingerprints?|hash|name|size|length|count)\b")
_WIFI_BEFORE = re.compile(r"\b(?:wi-?fi|wlan|ssid|wpa\d?)\b")
_PASSWORD_BEFORE = re.compile(
    r"(?:password|passwort|contraseña|clave|senha|mdp|mot de passe|hasło|parola|heslo|пароль|mật khẩu)\s"
    r"(?:(?:del|de|do|du|da|la|le|el|of|for|the|do|k|от)\s){0,2}\Z"
)
_DIRECTIVE = re.compile(r"\s{0,20}(?:#\s?define|\(?def\w*|\(?set\w{0,3}!?|static|export|const|let|var)\s", re.I)
_QUOTED_NEXT = re.compile(r"[ \t]{1,40}" + QUOTED.pattern)
_AFTER_NAME = frozenset((*" \t\n,;:'\"`*-=)", "", "→", "…"))
"""What may follow a name before its value."""
_GLUED = word_set("db user usr my root admin ssh sudo pg mysql smtp ftp login id")


_RANDOM = re.compile(r"(?<![\w+/=.:@%-])(?:0x)?[A-Za-z0-9_+/-]{20,200}={0,2}(?![\w+/=@-]|\.\w)")
_MAX_REACH = 140
"""Characters after a name within which a random value on the same line is its value."""
_OTHER_THING = re.compile(
    r"(?i:(?<![a-z])(?:ids?|sid|uuid|guid|hash(?:ed|es)?|sha\d*|md5|digest|commit|checksum|finger|public|etag|rev(?:ision)?"
    r"|trace|request|span|event|build|version|kid|jti|nonce|iv|salt|encrypted|cipher\w*|thumbprint|serial|address|tx"
    r"|block|image|file|path|url|plaintext|pt|ct|aad|test vector)(?![a-z]))|://|[a-z](?:Id|Hash|Sha)\b|\.\s|[.!?]$"
    r"|[,;{]\s{0,3}[\"']?[\w.-]{1,40}[\"']?\s?[:=]"
)
"""Between a name and a random value: words for what is no secret, another name, a sentence's end."""


_TOLD = re.compile(
    r"(?:\s(?:of|for|to|on|in|at)(?:\s[\w.'’-]{1,30}){1,5}?)?\s(?:is|was|will be|['’]s)(?:\snow)?\s"
    r"(?P<value>(?=[^\s,;]{0,40}\d)(?=[^\s,;]{0,40}[a-z])(?=[^\s,;]{0,40}[A-Z])[\w.!#$%&*+=?-]{7,40}\w[!?]?)(?=[\s,;.]|$)"
)
_PASSWORDS = word_set("password passwords passphrase passcode pwd pw passwort")


def _told_span(text: str, label: Label) -> Span | None:
    """A value with letters and digits that a sentence tells: "the password of the reporting db is Otter-88-kelp"."""
    m = _TOLD.match(text, label.stop) if label.name.lower() in _PASSWORDS else None
    return m.span("value") if m else None


def _random_span(text: str, label: Label) -> Span | None:
    """A value as keys are issued further on in the line: `AES_KEY = bytes.fromhex("…")`, "auth token, 4d5f…"."""
    line = text.find("\n", label.stop, label.stop + _MAX_REACH)
    stop = line if line >= 0 else label.stop + _MAX_REACH + 200
    m = _RANDOM.search(text, label.stop, stop)
    if m is None or m.start() > label.stop + _MAX_REACH or not values.is_random_key(m[0]):
        return None
    return None if _OTHER_THING.search(text[label.stop : m.start()]) else m.span()


def named_value_spans(readable: ReadableText, found: list[tuple[int, int, str]]) -> Iterator[Span]:
    """Where the values of named secrets stand, after the labels that were found."""
    done = 0
    following = [each[0] for each in found[1:]] + [-1]
    for (start, stop, sort), after in zip(found, following, strict=True):
        if after > 0 and readable.text[stop:after].isspace():  # "password password": no value between
            continue
        if sort == "code" or start < done or (label := _label(readable, start, stop, sort)) is None:
            continue
        span = _value_span(readable, label)
        span = span or _told_span(readable.text, label)
        if span is None and label.sort != "bare" and label.sort != "pin":
            span = _random_span(readable.text, label)
        if span is not None:
            done = span[1]
            yield span


def _label(readable: ReadableText, start: int, stop: int, sort: str) -> Label | None:
    """The label, unless it is part of another word or names another thing."""
    text, low = readable.text, readable.low
    word = low[start:stop]
    borderless = labels.BORDERLESS.match(word) is not None
    if not borderless:
        suffix = labels.SUFFIX.match(low, stop)
        stop = suffix.end() if suffix else stop
        after = text[stop : stop + 1]
        if (
            after.isalnum()
            or after == "_"
            or (after in ("-", ".") and text[stop + 1 : stop + 2].isalpha() and after != ".")
        ):
            return None
    name = _NAME_BEFORE.search(text, max(0, start - 60), start)
    prefix = "" if name is None or borderless else name[0]
    if prefix[-1:].isalpha() and not _may_be_glued(sort, prefix, text[start], word):
        return None
    before = _WORD_BEFORE.search(text, max(0, start - 30), start)
    last = before[1].lower() if before and not borderless else ""
    if before and before[0][-1:] == " " and text[before.start() - 1 : before.start()].isalpha():
        last = ""  # the end of a name as "iPad" is no word
    if last in labels.NO_LABEL_BEFORE:
        return None
    if sort == "bare" and word.startswith("key"):
        if _ABOUT_KEY.match(low, stop):
            return None
        if last in labels.KEY_OF or _WIFI_BEFORE.search(low, max(0, start - 60), start):
            sort = "key"
    elif sort == "bare" and _PASSWORD_BEFORE.search(low, max(0, start - 40), start):
        sort = "short"
    return Label(sort, start, stop, prefix + text[start:stop])


def _may_be_glued(sort: str, prefix: str, first: str, label: str) -> bool:
    """Whether letters directly before a label leave it one: dbPassword, PGPASSWORD, Masterpasswort."""
    if first.isupper():
        return prefix[-1].islower() or (prefix[-1].isupper() and len(label) > 4 and prefix.isupper())
    glued = re.search(r"[a-zäöüßéå]+\Z", prefix.lower())
    return (sort == "password" and len(label) > 7) or (glued is not None and glued[0] in labels.KEY_OF | _GLUED)


def _value_span(readable: ReadableText, label: Label) -> Span | None:
    """The value that a sign assigns to the label, or that directly follows a program's name."""
    if (lead := lead_to_value(readable.text, label)) is not None:
        return assigned_span(readable, label, lead)
    after = readable.text[label.stop : label.stop + 1]
    line = readable.text.rfind("\n", 0, label.start) + 1
    if after in (" ", "\t") and _DIRECTIVE.match(readable.text, line, label.start):
        quoted = _QUOTED_NEXT.match(readable.text, label.stop)
        if quoted is not None and is_quoted_secret(label, quoted["value"]):
            return quoted.span("value")
    return bare_span(readable, label, label.stop + 1) if after in _AFTER_NAME and is_identifier(label.name) else None
