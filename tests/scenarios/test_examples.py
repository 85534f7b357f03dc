"""The programs in examples/ run as a user would run them, and remember what they are there to remember."""

from __future__ import annotations

import io
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import Holdfast
from support.paths import ROOT

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs an example in an empty folder and returns what it prints."""
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "potion")
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "data-of-the-user"))
    monkeypatch.chdir(tmp_path)

    def run(name: str, *arguments: str, typed: str = "") -> str:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_a_chat_knows_in_the_next_conversation_what_was_said_in_the_last(run: Run) -> None:
    printed = run("chat.py", typed="I live in Porto.\n")
    assert printed.startswith("Say something")
    assert "prompt: 0." in printed
    with Holdfast.open("./chat-memory") as memory:
        assert "Porto" in memory.profile("chat", "me").recall("Where do I live?").answer
    assert "prompt: 2." in run("chat.py", typed="Where do I live?\n\nnot read\n")


def test_the_support_bot_knows_its_customer_and_the_handbook_and_nobody_else(run: Run) -> None:
    printed = run("support_bot.py")
    assert "order 8862" in printed
    assert "five working days" in printed
    assert "1207" not in printed
    assert "erased: True" in printed
    with Holdfast.open("./support-memory") as memory:
        assert {each.name for each in memory.profiles("support")} == {"ben", "handbook"}
        assert memory.profile("support", "ben").retention() is not None


def test_a_coding_agent_is_briefed_with_what_it_noted_last_time(run: Run) -> None:
    assert "nothing known" in run("coding_agent.py", ".", "Split the router. Always use pnpm in this repo.")
    printed = run("coding_agent.py", ".", "Test the router")
    assert "use pnpm" in printed.partition("## Notes on files")[0]
    assert "src/app.py" in printed


def test_a_langgraph_agent_reads_its_store_and_what_was_said(run: Run) -> None:
    pytest.importorskip("langgraph.graph")
    printed = run("langgraph_agent.py")
    assert "never eats meat" in printed
    assert "I live in Porto" in printed


def test_a_team_shares_what_is_the_teams_and_keeps_the_rest_apart(run: Run) -> None:
    printed = run("team.py")
    assert "of acme/team:platform] We deploy on Thursdays now." in printed
    assert printed.index("2 bo We deploy on Thursdays") < printed.index("1 ada We deploy on Tuesdays")
    with Holdfast.open("./team-memory") as memory:
        assert memory.profile("acme", "bo").list().items == ()


def test_the_nightly_summary_has_a_page_for_each_profile_that_learnt_something(run: Run) -> None:
    with Holdfast.open("./data") as memory:
        ana, ben = (memory.profile("support", name) for name in ("ana", "ben"))
        ana.remember("I live in Porto", key="home-city")
        ana.remember("I live in Lisbon", key="home-city")
        ben.remember("To be forgotten")
        ben.forget_where(kind="fact")
    printed = run("nightly_summary.py", "support", "./data")
    assert re.findall(r"^# (\w+), since", printed, re.M) == ["ana"]
    assert "- I live in Lisbon (version 2)" in printed


def test_a_turn_handler_finds_preferences_and_counts_turns(run: Run) -> None:
    printed = run("turns.py")
    assert "window seat" in printed
    assert "Turns before this one: 1." in printed


def test_every_example_is_on_the_page_and_in_a_test() -> None:
    names = {path.name for path in (ROOT / "examples").glob("*.py")}
    page = (ROOT / "docs" / "start" / "examples.md").read_text("utf-8")
    assert set(re.findall(r"\(\.\./\.\./examples/(\w+\.py)\)", page)) == names
    assert set(re.findall(r'run\("(\w+\.py)"', Path(__file__).read_text("utf-8"))) == names


@pytest.mark.parametrize("name", ["coding_agent.py", "nightly_summary.py"])
def test_an_example_without_its_arguments_says_how_to_call_it(run: Run, name: str) -> None:
    with pytest.raises(SystemExit, match=f"usage: python examples/{name} "):
        run(name)


def test_an_example_without_its_package_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph.graph", None)
    with pytest.raises(SystemExit, match="pip install langgraph"):
        run("langgraph_agent.py")


def test_the_nightly_job_asks_for_the_token_of_a_server(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_TOKEN", raising=False)
    with pytest.raises(SystemExit, match="Set HOLDFAST_TOKEN"):
        run("nightly_summary.py", "support", "http://127.0.0.1:9")
