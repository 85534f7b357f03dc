"""Digests, searches and recalls with the default models, and prints how many ticks of CPU time threads used that are
not Python's: BLAS's own.

python work_with_idle_blas.py DATA CONVERSATION
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from holdfast import Holdfast

SESSIONS, QUESTIONS = 4, 12


def foreign_ticks() -> int:
    ours = {thread.native_id for thread in threading.enumerate()}
    tasks = [task for task in Path("/proc/self/task").iterdir() if int(task.name) not in ours]
    spent = [(task / "stat").read_text().rpartition(")")[2].split() for task in tasks]
    return sum(int(each[11]) + int(each[12]) for each in spent)


def main(data: str, talk: str) -> None:
    told = json.loads(Path(talk).read_text())
    with Holdfast.open(data) as memory:
        profile = memory.profile("app", "p")
        before = 0
        for n, session in enumerate(told["sessions"][:SESSIONS]):
            said = [{"role": message["role"], "content": message["content"]} for message in session["messages"]]
            profile.ingest(said, session_id=session["id"], wait=True)
            if n == 0:  # the models are loaded
                profile.recall(told["questions"][0]["question"])
                before = foreign_ticks()
        for each in told["questions"][:QUESTIONS]:
            profile.search(each["question"])
            profile.recall(each["question"])
        print(foreign_ticks() - before)


main(*sys.argv[1:])
