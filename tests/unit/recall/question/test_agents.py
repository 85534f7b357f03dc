"""Which agent a question is about: only one that is named as somebody who tells things."""

from __future__ import annotations

import pytest

from holdfast.recall.question.agents import agents_mentioned, may_mention_agent

AGENTS = ("claude-code", "release-bot", "sales", "Support")


@pytest.mark.parametrize(
    ("question", "agents", "rest"),
    [
        ("What did the sales agent tell her yesterday?", ("sales",), "What did tell her yesterday?"),
        ("what did the Sales assistant say about seats", ("sales",), "what did say about seats"),
        ("What did agent sales promise?", ("sales",), "What did promise?"),
        ("What did sales promise her?", ("sales",), "What did promise her?"),
        ("According to support, which router is it?", ("Support",), ", which router is it?"),
        ("What has the support bot's list to say?", ("Support",), "What has list to say?"),
        ("What was I doing in claude code last week?", ("claude-code",), "What was I doing in last week?"),
        ("Which version did the release bot ship?", ("release-bot",), "Which version did ship?"),
        (
            "Did the sales agent and the support agent agree?", ("Support", "sales"), "Did and agree?",
        ),
    ],
)  # fmt: skip
def test_an_agent_that_is_named_is_recognised(question: str, agents: tuple[str, ...], rest: str) -> None:
    found = agents_mentioned(question, AGENTS)
    assert found is not None
    assert (found.agents, found.rest) == (agents, rest)
    assert may_mention_agent(question) or "claude code" in question


@pytest.mark.parametrize(
    "question",
    [
        "How are sales developing?",
        "Where is the support of the shelf?",
        "Who is her agent?",
        "What did Ana say?",
        "",
        "?",
    ],
)
def test_a_word_that_is_also_an_agents_name_is_a_word(question: str) -> None:
    assert agents_mentioned(question, AGENTS) is None


@pytest.mark.parametrize(
    ("question", "anything"),
    [
        ("What did the sales agent tell her yesterday?", True),
        ("What did sales say last week?", True),
        ("What did the sales agent tell her about seats?", False),
    ],
)
def test_it_is_seen_whether_anything_is_asked_but_what_they_told(question: str, anything: bool) -> None:
    found = agents_mentioned(question, AGENTS)
    assert found is not None
    assert found.anything == anything
