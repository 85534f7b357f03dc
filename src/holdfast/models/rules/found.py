"""What a rule found, and its draft: summary, keywords, dates, redaction."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...redaction import redacted
from ...types import Draft
from ...when import OPEN_START, OPEN_STOP, Window, phrase
from .quotes import bracketed
from .voice import Subject, alone
from .words import STOP

LEAST = 0.67
"""How sure the judge must be; what is less sure stays a message. Cross-validated precision at this gate is 0.86."""
BY_WORDS = 0.6
"""Of that, how much it takes where nobody reads, or in letters of which the reader knows few words: they are less sure
of what is as good."""
SUMMARY = 80
_ABSOLUTE = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Found:
    """`value` is the part of the content that a correction would replace."""

    kind: str
    rule: str
    subject: Subject
    content: str
    confidence: float
    topic: str | None = None
    value: str = ""
    queries: tuple[str, ...] = ()
    window: Window | None = None


def sentence(text: str) -> str:
    """One sentence: spaces collapsed, a capital, a full stop."""
    text = re.sub(r"\s+", " ", text).strip(" ,;:-")
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", '"')) else ".") if text else ""


def dated(content: str, found: list[Window]) -> str:
    """Relative dates followed by the absolute one in brackets; those of a quotation follow its marks."""
    absolute = {w.text: phrase(w).removeprefix("the ") for w in found[:3] if w.text in content and _relative(w)}
    phrases = [f"{text}: {date}" for text, date in absolute.items()] if len(absolute) > 1 else [*absolute.values()]
    if (quotation := bracketed(content, phrases)) is not None:
        return quotation
    for w in found[:3]:
        at = content.find(w.text)
        after = at + len(w.text)
        if at >= 0 and _relative(w) and not content.startswith("'s", after):
            content = f"{content[:after]} ({phrase(w).removeprefix('the ')}){content[after:]}"
    return content


def _relative(w: Window) -> bool:
    return not w.yearly and not _ABSOLUTE.search(w.text)


def says_something(found: Found) -> bool:
    """Whether more than its subject is left of it."""
    return len(found.content.removeprefix(alone(found.subject).owner).removeprefix(found.subject.name).split()) > 1


def summary(content: str) -> str:
    text = content.rstrip(".")
    if len(text) <= SUMMARY:
        return text
    return text[: SUMMARY - 1].rsplit(" ", 1)[0].rstrip(" ,;:(") + "…"


def keywords(content: str, topic: str | None) -> tuple[str, ...]:
    """Three to eight content words, in order; the topic's words fill up."""
    words = [
        w for w in re.findall(r"[^\W_][\w'+#-]*", content.lower()) if w.removesuffix("'s") not in STOP and len(w) > 1
    ]
    words = [w.removesuffix("'s") for w in words if not (w.isdigit() and len(w) < 3)]
    return tuple(dict.fromkeys([*words[:7], *(topic.split("-") if topic else [])][:8] or ["memory"]))


def asked(found: Found, words: tuple[str, ...]) -> tuple[str, ...]:
    """Three to five questions that the memory answers."""
    s, about = alone(found.subject).inline, " ".join(w for w in words if w not in found.subject.name.lower())[:60]
    generic = {
        "event": (f"What did {s} do?", f"When did {s} mention {about}?", f"What happened with {about}?"),
        "task": (f"What does {s} need to do?", f"What is on {s}'s to-do list?", f"What should {s} be reminded of?"),
        "instruction": (f"What has {s} asked for?", f"What are {s}'s instructions?", f"How should {about} be handled?"),
    }.get(found.kind, (f"What is known about {about}?", f"What did {s} say about {about}?", f"What is {s}'s {about}?"))
    return tuple(dict.fromkeys((*found.queries, *generic)))[: max(3, min(5, len(found.queries) + 1))]


def draft(found: Found, sources: tuple[str, ...], trust: str, around: str = "") -> Draft:
    """`around` is what was said just before, which may show that a word is a password."""
    content = redacted(found.content, around)
    key = f"{found.subject.prefix}{found.topic}" if found.topic else None
    words = keywords(content, found.topic)
    w = found.window
    return Draft(
        kind=found.kind,
        content=content,
        sources=sources,
        summary=summary(content),
        key=key if key and redacted(key, around) == key else None,
        keywords=words,
        queries=asked(found, words),
        trust=trust,
        occurred_at=w.start if w and w.start.year != OPEN_START else None,
        occurred_until=w.stop if w and w.stop.year != OPEN_STOP else None,
        confidence=round(found.confidence, 2),
        rule=found.rule,
    )
