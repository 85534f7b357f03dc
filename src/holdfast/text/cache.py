"""Caches of what was computed from texts. Whoever deletes texts clears them, so that none stays behind in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from weakref import WeakSet

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


class TextCache(Generic[T]):
    """What was computed from the last few texts, where computing it has to be awaited or belongs to one owner."""

    def __init__(self, max_texts: int) -> None:
        self._max_texts = max_texts
        self._values: dict[tuple[str, ...], T] = {}
        _caches.add(self)

    def get(self, *texts: str) -> T | None:
        return self._values.get(texts)

    def put(self, value: T, *texts: str) -> None:
        if len(self._values) >= self._max_texts:
            del self._values[next(iter(self._values))]
        self._values[texts] = value

    def clear(self) -> None:
        self._values.clear()


_caches: WeakSet[TextCache[Any]] = WeakSet()


def clear_text_caches() -> None:
    for clear in _clear_each:
        clear()
    for cache in list(_caches):
        cache.clear()
