"""Caches of what was computed from texts. Whoever deletes texts clears them, so that none stays behind in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
MAX_TEXTS = 4096
"""How many texts one cache holds: the hits of some hundred searches. Chosen by hand."""
MAX_CHARACTERS = 2000
"""Longer texts are computed again each time, so that a cache stays below a few megabytes. Chosen by hand."""
_clear_each: list[Callable[[], None]] = []


def cached_by_text(compute: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
    """Decorate a pure function of a text, so that it is computed once for texts that are read again and again."""
    cached: Any = lru_cache(MAX_TEXTS)(compute)
    _clear_each.append(cached.cache_clear)

    @wraps(compute)
    def look_up(text: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
        use = cached if len(text) <= MAX_CHARACTERS else compute
        found: T = use(text, *args, **kwargs)
        return found

    return look_up


def clear_text_caches() -> None:
    for clear in _clear_each:
        clear()
