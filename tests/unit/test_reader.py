"""What reads statements: made of the embedder's file, able to tell a change from a neighbour and a fact from a game."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from holdfast import outdated
from holdfast.models import onnxfile
from holdfast.models.local import ArcticEmbedder
from holdfast.models.reader import LAYERS, embedders
from holdfast.models.rules.judge import Sentence
from holdfast.outdated import Pair, Saying, Statement
from holdfast.statics import weight


def test_the_embedders_numbers_are_read_out_of_its_file() -> None:
    network = onnxfile.opened(weight("arctic-embed-s/model.onnx"))
    found = embedders(network)
    assert found["layers.5.up.weight"].shape == (1536, 384)
    assert found["layers.0.down.weight"].shape == (384, 1536)
    assert len(found) == 4 + LAYERS * 16
    assert all(np.isfinite(values).all() and values.any() for values in found.values())


def test_one_that_is_cut_off_is_noticed(tmp_path: Path) -> None:
    whole = weight("arctic-embed-s/model.onnx").read_bytes()
    (tmp_path / "half.onnx").write_bytes(whole[: len(whole) // 2])
    with pytest.raises((IndexError, ValueError, KeyError)):
        embedders(onnxfile.opened(tmp_path / "half.onnx"))


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
    known = Statement("fact", old, "s1", ("m1",))

    def pair(text: str) -> Pair:
        new = Statement("fact", text, "s2", ("m2",))
        return Pair(known, new, Saying(text), outdated.features(new, [known], [0.85])[0])

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
    was, later = Statement("fact", old, "s1", ("m1",)), Statement("fact", new, "s2", ("m2",))
    found = await outdated.ended(later, Saying(new), was, ArcticEmbedder())
    assert [old[slice(*span)] for span in found] == [ends]


async def test_what_is_told_in_a_game_is_told_from_what_is_meant() -> None:
    words = np.log(np.array([0.3, 0.4, 0.1, 0.1, 0.1], np.float32))
    text = "I have worked for the king for twenty years."
    game = Sentence(text, "Let's play! You are the thief, and I guard the castle.", text, "Mercy, good guard!", words)
    meant = Sentence(
        "I have worked for Acme for twenty years.", "", "I have worked for Acme for twenty years.", "", words
    )
    nothing, fact = ([float(each) for each in found] for found in await ArcticEmbedder().classes([game, meant]))
    assert nothing[0] > max(nothing[1:])
    assert fact[1] == max(fact)


class Broken(ArcticEmbedder):
    async def odds(self, pairs: Sequence[Pair]) -> list[float]:
        raise MemoryError("no room for it")


async def test_without_it_the_network_decides_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    old = Statement("fact", "The user drives a 2014 Civic.", "s1", ("m1",))
    new = Statement("fact", "The user traded the Civic in for a used Leaf.", "s2", ("m2",))
    with caplog.at_level(logging.WARNING, "holdfast"):
        found = await outdated.replaced(new, Saying(new.text), [old], [0.84], {"civic"}, Broken())
    assert found == await outdated.replaced(new, Saying(new.text), [old], [0.84], {"civic"}, None)
    assert "the reader failed: no room for it" in caplog.text
    assert await outdated.replaced(new, Saying(new.text), [old], [0.84], {"civic"}, ArcticEmbedder()) == 0
