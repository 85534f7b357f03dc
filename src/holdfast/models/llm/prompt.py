"""The prompts, each a file whose first line is its version: recorded on what it made, and changed with every change."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Prompt:
    version: str
    """Such as extract-1."""
    text: str


@cache
def prompt(name: str) -> Prompt:
    version, _, text = files(__package__).joinpath("prompts", f"{name}.md").read_text("utf-8").partition("\n")
    return Prompt(version.strip(), text.strip())


def fenced(**data: str) -> str:
    """Data between marks that nobody who wrote it could know, so that no text can end its own block."""
    mark = secrets.token_hex(8)
    while any(mark in text for text in data.values()):
        mark = secrets.token_hex(8)
    blocks = (f"<<{name} {mark}>>\n{text}\n<<end of {name} {mark}>>" for name, text in data.items())
    return "\n\n".join(blocks)
