"""A coding agent that comes back to a project: notes on files, rules of the project, what was done last time.

    python examples/coding_agent.py FOLDER "task"

`work` stands where a model with tools belongs: it gets the briefing and says what it noted about which file.
For Claude Code, Codex and Cursor you need none of this: `holdfast connect` does it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from holdfast import Holdfast, Notes, Profile


def briefing(project: Profile, notes: Notes, folder: Path, task: str) -> str:
    """What the agent should know before it opens a file."""
    rules = [f"- {rule.content}" for rule in project.list(kind="instruction", limit=20)]
    parts = {
        "Rules": "\n".join(rules),
        "Notes on files": notes.entering(str(folder), tokens=600).text,
        "Related": project.context(task, tokens=400, kind=["message", "fact", "task"]).text,
    }
    return "\n\n".join(f"## {title}\n{text}" for title, text in parts.items() if text)


def work(task: str, known: str) -> Mapping[str, str]:
    return {"src/app.py": f"Began: {task}. Next: a test for it."}


def run(project: Profile, folder: Path, task: str) -> str:
    notes = Notes(project, root=str(folder))
    known = briefing(project, notes, folder, task)
    for path, note in work(task, known).items():
        notes.write(path, note, agent="coder")
    project.ingest([{"role": "user", "content": task}], agent="coder")
    return known


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit('usage: python examples/coding_agent.py FOLDER "task"')
    folder, task = Path(sys.argv[1]).resolve(), sys.argv[2]
    with Holdfast.open("./project-memory") as memory:
        print(run(memory.profile("coder", folder.name), folder, task) or "(nothing known about this project yet)")
