"""Who pays for model calls: a profile's own account, month by month, with a ceiling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from .errors import ModelUnavailable
from .ports import Journal
from .spending import Spent, Usage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Tariff:
    """What tokens cost, per million, and how much a profile may use in a month."""

    input: float = 0.0
    output: float = 0.0
    ceiling: float | None = None
    """Money, or tokens when `tokens`; None for no limit."""
    tokens: bool = False

    def cost(self, spent: Spent | Usage) -> float:
        return (spent.input * self.input + spent.output * self.output) / MILLION

    def used(self, spent: list[Spent]) -> float:
        """In the ceiling's own unit."""
        return sum(each.input + each.output if self.tokens else self.cost(each) for each in spent)


@dataclass(frozen=True, slots=True)
class Ledger:
    """A profile's account."""

    journal: Journal
    tariff: Tariff
    clock: Callable[[], datetime]

    @property
    def month(self) -> str:
        return f"{self.clock().astimezone(UTC):%Y-%m}"

    async def check(self) -> None:
        if self.tariff.ceiling is None:
            return
        used = self.tariff.used(await self.journal.spent(self.month))
        if used >= self.tariff.ceiling:
            unit = " tokens" if self.tariff.tokens else ""
            raise ModelUnavailable(
                f"This profile has used {used:,.4g}{unit} of its {self.tariff.ceiling:,.4g}{unit} for {self.month}.",
                fix="Raise the setting llm_ceiling, or wait for the next month.",
            )

    async def note(self, usage: Usage) -> None:
        await self.journal.spend(self.month, usage)
