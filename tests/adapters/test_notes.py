"""Notes on files: what is written on a path is there, and nowhere else, whatever the path is called."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import (
    AlreadyExists,
    AsyncHoldfast,
    AsyncNotes,
    Holdfast,
    InvalidInput,
    Notes,
    NotFound,
)
from holdfast.recall.context import token_count as tokens
from holdfast.service.facades import file_keys
from holdfast.testing import HashingEmbedder
from support.example_counts import example_count
from support.http_server import http_server

STEPS = st.lists(st.sampled_from(["src", "srcs", "b"]), min_size=1, max_size=3).map(tuple)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holdfast]:
    with Holdfast.open(tmp_path_factory.mktemp("data"), embedder=HashingEmbedder()) as memory:
        yield memory


@pytest.fixture
def notes(memory: Holdfast, request: pytest.FixtureRequest) -> Notes:
    return Notes(memory.profile("app", request.node.name), Path("/workspace"))


def notes_by_path(notes: Notes, prefix: str = "") -> dict[str, str]:
    return {note.path: note.text for note in notes.list(prefix)}


def test_nothing_is_noted_on_a_profile_that_was_never_written_to(notes: Notes) -> None:
    assert notes.read("a.py") is None
    assert notes.list() == notes.search("anything") == []
    assert notes.history("a.py") == ()
    assert notes.remove("a.py") == 0
    assert str(notes.entering("")) == ""
    with pytest.raises(NotFound):
        notes.move("a.py", "b.py")


def test_a_note_is_read_by_its_path_however_it_is_written(notes: Notes) -> None:
    notes.write("src//./app.py", "Split the router next")
    for same in ("/workspace/src/app.py", "src/app.py", "/workspace//src/app.py/", "./src/app.py"):
        assert (notes.read(same) or pytest.fail(same)).text == "Split the router next"
    assert (notes.read(Path("src") / "app.py") or pytest.fail("no note")).text == "Split the router next"
    assert [note.path for note in notes.list(Path("src"))] == ["/workspace/src/app.py"]
    assert notes.read("src/App.py") is None
    notes.write("caf\u00e9", "composed")
    assert (notes.read("cafe\u0301") or pytest.fail("no note")).text == "composed"


@pytest.mark.parametrize("path", ["../etc", "src/../../x", "/etc/passwd", "/workspaces/x", "a\0b", " ", "x" * 600])
def test_a_path_that_leads_elsewhere_is_refused(notes: Notes, path: str) -> None:
    for act in (notes.read, notes.list, notes.remove, notes.entering, notes.history):
        with pytest.raises(InvalidInput):
            act(path)
    with pytest.raises(InvalidInput):
        notes.write(path, "x")


def test_a_folder_holds_what_is_in_it_and_not_what_begins_like_it(notes: Notes) -> None:
    for path in ("src", "src/a", "src/deep/b", "srcs/c", "src.d", "Src/e"):
        notes.write(path, f"about {path}")
    assert list(notes_by_path(notes, "src")) == ["/workspace/src", "/workspace/src/a", "/workspace/src/deep/b"]
    assert list(notes_by_path(notes, "src/deep")) == ["/workspace/src/deep/b"]
    assert {note.path for note in notes.search("about c", under="srcs")} == {"/workspace/srcs/c"}
    assert len(notes_by_path(notes)) == 6


def test_writing_again_keeps_the_history_and_the_same_again_keeps_one(notes: Notes) -> None:
    for text in ("one", "two", "two", "three"):
        kept = notes.write("a.py", text)
    assert kept.version == 3
    assert [(note.text, note.version) for note in notes.history("a.py")] == [("three", 3), ("two", 2), ("one", 1)]
    assert notes_by_path(notes) == {"/workspace/a.py": "three"}


def test_moving_a_folder_takes_its_notes_and_their_history_along(notes: Notes) -> None:
    notes.write("old/a", "first")
    notes.write("old/a", "second")
    notes.write("old/in/b", "b")
    notes.write("older", "stays")
    notes.write("taken/c", "c")
    with pytest.raises(AlreadyExists):
        notes.move("old", "taken")
    with pytest.raises(InvalidInput):
        notes.move("old", "old/in")
    assert {note.path for note in notes.move("old", "new")} == {"/workspace/new/a", "/workspace/new/in/b"}
    assert notes_by_path(notes) == {
        "/workspace/new/a": "second", "/workspace/new/in/b": "b", "/workspace/older": "stays", "/workspace/taken/c": "c"
    }  # fmt: skip
    assert [note.text for note in notes.history("new/a")] == ["second", "second", "first"]
    assert notes.history("old/a") == ()


def test_removing_takes_the_note_and_only_if_asked_what_is_below(notes: Notes) -> None:
    for path in ("src", "src/a", "src/b/c", "srcs"):
        notes.write(path, path)
    assert notes.remove("src/b") == 0
    assert notes.remove("src") == 1
    assert list(notes_by_path(notes)) == ["/workspace/src/a", "/workspace/src/b/c", "/workspace/srcs"]
    assert notes.remove("src", recursive=True) == 2
    assert list(notes_by_path(notes)) == ["/workspace/srcs"]
    assert notes.history("src/a") == ()


def test_entering_tells_the_nearest_first_and_of_these_the_newest(notes: Notes) -> None:
    for path in ("far/off/deep", "src/deep/x", "src/old", "src/new", "src", "srcs/y"):
        notes.write(path, f"note on {path}")
    told = notes.entering("src")
    assert [note.path.removeprefix("/workspace/") for note in told.notes] == ["src", "src/new", "src/old", "src/deep/x"]
    lines = str(told).splitlines()
    assert lines[0].startswith("# Notes in /workspace/src, as of ")
    assert [line.split(" (")[0] for line in lines[1:]] == ["- .", "- new", "- old", "- deep/x"]
    assert told.more == 0


@pytest.mark.parametrize("budget", [40, 60, 100, 1000])
def test_entering_stays_within_its_tokens_and_says_what_is_left_out(notes: Notes, budget: int) -> None:
    notes.write("long", "word " * 2000)
    for n in range(20):
        notes.write(f"in/{n}", f"note {n} with some words in it")
    told = notes.entering("", tokens=budget)
    assert tokens(told.text) == told.tokens <= budget
    assert len(told.notes) + told.more == 21
    assert told.notes[0].path == "/workspace/long"
    assert told.more == 0 or str(told).endswith(f"- and {told.more} more")
    with pytest.raises(InvalidInput):
        notes.entering("", tokens=10)


def test_a_long_note_comes_back_whole(notes: Notes) -> None:
    text = "é" * 40_000 + "end"
    notes.write("big", text)
    assert (notes.read("big") or pytest.fail("no note")).text == text
    notes.write("big", "small again")
    assert (notes.read("big") or pytest.fail("no note")).text == "small again"
    for unfit in ("a\0b", "", "x" * 300_000, 7):
        with pytest.raises(InvalidInput):
            notes.write("big", unfit)  # type: ignore[arg-type]


def test_two_roots_of_one_profile_are_two_notebooks(memory: Holdfast) -> None:
    profile = memory.profile("app", "two-roots")
    here, there = Notes(profile, "/a"), Notes(profile, "/ab")
    here.write("x", "here")
    there.write("x", "there")
    assert (notes_by_path(here), notes_by_path(there)) == ({"/a/x": "here"}, {"/ab/x": "there"})
    assert Notes(profile, "/").list() == sorted([*here.list(), *there.list()], key=lambda note: note.path)


async def test_the_same_over_http(tmp_path: Path) -> None:
    async with await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder()) as holdfast:
        await holdfast.create_namespace("app")
        token = await holdfast.access.admin() or ""
        async with http_server(holdfast) as url, AsyncHoldfast.connect(url, token) as far:
            notes = AsyncNotes(far.profile("app", "ana"))
            assert await notes.list() == []
            await notes.write("src/a b%.py ", "first")
            await notes.write("src/a b%.py ", "second")
            await notes.move("src", "lib")
            assert [note.text for note in await notes.search("second", under="lib")] == ["second"]
            assert [note.version for note in await notes.history("lib/a b%.py ")] == [3, 2, 1]
            near = AsyncNotes(holdfast.profile("app", "ana"))
            assert await near.list() == await notes.list()
            assert str(await near.entering("lib")) == str(await notes.entering("lib"))
            assert await notes.remove("", recursive=True) == 1


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4).map(tuple))
def test_every_path_comes_back_from_its_key(steps: tuple[str, ...]) -> None:
    key = file_keys.key_of_path(steps)
    assert file_keys.steps_of(key) == (steps if steps != ("",) else ())
    assert key.strip() == key
    assert unicodedata.normalize("NFC", key) == key


ACTS = st.sampled_from(["write", "write", "move", "move", "remove"])
OPS = st.lists(
    st.tuples(ACTS, STEPS, STEPS, st.sampled_from(ascii_lowercase)),
    min_size=8,
    max_size=20,
)


@settings(max_examples=example_count(40), deadline=None)
@given(OPS)
def test_any_sequence_leaves_what_a_dictionary_of_paths_would_hold(
    memory: Holdfast, ops: list[tuple[str, ...]]
) -> None:
    notes = Notes(memory.profile("app", f"any-{next(_numbers)}"), "/w")
    model: dict[tuple[str, ...], str] = {}

    def under(at: tuple[str, ...]) -> dict[tuple[str, ...], str]:
        return {steps: text for steps, text in model.items() if steps[: len(at)] == at}

    for act, one, two, text in ops:
        here, there = tuple(one), tuple(two)
        if act == "write":
            notes.write("/".join(here), text)
            model[here] = text
        elif act == "remove":
            assert notes.remove("/".join(here)) == (here in model)
            model.pop(here, None)
        elif here != there and there[: len(here)] != here and under(here) and not under(there):
            notes.move("/".join(here), "/".join(there))
            for steps in under(here):
                model[there + steps[len(here) :]] = model.pop(steps)
    assert notes_by_path(notes) == {"/w/" + "/".join(steps): text for steps, text in sorted(model.items())}
    for at in (("src",), ("src", "b")):
        assert notes_by_path(notes, "/".join(at)) == {
            "/w/" + "/".join(steps): text for steps, text in under(at).items()
        }


_numbers = iter(range(10**9))


def test_what_agents_write_at_once_on_one_path_is_all_in_its_history(notes: Notes) -> None:
    threads = [threading.Thread(target=notes.write, args=("a", f"by {n}")) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {note.text for note in notes.history("a")} == {f"by {n}" for n in range(8)}
