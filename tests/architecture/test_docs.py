"""The documentation tells the truth: its examples run and print what they show, and it leaves nothing public out."""

from __future__ import annotations

import asyncio
import io
import json
import re
import shlex
import sys
import threading
from codeop import CommandCompiler
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import Holdfast, Profile
from holdfast.cli import main
from holdfast.cli.app import app
from holdfast.domain import errors
from holdfast.service.settings import Settings
from holdfast.testing import Asked, Fault, ModelServer
from support.cli import all_commands
from support.paths import ROOT
from support.scripted_llm import ScriptedLlm
from support.varying_text import steady_text

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PASTED_PAGES = [page for page in PAGES if page.parent.name != "reference"]  # the reference has signatures
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_PRINTED = re.compile(r"^\s*print\(.*\)  # (.+)$", re.M)
_JQ = re.compile(r"(\w+)=\$\((holdfast .*) \| jq -r '(\S+)'\)")
LISBON = {"supported": True, "answer": "You live in Lisbon.", "cited": [1]}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working directory and data folder, and the quick embedder."""
    for name in ("NAMESPACE", "PROFILE", "KEYRING", "OPEN_FILES"):
        monkeypatch.delenv(f"HOLDFAST_{name}", raising=False)
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "potion")
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "data-of-the-user"))
    monkeypatch.chdir(tmp_path)


def blocks(page: str) -> Iterator[tuple[str, str, str | None]]:
    """(language, code, the text block right after it) of every fenced block."""
    found = list(_BLOCK.finditer((ROOT / page).read_text("utf-8")))
    for n, block in enumerate(found):
        after = found[n + 1] if n + 1 < len(found) else None
        follows = after is not None and after[1] == "text" and not block.string[block.end() : after.start()].strip()
        yield block[1], block[2], after[2] if after is not None and follows else None


def looks_like(shown: str, printed: str) -> bool:
    """Whether the output is the one shown, but for ids, dates and scores; an ellipsis stands for anything."""
    wanted = r"[\s\S]*".join(map(re.escape, steady_text(shown).split("…")))
    return re.fullmatch(wanted, steady_text(printed)) is not None


def run(code: str, names: dict[str, Any]) -> None:
    exec(compile(code, "<documentation>", "exec"), names)


def statements_at_the_prompt(code: str) -> list[str]:
    """The statements that Python's prompt reads when the code is pasted: a blank line ends an indented body. Raises
    SyntaxError where the prompt would."""
    compile_at_prompt, read, waiting = CommandCompiler(), [], ""
    for line in [*code.splitlines(), ""]:
        if not waiting and not line:
            continue
        waiting += f"{line}\n"
        if compile_at_prompt(waiting[:-1], "<prompt>", "single") is not None:
            read.append(waiting)
            waiting = ""
    if waiting.strip():
        raise SyntaxError(f"The prompt still waits for the end of: {waiting}")
    return read


def test_the_prompt_reads_what_is_pasted() -> None:
    assert statements_at_the_prompt("a = [\n    1,\n]\n\nfor _ in a:\n    b = 1\n\nc = 2") == [
        "a = [\n    1,\n]\n", "for _ in a:\n    b = 1\n\n", "c = 2\n",
    ]  # fmt: skip
    for wrong in ("for _ in a:\n    b = 1\nc = 2", "def f():\n    a = 1\n\n    b = 2", "await a", "a = ["):
        with pytest.raises(SyntaxError):
            statements_at_the_prompt(wrong)


@pytest.mark.parametrize("page", PASTED_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_examples_can_be_pasted_into_the_prompt(page: Path) -> None:
    for language, code, _ in blocks(str(page)):
        if language == "python":
            statements_at_the_prompt(code)


PYTHON_PAGES = [
    "README.md",
    "docs/filters.md",
    *(
        f"docs/{name}.md"
        for name in ("python", "retention", "curation", "kinds", "documents", "integrations", "visibility", "graph")
    ),
]


@pytest.fixture
def names() -> Iterator[dict[str, Any]]:
    """The names that a page defines; what it leaves open is closed."""
    defined: dict[str, Any] = {}
    yield defined
    for left_open in [value for value in defined.values() if isinstance(value, Holdfast)]:
        left_open.close()


def run_and_compare(page: str, code: str, text: str | None, names: dict[str, Any], printed: Callable[[], str]) -> None:
    run(code, names)
    shown, out = text if text is not None else "\n".join(_PRINTED.findall(code)), printed()
    assert looks_like(shown, out), f"{page} shows\n{shown}\nand it prints\n{out}"


@pytest.mark.parametrize("page", PYTHON_PAGES)
def test_python_examples_run_and_print_what_they_show(
    page: str, names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for language, code, text in blocks(page):
        if language == "python":
            run_and_compare(page, code, text, names, lambda: capsys.readouterr().out)


GUIDES = [
    *(f"docs/start/{name}.md" for name in ("tutorial", "library", "coding-agents")),
    *(f"docs/{name}.md" for name in ("recipes", "migration", "troubleshooting")),
]


@pytest.mark.parametrize("page", GUIDES)
def test_guides_run_from_top_to_bottom(
    page: str, names: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python and shell in the order in which a reader pastes them, in one folder."""
    shell = Shell(capsys, monkeypatch)
    for language, code, text in blocks(page):
        if language == "python":
            run_and_compare(page, code, text, names, lambda: capsys.readouterr().out)
        elif language == "console":
            shell.run_block(code)


class Shell:
    """As much of a shell as the pages need: commands of ours, `cat`, `<`, and a variable filled by jq."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self._variables: dict[str, str] = {}

    def run_block(self, code: str) -> None:
        assert code.startswith("$ ")
        for command, _, shown in (part.partition("\n") for part in re.split(r"^\$ ", code, flags=re.M)[1:]):
            self.run(command, shown)

    def run(self, command: str, shown: str) -> None:
        if command.startswith("cat "):
            Path(command.removeprefix("cat ")).write_text(shown, "utf-8")
        elif filled := _JQ.fullmatch(command):
            self._fill(filled[1], self._said(filled[2])[1], filled[3])
        else:
            code, printed = self._said(command)
            refused = shown.startswith(("error:", '{"error"'))
            assert (code != 0) == refused, f"{command} ended with {code}: {printed}"
            assert not shown or looks_like(shown, printed), f"{command} shows\n{shown}\nand it prints\n{printed}"

    def _fill(self, name: str, document: str, path: str) -> None:
        found = json.loads(document)
        for step in re.findall(r"\w+", path):
            found = found[int(step) if step.isdigit() else step]
        self._variables[f"${name}"] = found

    def _said(self, command: str) -> tuple[int, str]:
        words = shlex.split(command)
        if "<" in words:
            words, (name,) = words[: words.index("<")], words[words.index("<") + 1 :]
            self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(name).read_bytes())))
        assert words[0] == "holdfast"
        code = main([self._variables.get(word, word) for word in words[1:]])
        out, err = self._capsys.readouterr()
        return code, out + err


@pytest.mark.parametrize(
    "page", ["README.md", "docs/cli.md", "docs/curation.md", "docs/kinds.md", "docs/documents.md", "docs/graph.md"]
)
def test_console_examples_run_and_print_what_they_show(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(capsys, monkeypatch)
    for language, code, _ in blocks(page):
        if language == "console":
            shell.run_block(code)


@pytest.fixture
def scripted() -> Iterator[str]:
    """The address of a model that knows the page's example."""
    with served(ScriptedLlm({"The user moved to Lisbon in May.": "I moved to Lisbon in May"}, answer=LISBON)) as url:
        yield url


@contextmanager
def served(mind: Callable[[Asked], str | Fault]) -> Iterator[str]:
    """The address of a model that answers while the block runs."""
    ready, done, found = threading.Event(), threading.Event(), []

    async def serve() -> None:
        async with ModelServer(mind) as server:
            found.append(server.url)
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(120)
    try:
        yield found[0]
    finally:
        done.set()
        thread.join()


def test_the_quickstarts_of_frameworks_run(
    names: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the vendors' real clients, and a model that answers only when memory stands in its prompt."""
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    with served(lambda asked: "In Porto." if "I live in Porto" in asked.system else "I don't know.") as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url.removesuffix("/v1"))
        for language, code, text in blocks("docs/start/frameworks.md"):
            if language == "python":
                run_and_compare("frameworks", code, text, names, lambda: capsys.readouterr().out)
        for client in ("client", "anthropic"):
            names[client].close()


def test_the_guide_to_language_models_runs(
    scripted: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_LLM", f"{scripted}#scripted")
    shell = Shell(capsys, monkeypatch)
    for name in ("NAMESPACE", "PROFILE"):
        monkeypatch.setenv(f"HOLDFAST_{name}", {"NAMESPACE": "app", "PROFILE": "ana"}[name])
    for language, code, _ in blocks("docs/llm.md"):
        if language == "python":
            run(code, {})
            printed = capsys.readouterr().out
            assert printed.startswith("You live in Lisbon.\n")
            assert printed.replace("\n", "").count("You live in Lisbon.") == 2
        if language == "console":
            for command in re.findall(r"^\$ (.+)$", code, re.M):
                shell.run(command, "")


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


@pytest.mark.parametrize("front", [Holdfast, Profile])
def test_the_guide_names_every_method(front: type) -> None:
    public = [name for name in dir(front) if not name.startswith("_")]
    assert [name for name in public if not re.search(rf"\.{name}\b", text_of("docs/python.md"))] == []


def test_the_guide_names_every_public_name() -> None:
    assert [name for name in holdfast.__all__ if not re.search(rf"\b{name}\b", text_of("docs/python.md"))] == []


def test_the_guide_names_every_error_with_its_code() -> None:
    for name, error in vars(errors).items():
        if isinstance(error, type) and issubclass(error, errors.HoldfastError) and error is not errors.HoldfastError:
            assert f"| `{name}` | `{error.code}` | {'yes' if error.retryable else 'no'} |" in text_of("docs/python.md")


def test_the_guide_names_every_setting() -> None:
    for name in Settings._fields:
        assert f"`{name}`" in text_of("docs/python.md")
        assert f"`HOLDFAST_{name.upper()}`" in text_of("docs/python.md")


def test_the_command_page_shows_every_command_and_option() -> None:
    page = text_of("docs/cli.md")
    for name, command in all_commands(app()).items():
        assert f"$ holdfast {name}" in page
        options = [option for each in command.params for option in each.opts]
        assert [option for option in options if option.startswith("--") and option not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    prose = _BLOCK.sub("", page.read_text("utf-8"))
    linked = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link]
    generated = ROOT / "docs" / "results"
    there = [page.parent / link for link in linked if link]
    assert [str(path) for path in there if generated not in path.resolve().parents and not path.exists()] == []


def test_every_promise_of_security_names_tests_that_exist() -> None:
    text = text_of("SECURITY.md")
    rows = [line for line in text.split("## What is not")[0].splitlines() if line.startswith("| ")][1:]
    for row in rows:
        named = re.findall(r"`(tests/[\w/.]+)`", row)
        assert named, row
        assert all((ROOT / name).exists() for name in named), row
