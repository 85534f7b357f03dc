"""Long text is cut where it breaks, and nothing is lost."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from holdfast.testing.conformance import memory, message
from holdfast.text import passages


@given(st.text(max_size=400), st.integers(10, 60))
def test_passages_cover_the_text_without_gap_or_overlap(text: str, limit: int) -> None:
    spans = list(passages.passage_spans(text, limit))
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert all(stop == start for (_, stop), (start, _) in pairwise(spans))
    assert all(stop - start <= limit for start, stop in spans)


def test_a_paragraph_break_is_preferred_to_a_sentence_and_that_to_a_space() -> None:
    text = "aaaa bbbb. cccc dddd\n\neeee ffff. gggg hhhh"
    assert [text[a:b] for a, b in passages.passage_spans(text, 30)] == [
        "aaaa bbbb. cccc dddd\n\n",
        "eeee ffff. gggg hhhh",
    ]


def test_a_speaker_is_a_word_of_every_passage_and_stands_before_the_embedded_text() -> None:
    said = message("hello there", speaker="Zoë")
    part = passages.index_parts(said)[0]
    assert part.words == ("hello", "there", "zoe")
    assert passages.embedded_text(said, part) == "Zoë: hello there"


def test_a_task_gets_no_vector_and_a_question_is_marked() -> None:
    assert passages.index_parts(memory("call mum", kind="task"))[0].embed is False
    assert passages.index_parts(message("where are you? "))[0].asks is True


def test_questions_are_embedded_with_a_memory_if_they_add_words() -> None:
    lives = memory("The user lives in Porto.", queries=("Where does the user live?", "What is the user's home city?"))
    (part,) = passages.index_parts(lives)
    assert passages.embedded_text(lives, part) == "What is the user's home city? The user lives in Porto."
