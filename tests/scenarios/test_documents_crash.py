"""kill -9 while documents are read: every one that was taken is read to its end, once."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import psycopg
import pytest

from holdfast import Holdfast
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.paths import CHILDREN
from support.postgres import database

CHILD = CHILDREN / "add_documents.py"


def make_files(folder: Path, count: int) -> dict[str, str]:
    """Files by name, each with a word that is in no other."""
    folder.mkdir()
    words = {}
    for n in range(count):
        words[f"{n:02}.md"] = word = f"zorblax{n:02}"
        parts = [f"# Part {part}\n\nOf {word} this is part {part} of file {n}." for part in range(10 + n % 5 * 40)]
        (folder / f"{n:02}.md").write_text("\n\n".join(parts))
    return words


@pytest.fixture(params=["folder", "database"])
def data(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where the profile lies, as `Holdfast.open` takes it."""
    monkeypatch.setattr("holdfast.storage.postgres.processes.PROCESS_TIMEOUT_SECONDS", 5)
    monkeypatch.setattr("holdfast.service.worker.POLL_SECONDS", 0.5)
    if request.param == "folder":
        yield str(tmp_path / "data")
        return
    with database() as dsn:
        told = psycopg.conninfo.conninfo_to_dict(dsn)
        yield f"postgres:///{told.pop('dbname')}?{urlencode(told)}"


def killed_while_reading(data: str, files: Path, seconds: float) -> dict[str, str]:
    """Document ids by file name, as acknowledged before the kill."""
    child = subprocess.Popen([sys.executable, CHILD, data, files], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "open\n"
    time.sleep(seconds)
    child.kill()
    output, _ = child.communicate()
    whole = output[: output.rfind("\n") + 1]
    return {name: id for _, id, name in (line.split() for line in whole.splitlines())}


def all_finish_once(data: str, tmp_path: Path, count: int, kills: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # pytest shows it when the test fails
    dice, taken = random.Random(seed), dict[str, str]()
    words = make_files(tmp_path / "files", count)
    for _ in range(kills):
        taken |= killed_while_reading(data, tmp_path / "files", dice.uniform(0.1, 2.0))
    with Holdfast.open(data, embedder=HashingEmbedder(), extractor=ScriptedExtractor()) as memory:
        ana = memory.profile("app", "ana")
        assert {document.id for document in ana.documents()} >= set(taken.values()), "one was lost"
        taken |= {path.name: ana.add(path).id for path in sorted((tmp_path / "files").iterdir())}
        assert ana.settle(240)
        found = {document.name: document for document in ana.documents()}
        assert {name: document.id for name, document in found.items()} == taken
        assert {document.state for document in found.values()} == {"done"}
        assert max(document.tries for document in found.values()) <= kills + 1
        for name, document in found.items():
            said = ana.messages(document.session_id)
            assert [message.metadata["chunk"] for message in said] == [*range(1, document.chunks + 1)], name
            assert all(words[name] in message.content for message in said)
            assert ana.original(document.id) == (tmp_path / "files" / name).read_bytes()
        assert len(ana.messages(limit=100_000)) == sum(document.chunks for document in found.values())
        stats = ana.stats()
        assert (stats.pending, stats.set_aside, stats.unembedded) == (0, 0, 0)


def test_a_dozen_documents_survive_three_kills(data: str, tmp_path: Path) -> None:
    all_finish_once(data, tmp_path, 12, 3)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_fifty_documents_survive_ten_kills(data: str, tmp_path: Path) -> None:
    all_finish_once(data, tmp_path, 50, 10)
