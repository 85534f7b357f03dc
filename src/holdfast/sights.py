"""Pure: whose writing is seen, and as whose writing something is written.

What no agent wrote (a person's own words) is seen by every agent. What an agent wrote is seen by that agent, and by
others as far as their rule says: everything, their own, or a list of agents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .errors import InvalidInput, shown
from .names import PROFILE_BYTES, text
from .types import Either, Not, Test, Where

MOST = 100
Reads = str | Iterable[str] | None
"""`all`, `own`, or agents by name."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What an agent sees of a profile. Without an agent it is everything, and what is written keeps its own agent."""

    agent: str | None = None
    reads: tuple[str, ...] | None = None
    """Other agents whose writing is seen; None for everybody's."""

    @property
    def whole(self) -> bool:
        return self.reads is None

    def sees(self, agent: str | None) -> bool:
        return self.reads is None or agent is None or agent == self.agent or agent in self.reads

    def where(self) -> Where | None:
        if self.reads is None:
            return None
        mine = tuple(dict.fromkeys([*([self.agent] if self.agent else []), *self.reads]))
        return Either((Not(Test("agent", "exists", True)), Test("agent", "in", mine)))

    def narrowed(self, more: Sight) -> Sight:
        """What is left when both hold; the agent is this one's where it has one."""
        if more.reads is None or self.reads is None:
            return Sight(self.agent or more.agent, self.reads if more.reads is None else more.reads)
        return Sight(self.agent or more.agent, tuple(each for each in more.reads if self.sees(each)))


def agent_of(name: object, field: str = "agent") -> str:
    return text(name, field, limit=PROFILE_BYTES)


def reads_of(given: Reads, agent: str | None) -> tuple[str, ...] | None:
    """The rule as it is kept: None for everything, else the other agents, by name."""
    if given is None or given == "all":
        return None
    if agent is None:
        raise InvalidInput("What an agent may read needs the agent.", field="agent")
    if given == "own":
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"reads is {shown(given)}; use all, own, or a list of agents.", field="reads")
    named = sorted({agent_of(each, "reads") for each in given})
    if len(named) > MOST:
        raise InvalidInput(f"reads names {len(named)} agents; the limit is {MOST}.", field="reads")
    return tuple(named)
