"""Searches a conversation, and prints how many ticks of CPU time threads used that are not Python's: BLAS's own.

python search_with_idle_blas.py DATA CONVERSATION
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from holdfast import Holdfast
from holdfast.testing import ScriptedExtractor


def foreign_ticks() -> int:
    ours = {thread.native_id for thread in threading.enumerate()}
    tasks = [task for task in Path("/proc/self/task").iterdir() if int(task.name) not in ours]
    spent = [(task / "stat").read_text().rpartition(")")[2].split() for task in tasks]
    return sum(int(each[11]) + int(each[12]) for each in spent)


def main(data: str, talk: str) -> None:
    told = json.loads(Path(talk).read_text())
    with Holdfast.open(data, embedder="potion", extractor=ScriptedExtractor()) as memory:
        profile = memory.profile("app", "p")
        for session in told["sessions"]:
            said = [{"role": message["role"], "content": message["content"]} for message in session["messages"]]
            profile.ingest(said, session_id=session["id"])
        profile.settle()
        questions = [each["question"] for each in told["questions"]]
        profile.search(questions[0])
        before = foreign_ticks()
        for question in questions:
            profile.search(question)
        print(foreign_ticks() - before)


main(*sys.argv[1:])
