"""Reads off a memory which attribute of which subject it states, and its value. Pure.

Two current memories that give one attribute of one subject different values contradict each other, whatever their keys.
Only values that can be told apart count: numbers, amounts, dates, times, addresses, links and names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.domain.types import Memory
from holdfast.text import tokens
from holdfast.text.lexicon.kinship import SEVERAL_OF_ONE
from holdfast.text.lexicon.patterns import ASIDE
from holdfast.text.values import AMOUNT, NUMBER, values

_NOW = r"(?:(?:now|currently|still|already|just|actually)\s+)*"
_OWNED = re.compile(
    rf"(?P<of>(?:The user|[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)?)['’]s?|The|Our)\s+(?P<what>[\w-]+(?: [\w-]+){{0,2}}?)\s+"
    rf"(?:is|are|was changed to|changed to|went (?:up|down) to)\s+{_NOW}(?P<called>called\s+|named\s+)?(?P<value>\S.*)",
    re.S,
)
"""Ana's budget is 4,000 euros; the deploy day is Tuesday."""
_DONE = re.compile(
    rf"(?P<of>The user(?: and others)?|[A-ZÀ-Þ][\w'-]*)\s+(?P<what>lives? in|works? (?:at|for)|weighs?|earns?|pays?|"
    rf"drives?|banks? with)\s+{_NOW}(?P<value>\S.*)",
    re.S,
)
_SEVERAL = re.compile(rf"(?:.*\b(?:{SEVERAL_OF_ONE})|.*[^s]s)$", re.I)
"""What a subject may have several of."""


@dataclass(frozen=True, slots=True)
class StatedAttribute:
    subject: str
    attribute: str
    sort: str
    value: tuple[str, ...]
    """The stems of the value."""


def stated_attribute(text: str) -> StatedAttribute | None:
    """The attribute that a statement gives one value; None when it is of another form, or its value of no type."""
    plain = ASIDE.sub("", text).strip()
    found = _OWNED.match(plain) or _DONE.match(plain)
    if found is None:
        return None
    named = found.re is _OWNED and found["called"] is not None
    if found.re is _OWNED and _SEVERAL.match(found["what"]):
        return None
    told = found["value"]
    first = next((value for value in values(told) if value.start == 0), None)
    if first is None:
        return None
    subject = found["of"].lower().removesuffix("'s").removesuffix("’s").removesuffix("'").removesuffix(" and others")
    attribute = " ".join(tokens.tokens(found["what"])) + (" name" if named else "")
    sort = NUMBER if first.type == AMOUNT else first.type
    return StatedAttribute(subject, attribute, sort, tuple(tokens.tokens(first.text)))


def clashing_attributes(memories: Sequence[Memory]) -> list[list[Memory]]:
    """Groups of memories of one kind that give one attribute of one subject different values; newest first."""
    by: dict[tuple[str, str, str, str], list[tuple[Memory, tuple[str, ...]]]] = defaultdict(list)
    for memory in memories:
        told = stated_attribute(memory.content)
        if told is not None and told.value:
            by[memory.kind, told.subject, told.attribute, told.sort].append((memory, told.value))
    found = [group for group in by.values() if _differ([value for _, value in group])]
    return [
        sorted((memory for memory, _ in group), key=lambda memory: (memory.updated_at, memory.id), reverse=True)
        for group in found
    ]


def _differ(told: Sequence[tuple[str, ...]]) -> bool:
    """Whether two of the values are neither the same nor a part of one another ("York", "York city")."""
    sets = [set(value) for value in told]
    return any(not (one <= other or other <= one) for one in sets for other in sets)
