"""Pure: secrets in text, as API keys, passwords, card numbers. `redacted` leaves the words around them readable.

What was said is kept verbatim. Whatever is made of it for a prompt, or leaves the machine, goes through here: distilled
memories, hits, contexts, answers, summaries, what MCP tools answer, what a language model is sent.
"""

from __future__ import annotations

import re

REDACTED = "[redacted]"

_TOKEN = re.compile(
    r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,200}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,255}|\bgithub_pat_\w{20,255}|\bglpat-[\w-]{16,64}"
    r"|\bxox[abpors]-[A-Za-z0-9-]{10,200}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,50}|\bhf_[A-Za-z0-9]{20,64}"
    r"|\beyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{8,2000}|\bnpm_[A-Za-z0-9]{30,50}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,8000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
)
_URL_PASSWORD = re.compile(r"(?<=://)([^\s:/@]{1,100}):([^\s/@]{1,200})@")
_NAMED = re.compile(
    r"\b((?:password|passwd|passphrase|passcode|pwd|pin(?: code)?|secret(?: key)?|api[ _-]?key|"
    r"access[ _-]?(?:key|token)|"
    r"auth[ _-]?token|bearer|client[ _-]?secret|cvv|cvc)(?:\s+for\s+(?:my|the|our)?\s*[\w-]{1,30})?"
    r"(?:\s+(?:is|was|are)(?:\s+now)?\s+|\s*[:=]\s*|\s+(?=\S*\d)))(\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|\S{3,200})",
    re.I,
)
_PUBLIC = (
    "zip postal area country exit error status dress source booking promo discount tracking order reference voucher"
)
_CODED = re.compile(
    "".join(rf"(?<!\b{word} )" for word in _PUBLIC.split())
    + r"\b((?:(?:code|combination)(?:\s+(?:is|was|now|to))*[:=,]?\s+(?=[\w#*-]*\d[\w#*-]*\d[\w#*-]*\d[\w#*-]*\d)|"
    r"(?:key|login|wi-?fi|token|otp)(?:\s+(?:is|was|now))*[:=,]?\s+(?=\S*\d)(?=\S*[A-Za-z]))[\"']?)([\w#*$%!+-]{4,64})",
    re.I,
)
"""A code right after its name, as in "the alarm is in the hall, code 4471#"."""
_MIXED = re.compile(r"\b(?=\w{0,63}[a-z])(?=\w{0,63}[A-Z])(?=\w{0,20}\d\w{0,20}[A-Za-z]\w{0,20}\d)\w{10,64}\b")
"""Letters of both cases and digits in turn, as no word has them."""
_ABOUT_SECRETS = re.compile(
    r"\b(?:passwords?|passwd|passphrase|passcode|pwd|pin|credentials?|secret|api key|token|unlock)\b", re.I
)
_PASSWORD_LIKE = re.compile(
    r"(?<![\w./:@-])(?=[\w!@#$%^&*+=-]{0,63}\d)(?=[\w!@#$%^&*+=-]{0,63}[A-Za-z])[\w!@#$%^&*+=-]{8,64}(?![\w@])"
)
_HARMLESS = re.compile(
    r"(?:a|an|the|not|too|very|my|our|in|on|stored|wrong|right|reset|expired|required|important|"
    r"\w{2,}ed|safe"
    r"|being|missing|same|invalid|incorrect|weak|strong|redacted|\[redacted\])[.,;!?]*",
    re.I,
)
_EXPIRY = re.compile(r"\b(?:0[1-9]|1[0-2])\s?/\s?(?:20)?\d\d\b")
_SIXTEEN = re.compile(r"\d{4}([ -]?)\d{4}\1\d{4}\1\d{4}")
"""As card numbers are written, also a mistyped one."""
_PAID_WITH = re.compile(r"\b(?:cards?|visa|mastercard|amex|cvv|cvc)\b", re.I)
_CARD = re.compile(r"(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d-])")


_TOKEN_SIGNS = (
    "sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox",
    "AKIA", "ASIA", "AIza", "hf_", "eyJ", "npm_", "-----BEGIN ",
)  # fmt: skip
_NAMED_SIGNS = ("pass", "pwd", "pin", "secret", "api", "access", "auth", "bearer", "cvv", "cvc")
_CODED_SIGNS = ("code", "combination", "key", "login", "wifi", "wi-fi", "token", "otp")
_MIXED_SIGN = re.compile(r"\d[^\W\d]+\d")
_CARD_DIGITS = 13


def redacted(text: str, around: str = "") -> str:
    """The text with its secrets replaced by "[redacted]". Where what was said `around` it speaks of passwords, whatever
    looks like one goes too."""
    digits = sum(map(text.count, "0123456789"))
    low = text.lower()
    # Looking for a sign first costs a tenth: every hit of every search comes through here.
    if any(sign in text for sign in _TOKEN_SIGNS):
        text = _TOKEN.sub(REDACTED, text)
    if digits > 1 and _MIXED_SIGN.search(text):
        text = _MIXED.sub(REDACTED, text)
    if digits and around and speaks_of_secrets(around):
        text = _PASSWORD_LIKE.sub(REDACTED, text)
    if "://" in text:
        text = _URL_PASSWORD.sub(lambda m: f"{m[1]}:{REDACTED}@", text)
    if any(sign in low for sign in _NAMED_SIGNS):
        text = _NAMED.sub(_without_value, text)
    if digits and any(sign in low for sign in _CODED_SIGNS):
        text = _CODED.sub(rf"\g<1>{REDACTED}", text)
    return _without_cards(text, around) if digits >= _CARD_DIGITS else text


def speaks_of_secrets(text: str) -> bool:
    """Whether it is about passwords and the like, so that a bare word next to it may be one."""
    return _ABOUT_SECRETS.search(text) is not None


def may_be_secret(text: str) -> bool:
    """Whether something in it looks like a password, which only what was said around it can tell."""
    return _PASSWORD_LIKE.search(text) is not None


def _without_cards(text: str, around: str) -> str:
    cards = bool(_PAID_WITH.search(f"{around} {text}"))
    without_card = _CARD.sub(lambda m: REDACTED if cards or _luhn(m[0]) or _SIXTEEN.fullmatch(m[0]) else m[0], text)
    return text if without_card == text else _EXPIRY.sub(REDACTED, without_card)


def _without_value(m: re.Match[str]) -> str:
    value = m[2]
    if _HARMLESS.fullmatch(value):
        return m[0]
    end = value[len(value.rstrip(".,;!?)")) :] if value[0] not in "\"'" else ""
    return f"{m[1]}{REDACTED}{end}"


def _luhn(number: str) -> bool:
    digits = [int(c) for c in reversed(number) if c.isdigit()]
    doubled = (d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(digits))
    return len(set(digits)) > 1 and sum(doubled) % 10 == 0
