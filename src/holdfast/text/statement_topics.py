"""Tells statements apart that sound alike but are about different things: one of several allergies, or the staging
environment beside production, or where a thing is beside what it is, or products of two kinds. Pure.
"""

from __future__ import annotations

import re

from holdfast.text import tokens
from holdfast.text.cache import cached_by_text
from holdfast.text.lazy_pattern import lazy_pattern
from holdfast.text.lexicon.patterns import TICKET
from holdfast.text.lexicon.products import PRODUCTS

ITEMISED_TOPICS = frozenset(("allergy", "intolerance", "condition"))
"""Topics of which a person may have several at a time, and which nobody should lose by mistake."""
ENVIRONMENTS = {
    "prod": "production",
    "production": "production",
    "staging": "staging",
    "test": "test",
    "dev": "development",
    "development": "development",
    "local": "local",
}
_ENVIRONMENT = re.compile(rf"\b(?:{'|'.join(ENVIRONMENTS)})\b", re.I)
_PRODUCT_NAMES = tuple(lazy_pattern(rf"\b(?:{names})(?!\w)", re.I) for _, names in PRODUCTS)
_ASKS_PRODUCT = lazy_pattern(
    r"\W*(?:which|what) (?P<what>[\w -]{2,40}?) (?:do|does|did|are|is|am|should) .{1,30}? (?:use|using|used)\b", re.I
)
_THING = r"(?:my|our|the(?! user (?:is|and)\b)|[\w-]+'s)\b[\w' -]{2,40}? (?:is|are) "
_PLACE_OF_THING = re.compile(rf"{_THING}(?:now |still |back )?(?:in|at|on|with|away|back)\b", re.I)
_SORT_OF_THING = re.compile(rf"{_THING}(?:now |still )?an? ", re.I)


def lacks_item_of(key: str | None, text: str) -> bool:
    """Whether the key is that of one of several of its sort ("allergy-nuts"), which the text does not name."""
    sort, _, item = (key or "").rpartition(".")[2].partition("-")
    return sort in ITEMISED_TOPICS and not set(tokens.tokens(item.replace("-", " "))) & set(tokens.tokens(text))


def name_two_environments(one: str, other: str) -> bool:
    """Whether each text names an environment of a system, and not the same."""
    mine, theirs = _environments(one), _environments(other)
    return bool(mine) and bool(theirs) and mine.isdisjoint(theirs)


@cached_by_text
def _environments(text: str) -> frozenset[str]:
    return frozenset(ENVIRONMENTS[name.lower()] for name in _ENVIRONMENT.findall(text))


def name_other_products(one: str, other: str) -> bool:
    """Whether each text names well-known products, of kinds that the other has none of: a new testing tool says nothing
    of the package manager."""
    mine = _product_kinds(one)
    theirs = _product_kinds(other) if mine else mine
    return bool(theirs) and mine.isdisjoint(theirs)


def name_other_tickets(one: str, other: str) -> bool:
    """Whether the first text names tickets, and none of those that the second one names."""
    theirs = TICKET.findall(other) if TICKET.search(one) else []
    return bool(theirs) and not any(names_ticket(one, ticket) for ticket in theirs)


def names_ticket(text: str, ticket: str) -> bool:
    """Whether the text names the ticket, in full or by its number alone: "131 is fixed"."""
    project, _, number = ticket.partition("-")
    return re.search(rf"(?<![\w.,-])(?:{project}-)?{number}\b(?![.,:]?\d|[%-])", text) is not None


@cached_by_text
def _product_kinds(text: str) -> frozenset[int]:
    """The numbers of the kinds of which the text names a product."""
    return frozenset(n for n, names in enumerate(_PRODUCT_NAMES) if names.search(text))


def names_no_such_product(question: str, statement: str) -> bool:
    """Whether a tool is asked for by what it is, and the statement names well-known products of other kinds only: "use
    uv, not pip" says nothing of the editor."""
    asked = _ASKS_PRODUCT.match(question)
    kinds = _product_kinds(statement) if asked is not None else frozenset()
    if asked is None or not kinds or any(re.search(rf"\b(?:{PRODUCTS[n][0]})\b", question, re.I) for n in kinds):
        return False
    return set(tokens.question_words(asked["what"])).isdisjoint(tokens.question_words(statement))


def tells_where_not_what(new: str, old: str) -> bool:
    """Whether the new text says where a thing is, and the old one what it is: "my car is in the garage" and "my car is
    a red Skoda" both hold."""
    return _PLACE_OF_THING.match(new) is not None and _SORT_OF_THING.match(old) is not None
