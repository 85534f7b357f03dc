"""Joins fragments, statements that say little by themselves, with the sentences they belong to. Pure.

"Got the Yaris! Red, 2019, 8,400 pounds." is one statement, not "Red, 2019, 8,400 pounds." beside "Got the Yaris".
A fragment becomes a quotation of its sentence, and of the sentences before it as far as it refers back to them;
quotations that this one contains are left out. So every memory can be read alone, and stays the author's own words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from holdfast.models.rules.conversation import SourcedFinding
from holdfast.models.rules.findings.finding import TOPICLESS_RULES, RuleFinding
from holdfast.models.rules.patterns.salience import points_back
from holdfast.models.rules.patterns.vocabulary import split_words
from holdfast.text.faithfulness import quoted_words
from holdfast.text.lexicon.sentences import AFTER_SENTENCE
from holdfast.text.redaction import redacted_text
from holdfast.text.wording.well_formed import LOOSE_END, is_well_formed

MAX_JOINED_CHARACTERS = 240
"""The longest quotation that joins sentences. Chosen by hand: longer ones hold several matters, which end apart."""
_STATED_KINDS = ("fact", "event")
_JOINED_RULES = TOPICLESS_RULES - {"abroad"}
"""The verbs of other languages are not known."""
_FIRST_PERSON = re.compile(r"(?:i|i'm|im|i've|ive|i'll|i'd|we|we're|we've|we'll|my|our)\b", re.I)
_POINTS_BACK = re.compile(r"(?:(?:and|but|so|also|then|which|who|where) )*(?:(?:the |a )?(?:new|other|old|next|first|"
    r"last|second) ones?|ones?|this|that|these|those|there|the (?:date|price|rest|others?))\b|\d", re.I)  # fmt: skip
_VERBS = frozenset(
    split_words(
        "am is are was were be has have had do does did will would can could shall should must may got gets get told "
        "tells said says asks made makes took takes bought buys sold sells died dies gave gives lost loses won wins "
        "broke breaks came comes went goes left leaves felt kept keeps put puts met meets paid pays sent sends thinks "
        "thought knows knew wants needs found finds reads wrote writes drives drove runs ran eats ate drinks drank "
        "plays teaches taught studies grew grows began begins ended ends moved moves works lives likes loves hates "
        "calls costs cost cut fell fits hurts isn't wasn't hasn't doesn't didn't won't can't swears sleeps slept "
        "wears wore holds held brings brought built rides rode rang rings sits sat stands stood swims turned turns"
    )
)
_REWRITTEN = re.compile(r'The user(?! said: ")|(?:Asked|Told) "')
"""How a statement begins that the rules put into words of their own, or that answers somebody."""
_VERB_ENDING = re.compile(r"..(?:ed|'s|'re|'ve|'ll|'d|n't)$", re.I)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_VERB_AND_PLACE = re.compile(
    r"\b[^\W\d_]{3,}(?<!s)s (?:from|at|on|in|to|into|the|an?|with|for|by|every|only|not|no)\b", re.I
)
"""What may be a verb in the present: "Staging deploys from the develop branch"."""
MAX_SUBJECT_WORDS = 6


@dataclass(frozen=True, slots=True)
class ProvedStatement:
    """A finding whose words its sources prove."""

    finding: RuleFinding
    note: SourcedFinding
    sources: tuple[str, ...]
    tentative: bool = False

    @property
    def message(self) -> str:
        return self.note.heard[-1].content if self.note.heard else self.note.setting.message


def joined_statements(statements: Sequence[ProvedStatement]) -> list[ProvedStatement]:
    """The statements, with each fragment joined to what it belongs to."""
    found: list[ProvedStatement] = []
    for _, group in itertools.groupby(statements, key=lambda each: each.sources[-1]):
        found += _joined_in_message(list(group))
    return found


def _joined_in_message(statements: list[ProvedStatement]) -> list[ProvedStatement]:
    spans = {n: span for n, each in enumerate(statements) if _may_be_joined(each) and (span := _read_span(each))}
    found = [each for n, each in enumerate(statements) if n not in spans]
    for whole in _merged(spans.values()):
        found += _joined([statements[n] for n, span in spans.items() if whole[0] <= span[0] < whole[1]], whole)
    return found


def _joined(statements: list[ProvedStatement], span: tuple[int, int]) -> list[ProvedStatement]:
    """One quotation of the span, with the likeliest statement's kind and the days of all."""
    if len(statements) == 1 and _quoted_span(statements[0]) == span:
        return statements
    best = max(statements, key=lambda each: (not each.tentative, each.finding.confidence))
    said = " ".join(best.message[slice(*span)].split()).strip(" ,;:-–—*•").rstrip(".").replace('"', "'")
    said = LOOSE_END.sub("", said)
    days = dict.fromkeys(day for each in statements for day in quoted_words(each.finding.content)[1])
    content = f'{best.note.author.name} said: "{said}"{"".join(days)}' + ("." if days else "")
    if not is_well_formed(content) or redacted_text(content) != content:
        return statements
    window = best.finding.window or next((each.finding.window for each in statements if each.finding.window), None)
    return [replace(best, finding=replace(best.finding, content=content, window=window))]


def _may_be_joined(statement: ProvedStatement) -> bool:
    """Whether a statement is a clause in the author's words, that no other message explains and no rule understood."""
    finding = statement.finding
    return (
        len(statement.sources) == 1
        and finding.kind in _STATED_KINDS
        and finding.rule in _JOINED_RULES
        and finding.topic is None
        and not _REWRITTEN.match(finding.content)
    )


def _stands_alone(said: str) -> bool:
    """Whether a clause has a subject and a verb of its own and refers to nothing before it."""
    if _FIRST_PERSON.match(said):
        return True
    if points_back(said) or _POINTS_BACK.match(said):
        return False
    subject = itertools.takewhile(lambda word: not word[0].isdigit(), _WORD.findall(said)[: MAX_SUBJECT_WORDS + 1])
    if _VERB_AND_PLACE.search(said.split(",")[0]):
        return True
    return any(word.lower().replace("’", "'") in _VERBS or _VERB_ENDING.search(word) for word in subject)


def _read_span(statement: ProvedStatement) -> tuple[int, int] | None:
    """The span of its message with which the statement can be read alone: a fragment needs what stands before it."""
    said, _ = quoted_words(statement.finding.content)
    own = _quoted_span(statement)
    return own if _stands_alone(said) else _context_span(statement) or own


def _context_span(statement: ProvedStatement) -> tuple[int, int] | None:
    """The span of the message from the sentence that a fragment refers back to until its own."""
    message, sentence = statement.message, statement.note.setting.sentence.strip()
    start = message.find(sentence)
    if start < 0:
        return None
    end = start + len(sentence)
    while not _stands_alone(message[start:end]) and start > 0:
        start = _previous_start(message, start)
    return (start, end) if end - start <= MAX_JOINED_CHARACTERS else None


def _previous_start(message: str, start: int) -> int:
    """Where the sentence before this position begins."""
    before = message[:start].rstrip()
    return max((m.end() for m in AFTER_SENTENCE.finditer(before)), default=0)


def _quoted_span(statement: ProvedStatement) -> tuple[int, int] | None:
    """Where the statement's words stand in its message: as quoted, or the whole sentence."""
    said, _ = quoted_words(statement.finding.content)
    for text in (
        said.rstrip("."),
        f"{said[:1].lower()}{said[1:].rstrip('.')}",
        statement.note.setting.sentence.strip(),
    ):
        if (start := statement.message.find(text)) >= 0:
            return start, start + len(text)
    return None


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(set(spans)):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
