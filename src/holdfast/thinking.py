"""A language model at work: the tasks it is asked for, and what it may cost. Without one everything goes on offline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .ledger import Tariff
from .ports import Analyst, Extractor, Filer, Judge, Summariser, Synthesiser


@dataclass(frozen=True, slots=True)
class Thinking:
    extractor: Extractor
    judge: Judge
    filer: Filer
    summariser: Summariser
    analyst: Analyst
    synthesiser: Synthesiser
    tariff: Tariff
    close: Callable[[], Awaitable[None]]
