"""Which lives nothing is learned from. Imported by the trainers, too, which run as scripts."""

from __future__ import annotations

EVERY, CALIBRATES = 10, 3
"""Every tenth life of each file calibrates."""
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
EVERYDAY = (
    *(f"a{last}" for last in _ALPHABET[10:]), *(f"b{last}" for last in _ALPHABET),
    *(f"c{last}" for last in _ALPHABET), *(f"d{last}" for last in _ALPHABET),
)  # fmt: skip
"""The files with everyday questions, plainly asked; in those from `bo` on, a third of the statements end."""
ALL_CALIBRATE = ("am", "an", "dv", "dx")
"""Those of them of which every life calibrates."""
MEASURES = ("held", "held2", "held3")
"""The files that measure."""


def is_held(name: str) -> bool:
    """Whether nothing is learned from the life of this name, such as `a-12`."""
    file, number = name.split("-")
    return file in (*MEASURES, *ALL_CALIBRATE) or int(number) % EVERY == CALIBRATES
