"""What the crash loop kills: writes for ever, and prints each write once it is acknowledged.

python crash_child.py FOLDER CYCLE
M <message id> <content>            after an ingest
K <memory id> <key> <content>       after a remember, which supersedes what the key had
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Sequence

from holdfast import Holdfast, Profile
from holdfast.domain.ports.storage import TopicKeyLoader, load_no_topic_keys
from holdfast.domain.types import Draft, Message
from holdfast.testing import HashingEmbedder, ScriptedExtractor

KEYS = ("home", "seat", "tram")
_out = threading.Lock()


class Topics(ScriptedExtractor):
    """Draws a keyed fact from the last message of each batch, so that digestion supersedes as well."""

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        last = messages[-1]
        return [Draft("fact", f"drawn from {last.content}", (last.id,), key=f"topic-{len(last.content) % 3}")]


def print_acknowledged(*fields: str) -> None:
    with _out:
        print(*fields, flush=True)


def write_messages(alice: Profile, cycle: str) -> None:
    for n in range(1_000_000):
        content = [f"line{cycle}x{n}{part}" for part in "ab"]
        receipt = alice.ingest([{"role": "user", "content": text} for text in content], session_id=f"s{n % 5}")
        for text, message in zip(content, receipt.messages, strict=True):
            print_acknowledged("M", message.id, text)


def write_notes(alice: Profile, cycle: str) -> None:
    dice = random.Random(cycle)
    for n in range(1_000_000):
        key, content = dice.choice(KEYS), f"note{cycle}x{n}"
        print_acknowledged("K", alice.remember(content, key=key).id, key, content)


def main(folder: str, cycle: str) -> None:
    memory = Holdfast.open(folder, embedder=HashingEmbedder(), extractor=Topics())
    alice = memory.profile("app", "alice")
    print_acknowledged("open")
    threads = [
        threading.Thread(target=work, args=(alice, cycle), daemon=True) for work in (write_messages, write_notes)
    ]
    for thread in threads:
        thread.start()
    threads[0].join()


if __name__ == "__main__":
    main(*sys.argv[1:])
