"""A question lies nearest to the message that answers it, also in other words; vectors of messages stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.models.local import ArcticEmbedder
from holdfast.models.question_encoder import QuestionEncoder

TOLD = {
    "Who is my GP?": "dr. hale at the surgery wants bloods again, fasting this time",
    "What do I do for a living?": "finished the night shift, 14 trams washed and one door motor swapped",
    "How much rent do we pay?": "landlord put it up to 1,150 a month from june",
    "What kind of dog do we have?": "took Pickle to the park, she's a whippet so she was done after five minutes",
    "What am I allergic to?": "hazelnuts make my throat swell so no nutella for me",
}


@pytest.mark.parametrize("question", TOLD)
async def test_a_question_is_nearest_to_what_answers_it(question: str) -> None:
    embedder = ArcticEmbedder()
    asked = await embedder.embed_query(question)
    told = await embedder.embed(list(TOLD.values()))
    assert int(np.argmax([asked @ vector for vector in told])) == list(TOLD).index(question)
    assert np.linalg.norm(asked) == pytest.approx(1, abs=1e-4)


async def test_a_question_is_not_embedded_as_a_message() -> None:
    embedder = ArcticEmbedder()
    (message,) = await embedder.embed(["Where do I live?"])
    assert (await embedder.embed_query("Where do I live?")) @ message < 0.99


def test_a_question_without_words_has_a_vector() -> None:
    embedder = ArcticEmbedder()
    vector = QuestionEncoder().vector(embedder._token_ids(""))
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-4)
