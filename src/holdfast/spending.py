"""What model calls cost, and on whose account they are made. The account travels with the call; nobody passes it on.

    with spending.on(account):
        await chat.reply(ask)          # account.check() before each attempt, account.note(usage) after it

A stream settles with the account that is current when its first piece is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call cost, as the provider counts it."""

    model: str
    task: str
    input: int = 0
    output: int = 0
    cached: int = 0
    """Of the input, what the provider had read before."""

    def __bool__(self) -> bool:
        """Whether anything was counted; some servers count nothing."""
        return bool(self.input or self.output)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model cost a profile for one task in one month."""

    month: str
    """Such as 2026-11, in UTC."""
    model: str
    task: str
    calls: int
    input: int
    output: int
    cached: int = 0
    cost: float | None = None
    """By the setting llm_price, when there is one."""


@runtime_checkable
class Account(Protocol):
    """Who pays."""

    async def check(self) -> None:
        """Raises ModelUnavailable when the month's ceiling is reached."""
        ...

    async def note(self, usage: Usage) -> None: ...


_account: ContextVar[Account | None] = ContextVar("account", default=None)


def current() -> Account | None:
    return _account.get()


@contextmanager
def on(account: Account | None) -> Iterator[None]:
    """Model calls in this block are on this account; None makes them on nobody's."""
    before = _account.set(account)
    try:
        yield
    finally:
        _account.reset(before)
