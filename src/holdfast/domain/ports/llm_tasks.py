"""The tasks for a language model, bundled with its tariff. Without a language model everything works offline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.domain.ports.models import Analyst, Extractor, Filer, Judge, Summariser, Synthesiser
    from holdfast.domain.usage import Tariff


@dataclass(frozen=True, slots=True)
class LlmTasks:
    extractor: Extractor
    judge: Judge
    filer: Filer
    summariser: Summariser
    analyst: Analyst
    synthesiser: Synthesiser
    tariff: Tariff
    close: Callable[[], Awaitable[None]]
