"""Without any setting, nothing leaves the process: it opens no connection, and its files show no text and no name."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast

SAID = [{"role": "user", "content": "I live in Quetzalville and keep bees.", "speaker": "Zanzibara"}]
WORDS = (b"Quetzalville", b"Zanzibara", b"Xylophonia", b"Wintermute", b"Yggdrasil")


def test_no_connection_is_opened_and_no_file_shows_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **more: Any) -> Any:
        pytest.fail(f"a connection was opened: {given[1:]}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    data = tmp_path / "data"
    with Holdfast.open(data) as memory:
        ana = memory.profile("xylophonia", "Yggdrasil")
        ana.ingest(SAID, session_id="Wintermute", wait=True)
        ana.remember("Xylophonia is the code", key="Xylophonia")
        assert "Quetzalville" in ana.recall("Where do I live?").answer
        assert ana.context("bees").text
        held = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    held += b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    names = " ".join(str(path) for path in data.rglob("*")).encode()
    assert len(held) > 100_000
    assert [word for word in WORDS if word.lower() in held.lower() or word.lower() in names.lower()] == []
