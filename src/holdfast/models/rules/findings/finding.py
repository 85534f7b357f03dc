"""Findings of the rules, and the drafts made from them: summary, keywords, questions, dates, redaction."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.domain.types import Draft
from holdfast.models.rules.patterns.vocabulary import STOP
from holdfast.models.rules.people.third_person import USER_NAME, Subject, without_others
from holdfast.models.rules.sentences.quotations import quotation_with_dates
from holdfast.text.dates import OPEN_START, OPEN_STOP, Window, window_phrase
from holdfast.text.redaction import SurroundingTopics, redacted_among, surrounding_topics

MIN_CONFIDENCE = 0.5
"""Minimum confidence of the judge; anything below is kept only as a message. Of the statements of lives that no network
learned from, 87.6 % are known with 0.6 and 88.4 % with 0.45; in the unread part of evals/data/extraction, 0.45 gives
precision 0.82, and four memories in 110 messages of chit-chat in place of one."""
UNREAD_CONFIDENCE_SHARE, FOREIGN_CONFIDENCE_SHARE = 0.82, 0.68
"""The shares of that threshold used where no reader judges, and for scripts of which the judge and the reader know few
words: there, equally good findings get lower confidence. docs/decisions/0008 has the figures."""
MAX_SUMMARY_CHARACTERS = 80
"""Maximum characters of a summary. Chosen by hand; not measured."""
TOPICLESS_RULES = frozenset(("told", "told-event", "told-task", "told-order", "spoken", "reply", "abroad", "agreed"))
"""Rules that find a statement without a topic: the kind they assign is a guess, and the judge's is better."""
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What a rule found in a sentence. `value` is the part of `content` that a correction would replace."""

    kind: str
    rule: str
    subject: Subject
    content: str
    confidence: float
    topic: str | None = None
    value: str = ""
    queries: tuple[str, ...] = ()
    window: Window | None = None


def as_sentence(text: str) -> str:
    """The text as one sentence: single spaces, a capital letter first, a full stop last."""
    text = re.sub(r"\s+", " ", text).strip(" ,;:-")
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", '"')) else ".") if text else ""


def with_absolute_dates(content: str, dates: list[Window]) -> str:
    """Adds the absolute dates of the relative ones at the end in brackets: a statement keeps its author's words."""
    absolute = {
        w.text: window_phrase(w).removeprefix("the ") for w in dates[:3] if w.text in content and _is_relative(w)
    }
    phrases = [f"{text}: {date}" for text, date in absolute.items()] if len(absolute) > 1 else [*absolute.values()]
    if (quotation := quotation_with_dates(content, phrases)) is not None:
        return quotation
    return f"{content.rstrip(' .')} ({'; '.join(phrases)})" if phrases else content


def _is_relative(w: Window) -> bool:
    return not w.recurring and not _YEAR.search(w.text)


def has_predicate(finding: RuleFinding) -> bool:
    """Whether the content consists of more than its subject."""
    return (
        len(
            finding.content.removeprefix(without_others(finding.subject).owner)
            .removeprefix(finding.subject.name)
            .split()
        )
        > 1
    )


def short_summary(content: str) -> str:
    text = content.rstrip(".")
    if len(text) <= MAX_SUMMARY_CHARACTERS:
        return text
    return text[: MAX_SUMMARY_CHARACTERS - 1].rsplit(" ", 1)[0].rstrip(" ,;:(") + "…"


def keywords(content: str, topic: str | None) -> tuple[str, ...]:
    """Three to eight content words in order, filled up with the topic's words."""
    words = [
        w for w in re.findall(r"[^\W_][\w'+#-]*", content.lower()) if w.removesuffix("'s") not in STOP and len(w) > 1
    ]
    words = [w.removesuffix("'s") for w in words if not (w.isdigit() and len(w) < 3)]
    return tuple(dict.fromkeys([*words[:7], *(topic.split("-") if topic else [])][:8] or ["memory"]))


def memory_questions(finding: RuleFinding, words: tuple[str, ...]) -> tuple[str, ...]:
    """Three to five questions that the memory answers."""
    s, about = (
        without_others(finding.subject).inline,
        " ".join(w for w in words if w not in finding.subject.name.lower())[:60],
    )
    generic = {
        "event": (f"What did {s} do?", f"When did {s} mention {about}?", f"What happened with {about}?"),
        "task": (f"What does {s} need to do?", f"What is on {s}'s to-do list?", f"What should {s} be reminded of?"),
        "instruction": (f"What has {s} asked for?", f"What are {s}'s instructions?", f"How should {about} be handled?"),
    }.get(
        finding.kind, (f"What is known about {about}?", f"What did {s} say about {about}?", f"What is {s}'s {about}?")
    )
    return tuple(dict.fromkeys((*finding.queries, *generic)))[: max(3, min(5, len(finding.queries) + 1))]


def _redacted_content(content: str, around: SurroundingTopics) -> str:
    """The content without secrets. Its frame is left out of the search: "user" also labels logins."""
    frame = f"{USER_NAME} "
    if not content.startswith(frame):
        return redacted_among(content, around)
    return frame + redacted_among(content.removeprefix(frame), around)


def finding_draft(finding: RuleFinding, sources: tuple[str, ...], trust: str, around: str = "") -> Draft:
    """The draft of a finding; `around` is the text around it, which may show that a word is a password."""
    topics = surrounding_topics(around)
    content = _redacted_content(finding.content, topics)
    key = f"{finding.subject.prefix}{finding.topic}" if finding.topic else None
    words = keywords(content, finding.topic)
    w = finding.window
    return Draft(
        kind=finding.kind,
        content=content,
        sources=sources,
        summary=short_summary(content),
        key=key if key and redacted_among(key, topics) == key else None,
        keywords=words,
        queries=tuple(redacted_among(each, topics) for each in memory_questions(finding, words)),
        trust=trust,
        occurred_at=w.start if w and w.start.year != OPEN_START else None,
        occurred_until=w.stop if w and w.stop.year != OPEN_STOP else None,
        confidence=round(finding.confidence, 2),
        rule=finding.rule,
    )
