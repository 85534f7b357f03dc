"""Tells an example of a secret from a secret: a template's value, a bad password that everybody speaks of."""

from __future__ import annotations

import re

from holdfast.text.redaction import values, vendor_tokens
from holdfast.text.redaction.normalised_text import ReadableText

MIN_TOKEN_CHARACTERS = 16
"""No issuer's token is shorter."""
_LED_TO = re.compile(
    r"(?:\b(?:like|such as|e\.g\.|for example|for instance|z\. ?b\.|zum beispiel|wie etwa|par exemple"
    r"|por ejemplo|ad esempio)"
    r"|\b(?:someone|somebody|people|they|who|year|years|anything|something|date"
    r"|word)\b[^.!?\n]{0,20},? say)[,:]?\s[\"'`(]{0,2}"
    r"(?:\S{3,20}(?: or |, ))?[\"'`]?\Z"
)
"""What leads to an example of a password."""
_SAID_AFTER = re.compile(
    r"[\"'`;,]{0,2}\s{0,4}(?:#|//|<-|--|\()\s?(?:an? |just an? |only an? )?(?:sample|example|dummy|placeholder"
    r"|not real|fake|beispiel"
    r"|exemple|ejemplo)\b|[\"']\s(?:not found|created|deleted|configured|unchanged|in namespace|already exists"
    r"|is forbidden)\b"
)
"""What says of the value before it that it is an example, or a thing's name."""
_OWN = re.compile(r"\b(?:is|was|looks|ist|est|es) like\b[^.!?\n]{0,4}\Z|\b(?:my|our)\b(?![^.!?\n]*\b(?:not|never)\b)")
_IN_GENERAL = re.compile(
    r"\b(?:most (?:common|used|popular|people|of)|commonest|everybody|everyone|people|worldwide|in the world"
    r"|thieves|hackers?"
    r"|attackers?|leaked?|breach\w*|worst|never use|don't use|avoid|of all|tries first|first try|guess\w*"
    r"|obvious|popular"
    r"|example|dummy|fake|placeholder|tutorial|beispiel|exemple|ejemplo|häufigst\w*|beliebtest\w*|jeder|alle"
    r"|le plus|les plus|tout le monde|más (?:usad|com)\w*"
    r"|todo el mundo|mais (?:usad|com)\w*|più (?:usat|com)\w*|tutti|najpopular\w*|meest|vanligast\w*)\b|самый|самые|最"
)
"""Talk of passwords and PINs in general."""
_POSTAL_PIN = re.compile(
    r"\b(?i:pin ?code)s? (?:is |of |for |in )?[1-9]\d{5}\b,? (?:is |covers |serves |in |for |falls "
    r"|belongs )(?:the )?[A-Z]"
    r"|\b(?i:pin ?code) (?:of|for|in) [A-Z]\w+(?: [A-Z]\w+)?(?:,| is|:)? [1-9]\d{5}\b"
)
"""The postal code of a place in India."""


def is_example(readable: ReadableText, start: int, stop: int) -> bool:
    """Whether what was found is only shown: a template's value, or a bad password that everybody speaks of."""
    value = readable.text[start:stop].strip("\"'`,;")
    if "EXAMPLE" in value or readable.text.startswith(("...", "…"), stop):
        return True
    if _is_issued(value):
        return False
    if values.is_template(value) or _SAID_AFTER.match(readable.low, stop):
        return True
    before = readable.low[max(0, start - 40) : start]
    if before.endswith(('agent="', 'agent: "')) or (
        value.startswith("changeme") and before.rstrip("\"' ")[-1:] in ("=", ":")
    ):
        return True
    if _LED_TO.search(before):
        return _OWN.search(before) is None
    if values.is_guessable(value) and _IN_GENERAL.search(readable.low, max(0, start - 100), stop + 100):
        return True
    return len(value) == 6 and _POSTAL_PIN.search(readable.text[max(0, start - 40) : stop + 30]) is not None


def _is_issued(value: str) -> bool:
    """Whether this is a whole token in an issuer's format, with digits: nobody can tell a real one from an example."""
    if len(value) < MIN_TOKEN_CHARACTERS or len(set(value)) < 12 or not any(map(str.isdigit, value)):
        return False
    return (0, len(value)) in vendor_tokens.vendor_token_spans(value, value.lower())
