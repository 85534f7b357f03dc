"""docs/architecture.md shows the packages as they are, and names no file that is not there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import holdfast

SRC = Path(holdfast.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text("utf-8")


def test_the_guide_shows_every_package_with_its_docstring() -> None:
    tree = PAGE.split("```text\n", 1)[1].split("```", 1)[0].splitlines()[1:]
    shown: dict[str, str] = {}
    path: list[str] = []
    for line in tree:
        depth = (len(line) - len(line.lstrip())) // 2 - 1
        name, _, text = line.strip().partition("/")
        path = [*path[:depth], name]
        shown["/".join(path)] = text.strip()
    packages = {
        file.parent.relative_to(SRC).as_posix(): (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n")[0]
        for file in SRC.rglob("__init__.py")
        if file.parent != SRC
    }
    assert shown == packages


def test_the_guide_names_files_that_are_there() -> None:
    named = re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.py)`", PAGE)
    assert named
    assert [name for name in named if not (SRC / name).exists()] == []
