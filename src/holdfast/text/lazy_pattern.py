"""A regular expression that is compiled at its first use: most of the time that importing patterns takes is compiling
those which a process never needs."""

from __future__ import annotations

import re
from typing import Any, cast


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, for calls of its own methods; the functions of `re` do not take it."""
    return cast("re.Pattern[str]", _LazyPattern(source, flags))


class _LazyPattern:
    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """A method or value of the compiled pattern, which is an attribute of its own from now on."""
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found
