"""Token usage of model calls, its tariff, and the account that calls are charged to (a context variable).

    with charged_to(account):
        await chat.reply(ask)          # account.check() before each attempt, account.note(usage) after it

A stream is charged to the account that is current when its first piece is requested.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one model call, as counted by the provider."""

    model: str
    task: str
    input: int = 0
    output: int = 0
    cached: int = 0
    """The part of the input that the provider had cached."""

    def __bool__(self) -> bool:
        """Whether tokens were counted; some servers do not count any."""
        return bool(self.input or self.output)


@dataclass(frozen=True, slots=True)
class Spent:
    """The usage of one model by one profile, for one task in one month."""

    month: str
    """A month in UTC, such as 2026-11."""
    model: str
    task: str
    calls: int
    input: int
    output: int
    cached: int = 0
    cost: float | None = None
    """Computed from the setting llm_price, if set."""


@runtime_checkable
class Account(Protocol):
    """The account that model calls are charged to."""

    async def check(self) -> None:
        """Raise ModelUnavailable when the month's ceiling is reached."""
        ...

    async def note(self, usage: Usage) -> None: ...


_account: ContextVar[Account | None] = ContextVar("account", default=None)


def current_account() -> Account | None:
    return _account.get()


@contextmanager
def charged_to(account: Account | None) -> Iterator[None]:
    """Charge model calls in this block to this account; None charges nobody."""
    before = _account.set(account)
    try:
        yield
    finally:
        _account.reset(before)


MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Tariff:
    """The price per million tokens, and how much a profile may use in a month."""

    input: float = 0.0
    output: float = 0.0
    ceiling: float | None = None
    """An amount of money, or of tokens when `tokens` is True; None for no limit."""
    tokens: bool = False

    def cost(self, spent: Spent | Usage) -> float:
        return (spent.input * self.input + spent.output * self.output) / MILLION

    def used(self, spent: list[Spent]) -> float:
        """The amount used, in the unit of the ceiling."""
        return sum(each.input + each.output if self.tokens else self.cost(each) for each in spent)
