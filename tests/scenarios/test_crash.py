"""The crash loop: kill -9 while writing, again and again, on one folder.

No acknowledged write is lost, none is doubled, one memory per key is current, and digestion comes to its end.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from holdfast import Holdfast, Memory, Profile
from holdfast.testing import HashingEmbedder
from support.children.write_until_killed import KEYS, Topics
from support.paths import CHILDREN

CYCLES = 25
CHILD = CHILDREN / "write_until_killed.py"


@dataclass
class Acknowledged:
    """What the child said it had written."""

    messages: dict[str, str] = field(default_factory=dict)
    memories: set[tuple[str, str | None, str]] = field(default_factory=set)
    """The id, the key and the content of each version."""

    def hear(self, output: str) -> None:
        whole = output[: output.rfind("\n") + 1]  # the last line may have been cut by the kill
        for line in whole.splitlines():
            match line.split():
                case ["M", id, content]:
                    self.messages[id] = content
                case ["K", id, key, content]:
                    self.memories.add((id, key, content))


def killed_while_writing(folder: Path, cycle: int, seconds: float, *, early: bool) -> str:
    """Let a child write (or, killed early, begin) for so long, kill it, and return what it had acknowledged."""
    child = subprocess.Popen([sys.executable, CHILD, folder, str(cycle)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    if not early:
        assert child.stdout.readline() == "open\n"
    time.sleep(seconds)
    child.kill()
    output, _ = child.communicate()
    return output


def nothing_is_lost_or_doubled(alice: Profile, told: Acknowledged) -> None:
    messages = alice.messages(limit=100_000)
    assert len({message.id for message in messages}) == len(messages)
    assert len({(message.session_id, message.content) for message in messages}) == len(messages)
    kept = {message.id: message.content for message in messages}
    assert {id: kept.get(id) for id in told.messages} == told.messages
    pairs = {content[:-1] for content in kept.values()}
    assert len(messages) == 2 * len(pairs), "half an ingest was kept"


def one_memory_per_key_is_current(alice: Profile, told: Acknowledged) -> None:
    current = alice.list(limit=1000).items
    assert len({(memory.kind, memory.key) for memory in current}) == len(current)
    versions: list[Memory] = []
    for memory in current:
        history = alice.history(memory.id)
        assert [each.version for each in history] == [*range(len(history), 0, -1)]
        assert [each.current for each in history] == [True] + [False] * (len(history) - 1)
        versions += history
    assert told.memories <= {(each.id, each.key, each.content) for each in versions}
    notes = [each.content for each in versions if each.key in KEYS]
    assert len(set(notes)) == len(notes)
    stats = alice.stats()
    assert stats.memories + stats.superseded == len(versions)


def digestion_comes_to_its_end(alice: Profile) -> None:
    assert alice.settle(120)
    stats = alice.stats()
    assert (stats.pending, stats.set_aside, stats.unembedded) == (0, 0, 0)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled_by_25_kills(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # pytest shows it when the test fails
    dice, told = random.Random(seed), Acknowledged()
    for cycle in range(CYCLES):
        told.hear(killed_while_writing(tmp_path, cycle, dice.uniform(0, 0.6), early=dice.random() < 0.2))
        with Holdfast.open(tmp_path, embedder=HashingEmbedder(), extractor=Topics()) as memory:
            if not [profile for namespace in memory.namespaces() for profile in memory.profiles(namespace.name)]:
                assert not told.messages
                continue
            alice = memory.profile("app", "alice")
            nothing_is_lost_or_doubled(alice, told)
            digestion_comes_to_its_end(alice)
            one_memory_per_key_is_current(alice, told)
            for content in list(told.messages.values())[-1:]:
                assert any(content in hit.content for hit in alice.search(content))
    assert len(told.messages) > 100
    assert len(told.memories) > 50
