"""Networks that are kept as they are run: prepared once, the same numbers, never a damaged one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.models import local, reader_network
from holdfast.models.local import ArcticEmbedder
from holdfast.models.network_cache import WEIGHTS_FILE, NetworkCache, networks
from holdfast.models.reader_network import LearnedWeights, ReaderNetwork, load_learned_weights

IDS, KINDS = [101, *range(2000, 2060), 102], [0] * 30 + [1] * 32


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(networks, "folder", tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def assembled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A line for each reader that is assembled from the embedder and what it learned."""
    found: list[str] = []
    build = ReaderNetwork._build

    def counted(self: ReaderNetwork, options: Any) -> Any:
        found.append("assembled")
        return build(self, options)

    monkeypatch.setattr(ReaderNetwork, "_build", counted)
    return found


def test_a_reader_is_assembled_once_and_gives_the_same_numbers(folder: Path, assembled: list[str]) -> None:
    networks.folder = None
    without = ReaderNetwork("answer_reader").output(IDS, KINDS)
    networks.folder = folder
    first, second = (ReaderNetwork("answer_reader").output(IDS, KINDS) for _ in range(2))
    assert len(assembled) == 2  # without the cache, and to fill it
    assert np.array_equal(without, first)
    assert np.array_equal(without, second)


def test_a_damaged_network_is_prepared_again(folder: Path, assembled: list[str]) -> None:
    first = ReaderNetwork("answer_reader").output(IDS, KINDS)
    (weights,) = folder.rglob(WEIGHTS_FILE)
    data = bytearray(weights.read_bytes())
    data[len(data) // 2] ^= 1
    weights.write_bytes(data)
    assert np.array_equal(ReaderNetwork("answer_reader").output(IDS, KINDS), first)
    assert np.array_equal(ReaderNetwork("answer_reader").output(IDS, KINDS), first)
    assert len(assembled) == 2


def test_a_network_that_changed_is_another_one(folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "network"
    source.write_text("one")
    built: list[str] = []

    def session() -> str:
        def build(_: Any) -> str:
            built.append(source.read_text())
            raise RuntimeError("nothing is written")

        with pytest.raises(RuntimeError, match="nothing is written"):
            networks.load_session("any", [source], local.session_options, build)
        return built[-1]

    assert session() == "one"
    source.write_text("other")
    assert session() == "other"


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = NetworkCache()
    cache.folder = tmp_path / "file" / "cache"
    assert cache.load_session("any", [tmp_path / "file"], local.session_options, lambda options: "built") == "built"


async def test_the_embedder_gives_the_same_numbers(folder: Path) -> None:
    networks.folder = None
    (without,) = await ArcticEmbedder().embed(["The user lives in Lisbon."])
    networks.folder = folder
    for _ in range(2):
        (found,) = await ArcticEmbedder().embed(["The user lives in Lisbon."])
        assert np.array_equal(found, without)
    assert len(list(folder.rglob(WEIGHTS_FILE))) == 1


async def test_the_embedder_of_a_process_with_few_runs_gives_the_same_numbers(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["Lisbon", "The user lives in Lisbon, near the river.", "She plays the cello on Tuesdays. " * 20]
    usual = await ArcticEmbedder().embed(texts)
    monkeypatch.setattr(networks, "few_runs", True)
    assert np.array_equal(await ArcticEmbedder().embed(texts), usual)


def test_only_what_is_asked_for_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = LearnedWeights("answer_reader")
    everything = load_learned_weights("answer_reader")
    assert set(learned) == set(everything)
    assert not learned._arrays
    assert np.array_equal(learned["calibration"], everything["calibration"])
    assert list(learned._arrays) == ["calibration"]
    assert reader_network.FOLDER.joinpath("answer_reader.npz").exists()
