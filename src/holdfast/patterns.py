"""Pure: regular expressions that cannot hang. Every set of states is stepped through once per character.

The subset of ECMA-262 that JSON Schemas use: literals, `.`, classes, `\\d \\w \\s` (ASCII, as there), groups, `|`, `^`,
`$` and repeats. What needs backtracking (backreferences, lookaround, `\\b`) is refused, and so is what would need more
than MOST_STATES states. A pattern is searched for, not matched from the start, as JSON Schema says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from .errors import InvalidInput, shown
from .pattern_text import Machine, Reader, Wrong

LONGEST = 500
MOST_KNOWN = 5_000
"""Steps remembered of one pattern."""
Spend = Callable[[int], None]


def _nothing(_: int) -> None: ...


class Pattern:
    """Ready to be searched for; what it has stepped through before, it steps through quickly."""

    def __init__(self, text: str) -> None:
        machine = Machine()
        first = machine.state()
        self._machine = machine
        self._last = Reader(text).whole()(machine, first)
        self._first = first
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def found_in(self, text: str, spend: Spend = _nothing) -> bool:
        """Whether it occurs in the text; `spend` hears how many states were visited."""
        states = self._closed({self._first}, start=True)
        for character in text:
            if self._last in states:
                return True
            known = self._steps.get((states, character))
            spend(1)
            states = self._step(states, character, spend) if known is None else known
        return self._last in states or self._last in self._closed(set(states), end=True)

    def _step(self, states: frozenset[int], character: str, spend: Spend) -> frozenset[int]:
        spend(len(states))
        code = ord(character)
        reached = {self._first}
        for state in states:
            edge = self._machine.on[state]
            if edge is not None and any(low <= code <= high for low, high in edge[0]):
                reached.add(edge[1])
        if len(self._steps) >= MOST_KNOWN:
            self._steps.clear()
        self._steps[states, character] = following = self._closed(reached)
        return following

    def _closed(self, states: set[int], *, start: bool = False, end: bool = False) -> frozenset[int]:
        machine, stack = self._machine, list(states)
        while stack:
            state = stack.pop()
            edges = [*machine.free[state]]
            edges += machine.at_start[state] if start else ()
            edges += machine.at_end[state] if end else ()
            new = set(edges) - states
            states |= new
            stack += new
        return frozenset(states)


@lru_cache(256)
def pattern(text: str, field: str = "pattern") -> Pattern:
    """The pattern, or a refusal that says why."""
    if len(text) > LONGEST:
        raise InvalidInput(f"{field} is {len(text)} characters long; the limit is {LONGEST}.", field=field)
    try:
        return Pattern(text)
    except Wrong as wrong:
        raise InvalidInput(f"{field} {shown(text)} is refused: {wrong}.", field=field) from None
