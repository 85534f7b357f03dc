"""Syntax trees of source files, parsed once for the tests that read the package."""

from __future__ import annotations

import ast
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def tree(path: Path) -> ast.Module:
    """CPython before 3.11.8 may fail while another thread compiles (gh-106905), so it tries again."""
    for _ in range(10):
        with suppress(SystemError):
            return ast.parse(path.read_text("utf-8"))
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))
