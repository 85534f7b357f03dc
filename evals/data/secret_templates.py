"""Texts with secrets in every format, made anew from templates, and ordinary texts: `redaction/form_*.txt`."""

from __future__ import annotations

import base64
import random
import re
import string
import uuid
from pathlib import Path

FORMS = Path(__file__).with_name("redaction")
_FIELD = re.compile(r"\{(an|al|up|hex|uphex|b64|b58|b32|d|sym|pw\w?|uuid|basic|card|amex|iban|ssn9?)(?::([^}]*))?\}")
_MARKED = re.compile("«([^»]*)»")
_ALPHABETS = {
    "an": string.ascii_letters + string.digits,
    "al": string.ascii_letters,
    "up": string.ascii_uppercase + "234567",
    "hex": "0123456789abcdef",
    "uphex": "0123456789ABCDEF",
    "b64": string.ascii_letters + string.digits + "+/",
    "b58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "b32": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "d": string.digits,
    "sym": string.ascii_letters + string.digits + "!@#%^*(-_=+)",
}
_WORDS = ("river", "Falcon", "tulip", "Copper", "maple", "Orbit", "velvet", "Tiger", "winter", "Pepper", "Quartz")


def secret_cases(seed: int) -> list[tuple[str, str, list[str]]]:
    """Family, text and the secrets in it."""
    made = []
    for n, line in enumerate(_lines("form_secrets.txt")):
        family, text = line.split(" | ", 1)
        chance = random.Random(f"{seed}-{n}")
        text = _FIELD.sub(lambda m: _body(m[1], m[2] or "", chance), text)  # noqa: B023
        made.append((family, text.replace("«", "").replace("»", ""), _MARKED.findall(text)))
    return made


def ordinary_texts() -> list[str]:
    return _lines("form_ordinary.txt")


def _lines(name: str) -> list[str]:
    lines = (FORMS / name).read_text("utf-8").split("\n")
    return [line.replace("⏎", "\n") for line in lines if line and not line.startswith("# ")]


def _body(sort: str, option: str, chance: random.Random) -> str:
    if sort in _ALPHABETS:
        return _drawn(_ALPHABETS[sort], int(option), chance)
    if sort.startswith("pw"):
        return _password(sort[2:], chance)
    if sort == "uuid":
        return str(uuid.UUID(int=chance.getrandbits(128), version=4))
    if sort == "basic":
        return base64.b64encode(f"bob:{_password('', chance)}".encode()).decode()
    if sort == "card":
        return _grouped(_with_luhn("4" + _drawn(string.digits, 14, chance)), option)
    if sort == "amex":
        number = _with_luhn("37" + _drawn(string.digits, 12, chance))
        return f"{number[:4]} {number[4:10]} {number[10:]}"
    if sort == "iban":
        return _iban(option, chance)
    parts = (chance.randint(100, 665), chance.randint(10, 99), chance.randint(1000, 9999))
    return "{}{}{}".format(*parts) if sort == "ssn9" else "{}-{}-{}".format(*parts)


def _drawn(alphabet: str, count: int, chance: random.Random) -> str:
    """Random characters, among the first three of them a letter and a digit where the alphabet has both."""
    drawn = [chance.choice(alphabet) for _ in range(count)]
    if count > 3 and any(map(str.isalpha, alphabet)) and any(map(str.isdigit, alphabet)):
        drawn[1] = chance.choice([each for each in alphabet if each.isdigit()])
        drawn[2] = chance.choice([each for each in alphabet if each.isalpha()])
    return "".join(drawn)


def _password(where: str, chance: random.Random) -> str:
    """As people choose them; `where` it stands decides which signs it may have."""
    one, two = chance.choice(_WORDS), chance.choice(_WORDS)
    sign = chance.choice({"u": "-_!*", "s": "!#%*", "c": "!#-*", "a": "!%_"}.get(where, "!#$%&*+@?-_"))
    number = chance.randint(10, 9999)
    forms = [
        f"{one}{number}{sign}{two}",
        f"{one}{sign}{number}{two}7",
        one.replace("e", "3").replace("o", "0").replace("i", "1") + sign + two.lower() + str(number),
        _drawn(_ALPHABETS["an"], 12, chance),
        f"{one.lower()}{number}",
        f"{one}-{two}-{number}",
    ]
    return forms[0] if where == "x" else chance.choice(forms)


def _with_luhn(digits: str) -> str:
    total = sum(
        d if i % 2 else d * 2 - 9 * (d > 4) for i, d in enumerate(int(each) for each in reversed(digits))
    )  # fmt: skip
    return digits + str(-total % 10)


def _grouped(number: str, option: str) -> str:
    if option == "fw":
        return "".join(chr(ord(each) + 0xFEE0) for each in number)
    gap = {"nb": "\u00a0", "en": "\u2013"}.get(option, option)
    return gap.join(number[n : n + 4] for n in range(0, 16, 4))


def _iban(option: str, chance: random.Random) -> str:
    country, length = {"DE": ("DE", 18), "gb": ("GB", 18), "FR": ("FR", 23), "NL": ("NL", 14)}[option]
    bank = _drawn(string.digits, length, chance)
    if country in ("GB", "NL"):
        bank = _drawn(string.ascii_uppercase, 4, chance) + bank[4:]
    check = 98 - int("".join(str(int(c, 36)) for c in f"{bank}{country}00")) % 97
    account = f"{country}{check:02}{bank}"
    return account if option == "NL" else " ".join(account[n : n + 4] for n in range(0, len(account), 4))
