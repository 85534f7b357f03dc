"""Finds numbers that identify a card, an account or a person, by their check digits, their groups or their name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.text.redaction.normalised_text import Span

MIN_CARD_DIGITS = 13
"""The shortest card numbers have 13 digits."""
_GAP = r"(?: ?[-./_] ?| {1,2})?"
_CARD = re.compile(rf"(?<![A-Za-z0-9_.-])\d(?:{_GAP}\d){{12,18}}(?![A-Za-z0-9_-])")
_GROUPED = re.compile(
    r"(?<![\d.-])(?<!\d )[2-6]\d{3}( ?[-./_] ?| {1,2})\d{4}\1\d{4}\1\d{4}(?![\d-]| \d)"
    r"|(?<![\d.-])3[47]\d\d([ .-])\d{6}\2\d{5}(?![\d-])"
)
"""In the groups of a card number, which may be mistyped and so fail the check."""
_ISSUERS = re.compile(
    r"4\d{12}(?:\d{3}(?:\d{3})?)?|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d"
    r"|4[4-9]\d)\d{12}"
    r"|62\d{14,17}|35\d{14}|(?:50|5[6-9]|6\d)\d{11,17}"
)
_EXPIRY = re.compile(r"(?<![\d/])(?:0?[1-9]|1[0-2])\s?[/-]\s?(?:20)?\d\d(?![\d/])")
_VERIFICATION_CODE = re.compile(
    r"\b(?:cvv2?|cvc2?|csc|security code)\b[^\w\n]{0,3}(?:is |was |= ?|: ?)?(?P<code>\d{3,4})(?![\d.,]?\d)", re.I
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2})\d\d(?:[ -]?[A-Za-z0-9]){11,33}")
_IBAN_LENGTHS = {
    country: int(length)
    for length, countries in (
        entry.split(":")
        for entry in (
            "15:NO 16:BE 18:DK FO FI GL NL SD FK 19:MK SI 20:AT BA EE KZ LT LU XK MN 21:HR LV LI CH 22:BH BG CR GE"
            " DE IE ME RS"
            " GB VA 23:GI IQ IL TL AE SO OM 24:AD CZ MD PK RO SA SK ES SE TN VG 25:PT ST LY 26:IS TR 27:FR GR IT M"
            "R MC SM BI"
            " DJ 28:AL AZ BY CY DO GT HU LB PL NI 29:BR EG PS QA UA 30:JO KW MU YE 31:MT SC 32:LC 33:RU"
        ).replace(" ", ",").replace(",1", " 1").replace(",2", " 2").replace(",3", " 3").split()
    )
    for country in countries.split(",")
}  # fmt: skip
_SSN = re.compile(r"(?<![A-Za-z0-9_.-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![A-Za-z0-9_-])")
_CPF = re.compile(r"(?<![\w.-])\d{3}\.\d{3}\.\d{3}-\d\d(?![\w-])")
_IDENTITY = re.compile(
    r"\b(?:ssn|social security(?: (?:number|no\.?|nr|#))?|social insurance(?: number)?|s\.s\.n\.?|itin|nino|ni number"
    r"|national insurance(?: (?:number|no\.?))?|national id(?: (?:number|card))?|tax(?:payer)? (?:id"
    r"|identification|number|file number)"
    r"(?: number)?|tfn|passport(?: (?:number|no\.?|nr\.?|#))?|(?:driver'?s?|driving) licen[cs]e(?: (?:number"
    r"|no\.?|#))?"
    r"|identity card(?: number)?|id card(?: number)?|aadhaar(?: number)?|pan card(?: number)?"
    r"|health insurance number|nhs number"
    r"|medicare(?: number| no\.?)?|bank account(?: (?:number|no\.?|nr))?|account and routing numbers?"
    r"|routing(?: (?:number|no\.?))?"
    r"|sort code|iban|bic/iban|konto(?:nummer|nr\.?)|sozialversicherungsnummer|steuer(?:liche )?-?(?:id"
    r"|identifikationsnummer|nummer)"
    r"|personalausweis(?:nummer)?|reisepass(?:nummer)?|num[ée]ro de s[ée]curit[ée] sociale|num[ée]ro de passeport"
    r"|passeport"
    r"|pasaporte|passaporto|dni|nie|nif|cpf|cnpj|codice fiscale|bsn|burgerservicenummer|pesel|personnummer"
    r"|cpr(?:-nummer)?"
    r"|curp|(?-i:SIN|NIE|NIF|EIN|TIN)|account (?:number|no\.?)|account(?= \d{10}(?!\d))"
    r"|tc kimlik(?: no)?|снилс|инн|паспорт|身份证(?:号码?)?"
    r"|マイナンバー)(?![\w-])"
    r"(?:\s{1,8}(?:of|for|is|was|number|no\.?|my|the|ist|lautet|est|es|é|è|jest|är|är:|on file)\b"
    r"|\s?\([^()\n]{1,30}\)|'s)*(?P<far>(?:\s[^\W\d_]{1,14}){1,4}?(?:\s(?:is|ist|est|es|é|è|to|jest|är|er"
    r"|on)(?:\s(?:o|el|il))?(?=\s)"
    r"|(?=:)))?\s{0,8}[:=#-]?\s{0,8}[\"'(]?"
    r"(?P<number>(?=(?:[\w./-]*\d){5})[A-Za-z0-9][A-Za-z0-9./-]{4,24}(?: (?=[A-Za-z0-9]{0,6}\d)[A-Za-z0-9./-]{1,6}"
    r"){0,8}"
    r"|\d{1,4}(?:[ .-]\d{1,6}){1,8}[A-Za-z]?|[A-Z]{2}(?: ?\d\d){3} ?[A-D]|[A-Z]{1,2}\d?(?: \d{2,4}){2,5}[A-Z]?)",
    re.I,
)
_IDENTITY_SIGNS = (
    "ssn", "social", "s.s.n", " itin", "nino", "ni number", "national", "tax", "tfn", "passport", "licen", "identity",
    "id card", "aadhaar", "pan card", "nhs", "medicare", "health insurance", "account", "routing", "sort code",
    "iban", "konto", "sozial", "steuer", "ausweis", "reisepass", "sécurité", "securite", "passeport", "pasaporte",
    "passaporto", "dni", "nie", " nif ", "cpf", "cnpj", "codice", "bsn", "burger", "pesel", "personnummer", "cpr",
    "curp", "sin", "ein", "tin", "kimlik", "снилс", "инн", "паспорт", "身份证", "マイナンバー",
)  # fmt: skip
_LONG = re.compile(r"(?:\d[A-Za-z ./-]?){5}")
_PLAIN_NUMBER = re.compile(r"(?:19|20)\d\d|\d{4}-\d\d-\d\d|\d{1,2}[./-]\d{1,2}[./-](?:19|20)?\d\d|rfc\s?\d+")


def number_spans(text: str, low: str, digits: int, about_cards: bool) -> Iterator[Span]:
    """Where numbers of cards, accounts and persons stand; `about_cards` says that a card is spoken of."""
    cards = [*_card_spans(text, about_cards)] if digits >= MIN_CARD_DIGITS else []
    yield from cards
    if cards:
        yield from (m.span() for m in _EXPIRY.finditer(text))
    if digits >= 3 and any(map(low.__contains__, ("cvv", "cvc", "csc", "security code"))):
        yield from (m.span("code") for m in _VERIFICATION_CODE.finditer(text))
    if digits >= 9:
        yield from (m.span() for m in _SSN.finditer(text))
        yield from _iban_spans(text)
        yield from (m.span() for m in _CPF.finditer(text) if _passes_cpf(m[0]))
    if digits >= 5 and _LONG.search(text):
        for sign in filter(low.__contains__, _IDENTITY_SIGNS):
            yield from _identity_spans(text, low, sign)


def _identity_spans(text: str, low: str, sign: str) -> Iterator[Span]:
    """Numbers right after the words for them that hold the sign."""
    at = low.find(sign)
    while at >= 0:
        for m in _IDENTITY.finditer(text, max(0, at - 25), at + 120):
            least = 8 if m[0][:7].lower() == "account" else 5 if m["far"] is None else 6
            if sum(map(str.isdigit, m["number"])) >= least and (
                not _PLAIN_NUMBER.fullmatch(m["number"].rstrip("./-")) or m[0][:9].lower() == "sort code"
            ):
                yield m.span("number")
        at = low.find(sign, at + 60)


def _card_spans(text: str, about_cards: bool) -> Iterator[Span]:
    for m in _CARD.finditer(text):
        yield from (grouped.span() for grouped in _GROUPED.finditer(text, m.start(), m.end()))
        if any(each in m[0] for each in "./_"):
            continue
        number = "".join(filter(str.isdigit, m[0]))
        if about_cards or (_ISSUERS.fullmatch(number) and _passes_luhn(number)):
            yield m.span()


def _passes_luhn(number: str) -> bool:
    digits = [int(each) for each in reversed(number)]
    doubled = (d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(digits))
    return len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _passes_cpf(written: str) -> bool:
    """Whether the last two digits check those before, as in the numbers of persons in Brazil."""
    digits = [int(each) for each in written if each.isdigit()]
    checks = (sum(d * w for d, w in zip(digits, range(n + 1, 1, -1), strict=False)) * 10 % 11 % 10 for n in (9, 10))
    return [*checks] == digits[9:]


def _iban_spans(text: str) -> Iterator[Span]:
    for m in _IBAN.finditer(text):
        length = _IBAN_LENGTHS.get(m[1].upper())
        if length is None:
            continue
        places = [n for n in range(m.start(), m.end()) if text[n].isalnum()][:length]
        account = "".join(text[n] for n in places).upper()
        if len(account) == length and int("".join(str(int(c, 36)) for c in account[4:] + account[:4])) % 97 == 1:
            yield places[0], places[-1] + 1
