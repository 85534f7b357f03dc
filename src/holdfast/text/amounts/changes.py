"""What a statement changes an amount by without naming the amount: "it goes up by 14 a month". Pure."""

from __future__ import annotations

import re

from holdfast.text import tokens
from holdfast.text.amounts.numbers import A_FIGURE, A_NUMBER_WORD, amount_of
from holdfast.text.lexicon.sentences import ENDS
from holdfast.text.similarity import UNSPECIFIC_STEMS

_FIGURE = rf"(?:{A_FIGURE}|(?:{A_NUMBER_WORD})(?= (?:euros|pounds|quid|dollars|bucks|francs|more|extra)\b))"
AMOUNT = re.compile(rf"(?<![\w.,:]){_FIGURE}(?![\w:]|[.,]\d)", re.I)
_CURRENCY = (
    r"(?: ?(?:€|£|\$|euros?|eur|pounds?|quid|dollars?|bucks|francs?|kronor|kroner|kr|zł|zloty|chf|usd|gbp)(?!\w))?"
)
_RISES = r"up(?:ped|ping)?|rises?|rose|risen|rais(?:e[sd]?|ing)|increas\w+|bump(?:ed|ing)"
_FALLS = r"down|drop(?:s|ped)?|falls?|fell|fallen|reduc\w+|cut(?:ting)?|lower(?:ed|s|ing)"
_CHANGE = re.compile(
    rf"\b(?:{_RISES}|(?P<falls>{_FALLS}))\b[\w ]{{0,20}}? by (?P<by>that\b|{_FIGURE})"
    rf"|(?<![\w.,:])(?P<amount>{_FIGURE}){_CURRENCY}(?: an? \w+| each(?: time)?| per \w+)? "
    r"(?:more|extra|on top|dearer|additional|(?P<less>less|off|cheaper))\b"
    rf"|\b(?:goes|go|going|went|gone) (?:up|(?P<sinks>down)) (?P<step>{_FIGURE}){_CURRENCY}"
    r"(?! ?(?:%|per ?cent|floors?|am|pm)\b)"
    rf"|\b(?:another|an extra|an additional|extra) (?P<added>{_FIGURE}){_CURRENCY}(?![\w:])",
    re.I,
)
_COUNT_FALLS = re.compile(rf"\b(?:lost|sold|gave away|culled|returned|threw out) (?P<by>{_FIGURE}) (?=[a-z])", re.I)
_NAMES_BOTH = re.compile(
    r"\bfrom\b[^.]*\d[^.]*\bto\b|\b(?:by|up|down) [$€£]?\d\S*(?: [a-z€£$]+)? to [$€£]?\d|"
    r"\b(?:so|makes|making|now|total(?:ling)?|=) [$€£]?\d",
    re.I,
)
_BORDER = re.compile(rf"(?<=[{ENDS}])\s+|,\s+|;\s+|\n+")
_FIGURE_IN = re.compile(r"\d")


def amount_change(sentence: str, *, counted: bool = False) -> float | None:
    """By how much an amount, or a count, changes that the sentence does not name; None where it names it, or tells no
    change."""
    if counted and (fewer := _COUNT_FALLS.search(sentence)):
        return -amount_of(fewer["by"])
    m = _CHANGE.search(sentence)
    if m is None or _NAMES_BOTH.search(sentence):
        return None
    figure = m["by"] or m["amount"] or m["added"] or m["step"]
    if figure.lower() == "that":
        figures = AMOUNT.findall(sentence)
        if len(figures) != 1:
            return None
        figure = figures[0]
    return -amount_of(figure) if m["falls"] or m["less"] or m["sinks"] else amount_of(figure)


def changes_amount_of(text: str, statement: str) -> bool:
    """Whether a text only changes the amount that the statement names: both hold together, neither ends the other."""
    if not _FIGURE_IN.search(statement):
        return False
    told = [clause for clause in _BORDER.split(text) if amount_change(clause) is not None]
    about = set(tokens.question_words(statement)) - UNSPECIFIC_STEMS
    return any(about.intersection(tokens.question_words(clause)) for clause in told)
