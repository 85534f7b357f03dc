"""Pure: which of a profile's agents a question is about, and the question without them.

"What did the sales agent tell her yesterday?" is about what the agent called `sales` wrote. A name alone is treated as
an ordinary word. It counts as an agent's name next to `agent`, `assistant` or `bot`, as the subject of a verb such as
"tell" or "said", after "according to", or when it has several words ("claude-code") and all of them occur together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.text.lexicon.calendar import A_FULL_MONTH, A_FULL_WEEKDAY
from holdfast.text.tokens import STOP_WORDS

ROLES = ("agent", "assistant", "bot", "copilot")
_TOLD = (
    r"(?:told|tell|tells|said|say|says|mention|mentioned|promise|promised|suggest|suggested|recommend|recommended"
    r"|advise|advised|answer|answered|write|wrote|note|noted|report|reported|claim|claimed|learn|learned|learnt"
    r"|remember|remembered|offer|offered|find|found|ask|asked|do|explain|explained|confirm|confirmed)"
)
_CUE = re.compile(rf"\b(?:{'|'.join(ROLES)}|according to|{_TOLD})\b|\w-\w", re.I)
_SAID_OR_WHEN = re.compile(
    rf"{_TOLD}|told|her|him|them|me|us|everything|anything|all|just|yesterday|today|tonight|now|ago|recently|lately"
    rf"|(?:this|last|past|next|previous|before|after|since|on|in|at)|{A_FULL_WEEKDAY}"
    r"|(?:second|minute|hour|day|week|weekend|fortnight|month|year|morning|noon|afternoon|evening|night|time)s?"
    rf"|(?:{A_FULL_MONTH})|\d+\w*"
)
_PARTS = re.compile(r"[^\W_]+")
_GAP = r"[\W_]+"


@dataclass(frozen=True, slots=True)
class AgentMention:
    """The agents, and the question's text without their names."""

    agents: tuple[str, ...]
    rest: str

    @property
    def anything(self) -> bool:
        """Whether the question asks for anything they said: the rest contains only a time and a recipient."""
        return all(word in STOP_WORDS or _SAID_OR_WHEN.fullmatch(word) for word in _PARTS.findall(self.rest.casefold()))


def may_mention_agent(text: str) -> bool:
    """Whether the text may name an agent, so that looking up the profile's agents is worthwhile."""
    return _CUE.search(text) is not None


def agents_mentioned(text: str, agents: Iterable[str]) -> AgentMention | None:
    """Finds which of these agents the text names as agents; None when it names none."""
    found = {agent: match.span() for agent in agents if (match := _agent_match(text, agent)) is not None}
    if not found:
        return None
    rest = text
    for start, stop in sorted(set(found.values()), reverse=True):
        rest = f"{rest[:start]} {rest[stop:]}"
    return AgentMention(tuple(sorted(found)), " ".join(rest.split()))


def _agent_match(text: str, agent: str) -> re.Match[str] | None:
    words = [part.casefold() for part in _PARTS.findall(agent)]
    core = [word for word in words if word not in ROLES] or words
    if not words:
        return None
    name, whole = (_GAP.join(map(re.escape, each)) for each in (core, words))
    role = "|".join(ROLES)
    ways = [
        rf"\b(?:the\s+|our\s+|my\s+)?{name}{_GAP}(?:{role})\b(?:['’]s)?",
        rf"\b(?:the\s+)?(?:{role})\s+{name}\b(?:['’]s)?",
        rf"(?<=\bdid )(?:the )?{name}(?= {_TOLD}\b)",
        rf"(?<=\bhas )(?:the )?{name}(?= {_TOLD}\b)",
        rf"\b{name}(?= (?:has |had )?(?:told|said|mentioned|promised|suggested|recommended|advised|wrote|noted)\b)",
        rf"\baccording to (?:the )?{name}\b",
    ]
    if len(words) > 1:
        ways.append(rf"\b{whole}\b")
    for way in ways:
        match = re.search(way, text, re.I)
        if match is not None:
            return match
    return None
