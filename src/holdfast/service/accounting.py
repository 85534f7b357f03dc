"""Charges model calls to a profile's monthly account and enforces its ceiling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from holdfast.domain.errors import ModelUnavailable
from holdfast.domain.ports.storage import Journal
from holdfast.domain.usage import Tariff, Usage
from holdfast.service.activity import Activity


@dataclass(frozen=True, slots=True)
class MonthlyAccount:
    """One profile's monthly account: checks the ceiling before a model call and records the usage after it."""

    journal: Journal
    tariff: Tariff
    clock: Callable[[], datetime]
    activity: Activity

    @property
    def month(self) -> str:
        return f"{self.clock().astimezone(UTC):%Y-%m}"

    async def check(self) -> None:
        if self.tariff.ceiling is None:
            return
        used = self.tariff.used(await self.journal.spent(self.month))
        if used >= self.tariff.ceiling:
            self.activity.refusals += 1
            unit = " tokens" if self.tariff.tokens else ""
            raise ModelUnavailable(
                f"This profile has used {used:,.4g}{unit} of its {self.tariff.ceiling:,.4g}{unit} for {self.month}.",
                fix="Raise the setting llm_ceiling, or wait for the next month.",
            )

    async def note(self, usage: Usage) -> None:
        self.activity.note_usage(usage, self.tariff.cost(usage))
        await self.journal.spend(self.month, usage)
