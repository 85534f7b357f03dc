"""What a model is really sent, letter by letter. `pytest tests/golden --renew` writes the files anew.

A prompt that changes must change its version: memories say which one made them.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from datetime import UTC, datetime
from pathlib import Path

import pytest

from golden.conftest import Compare
from holdfast import AsyncHoldfast
from holdfast.models.llm.prompt import load_prompt
from holdfast.testing import Asked, HashingEmbedder, ModelServer
from support.scripted_llm import TASKS, ScriptedLlm, task_of

GOLDEN = Path(__file__).with_name("prompts")
SAID = [
    {"role": "assistant", "content": "Welcome back!", "timestamp": "2025-03-04T09:00:00Z"},
    {
        "role": "user",
        "speaker": "Ana",
        "content": "I live in Porto.\nMy locker is 17.",
        "timestamp": "2025-03-04T09:01Z",
    },
    *({"role": "user", "content": f"Filler {n}", "timestamp": "2025-03-04T09:02Z"} for n in range(8)),
]
MOVED = [{"role": "user", "content": "Now I live in Lisbon.", "timestamp": "2025-06-01T10:00:00Z"}]
STATEMENTS = {"Ana lives in Porto.": "I live in Porto", "Ana lives in Lisbon.": "I live in Lisbon"}


async def test_the_model_is_sent_what_the_golden_files_say(
    compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda n=16: "0" * 2 * n)
    sent: dict[str, str] = {}
    mind = ScriptedLlm(STATEMENTS, dict.fromkeys(STATEMENTS, "home-city"))

    def listening(asked: Asked) -> object:
        shape = json.dumps(asked.schema, indent=1)
        sent[task_of(asked)] = f"SYSTEM\n{asked.system}\n\nUSER\n{asked.user}\n\nSCHEMA\n{shape}\n"
        return mind(asked)

    async with (
        ModelServer(listening) as server,  # type: ignore[arg-type]
        await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder(), llm=f"{server.url}#scripted") as holdfast,
    ):
        holdfast.runtime.clock = holdfast.runtime.worker._clock = lambda: datetime(2025, 6, 2, tzinfo=UTC)
        ana = holdfast.profile("app", "ana")
        await ana.ingest(SAID, session_id="one", wait=True)
        await ana.ingest(MOVED, session_id="two", wait=True)
        await ana.recall("Where does Ana live?")
    assert set(sent) == set(TASKS) - {"summarise"}
    for task, text in sent.items():
        compare(f"prompts/{task}.txt", text)


@pytest.mark.parametrize("task", TASKS)
def test_a_prompt_that_changes_changes_its_version(task: str) -> None:
    known = json.loads((GOLDEN / "versions.json").read_text("utf-8"))
    made = load_prompt(task)
    assert made.version.startswith(f"{task}-")
    digest = hashlib.sha256(made.text.encode()).hexdigest()[:16]
    assert known.get(made.version) == digest, f"give prompts/{task}.md a new version and note {digest} for it"
