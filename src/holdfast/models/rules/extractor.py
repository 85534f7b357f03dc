"""The rule extractor: extracts memories from messages offline, by rules and a learned judge."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from holdfast.domain.ports.models import Embedder
from holdfast.domain.ports.storage import TopicKeyLoader, load_no_topic_keys
from holdfast.domain.types import Draft, Memory, Message
from holdfast.models.rules.conversation import SourcedFinding, sourced_findings
from holdfast.models.rules.findings.finding import (
    FOREIGN_CONFIDENCE_SHARE,
    MIN_CONFIDENCE,
    UNREAD_CONFIDENCE_SHARE,
    RuleFinding,
    finding_draft,
    has_predicate,
)
from holdfast.models.rules.findings.fragments import ProvedStatement, joined_statements
from holdfast.models.rules.findings.topic import topic_draft
from holdfast.models.rules.judge import (
    ReadableSentence,
    SentenceReader,
    is_in_doubt,
    judged_finding,
    readable_sentence,
)
from holdfast.models.rules.proof import proved_finding
from holdfast.text import tokens
from holdfast.text.redaction import is_only_redacted
from holdfast.text.supersession import tells_of_a_change
from holdfast.text.task_completion import finishes
from holdfast.text.wording.well_formed import is_well_formed

log = logging.getLogger("holdfast")
MIN_TENTATIVE_CONFIDENCE = 0.3
"""Minimum confidence of a statement of change that is too slight to be kept unless it ends a memory. Chosen by hand."""
MIN_SOLE_CONFIDENCE = 0.1
"""The same for the best statement of a message of which nothing else is kept. Chosen by hand."""
MIN_CLOSING_CONFIDENCE = 0.8
"""Minimum confidence of a statement that closes a task. Chosen by hand; not measured."""
JudgedFinding = tuple[RuleFinding, SourcedFinding, ReadableSentence]
"""A finding as the judge rates it, as the rules found it, and as the input of a reader."""


class RuleExtractor:
    """An Extractor that uses rules and, if the embedder can read sentences, lets it judge what they find."""

    name = "rules/2"

    def __init__(self, embedder: Embedder | None = None, least: float = MIN_CONFIDENCE) -> None:
        """A finding with less confidence than `least` does not become a memory."""
        self._reader = embedder if isinstance(embedder, SentenceReader) else None
        self._least = least

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        findings = await asyncio.to_thread(lambda: _judged_findings(sourced_findings(messages, before)))
        was_read = self._reader is not None and await self._read_doubtful(self._reader, findings)
        return _confident_drafts(findings, self._least, was_read)

    async def topic(self, text: str, at: datetime) -> Draft | None:
        """Returns the draft of a statement with its kind and key, if a rule is sure of them and
        they cover the whole text."""
        return await asyncio.to_thread(topic_draft, text, at)

    async def finished(
        self, messages: Sequence[Message], before: Sequence[Message], tasks: Sequence[Memory | Draft]
    ) -> list[Draft]:
        """Drafts of statements that one of the tasks was done, including those that `extract` would not keep."""
        return await asyncio.to_thread(task_closing_drafts, messages, before, tasks)

    async def _read_doubtful(self, reader: SentenceReader, findings: list[JudgedFinding]) -> bool:
        """Judges again, with the reader, the findings that their words leave in doubt; returns
        False when the reader fails."""
        doubtful = [n for n, (finding, _, sentence) in enumerate(findings) if is_in_doubt(finding, sentence)]
        try:
            scores = await reader.classes([findings[n][2] for n in doubtful]) if doubtful else []
        except Exception as failure:
            log.warning("judging by words alone, the reader failed: %s", failure)
            return False
        for n, classes in zip(doubtful, scores, strict=True):
            _, note, sentence = findings[n]
            findings[n] = (judged_finding(note.found, sentence, classes), note, sentence)
        return True


def drafts(messages: Sequence[Message], before: Sequence[Message] = (), least: float = MIN_CONFIDENCE) -> list[Draft]:
    """Drafts that rest on `messages`, judged by their words alone; `before` only explains them."""
    return _confident_drafts(_judged_findings(sourced_findings(messages, before)), least, was_read=False)


def _judged_findings(notes: list[SourcedFinding]) -> list[JudgedFinding]:
    pairs = [(note, readable_sentence(note.found, note.setting)) for note in notes]
    return [(judged_finding(note.found, sentence), note, sentence) for note, sentence in pairs]


def _confident_drafts(findings: list[JudgedFinding], least: float, was_read: bool) -> list[Draft]:
    found: list[ProvedStatement] = []
    slight: dict[str, list[tuple[RuleFinding, SourcedFinding]]] = {}
    for finding, note, _ in findings:
        if not has_predicate(finding):
            continue
        if finding.confidence >= least * _confidence_share(note, was_read):
            found.append(_proved(finding, note))
        elif was_read and finding.confidence >= MIN_TENTATIVE_CONFIDENCE and tells_of_a_change(finding.content):
            found.append(replace(_proved(finding, note), tentative=True))
        elif was_read and finding.confidence >= MIN_SOLE_CONFIDENCE:
            slight.setdefault(note.sources[-1], []).append((finding, note))
    told = {statement.sources[-1] for statement in found}
    for source, some in slight.items():
        if source not in told:  # the message may still end something, as "Severin plays again" does
            best = max(some, key=lambda pair: pair[0].confidence)
            found.append(replace(_proved(*best), tentative=True))
    whole = [statement for statement in joined_statements(found) if is_well_formed(statement.finding.content)]
    return _without_repetitions(map(_draft, whole))


def _confidence_share(note: SourcedFinding, was_read: bool) -> float:
    if not tokens.is_mostly_latin(note.setting.sentence):
        return FOREIGN_CONFIDENCE_SHARE
    return 1.0 if was_read else UNREAD_CONFIDENCE_SHARE


def _proved(finding: RuleFinding, note: SourcedFinding) -> ProvedStatement:
    proved, sources = proved_finding(finding, note)
    return ProvedStatement(proved, note, sources)


def _draft(statement: ProvedStatement) -> Draft:
    note = statement.note
    draft = finding_draft(statement.finding, statement.sources, note.trust, note.setting.around)
    return replace(draft, key=None, tentative=True) if statement.tentative else draft


def _without_repetitions(found: Iterable[Draft]) -> list[Draft]:
    """The drafts, without those that repeat the words of another one (one clause may quote two findings) and without
    those whose value is redacted."""
    kept: dict[tuple[str, str], Draft] = {}
    for draft in found:
        if is_only_redacted(draft.content):
            continue
        known = kept.get((draft.content, draft.key or ""))
        same = known or next((each for each in kept.values() if each.content == draft.content), None)
        if same is not None and same.tentative and not draft.tentative:
            del kept[same.content, ""]
            same = None
        if same is None or (draft.key and same.key and draft.key != same.key):
            kept[draft.content, draft.key or ""] = draft
        elif draft.key and not same.key:
            del kept[same.content, ""]
            kept[draft.content, draft.key] = draft
    return list(kept.values())


def task_closing_drafts(
    messages: Sequence[Message], before: Sequence[Message], tasks: Sequence[Memory | Draft]
) -> list[Draft]:
    """Returns drafts of statements that one of the tasks was done.

    Such a statement is often too slight to be kept by itself ("sent it"); it is kept because of the task it closes.
    """
    task_words = [set(tokens.question_words(task.content)) for task in tasks]
    related = {m.id: m for m in messages if any(len(words & set(tokens.tokens(m.content))) > 1 for words in task_words)}
    if not related:
        return []
    positions = {message.id: n for n, message in enumerate(messages)}
    closing = []
    for note in sourced_findings(messages, before):
        message = related.get(note.sources[-1])
        one = _draft(_proved(note.found, note))
        one = (
            replace(one, kind="event", confidence=max(MIN_CLOSING_CONFIDENCE, one.confidence))
            if one.kind == "fact"
            else one
        )
        earlier = [t for t in tasks if not (message and positions.get(t.sources[-1], -1) >= positions[message.id])]
        if message is not None and any(finishes(one, message.said_at, task) for task in earlier):
            closing.append(one)
    return closing
