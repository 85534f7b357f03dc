"""A small program of a user under `mypy --strict`: what editors offer is right, and a wrong word is an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import SOURCE

PROGRAM = """
from pathlib import Path

from holdfast import AgentMemory, Answer, AsyncHoldfast, Context, Hit, Holdfast
from holdfast import Memory, MessageInput, Note, Notes, Profile

said: list[MessageInput] = [
    {"role": "user", "content": "I live in Porto.", "speaker": "Ana", "timestamp": "2026-11-16T10:00:00Z"},
    {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]},
]
with Holdfast.open("./data") as memory:
    ana = memory.profile("app", "ana")
    ana.ingest(said, session_id="s1")
    ana.ingest([{"role": "user", "content": "Plain dictionaries do as well."}])
    kept: Memory = ana.remember("Prefers tea", kind="fact", trust="user")
    own: Memory = ana.remember(kind="preference", value={"drink": "tea"})
    answer: Answer = ana.recall("Where do I live?", thinking_level="high", response_length="short")
    hits: list[Hit] = ana.search("tea", kind=["fact", "preference"], min_relevance=0.5, exclude_session="s1")
    block: Context = ana.context("tea", tokens=200, min_relevance=0.2, exclude_session="s1")
    desk = AgentMemory(agent="desk", entity="ana", memory=memory)
    desk.list("turn", order_by="recent")
    as_desk: Profile = ana.as_agent("desk", reads="own")
    pieces: list[str | Answer] = list(as_desk.recall_stream("Where do I live?", limit=3))
    note: Note | None = Notes(ana, Path("/workspace")).read(Path("src") / "app.py")
    found: Answer = memory.across("app", ["ana", "ben"]).recall("Who drinks tea?")


def plain_agent(profile: Profile) -> Profile:
    return profile.as_agent("desk")


async def main() -> None:
    async with await AsyncHoldfast.open("./data") as memory:
        ana = memory.profile("app", "ana").as_agent("desk")
        kept: Memory = await ana.remember("Prefers tea")
        async for piece in ana.recall_stream("What do I drink?"):
            said: str | Answer = piece
    async with AsyncHoldfast.connect("https://memory.example", "token") as remote:
        answer: Answer = await remote.profile("app", "ana").as_agent("desk").recall("Where do I live?")
"""
WRONG = {
    '"high"': '"hard"',
    '"short"': '"tiny"',
    'order_by="recent"': 'order_by="oldest"',
    'trust="user"': 'trust="me"',
    'as_agent("desk", reads="own")': "as_agent(7)",
    'return profile.as_agent("desk")': 'return profile.as_agent("desk", see="own")',
    'await ana.remember("Prefers tea")': 'ana.remember("Prefers tea")',
    '"https://memory.example", "token"': '"https://memory.example"',
    '{"role": "assistant"': '{"role": "robot"',
    "exclude_session": "without_session",
}


@pytest.mark.slow
def test_a_program_of_a_user_has_the_right_types_and_wrong_words_are_errors(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(PROGRAM)
    for n, (right, wrong) in enumerate(WRONG.items()):
        assert right in PROGRAM
        (tmp_path / f"wrong_{n}.py").write_text(PROGRAM.replace(right, wrong, 1))
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "--follow-imports=silent",
         *map(str, sorted(tmp_path.glob("*.py")))],
        capture_output=True, text=True, cwd=tmp_path, env={"MYPYPATH": str(SOURCE), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    failed = {line.partition(":")[0].rpartition("/")[2] for line in ran.stdout.splitlines() if ": error:" in line}
    assert failed == {f"wrong_{n}.py" for n in range(len(WRONG))}, ran.stdout + ran.stderr
