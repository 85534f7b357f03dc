"""Pure: regular expressions that cannot hang, matched by simulating a state machine, one step per character.

Supported is the subset of ECMA-262 that JSON Schemas use: literals, `.`, classes, `\\d \\w \\s` (ASCII, as in
ECMA-262), groups, `|`, `^`, `$` and repeats. A pattern is rejected when it needs backtracking (backreferences,
lookaround, `\\b`) or more than MOST_STATES states. A pattern may match anywhere in the text, as JSON Schema specifies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.ingest.kinds.safe_regex_parser import Machine, PatternParser, RefusedPattern

LONGEST = 500
MOST_KNOWN = 5_000
"""How many transitions of one pattern are cached."""
Spend = Callable[[int], None]


def _nothing(_: int) -> None: ...


class Pattern:
    """A compiled pattern; transitions already computed are cached."""

    def __init__(self, text: str) -> None:
        machine = Machine()
        first = machine.state()
        self._machine = machine
        self._last = PatternParser(text).whole()(machine, first)
        self._first = first
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def found_in(self, text: str, spend: Spend = _nothing) -> bool:
        """Whether the pattern occurs in the text; `spend` is called with the number of states visited."""
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
    """Compiles the pattern. Raises InvalidInput with the reason when it is rejected."""
    if len(text) > LONGEST:
        raise InvalidInput(f"{field} is {len(text)} characters long; the limit is {LONGEST}.", field=field)
    try:
        return Pattern(text)
    except RefusedPattern as wrong:
        raise InvalidInput(f"{field} {quoted_value(text)} is refused: {wrong}.", field=field) from None
