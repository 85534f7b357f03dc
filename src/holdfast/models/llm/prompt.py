"""Loads prompts. Each is a file whose first line is its version, which is recorded on the memories made with it; every
change of a prompt changes its version."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Prompt:
    version: str
    """For example extract-1."""
    text: str


@cache
def load_prompt(name: str) -> Prompt:
    version, _, text = files(__package__).joinpath("prompts", f"{name}.md").read_text("utf-8").partition("\n")
    return Prompt(version.strip(), text.strip())


def fenced_data(**data: str) -> str:
    """Encloses each text in marks with a random token that its author could not know, so that
    no text can end its block."""
    mark = secrets.token_hex(8)
    while any(mark in text for text in data.values()):
        mark = secrets.token_hex(8)
    blocks = (f"<<{name} {mark}>>\n{text}\n<<end of {name} {mark}>>" for name, text in data.items())
    return "\n\n".join(blocks)
