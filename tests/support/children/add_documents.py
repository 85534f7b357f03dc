"""What the kill test kills: adds every file of a folder, says so, and reads for ever.

python documents_child.py DATA FILES
A <document id> <file name>        after each add
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from holdfast import Holdfast
from holdfast.service import worker
from holdfast.storage.postgres import processes
from holdfast.testing import HashingEmbedder, ScriptedExtractor


def be_quick() -> None:
    """Take over from processes that are gone soon; there is one at a time."""
    processes.PROCESS_TIMEOUT_SECONDS, worker.POLL_SECONDS = 5, 0.5  # type: ignore[assignment]


def main(data: str, files: str) -> None:
    be_quick()
    memory = Holdfast.open(data, embedder=HashingEmbedder(), extractor=ScriptedExtractor())
    ana = memory.profile("app", "ana")
    print("open", flush=True)
    for path in sorted(Path(files).iterdir()):
        print("A", ana.add(path).id, path.name, flush=True)
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
