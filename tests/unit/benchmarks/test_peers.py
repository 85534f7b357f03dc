"""The comparison with other memories: its page, its chart, its measures and its plainest store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from benchmarks.peers import processes
from benchmarks.peers.embedder import DIMENSIONS
from benchmarks.peers.environments import PEERS
from benchmarks.peers.measurement import evidence_share
from benchmarks.peers.page import chart, page
from benchmarks.peers.stores import plain_sqlite
from benchmarks.peers.workload import Message, make_workload, read_workload


class WordEmbedder:
    """A dimension for each word; questions and messages alike."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}

    def embed(self, texts: Sequence[str]) -> Any:
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().replace(":", " ").replace("?", " ").split():
                row[self._words.setdefault(word, len(self._words))] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Any:
        return self.embed([text])[0]


def message(n: int, content: str) -> Message:
    return Message(f"m{n}", "monday", "user", "Ana", content, "2026-01-04T12:00:00+00:00")


def result(peer: str, size: int = 400, **more: Any) -> dict[str, Any]:
    title = next(each.title for each in PEERS if each.store == peer)
    timed = {"cpu": 12.0, "p50": 15.0, "p95": 31.0}
    figures = {
        "store": timed, "search": timed | {"cpu": 18.0}, "embedding": 6.0,
        "recall": 0.512, "questions": 90, "found after": [20.0, 40.0, 30.0],
        "memory": 250_000_000, "disk": 2_600_000, "versions": {"Python": "3.11"}, "settings": "As it comes.",
        "machine": "on a desk",
    }  # fmt: skip
    return {"peer": peer, "title": title, "set": "conversations", "size": size} | figures | more


def test_plain_sqlite_finds_what_it_stored_best_first(tmp_path: Path) -> None:
    table = plain_sqlite.open(tmp_path, WordEmbedder())  # type: ignore[arg-type]
    plain_sqlite.store(table, [message(1, "our dog is Pepper"), message(2, "the train leaves at nine")])
    plain_sqlite.store(table, [message(3, "a dog needs walks")])
    assert plain_sqlite.search(table, "our dog Pepper?", 2) == [("m1",), ("m3",)]
    plain_sqlite.close(table)


def test_plain_sqlite_grows_beyond_its_first_matrix(tmp_path: Path) -> None:
    table = plain_sqlite.open(tmp_path, WordEmbedder())  # type: ignore[arg-type]
    table.rows = table.rows[:2]
    plain_sqlite.store(table, [message(n, f"word{n}") for n in range(9)])
    assert [plain_sqlite.search(table, f"word{n}", 1) for n in range(9)] == [[(f"m{n}",)] for n in range(9)]
    plain_sqlite.close(table)


def test_a_hit_counts_for_two_messages_at_most() -> None:
    assert evidence_share([("a", "b", "c")], ["b", "c"]) == 0.5
    assert evidence_share([("a",), ("c",)], ["a", "c"]) == 1.0
    assert evidence_share([], ["a"]) == 0.0


def test_the_page_has_a_row_for_each_memory_and_says_which_are_missing_and_why() -> None:
    text = page([result("mem0"), result("holdfast"), {**result("memsearch"), "reason": "failed: no such file"}])
    assert "## 400 messages, 90 questions about our own conversations" in text
    ours = "| **Holdfast** | 18.0 | 3.0 | 15 / 31 | 12.0 | 15 / 31 | 30 | 51.2 | 250 | 2.6 |"
    assert text.index(ours) < text.index("| mem0 | 18.0 |")
    assert "memsearch failed: no such file" in text
    assert "Hindsight has no result at this size" in text
    assert "| mem0 | Python 3.11 | As it comes. |" in text


def test_the_page_shows_searches_with_questions_as_published_by_the_makers_of_the_model() -> None:
    asked = {"search": {"cpu": 20.0, "p50": 19.0, "p95": 31.0}, "embedding": 8.0, "recall": 0.5}
    assert "| mem0 | 20.0 | 2.5 | 19 / 31 | 50.0 |" in page([result("holdfast"), result("mem0", published=asked)])


def test_the_page_says_what_was_never_found() -> None:
    assert "| 20 (2 never) |" in page([result("holdfast", **{"found after": [20.0, None, None]})])


def test_the_chart_has_a_bar_for_each_memory_size_and_verb() -> None:
    drawn = ElementTree.fromstring(chart([result("holdfast"), result("mem0"), result("mem0", size=10_000)]))
    bars = drawn.findall("{http://www.w3.org/2000/svg}rect")
    assert len(bars) == 3 * 2 + 2, "and a square for each size in the legend"


def test_a_workload_is_the_same_after_writing_and_its_evidence_is_stored(tmp_path: Path) -> None:
    made = make_workload("conversations", 400)
    made.write(tmp_path / "workload.json")
    assert read_workload(tmp_path / "workload.json") == made
    ids = {each.id for each in made.messages}
    assert len(ids) == 400
    assert made.questions
    assert all(ids.issuperset(question.evidence) for question in made.questions)
    assert not ids.intersection(each.id for each in (*made.singles, *made.probes))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux")
def test_the_cpu_of_a_child_counts_while_it_lives() -> None:
    before = processes.cpu_seconds()
    spinning = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    child = subprocess.Popen([sys.executable, "-c", spinning], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    assert processes.cpu_seconds() - before >= 0.2
    child.communicate(b"\n")
