"""Idempotency of administrative writes: first responses, kept in memory for a day, for the same credential only.

Writes to a profile store theirs in the profile (domain/idempotency.py); administrative writes have no profile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request

from holdfast.api.rest.json_response import Json
from holdfast.domain.errors import KeyReused

KEPT_SECONDS = 86_400.0
MAX_KEPT = 10_000


class FirstAnswers:
    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._kept: dict[tuple[str, str], tuple[float, str, Json]] = {}

    async def first(self, request: Request, once: str | None, asked: Any, make: Callable[[], Awaitable[Json]]) -> Json:
        """Return the result of `make`, or the stored response if this credential has sent this key before."""
        if once is None:
            return await make()
        async with self._turn:
            return await self._first(request, once, asked, make)

    async def _first(self, request: Request, once: str, asked: Any, make: Callable[[], Awaitable[Json]]) -> Json:
        place, wish = (request.state.credential.id, once), f"{request.method} {request.url.path} {asked!r}"
        at, wished, answer = self._kept.get(place, (0.0, "", None))
        if answer is not None and time.monotonic() - at < KEPT_SECONDS:
            if wished != wish:
                raise KeyReused(
                    f"The idempotency key {once!r} was used for another request.",
                    field="idempotency_key",
                    fix="Use a new key for each request.",
                )
            return answer
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        answer = await make()
        self._kept[place] = (time.monotonic(), wish, answer)
        return answer
