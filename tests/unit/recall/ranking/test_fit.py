"""How well clauses fit a question: what is passed over because it is worth too little changes nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from holdfast.domain.ports.search import Candidate, Proposals
from holdfast.domain.results import Hit
from holdfast.domain.types import Message
from holdfast.recall.question.analysis import Question, analysed_question
from holdfast.recall.ranking.clauses import people_in
from holdfast.recall.ranking.fit import NO_FIT, best_fits
from holdfast.recall.ranking.fit_bounds import may_be_worth
from holdfast.recall.ranking.trust import ANSWERS, with_hearsay
from holdfast.text.passages import index_parts

ASKED = datetime(2026, 1, 5, tzinfo=UTC)
SAID = (
    "My dentist is on Rua do Ouro, and I have to go there on Monday. The bakery next to it sells rye bread.",
    "I play the cello on Thursdays, but my sister Ana plays the drums.",
    "The printer jams whenever I print on both sides.",
    "Our dog Bruno is nine, he sleeps all day.",
    "I paid 340 euros for the cello, and the strings cost another 60.",
    "We moved to Lisbon in March; the boxes are still in the hall.",
)
QUESTIONS = (
    "Which instrument do I play?", "How much did I pay for the cello?", "Where do I live?", "How old is our dog?",
    "What does the printer do?", "When do I have to see my dentist?", "What does Ana play?",
)  # fmt: skip


def hit(n: int, content: str, role: str) -> Hit:
    return Hit(
        id=f"m{n}", kind="message", content=content, summary=content[:80], score=0.0, channels={}, session_id="s",
        created_at=ASKED, message_id=f"m{n}", role=role, trust="agent" if role == "assistant" else "user",
    )  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("least", [0.3, ANSWERS, 0.9])
def test_what_is_worth_enough_fits_as_it_does_beside_everything(question: str, least: float) -> None:
    target = analysed_question(question, ASKED).target
    hits = [hit(n, content, "user") for n, content in enumerate(SAID)]
    known = people_in(hits)
    every, some = best_fits(target, hits, known), best_fits(target, hits, known, least=least)
    for whole, fit in zip(every, some, strict=True):
        assert fit == whole or (whole.worth < least and (fit == NO_FIT or fit.worth < least))


def test_what_an_assistant_says_stands_until_the_user_answers_all_of_a_question() -> None:
    guess = hit(9, "You live in Porto, as far as I know.", "assistant")
    other, own = hit(2, SAID[2], "user"), hit(5, SAID[5], "user")
    asked = analysed_question("Where do I live?", ASKED)
    model = "local/snowflake-arctic-embed-s-int8/384"
    assert with_hearsay(asked, [guess, other], model) == [guess, other]
    found = with_hearsay(asked, [guess, own], model)
    assert [(each.id, each.assessment.hearsay) for each in found] == [("m5", False), ("m9", True)]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("least", [0.2, 0.3, ANSWERS, 0.9])
def test_the_index_passes_over_no_text_of_which_a_clause_is_worth_so_much(question: str, least: float) -> None:
    asked = analysed_question(question, ASKED)
    items = [
        Message(id=f"m{n}", session_id="s", role="user", content=said, created_at=ASKED) for n, said in enumerate(SAID)
    ]
    found = proposals_of(asked, items)
    hits = [hit(n, content, "user") for n, content in enumerate(SAID)]
    worth = [fit.worth for fit in best_fits(asked.target, hits, people_in(hits))]
    for item, best in zip(items, worth, strict=True):
        assert may_be_worth(least, asked, [item], found, {}) or best < least
    assert may_be_worth(max(worth), asked, items, found, {})


def test_the_index_passes_over_idle_talk() -> None:
    asked = analysed_question("Which instrument do I play?", ASKED)
    item = Message(id="m2", session_id="s", role="user", content=SAID[2], created_at=ASKED)
    assert not may_be_worth(ANSWERS, asked, [item], proposals_of(asked, [item]), {})


def test_of_a_text_that_the_index_may_have_in_several_parts_all_words_are_read() -> None:
    asked = analysed_question("Which instrument do I play?", ASKED)
    said = f"{'The boxes are still in the hall. ' * 15}I play the cello, my favourite instrument."
    item = Message(id="m0", session_id="s", role="user", content=said, created_at=ASKED)
    first = replace(item, content=said[:200])
    assert may_be_worth(ANSWERS, asked, [item], proposals_of(asked, [first]), {})


def proposals_of(asked: Question, items: list[Message]) -> Proposals:
    """What a store proposes that has these items in one part each."""
    parts = [index_parts(item)[0] for item in items]
    counts = np.array([[part.words.count(word) for word in asked.words] for part in parts], float)
    return Proposals(
        items=tuple(Candidate(item.id, False, "s", n, "user", None, False, 0) for n, item in enumerate(items)),
        channels=tuple({"messages": n + 1} for n in range(len(items))),
        of=np.arange(len(items)),
        number=np.zeros(len(items), np.int64),
        length=np.array([float(len(part.words)) for part in parts]),
        counts=counts,
        cosine=np.full(len(items), np.nan),
        tokens=tuple(part.tokens for part in parts),
        parts=len(items),
        mean_length=10.0,
        frequency=tuple(int(count) for count in (counts > 0).sum(0)),
    )


def test_what_is_kept_under_the_name_of_the_only_speaker_is_about_the_user() -> None:
    said = replace(hit(1, "I play the cello.", "user"), speaker="Ana")
    kept = replace(hit(2, "Ana has two children.", "user"), kind="fact", key="ana.children", message_id=None, role=None)
    (fit,) = best_fits(analysed_question("How many children do I have?", ASKED).target, [kept], people_in([said, kept]))
    assert fit.owned > 0
