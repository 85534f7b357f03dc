"""What has no vector, such as a task, is found by its words before what only has a vector."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import Holdfast


@pytest.mark.parametrize("embedder", ["potion", "arctic"])
def test_a_task_is_found_by_its_words(tmp_path: Path, embedder: str) -> None:
    with Holdfast.open(tmp_path, embedder=embedder) as memory:
        profile = memory.profile("app", "ana")
        said = [{"role": "user", "content": "I live in Porto."}, {"role": "assistant", "content": "A fine town."}]
        profile.ingest(said, session_id="s", wait=True)
        kept = profile.remember("Remind me to water the ferns tomorrow", kind="task")
        assert profile.search("ferns")[0].id == kept.id
        assert "Porto" in profile.search("Porto")[0].content
