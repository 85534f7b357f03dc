"""Everything a user reads uses the words of docs/style.md: none of those it says we do not use."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from support.paths import ROOT
from support.syntax_trees import nodes

STYLE = ROOT / "docs" / "style.md"
# The reference holds the help of every command, the routes, the tools and the settings. The changelog is a
# record of its time.
PAGES = sorted(
    page
    for page in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("deploy/*.md"),
        *ROOT.glob("integrations/*/*.md"),
    ]
    if page not in (STYLE, ROOT / "CHANGELOG.md")
)
ANTHROPICS_WORDING = ROOT / "src" / "holdfast" / "integrations" / "memory_files.py"
_CODE_BLOCK = re.compile(r"^ *```.*?^ *```", re.M | re.S)
_CODE_OR_ADDRESS = re.compile(r"`[^`\n]+`|\[[^\]\n]+\.md(?=\])|\]\([^)\n]+\)|https?://\S+")


def unused_words() -> list[str]:
    """The first column of the table of words we do not use."""
    table = STYLE.read_text("utf-8").partition("## Words we do not use")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| .+ \|$", table, re.M)
    return [word for row in rows if row != "not" for word in row.split(", ")]


def prose(page: Path) -> str:
    """A page without code and addresses. In the reference, code blocks are the help of commands, which is prose."""
    text = page.read_text("utf-8")
    if page.parent.name != "reference":
        text = _CODE_BLOCK.sub("", text)
    return _CODE_OR_ADDRESS.sub("", text)


def uses(words: list[str], text: str) -> list[str]:
    """Each use of one of the words, with the text around it."""
    one = "|".join(r"\s+".join(map(re.escape, word.split())) for word in words)
    return [" ".join(use.group().split()) for use in re.finditer(rf".{{0,40}}\b(?:{one})\b.{{0,40}}", text, re.I)]


def test_a_word_is_found_in_prose_and_not_in_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "It is distilled.\nrests\non it\nSee `distilled` and [that](distilled.md).\n```sh\ndistilled\n```\n", "utf-8"
    )
    assert "distilled" in unused_words()
    assert uses(unused_words(), prose(page)) == ["It is distilled.", "rests on it"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_uses_no_word_that_the_style_avoids(page: Path) -> None:
    assert uses(unused_words(), prose(page)) == []


def error_texts(module: Path) -> str:
    """Every text in a `raise` statement of a module."""
    raised = [node for node in nodes(module) if isinstance(node, ast.Raise)]
    parts = [part for each in raised for part in ast.walk(each) if isinstance(part, ast.Constant)]
    return "\n".join(part.value for part in parts if isinstance(part.value, str))


def test_errors_use_no_word_that_the_style_avoids() -> None:
    modules = sorted(set((ROOT / "src" / "holdfast").rglob("*.py")) - {ANTHROPICS_WORDING})
    found = {str(module.relative_to(ROOT)): uses(unused_words(), error_texts(module)) for module in modules}
    assert {module: texts for module, texts in found.items() if texts} == {}


def printed_texts(module: Path) -> str:
    """Every text of a module that is not a docstring or a comment."""
    described = {id(node.value) for node in nodes(module) if isinstance(node, ast.Expr)}
    parts = [node for node in nodes(module) if isinstance(node, ast.Constant) and id(node) not in described]
    return "\n".join(part.value for part in parts if isinstance(part.value, str))


def test_what_commands_hooks_and_the_doctor_print_uses_no_word_that_the_style_avoids() -> None:
    source = ROOT / "src" / "holdfast"
    patterns_of_speech = source / "cli" / "hooks" / "personal.py"
    modules = [
        *(source / "cli" / "commands").glob("*.py"),
        *(source / "cli" / "output").glob("*.py"),
        *(source / "cli" / "hooks").glob("*.py"),
        source / "service" / "doctor.py",
        source / "api" / "rest" / "banner.py",
    ]
    found = {each.name: uses(unused_words(), printed_texts(each)) for each in modules if each != patterns_of_speech}
    assert {module: texts for module, texts in found.items() if texts} == {}


def test_the_web_ui_uses_no_word_that_the_style_avoids() -> None:
    assert uses(unused_words(), (ROOT / "ui" / "src" / "strings.ts").read_text("utf-8")) == []
