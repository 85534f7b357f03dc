"""What reads statements: made of the embedder's file, able to tell a change from a neighbour and a fact from a game."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from holdfast import AsyncHoldfast
from holdfast.ingest.reconcile.endings import find_ended_parts
from holdfast.models import onnx_file
from holdfast.models.local import ArcticEmbedder
from holdfast.models.reader_network import LAYERS, embedder_weights
from holdfast.models.rules.judge import ReadableSentence
from holdfast.models.statement_reader import UNREAD, encoded_candidate
from holdfast.text import supersession
from holdfast.text.static_vectors import weights_path
from holdfast.text.supersession import ComparedStatement, EndingCandidate, ReadEnding, StatementSource
from holdfast.text.wordpiece import load_wordpiece


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
    known, reader = ComparedStatement("fact", old, "s1", ("m1",)), ArcticEmbedder()

    async def log_odds(text: str) -> float:
        new = ComparedStatement("fact", text, "s2", ("m2",))
        candidate = EndingCandidate(known, old, supersession.features(new, [known], [0.85])[0])
        return (await reader.read_endings(text, "", [candidate]))[0].log_odds

    assert await log_odds(change) > await log_odds(neighbour) + 1


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
    found = await find_ended_parts(later, StatementSource(new), was, old, ArcticEmbedder())
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


def test_a_candidate_comes_after_the_words_before_it_and_without_those_around_its_quotation() -> None:
    pieces = load_wordpiece(weights_path("arctic-embed-s/vocab.txt"))
    message = "car share rules. car: green Yaris, reg ends in OKT. lives outside no. 17"
    one = encoded_candidate(pieces, 'Tolu said: "green Yaris, reg ends in OKT"', message)
    assert one.ids[one.span[0] :] == pieces.ids("green Yaris, reg ends in OKT")
    assert one.ids[: one.span[0]] == pieces.ids("car share rules. car: Tolu:")
    assert [one.ids[slice(*part)] for part in one.parts] == [pieces.ids("green Yaris"), pieces.ids("reg ends in OKT")]


async def test_what_does_not_fit_is_not_read() -> None:
    old, new = ComparedStatement("fact", "I live in Porto.", "s1", ("m1",)), "We moved to Lisbon in May."
    told = ComparedStatement("fact", new, "s2", ("m2",))
    candidate = EndingCandidate(old, "I live in Porto.", supersession.features(told, [old], [0.8])[0])
    found = await ArcticEmbedder().read_endings(new, "", [candidate] * 60)
    assert len(found) == 60
    assert found[0].log_odds > found[-1].log_odds == UNREAD.log_odds


class Broken(ArcticEmbedder):
    async def read_endings(self, text: str, before: str, candidates: Sequence[EndingCandidate]) -> list[ReadEnding]:
        raise MemoryError("no room for it")


async def test_without_it_the_network_decides_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with await AsyncHoldfast.open(tmp_path, embedder=Broken()) as memory:
        profile = memory.profile("app", "ana")
        with caplog.at_level(logging.WARNING, "holdfast"):
            for n, text in enumerate(("The standup is at 9:30.", "Standup moved to 10:00, in the small room.")):
                await profile.ingest([{"role": "user", "content": text}], session_id=f"s{n}", wait=True)
        assert "the reader failed: no room for it" in caplog.text
        assert (await profile.stats()).superseded == 1
