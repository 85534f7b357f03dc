"""What the rules find is worded so that the words of one message stand together in it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.domain.types import Draft, Message
from holdfast.models.rules import drafts

AT = datetime(2025, 3, 5, 14, 30, tzinfo=UTC)


def drafts_from(*said: str) -> list[Draft]:
    return drafts([Message(f"m{i}", "s", "user", text, AT, position=i) for i, text in enumerate(said)], [], least=0.3)


def contents(*said: str) -> list[str]:
    return [draft.content for draft in drafts_from(*said)]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("So tired today, the server died twice", 'The user said: "So tired today, the server died twice"'),
        (
            "Last week I sold forty bottles at the market",
            'The user said: "Last week I sold forty bottles at the market"',
        ),
        ("My partner is now Winifred, who counts", 'The user said: "My partner is now Winifred, who counts"'),
    ],
)
def test_words_that_would_be_moved_are_quoted(said: str, kept: str) -> None:
    assert any(content.startswith(kept) for content in contents(said)), contents(said)


def test_a_quotation_that_begins_with_a_pronoun_says_of_whom() -> None:
    made = contents("Mr Lockyer has died. His son Rupert takes over the house")
    assert 'The user said of Lockyer: "His son Rupert takes over the house"' in made


def test_somebody_named_in_the_message_before_is_cited() -> None:
    made = drafts_from("My daughter Noor goes to the Linden school", "her teacher is Mrs. Achterberg")
    (teacher,) = (draft for draft in made if "Achterberg" in draft.content)
    assert teacher.content == 'The user said of Noor: "her teacher is Mrs. Achterberg"'
    assert teacher.sources == ("m0", "m1")


def test_a_value_that_a_rule_moved_stands_in_quotation_marks() -> None:
    (draft,) = drafts_from("I'm allergic to penicillin and to bee stings")[1:]
    assert (draft.key, draft.content) == ("allergy-bee-stings", 'The user is allergic to "bee stings".')


def test_a_corrected_value_stands_in_quotation_marks() -> None:
    made = contents("I posted the parcel yesterday, receipt RX 8834", "sorry, RX 8843")
    assert any('receipt RX "8843"' in content for content in made), made


@pytest.mark.parametrize("remark", ["in case of ambulance", "great in surgery I know", "properly", "baker joke"])
def test_a_remark_after_an_allergy_is_no_allergy(remark: str) -> None:
    assert [draft.key for draft in drafts_from(f"I am allergic to penicillin, {remark}")] == ["allergy-penicillin"]


@pytest.mark.parametrize(
    "said", ["Ottavia wants ochre, I want white", "Mrs Pattison follows me to Beeston on two buses"]
)
def test_an_author_who_is_not_named_is_quoted(said: str) -> None:
    assert f'The user said: "{said}"' in contents(said)


def test_a_reply_in_another_language_keeps_its_marks() -> None:
    asked = Message("m0", "s", "assistant", "Préférez-vous un hôtel ou un appartement ?", AT)
    said = Message("m1", "s", "user", "Un appartement, toujours. Je ne supporte pas les hôtels.", AT, position=1)
    (draft,) = drafts([asked, said], [], least=0.1)
    assert draft.content.endswith("answered: Un appartement, toujours. Je ne supporte pas les hôtels.")


def test_a_quotation_takes_no_word_from_another_sentence() -> None:
    said = "april is in her account, she sent a voice note. the text was chaos, it's all in Weblate"
    assert not any("is all in her account" in content for content in contents(said))
