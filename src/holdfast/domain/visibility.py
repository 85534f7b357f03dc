"""Pure: which agents' writing an agent may see, which agent its own writing is recorded as, and what expiry hides.

Every agent sees what no agent wrote (a person's own words). An agent sees its own writing, and that of other agents as
its rule allows: all, none (`own`), or a list of agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.identifiers import validate_text
from holdfast.domain.limits import MAX_PROFILE_BYTES
from holdfast.domain.types import Either, Memory, Not, Test, Where

MAX_READABLE_AGENTS = 100
Reads = str | Iterable[str] | None
"""`all`, `own`, or names of agents."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """What an agent sees of a profile. Without an agent: everything, and writes keep the agent that they name."""

    agent: str | None = None
    reads: tuple[str, ...] | None = None
    """The other agents whose writing is visible; None for all."""

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

    def narrowed(self, more: Visibility) -> Visibility:
        """The intersection of both; the agent is this one's if it has one."""
        if more.reads is None or self.reads is None:
            return Visibility(self.agent or more.agent, self.reads if more.reads is None else more.reads)
        return Visibility(self.agent or more.agent, tuple(each for each in more.reads if self.sees(each)))


def validate_agent(name: object, field: str = "agent") -> str:
    return validate_text(name, field, limit=MAX_PROFILE_BYTES)


def validate_reads(given: Reads, agent: str | None) -> tuple[str, ...] | None:
    """Validate a rule and return its stored form: None for everything, else the names of the other agents."""
    if given is None or given == "all":
        return None
    if agent is None:
        raise InvalidInput("reads is given without agent; give both.", field="agent")
    if given == "own":
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"reads is {quoted_value(given)}; use all, own, or a list of agents.", field="reads")
    named = sorted({validate_agent(each, "reads") for each in given})
    if len(named) > MAX_READABLE_AGENTS:
        raise InvalidInput(f"reads names {len(named)} agents; the limit is {MAX_READABLE_AGENTS}.", field="reads")
    return tuple(named)


def is_expired(memory: Memory, now: datetime) -> bool:
    return memory.expires_at is not None and memory.expires_at <= now


def unexpired_versions(versions: Sequence[Memory], now: datetime) -> list[Memory]:
    """The versions newer than the newest expired one: with a version that expired go those that it superseded."""
    last = max((each.version for each in versions if is_expired(each, now)), default=0)
    return [each for each in versions if each.version > last]
