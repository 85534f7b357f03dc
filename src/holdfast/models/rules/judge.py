"""A learned judge of findings: how likely each is worth keeping, and as which kind. The rules propose, it decides.

It is a linear model over the words of the sentence (names, numbers, dates and relations as classes), its form and
position in the conversation, and the rule that made the finding. Where an embedder can read sentences
(models/statement_reader.py), it reads those that the words do not rule out, together with their context. The weights
are data (judge.json), trained by `evals/train/judge.py` on annotated conversations; the probability becomes the
memory's confidence. docs/decisions/0008 has the measurements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Protocol, runtime_checkable

import numpy as np

from holdfast.domain.types import Floats
from holdfast.models.rules.findings.finding import TOPICLESS_RULES, RuleFinding
from holdfast.models.rules.patterns.foreign_signs import foreign_signs
from holdfast.models.rules.patterns.other_languages import may_be_foreign
from holdfast.models.rules.patterns.salience import is_noise
from holdfast.models.rules.patterns.vocabulary import TECHNOLOGY
from holdfast.models.rules.sentences.clauses import without_leading_fillers
from holdfast.text.lexicon.calendar import A_FULL_WEEKDAY, A_MONTH_BUT_MAY
from holdfast.text.lexicon.kinship import RELATIONS
from holdfast.text.lexicon.sentences import ENDS
from holdfast.text.supersession import tells_of_a_change

CLASSES = ("none", "fact", "event", "instruction", "task")
SIGN_PREFIX = "L:"
"""How the names of features that are signs of other languages begin."""
WEIGHT_SCALE = 100
"""The weights in judge.json are integers: the real weights times this."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d[\d.,:]*|[?!…:;,]")
_DATE = re.compile(rf"{A_FULL_WEEKDAY}s?|{A_MONTH_BUT_MAY}|today|tomorrow|yesterday|tonight|weekend")
_RELATIVE = RELATIONS | {f"{relation}s" for relation in RELATIONS}
_FIRST_PERSON = re.compile(r"\b(?:i|my|we|our|me|us|im|ive)\b")
_SECOND_PERSON = re.compile(r"\byour?\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_CODE = re.compile(r"[`_/]|[a-z]-[a-z]|[a-z][0-9]")
_STOPS = "?!…:;"
_SENTENCE = re.compile(rf"[{ENDS}] ")
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
MAX_SENTENCE_WORDS = 60
"""How many words of a sentence are used. Chosen by hand, to bound the time; not measured."""
MAX_REPLY_WORDS, MAX_CONTEXT_WORDS = 8, 100
"""How many words of the answer, and of the surrounding messages, are used. Chosen by hand; not measured."""
MIN_READ_PROBABILITY, MAX_READ_PROBABILITY = 0.2, 0.9
"""A finding is read when its words alone give it at least the first probability, and no kind as much as the second: the
others are already decided. Chosen by hand, to save reading; not measured against other values."""
MIN_UNCHANGED_PROBABILITY = 0.25
"""The same as the first for a finding that tells of no change, which is kept only if it is likely: of 2,198 findings
that were read in lives, reading made memories of 2 with less."""
SURE_PROBABILITY, MIN_KIND_LEAD = 0.9, 1.5
"""A finding that is at least so probable is not read if the log probability of its kind leads that of any other kind by
at least so much: of those 2,198, reading changed none of the 354 such."""
MIN_BELIEVED_PROBABILITY = 0.1
"""Below this probability by words and reader together, the confidence of a rule that knows its topic counts only half.
Decision 0008 describes the effect; the value was chosen by hand."""
_WORDS_AND_READER_WEIGHTS = (1.0, 0.5)
"""The weights of the words and of the reader: the best by `evals/train/reader.py report`."""


@dataclass(frozen=True, slots=True)
class SentenceContext:
    """The context of a sentence in its conversation."""

    sentence: str
    place: int
    of: int
    """The sentence is number `place` (from 0) of `of` in its message."""
    role: str
    named: bool
    """Whether the message names its speaker."""
    before: str = ""
    before_role: str = ""
    """The role of the message before."""
    dated: bool = False
    earlier: str = ""
    """The two messages before this one."""
    message: str = ""
    """The whole message that the sentence is in."""
    reply: str = ""
    """The assistant's answer, if there is one."""

    @property
    def around(self) -> str:
        return f"{self.before} {self.sentence}"


@dataclass(frozen=True, slots=True)
class ReadableSentence:
    """The input of a reader: a finding, its context, and the log probability of each class by its words alone."""

    content: str
    before: str
    message: str
    reply: str
    words: Floats


@runtime_checkable
class SentenceReader(Protocol):
    """A model that reads sentences in their context."""

    async def classes(self, sentences: Sequence[ReadableSentence]) -> list[Floats]:
        """How much to change the log probability that the words alone give each class."""
        ...


def readable_sentence(finding: RuleFinding, setting: SentenceContext) -> ReadableSentence:
    return ReadableSentence(
        finding.content, setting.before, setting.message, setting.reply, _log_probabilities(features(finding, setting))
    )


def is_in_doubt(finding: RuleFinding, sentence: ReadableSentence) -> bool:
    """Whether reading may change what the words alone decide about a finding: if it is kept, and as which kind."""
    least = MIN_READ_PROBABILITY if tells_of_a_change(finding.content) else MIN_UNCHANGED_PROBABILITY
    next_kind, likely_kind = np.sort(sentence.words[1:])[-2:]
    decided = finding.confidence >= SURE_PROBABILITY and likely_kind - next_kind >= MIN_KIND_LEAD
    return finding.confidence >= least and not decided and bool(np.exp(likely_kind) < MAX_READ_PROBABILITY)


def judged_finding(finding: RuleFinding, sentence: ReadableSentence, reading: Floats | None = None) -> RuleFinding:
    """The finding with a learned confidence and the most likely kind.

    A rule that knows its topic keeps its kind and at least its own confidence, unless the reader finds it very unlikely
    that the sentence is worth keeping.
    """
    totals = combined(sentence.words, reading)
    chances = np.exp(totals - np.logaddexp.reduce(totals))
    sure = round(float(1 - chances[0]), 2)
    if finding.rule in TOPICLESS_RULES:
        return replace(finding, kind=CLASSES[1 + int(chances[1:].argmax())], confidence=sure)
    own = max(sure, finding.confidence)
    doubted = reading is not None and sure < MIN_BELIEVED_PROBABILITY
    return replace(finding, confidence=round((sure + own) / 2, 2) if doubted else own)


def combined(words: Floats, reading: Floats | None) -> Floats:
    """The log probabilities by words and reader together, up to a constant; by the words alone where nothing was
    read."""
    return words if reading is None else _WORDS_AND_READER_WEIGHTS[0] * words + _WORDS_AND_READER_WEIGHTS[1] * reading


def features(finding: RuleFinding, setting: SentenceContext) -> list[str]:
    """The names of the model's features that are present."""
    words = _word_classes(setting.sentence)
    return [
        *_shape_features(setting),
        *(
            f"R{name}"
            for name in (
                finding.rule,
                f"{finding.kind}/{finding.rule in TOPICLESS_RULES}",
                f"{int(finding.confidence * 10)}",
            )
        ),
        *("_".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1)),
        *("^" + "_".join(words[:n]) for n in (1, 2, 3)),
        *_context_features(setting),
        *_foreign_features(setting),
    ]


def _foreign_features(setting: SentenceContext) -> list[str]:
    """The signs of a kind in another language, each of which is in too few examples to be learned word by word."""
    if not may_be_foreign(setting.sentence) or not (signs := foreign_signs(setting.sentence)):
        return []
    return [*(f"{SIGN_PREFIX}{name}" for name in signs), f"{SIGN_PREFIX}={'+'.join(signs)}/{setting.dated}"]


def _context_features(setting: SentenceContext) -> list[str]:
    """Features of the context: in a game, a joke or a text to be translated, hardly any
    statement is meant as a fact."""
    reply = [word.lower() for word in _WORD.findall(setting.reply)]
    return [
        *(f"N{word}" for word in set(reply[:MAX_REPLY_WORDS])),
        "N^" + "".join(reply[:1]),
        f"Nasks={setting.reply.rstrip().endswith('?')}",
        f"Nlength={min(len(reply) // MAX_REPLY_WORDS, 6) if reply else None}",
        *(f"P{word.lower()}" for word in set(_LETTERS.findall(setting.earlier)[-MAX_CONTEXT_WORDS:])),
        *(f"M{word.lower()}" for word in set(_LETTERS.findall(setting.message)[:MAX_CONTEXT_WORDS])),
    ]


def _shape_features(setting: SentenceContext) -> list[str]:
    sentence = setting.sentence
    low, length = sentence.lower(), len(sentence.split())
    asked = setting.before.rstrip().endswith("?")
    opening = _SENTENCE.split(setting.before.rstrip())[-1].lower().split()[:1] if asked else []
    signs = {
        "role": setting.role,
        "named": setting.named,
        "asks": sentence.rstrip().endswith("?"),
        "exclaims": sentence.rstrip().endswith("!"),
        "length": min(length // 3, 8),
        "first": setting.place == 0,
        "last": setting.place == setting.of - 1,
        "of": min(setting.of, 6),
        "figure": any(character.isdigit() for character in sentence),
        "names": min(len(_NAME.findall(sentence)), 3),
        "i": _FIRST_PERSON.search(low) is not None,
        "you": _SECOND_PERSON.search(low) is not None,
        "code": _CODE.search(sentence) is not None,
        "dated": setting.dated,
        "asked": asked,
        "reply": asked and length < 8 and setting.place == 0,
        "asked_by": setting.before_role,
        "asked_for": "".join(opening),
        "noise": is_noise(without_leading_fillers(sentence), setting.dated),
    }
    return [f"S{name}={value}" for name, value in signs.items()]


def _word_classes(sentence: str) -> list[str]:
    """The words of a sentence, with names, numbers, dates, relations and technologies as classes."""
    words = _WORD.findall(sentence)[:MAX_SENTENCE_WORDS]
    classes = []
    for i, word in enumerate(words):
        low = word.lower().replace("’", "'")
        if word[0].isdigit():
            classes.append("<n>")
        elif _DATE.fullmatch(low):
            classes.append("<d>")
        elif low in _RELATIVE:
            classes.append("<rel>")
        elif i and word[0].isupper() and len(word) > 1 and words[i - 1] not in _STOPS:
            classes.append("<N>")
        else:
            classes.append("<tech>" if low in TECHNOLOGY else low)
    return classes


def _log_probabilities(names: list[str]) -> Floats:
    model = _load_weights()
    weights = model["weights"]
    present = [weights[feature] for feature in set(names) if feature in weights]
    totals = np.array(model["bias"])
    if present:
        totals += np.sum(present, axis=0) / WEIGHT_SCALE
    return np.asarray(totals - np.logaddexp.reduce(totals), np.float32)


@cache
def _load_weights() -> dict[str, Any]:
    model: dict[str, Any] = json.loads(resources.files(__package__).joinpath("judge.json").read_text("utf-8"))
    return model
