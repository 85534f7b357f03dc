"""What reads statements: made of the embedder's file, able to tell a change from a neighbour and a fact from a game."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from holdfast.models import onnx_file
from holdfast.models.local import ArcticEmbedder
from holdfast.models.reader_network import LAYERS, embedder_weights
from holdfast.models.rules.judge import ReadableSentence
from holdfast.text import supersession
from holdfast.text.ended_parts import find_ended_parts
from holdfast.text.static_vectors import weights_path
from holdfast.text.supersession import ComparedStatement, StatementPair, StatementSource


def test_the_embedders_numbers_are_read_out_of_its_file() -> None:
    network = onnx_file.load_network(weights_path("arctic-embed-s/model.onnx"))
    found = embedder_weights(network)
    assert found["layers.5.up.weight"].shape == (1536, 384)
    assert found["layers.0.down.weight"].shape == (384, 1536)
    assert len(found) == 4 + LAYERS * 16
    assert all(np.isfinite(values).all() and values.any() for values in found.values())


def test_one_that_is_cut_off_is_noticed(tmp_path: Path) -> None:
    whole = weights_path("arctic-embed-s/model.onnx").read_bytes()
    (tmp_path / "half.onnx").write_bytes(whole[: len(whole) // 2])
    with pytest.raises((IndexError, ValueError, KeyError)):
        embedder_weights(onnx_file.load_network(tmp_path / "half.onnx"))


@pytest.mark.parametrize(
    ("old", "change", "neighbour"),
    [
        ("The user drives a 2014 Civic.", "The user traded the Civic in for a used Leaf.", "The Civic has new tyres."),
        ("Handover is on Monday at 10:00.", "Handovers happen on Wednesday at 14:00.", "Handover took an hour today."),
        ("The user needs to call the plumber.", "The plumber came and fixed the sink.", "The user needs to buy paint."),
        ("Answer in English.", "Answer in German from now on.", "Use metric units."),
        ("The shop deploys to Fly.io.", "Production lives on Hetzner boxes.", "A friend's blog is on Fly.io."),
        ("Tunde does the pixel art.", "A guy called Marek does the art these days.", "Tunde's own comic is out now."),
    ],
)  # fmt: skip
async def test_a_change_is_told_from_a_neighbour(old: str, change: str, neighbour: str) -> None:
    known = ComparedStatement("fact", old, "s1", ("m1",))

    def pair(text: str) -> StatementPair:
        new = ComparedStatement("fact", text, "s2", ("m2",))
        return StatementPair(known, new, StatementSource(text), supersession.features(new, [known], [0.85])[0])

    changed, beside = await ArcticEmbedder().odds([pair(change), pair(neighbour)])
    assert changed > beside + 1


@pytest.mark.parametrize(
    ("old", "new", "ends"),
    [
        ("Shoes for my son Emre, size 33, velcro, no lights.", "Emre takes a 35 by now.", "size 33"),
        ("Standup is at 9:15, on Teams, Lotte runs it.", "From Monday it is at 9:30.", "Standup is at 9:15"),
        ("The API is in Go, Priya reviews it, Ann tests it.", "Tag Tomasz for reviews of the API.", "Priya reviews it"),
    ],
)  # fmt: skip
async def test_the_part_that_ended_is_found(old: str, new: str, ends: str) -> None:
    was, later = ComparedStatement("fact", old, "s1", ("m1",)), ComparedStatement("fact", new, "s2", ("m2",))
    found = await find_ended_parts(later, StatementSource(new), was, ArcticEmbedder())
    assert [old[slice(*span)] for span in found] == [ends]


async def test_what_is_told_in_a_game_is_told_from_what_is_meant() -> None:
    words = np.log(np.array([0.3, 0.4, 0.1, 0.1, 0.1], np.float32))
    text = "I have worked for the king for twenty years."
    game = ReadableSentence(
        text, "Let's play! You are the thief, and I guard the castle.", text, "Mercy, good guard!", words
    )
    meant = ReadableSentence(
        "I have worked for Acme for twenty years.", "", "I have worked for Acme for twenty years.", "", words
    )
    nothing, fact = ([float(each) for each in found] for found in await ArcticEmbedder().classes([game, meant]))
    assert nothing[0] > max(nothing[1:])
    assert fact[1] == max(fact)


class Broken(ArcticEmbedder):
    async def odds(self, pairs: Sequence[StatementPair]) -> list[float]:
        raise MemoryError("no room for it")


async def test_without_it_the_network_decides_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    old = ComparedStatement("fact", "The user drives a 2014 Civic.", "s1", ("m1",))
    new = ComparedStatement("fact", "The user traded the Civic in for a used Leaf.", "s2", ("m2",))
    with caplog.at_level(logging.WARNING, "holdfast"):
        found = await supersession.find_superseded(new, StatementSource(new.text), [old], [0.84], {"civic"}, Broken())
    assert found == await supersession.find_superseded(new, StatementSource(new.text), [old], [0.84], {"civic"}, None)
    assert "the reader failed: no room for it" in caplog.text
    assert (
        await supersession.find_superseded(new, StatementSource(new.text), [old], [0.84], {"civic"}, ArcticEmbedder())
    ) == [0]
