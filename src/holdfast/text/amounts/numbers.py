"""Pure: the amounts in a text: figures with their signs and thousands, and small numbers in words."""

from __future__ import annotations

import re

from holdfast.text.lexicon.numbers import ONE_TO_NINETEEN, TENS

_WORDS = {word: n for n, word in enumerate(ONE_TO_NINETEEN, 1)} | {word: 10 * n for n, word in enumerate(TENS, 2)}
A_NUMBER_WORD = "|".join(_WORDS)
A_FIGURE = r"[$€£]?(?:\d{1,3}(?:[,.]\d{3})+|\d+(?:\.\d+|,\d\d?)?)(?: ?k\b| ?thousand\b)?"
_NUMBER = re.compile(
    rf"(?<![\w.,:-]){A_FIGURE}(?!\w|[.,:]\d)|\b(?:{A_NUMBER_WORD})(?:-(?:{'|'.join(ONE_TO_NINETEEN[:9])}))?\b", re.I
)


def amounts_in(text: str) -> list[str]:
    """The figures and numbers of a text as written."""
    return _NUMBER.findall(text)


def amount_of(figure: str) -> float:
    """The number of a figure: "4.860" and "4,860" are thousands, "5k", "$1.50", "1,50", "sixty-five"."""
    thousands = re.search(r"k|thousand", figure, re.I) is not None and any(map(str.isdigit, figure))
    plain = re.sub(r"[^\d.,]", "", figure)
    if not plain:
        return float(sum(_WORDS[word] for word in figure.lower().split("-")))
    if re.fullmatch(r"\d{1,3}(?:[,.]\d{3})+", plain):
        plain = re.sub(r"[,.]", "", plain)
    plain = plain.replace(",", ".")
    return float(plain) * (1000 if thousands else 1)


def sign_of(figure: str) -> str:
    """The currency's sign before a figure, if there is one."""
    return figure[0] if figure[0] in "$€£" else ""


def written_amount(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.2f}"
