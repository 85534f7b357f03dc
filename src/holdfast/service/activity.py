"""Counts what background work and models do in this process, as it happens: reading the counts looks at no profile."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from holdfast.domain.usage import Usage

Work = Literal["digestion", "documents", "maintenance"]
DocumentOutcome = Literal["done", "failed", "retried"]


@dataclass(slots=True)
class Activity:
    """Counts since the process started."""

    digested: int = 0
    """Messages that were digested."""
    failures: Counter[Work] = field(default_factory=Counter)
    """Work that failed and will be retried or was set aside; of digestion, messages."""
    documents: Counter[DocumentOutcome] = field(default_factory=Counter)
    """How attempts at parsing a document ended. One that is unchanged is done."""
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(model, task) → calls."""
    tokens: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(model, task, "input", "output" or "cached") → tokens."""
    cost: dict[tuple[str, str], float] = field(default_factory=dict)
    """(model, task) → cost by the setting llm_price."""
    refusals: int = 0
    """Model calls that a profile's ceiling prevented."""

    def note_digestion(self, messages: int, failed: int) -> None:
        self.digested += messages - failed
        self.failures["digestion"] += failed

    def note_usage(self, usage: Usage, cost: float) -> None:
        call = (usage.model, usage.task)
        self.calls[call] += 1
        self.cost[call] = self.cost.get(call, 0.0) + cost
        for kind, tokens in (("input", usage.input), ("output", usage.output), ("cached", usage.cached)):
            self.tokens[(*call, kind)] += tokens
