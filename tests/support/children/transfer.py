"""Other processes that the tests of transfer need.

python transfer_child.py write FOLDER       own the folder and write to it; "pause" and "end" on stdin are obeyed
python transfer_child.py move SOURCE TARGET COUNT    transfer, and be killed after so many items
"""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import sys
import threading

from holdfast import Holdfast
from holdfast.archive.transfer.profile import TransferProgress
from holdfast.archive.transfer.vault import Transfer
from holdfast.service.settings import Settings
from holdfast.service.wiring import database_source, open_vault
from holdfast.testing import HashingEmbedder, ScriptedExtractor


def write(folder: str) -> None:
    told: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: [told.put(line.strip()) for line in sys.stdin], daemon=True).start()
    with Holdfast.open(folder, embedder=HashingEmbedder(), extractor=ScriptedExtractor()) as memory:
        alice = memory.profile("app", "alice")
        n = 0
        while told.empty():
            alice.ingest([{"role": "user", "content": f"line {n} of many"}], session_id=f"s{n % 3}")
            kept = alice.remember(f"note {n}", key=f"k{n % 5}")
            if n % 7 == 3:
                alice.forget(kept.id)
            n += 1
            if n == 20:
                print("under way", flush=True)
        alice.settle(120)
        print(len(alice.messages(limit=100_000)), flush=True)
        while told.get() != "end":
            pass


async def move(given: str, target: str, count: str) -> None:
    def seen(tally: TransferProgress) -> None:
        if tally.copied >= int(count):
            os.kill(os.getpid(), signal.SIGKILL)

    reading, writing = database_source(Settings.read(data=given)), open_vault(Settings.read(data=target))
    await Transfer(reading, writing, seen=seen).run()


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    asyncio.run(move(*arguments)) if what == "move" else write(*arguments)
