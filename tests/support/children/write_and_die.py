"""A process that writes to two profiles, says what it wrote, and is killed: `write_and_die.py FOLDER VARIANT [AT]`.

fresh: everything is in the logs. reopened: some of it was moved into the files by a clean close before. large: more
than the log takes before it is moved into the file while writing. forgotten: the last act truncates the log.
any: it is killed at the write or sync with the number AT, and prints what is acknowledged; logs are moved often.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from holdfast import Holdfast
from holdfast.storage.sqlite import file
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.faulty_disk import FaultyDisk


def open_memory(folder: str | Path) -> Holdfast:
    return Holdfast.open(folder, embedder=HashingEmbedder(), extractor=ScriptedExtractor())


def write(memory: Holdfast, first: int, count: int) -> dict[str, list[str]]:
    """Write so many memories and messages to ana, and one memory to bob."""
    ana = memory.profile("app", "ana")
    numbers = range(first, first + count)
    for n in numbers:
        ana.remember(f"note {n}", key=f"k{n}")
    ana.ingest([{"role": "user", "content": f"line {n}"} for n in numbers], session_id=f"s{first}")
    memory.profile("app", "bob").remember(f"bob {first}", key=f"k{first}")
    return {"ana": [f"{what} {n}" for what in ("note", "line") for n in numbers], "bob": [f"bob {first}"]}


def write_until_killed(folder: str, at: int) -> None:
    file.CHECKPOINT_FRAMES = 40
    with FaultyDisk(at, "kill"):
        memory = open_memory(folder)
        for n in range(100):
            kept = memory.profile("app", "ana").remember(f"note {n}", key=f"k{n}")
            print(kept.content, flush=True)
            if n % 7 == 3:
                print(f"forgetting {kept.content}", flush=True)
                memory.profile("app", "ana").forget(kept.id)
            if n % 10 == 9:
                memory.close()
                memory = open_memory(folder)


def main(folder: str, variant: str, at: str = "0") -> None:
    if variant == "any":
        write_until_killed(folder, int(at))
        return
    kept: dict[str, list[str]] = {"ana": [], "bob": []}
    if variant != "fresh":
        with open_memory(folder) as memory:
            for name, contents in write(memory, 100, 5).items():
                kept[name] += contents
    memory = open_memory(folder)
    _, live_token = memory.access.issue("key", "live", ["read"], namespace="app")
    revoked, revoked_token = memory.access.issue("key", "revoked", ["read"], namespace="app")
    for name, contents in write(memory, 0, 60 if variant == "large" else 6).items():
        kept[name] += contents
    memory.access.revoke(revoked.id)
    memory.profile("app", "ana").settle(120)
    if variant == "forgotten":
        memory.profile("app", "ana").forget(memory.profile("app", "ana").list(key="k1").items[0].id)
        kept["ana"].remove("note 1")
    print(json.dumps({"kept": kept, "live": live_token, "revoked": revoked_token}), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
