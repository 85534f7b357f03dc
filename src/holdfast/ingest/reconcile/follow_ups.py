"""Completes drafts that make sense only with a memory: the correction of a value, and the move that was planned.

"I meant 4,500, not 500" becomes the budget's next version, and "we moved yesterday" the new home that a plan named. The
completed draft cites both messages; it is made only if they prove its words and both values have the same type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from holdfast.domain.ports.storage import Store
from holdfast.domain.types import SECOND_HAND_TRUST, Draft, Memory, Message, Test, fingerprint
from holdfast.text import tokens
from holdfast.text.content_words import QUALIFIERS, content_words
from holdfast.text.dates import written_date
from holdfast.text.endings import ARRIVED, mover
from holdfast.text.faithfulness import is_proved
from holdfast.text.lexicon.patterns import ASIDE
from holdfast.text.statement_parts import framed_span, reported_statement
from holdfast.text.values import AMOUNT, DATE, NUMBER, Value, values
from holdfast.text.wording.word_runs import stand_together

MAX_CANDIDATES = 200
"""How many of the newest memories a follow-up may refer to. Chosen by hand; not measured."""
_NOT = re.compile(r"[,;]? (?:and |it's |its )?not (?:on |at |in )?(?=\S)", re.I)
_PLANNED_MOVE = re.compile(
    r"\b(?:moving|move|relocating|relocate) (?:back )?to (?P<place>(?-i:[A-ZÀ-Þ])[\w'-]+(?: (?-i:[A-ZÀ-Þ])[\w'-]+)?)"
)
_UNREAL = re.compile(
    r"\b(?:not|never|if|when|once|until|will|would|might|soon|can't wait|almost|nearly)\b|n't\b|\?", re.I
)
_OTHER_SUBJECT = re.compile(r"(?!The (?:user|move)\b|First |Second |Finally |We |All )[A-ZÀ-Þ][\w'-]+ ")
_NUMERIC = {NUMBER, AMOUNT}
_CORRECTING_STEMS = {
    word.stem for word in content_words("sorry wait mean meant wrong mistake typo correction actually")
}


@dataclass(frozen=True, slots=True)
class FollowUps:
    """Drafts, of which some were completed by memories."""

    drafts: list[Draft]
    superseded: dict[str, tuple[Memory, ...]] = field(default_factory=dict)
    """Fingerprint of a completed draft → the memory that completed it, which it supersedes."""
    said_at: dict[str, datetime] = field(default_factory=dict)
    """Message id → when it was said, for the sources of these memories."""


async def find_follow_ups(
    store: Store, drafts: Sequence[Draft], messages: Mapping[str, Message], now: datetime
) -> FollowUps:
    """The drafts, with those that follow up on a memory completed by it."""
    if not any(_may_follow_up(draft) for draft in drafts):
        return FollowUps([*drafts])
    page = await store.scan(Test("kind", "in", ("fact", "event")), now=now, limit=MAX_CANDIDATES)
    known = [memory for memory in page.items if memory.sources and memory.trust not in SECOND_HAND_TRUST]
    cited = list(dict.fromkeys(source for memory in known for source in memory.sources))
    said = {item.id: item for item in await store.get(cited) if isinstance(item, Message)} | dict(messages)
    texts = {id: message.content for id, message in said.items()}
    found = FollowUps([], said_at={id: message.said_at for id, message in said.items()})
    for draft in drafts:
        at = messages[draft.sources[-1]].said_at
        corrected = _corrected(draft, known, texts)
        found.drafts.append(corrected[0] if corrected else draft)
        for made, memory in (*([corrected] if corrected else []), *_new_home(draft, known, texts, at)):
            if made is not found.drafts[-1]:
                found.drafts.append(made)
            found.superseded[fingerprint(made.kind, made.content)] = (memory,)
    return found


def _may_follow_up(draft: Draft) -> bool:
    own = draft.key is None and draft.trust not in SECOND_HAND_TRUST
    return own and bool(" not " in draft.content or _mover(draft.content))


def _mover(content: str) -> str:
    """Who has moved, where the content says no more than that; otherwise empty."""
    if who := mover(content):
        return who
    arrived = ARRIVED.search(content) and not _UNREAL.search(content)
    return "The user" if arrived and not _OTHER_SUBJECT.match(content) else ""


def _corrected(draft: Draft, known: Sequence[Memory], texts: Mapping[str, str]) -> tuple[Draft, Memory] | None:
    """The memory's statement with the value that the draft corrects, and the memory; None when the draft corrects none,
    or one of several."""
    swap = _swapped_values(ASIDE.sub("", draft.content)) if draft.key is None and len(draft.sources) == 1 else None
    if swap is None:
        return None
    new, old = swap
    about = _topic_stems(draft.content, (new, old))
    near = [memory for memory in known if not about or about & _topic_stems(memory.content, ())]
    found = [(made, memory) for memory in near if (made := _with_value(draft, memory, new, old, texts))]
    return found[0] if len(found) == 1 else None


def _topic_stems(content: str, without: Sequence[Value]) -> set[str]:
    """What a statement speaks of besides these values."""
    start, stop = framed_span(content)
    left = ASIDE.sub("", content)[start:stop]
    for value in without:
        left = left.replace(value.text, " ")
    return {word.stem for word in content_words(left)} - _CORRECTING_STEMS - QUALIFIERS


def _swapped_values(text: str) -> tuple[Value, Value] | None:
    """The value that holds and the one that does not, where both have the same type."""
    found = values(text)
    for m in _NOT.finditer(text):
        new = next((each for each in found if each.end == m.start()), None)
        old = next((each for each in found if each.start == m.end()), None)
        if new is not None and old is not None and _same_type(new, old):
            return new, old
    return None


def _same_type(one: Value, other: Value) -> bool:
    return one.type == other.type or {one.type, other.type} <= _NUMERIC


def _with_value(draft: Draft, memory: Memory, new: Value, old: Value, texts: Mapping[str, str]) -> Draft | None:
    if draft.sources[-1] in memory.sources:
        return None
    content = ASIDE.sub("", memory.content)
    for value in values(content):
        day = _day_number(value) if value.type == DATE else None
        moved = _moved_day(memory, new) if day is not None and day == _day_number(old) else None
        if moved is None and not (_same_type(value, old) and _number_of(value) == _number_of(old)):
            continue
        said = written_date(moved) if moved is not None else _in_place_of(value, new)
        sources = (memory.sources[-1], draft.sources[-1])
        cited = [texts[source] for source in sources if source in texts]
        wordings = (content[: value.start] + each + content[value.end :] for each in (said, f'"{said}"'))
        changed = next((each for each in map(reported_statement, wordings) if _is_proved(each, cited)), None)
        if changed is None:
            continue
        kept = replace(
            draft, content=changed, summary=changed[:80], kind=memory.kind, key=memory.key, sources=sources,
            queries=memory.queries, occurred_at=memory.occurred_at, occurred_until=memory.occurred_until,
        )  # fmt: skip
        return kept if moved is None else replace(kept, occurred_at=moved, occurred_until=moved + timedelta(1))
    return None


def _is_proved(content: str, cited: Sequence[str]) -> bool:
    return is_proved(content, cited) and stand_together(content, cited)


def _in_place_of(old: Value, new: Value) -> str:
    """The new value, with the unit of the old one if it has none."""
    if old.type == AMOUNT and new.type == NUMBER:
        return re.sub(r"\d[\d.,]*(?<![.,])", new.text, old.text, count=1)
    return new.text


def _number_of(value: Value) -> str:
    figure = re.search(r"\d[\d.,:]*(?<![.,:])", value.text)
    return figure[0] if figure else value.text.lower()


def _day_number(value: Value) -> int | None:
    day = re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b", value.text)
    return int(day[1]) if day and value.type == DATE else None


def _moved_day(memory: Memory, new: Value) -> datetime | None:
    day = _day_number(new)
    try:
        return memory.occurred_at.replace(day=day) if memory.occurred_at is not None and day else None
    except ValueError:
        return None


def _new_home(
    draft: Draft, known: Iterable[Memory], texts: Mapping[str, str], at: datetime
) -> list[tuple[Draft, Memory]]:
    """The new home of somebody who moved without saying where, if a plan says it; and the plan."""
    who = _mover(draft.content)
    if not who or draft.key is not None or (draft.occurred_at is not None and draft.occurred_at > at):
        return []
    for memory in known:
        plan = _PLANNED_MOVE.search(memory.content)
        if plan is None or not memory.content.startswith(who) or draft.sources[-1] in memory.sources:
            continue
        content = f"{who} lives in {plan['place']}."
        sources = (memory.sources[-1], draft.sources[-1])
        if is_proved(content, [texts[source] for source in sources if source in texts]):
            words = tuple(tokens.question_words(content))
            home = replace(
                draft, kind="fact", content=content, summary=content, key="home-city", sources=sources, keywords=words,
                queries=(f"Where does {who} live?",), occurred_at=None, occurred_until=None,
            )  # fmt: skip
            return [(home, memory)]
    return []
