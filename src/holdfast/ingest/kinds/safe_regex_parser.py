"""Pure: parses a regular expression into the states of the machine that searches for it; see safe_regex.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_STATES = 2_000
DEEPEST = 20
MOST_REPEATS = 1_000
Ranges = tuple[tuple[int, int], ...]
END = 0x10FFFF
DIGITS: Ranges = ((48, 57),)
WORDS: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
SPACES: Ranges = (
    (9, 13), (32, 32), (160, 160), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
LINE_ENDS: Ranges = ((10, 10), (13, 13), (0x2028, 0x2029))
CLASSES = {"d": DIGITS, "w": WORDS, "s": SPACES}
CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "0": 0}
_REPEAT = re.compile(r"\{(\d{1,5})(?:(,)(\d{1,5})?)?\}")


def _outside(ranges: Ranges) -> Ranges:
    """All characters that are in none of the ranges."""
    found, start = [], 0
    for low, high in sorted(ranges):
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    return (*found, (start, END)) if start <= END else tuple(found)


@dataclass(slots=True)
class Machine:
    """States by number: the characters on which each moves on, and where it may move without consuming one."""

    on: list[tuple[Ranges, int] | None] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)
    at_start: list[list[int]] = field(default_factory=list)
    at_end: list[list[int]] = field(default_factory=list)

    def state(self) -> int:
        if len(self.on) >= MOST_STATES:
            raise RefusedPattern(f"it needs more than {MOST_STATES} states; shorten its repeats")
        self.on.append(None)
        for edges in (self.free, self.at_start, self.at_end):
            edges.append([])
        return len(self.on) - 1


class RefusedPattern(Exception):
    """The reason why a pattern is rejected."""


Emit = Callable[[Machine, int], int]
"""Emits the states of one piece of the pattern, starting at a state; returns the state it ends in."""


class PatternParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def whole(self) -> Emit:
        found = self._choice()
        if self._at < len(self._text):
            raise RefusedPattern(f"the ) at {self._at} has no matching (")
        return found

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise RefusedPattern("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _sees(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def _choice(self) -> Emit:
        parts = [self._sequence()]
        while self._sees("|"):
            parts.append(self._sequence())

        def emit(machine: Machine, start: int) -> int:
            ends = []
            for part in parts:
                begin = machine.state()
                machine.free[start].append(begin)
                ends.append(part(machine, begin))
            end = machine.state()
            for each in ends:
                machine.free[each].append(end)
            return end

        return parts[0] if len(parts) == 1 else emit

    def _sequence(self) -> Emit:
        parts: list[Emit] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated(self._atom()))

        def emit(machine: Machine, start: int) -> int:
            for part in parts:
                start = part(machine, start)
            return start

        return emit

    def _repeated(self, part: Emit) -> Emit:
        least, most = 1, 1
        if self._sees("*"):
            least, most = 0, -1
        elif self._sees("+"):
            least, most = 1, -1
        elif self._sees("?"):
            least, most = 0, 1
        elif (given := _REPEAT.match(self._text, self._at)) is not None:
            self._at = given.end()
            least = int(given[1])
            most = least if given[2] is None else -1 if given[3] is None else int(given[3])
            if max(least, most) > MOST_REPEATS or -1 < most < least:
                raise RefusedPattern(f"{given[0]} is not a valid repetition, or is more than {MOST_REPEATS:,} times")
        else:
            return part
        self._sees("?")  # lazy or greedy makes no difference to whether it occurs
        return _times(part, least, most)

    def _atom(self) -> Emit:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return _one_of(self._class())
        if character == ".":
            return _one_of(_outside(LINE_ENDS))
        if character in "^$":
            return _edge("at_start" if character == "^" else "at_end")
        if character == "\\":
            return _one_of(self._escape(within=False))
        if character in "*+?{":
            raise RefusedPattern(f"{character} at {self._at - 1} has nothing to repeat")
        return _one_of(((ord(character), ord(character)),))

    def _group(self) -> Emit:
        self._depth += 1
        if self._depth > DEEPEST:
            raise RefusedPattern(f"its groups are nested deeper than {DEEPEST}")
        if self._sees("?") and not self._sees(":"):
            named = re.compile(r"<[A-Za-z_]\w*>").match(self._text, self._at)
            if named is None:
                raise RefusedPattern("it uses lookaround or flags, which are not supported")
            self._at = named.end()
        inner = self._choice()
        if not self._sees(")"):
            raise RefusedPattern("a group is not closed")
        self._depth -= 1
        return inner

    def _class(self) -> Ranges:
        negated = self._sees("^")
        found: list[tuple[int, int]] = []
        while not self._sees("]"):
            low = self._member()
            if len(low) == 1 and low[0][0] == low[0][1] and self._ranges_on():
                self._at += 1
                high = self._member()
                if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    raise RefusedPattern("a range in [ ] is not in order")
                low = ((low[0][0], high[0][0]),)
            found += low
        return _outside(tuple(found)) if negated else tuple(found)

    def _ranges_on(self) -> bool:
        return self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at)

    def _member(self) -> Ranges:
        character = self._next()
        return self._escape(within=True) if character == "\\" else ((ord(character), ord(character)),)

    def _escape(self, *, within: bool) -> Ranges:
        name = self._next()
        if name.lower() in CLASSES:
            ranges = CLASSES[name.lower()]
            return ranges if name.islower() else _outside(ranges)
        if name in CONTROLS:
            return ((CONTROLS[name], CONTROLS[name]),)
        if name == "b" and within:
            return ((8, 8),)
        if name in "xu":
            digits = re.compile(r"\{([0-9a-fA-F]{1,6})\}" if self._text[self._at : self._at + 1] == "{" else (
                r"([0-9a-fA-F]{2})" if name == "x" else r"([0-9a-fA-F]{4})"
            )).match(self._text, self._at)  # fmt: skip
            if digits is None or int(digits[1], 16) > END:
                raise RefusedPattern(f"\\{name} needs hexadecimal digits")
            self._at = digits.end()
            return ((int(digits[1], 16),) * 2,)
        if name.isalnum():
            raise RefusedPattern(f"\\{name} is not supported")
        return ((ord(name), ord(name)),)


def _one_of(ranges: Ranges) -> Emit:
    def emit(machine: Machine, start: int) -> int:
        end = machine.state()
        middle = start
        if machine.on[start] is not None:  # a state has at most one edge on characters
            middle = machine.state()
            machine.free[start].append(middle)
        machine.on[middle] = (ranges, end)
        return end

    return emit


def _edge(where: str) -> Emit:
    def emit(machine: Machine, start: int) -> int:
        end = machine.state()
        getattr(machine, where)[start].append(end)
        return end

    return emit


def _times(part: Emit, least: int, most: int) -> Emit:
    def emit(machine: Machine, start: int) -> int:
        for _ in range(least):
            start = part(machine, start)
        if most == -1:
            begin = machine.state()
            machine.free[start].append(begin)
            again = part(machine, begin)
            machine.free[again].append(begin)
            end = machine.state()  # a separate end state, so that what follows cannot enter the loop by mistake
            machine.free[begin].append(end)
            return end
        end = machine.state()
        machine.free[start].append(end)
        for _ in range(most - least):
            start = part(machine, start)
            machine.free[start].append(end)
        return end

    return emit
