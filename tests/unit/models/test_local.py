"""The shipped models give what they should, and read text as their makers' tokenizer does."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from holdfast.domain.types import Floats
from holdfast.models import local
from holdfast.models.local import ArcticEmbedder, PotionEmbedder
from holdfast.text import static_vectors
from holdfast.text.wordpiece import WordPiece

TEXTS = [
    "I moved to Lisbon last week.",
    "naïve café 東京 ﬁne Ⅷ İstanbul ภาษาไทย 🙂👍🏽 a\u200bb x\x00y\x07z \u3000 wide",
    "Ünïcödé ß ŒUVRE — “quoted” … ½ \ufffd don't_stop v1.2.3 foo@bar.com",
    "def f(x): return x**2  # комментарий\n\treturn\r\n",
    "a" * 300,
    "",
]


@pytest.mark.parametrize("name", ["arctic-embed-s", "potion-base-8M"])
def test_wordpiece_agrees_with_the_reference_tokenizer(name: str) -> None:
    path = static_vectors.weights_path(f"{name}/vocab.txt")
    vocabulary = {piece: n for n, piece in enumerate(path.read_text("utf-8").split("\n")) if piece}
    reference = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    reference.normalizer = normalizers.BertNormalizer()
    reference.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ours = WordPiece(path)
    for text in TEXTS:
        assert ours.ids(text) == reference.encode(text, add_special_tokens=False).ids, json.dumps(text)


@pytest.mark.parametrize("embedder", [ArcticEmbedder(), PotionEmbedder()], ids=["arctic", "potion"])
async def test_what_belongs_together_is_near(embedder: ArcticEmbedder | PotionEmbedder) -> None:
    near, far = await embedder.embed(["I moved to Lisbon last week.", "The printer is out of toner."])
    question = await embedder.embed_query("Which city does she live in?")
    assert question @ near > question @ far
    assert np.linalg.norm(near) == pytest.approx(1, abs=1e-4)
    assert len(near) == int(embedder.model.rsplit("/", 1)[1])


async def test_a_batch_gives_what_single_texts_give() -> None:
    embedder = ArcticEmbedder()
    texts = ["short", "a somewhat longer text about sailing in the Baltic Sea", "x " * 600]
    together = await embedder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert (await embedder.embed([text]))[0] @ vector > 0.98  # int8 activations vary a little with padding


def test_short_texts_are_embedded_together_and_long_ones_by_themselves() -> None:
    lengths = [500, 60, 12, 500, 12, *[20] * 40]
    batches = list(local.length_batches(lengths))
    assert sorted(n for batch in batches for n in batch) == list(range(len(lengths)))
    assert max(len(batch) for batch in batches) == 16
    assert all(len(batch) * max(lengths[n] for n in batch) <= 512 for batch in batches)
    assert [1] in batches
    assert sum(max(lengths[n] for n in batch) - lengths[m] for batch in batches for m in batch) <= 16  # padding
    assert [0] in batches
    assert [3] in batches


async def test_a_long_text_has_the_same_vector_whatever_it_comes_with() -> None:
    embedder = ArcticEmbedder()
    long, other = "the boat in the harbour of Porto " * 60, "a garden with old trees and a well " * 50
    alone, together = (await embedder.embed([long]))[0], (await embedder.embed([other, long]))[1]
    assert np.array_equal(alone, together)


async def test_a_question_does_not_wait_for_background_work(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder, go_on, works = ArcticEmbedder(), threading.Event(), threading.Event()
    vectors = embedder._vectors

    def slow(ids: list[list[int]]) -> list[Floats]:
        if threading.current_thread().name.startswith("holdfast-model"):
            works.set()
            assert go_on.wait(300)
        return vectors(ids)

    monkeypatch.setattr(embedder, "_vectors", slow)
    background = asyncio.create_task(embedder.embed(["a passage"] * 3))
    assert await asyncio.to_thread(works.wait, 300)
    assert len(await embedder.embed_query("Where do I live?")) == 384
    assert not background.done()
    go_on.set()
    assert len(await background) == 3


async def test_background_work_of_several_takes_turns() -> None:
    """Neither of two waits for the whole of the other."""
    embedder, ended = PotionEmbedder(), []

    async def embed(name: str, many: int) -> None:
        assert len(await embedder.embed([f"{name} text"] * many)) == many
        ended.append(name)

    await asyncio.gather(embed("long", 2000), embed("short", 8))
    assert ended == ["short", "long"]


def test_maxsim_prefers_the_text_that_speaks_of_the_words() -> None:
    texts = [
        static_vectors.token_ids(text)[0] for text in ("my sister adores sailing boats", "the invoice is overdue", "")
    ]
    scores = static_vectors.maxsim([("yacht", 2.0), ("sister", 1.0)], texts)
    assert scores[0] > scores[1]
    assert len(scores) == 3


def test_embedding_leaves_nothing_in_the_users_folders(tmp_path: Path) -> None:
    """The inference library would keep a device id there."""
    code = "import asyncio; from holdfast.models.local import ArcticEmbedder as A; asyncio.run(A().embed(['hi']))"
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    kept = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", code], env=kept | home, check=True, timeout=400)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_recall_leaves_nothing_of_the_inference_library_in_the_users_folders(tmp_path: Path) -> None:
    code = (
        "from holdfast import Holdfast; memory = Holdfast.open(); profile = memory.profile('app', 'ana'); "
        "profile.remember('I like tea'); print(profile.recall('What do I like?').answer); memory.close()"
    )
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "HOLDFAST_"))}
    done = subprocess.run([sys.executable, "-c", code], env=kept | home, check=True, timeout=400, capture_output=True)
    assert b"tea" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"holdfast"}
