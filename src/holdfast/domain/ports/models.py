"""Ports of models. A model does a task, not free text. It may be slow, down or wrong: its output is a proposal."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, Protocol, runtime_checkable

from holdfast.domain.ports.storage import TopicKeyLoader, load_no_topic_keys
from holdfast.domain.types import (
    Draft,
    Floats,
    Memory,
    Message,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """An analyst's hints from a question."""

    keys: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    """Words that a text with the answer may contain."""
    answer: str = ""
    """A hypothetical answer, to find similar texts."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One element of a summary's input: a message, or a memory of the summarised kind."""

    id: str
    at: datetime
    who: str
    text: str
    session_id: str | None = None
    fields: bool = False
    """Whether the text is a value's fields, one `name: text` per line, which belong together."""


@dataclass(frozen=True, slots=True)
class Brief:
    """The input of a synthesiser."""

    question: str
    evidence: tuple[str, ...]
    """The hits' texts, best first, each with its date and speaker."""
    facts: tuple[str, ...] = ()
    """Computed facts: dates, durations, counts."""
    length: str = "medium"
    passes: int = 1
    """With more than one pass, the answer is checked against the evidence again."""
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Wording:
    """A synthesised answer and the numbers (from 0) of the evidence that it cites."""

    text: str
    cited: tuple[int, ...] = ()


@runtime_checkable
class Embedder(Protocol):
    """Turns text into vectors of length 1."""

    @property
    def model(self) -> str:
        """provider/name/dimensions. Stored with each vector, and used to check its length."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        """Return one vector per text, for texts that will be searched."""
        ...

    async def embed_query(self, text: str) -> Floats:
        """Return the vector of a query."""
        ...


AnswerKind = Literal["none", "span", "list", "yes", "no"]
"""What is told: nothing, one answer, several, yes, no."""


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """A message or a part of one, as a reader of answers sees it."""

    text: str
    speaker: str
    """`user`, `assistant`, `document`, `tool` or a name."""
    day: date | None


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """Words of a passage that answer, or on which yes or no rests: their place in its text."""

    passage: int
    start: int
    stop: int
    chance: float = 0.0
    """How likely these words are the answer rather than others, if one is told, 0 to 1."""


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """What a reader of answers found."""

    kind: AnswerKind
    spans: tuple[AnswerSpan, ...] = ()
    chance: float = 0.0
    """How surely the spans answer the question, 0 to 1."""
    ranked: tuple[AnswerSpan, ...] = ()
    """The likeliest words of each passage, best first, whether or not anything is told."""
    kinds: tuple[float, ...] = ()
    """The chance of each AnswerKind, in its order; empty for a reader that does not say."""
    possible: tuple[AnswerSpan, ...] = ()
    """The words that may be one of several answers, each with its own chance of being one."""


@runtime_checkable
class AnswerReader(Protocol):
    """Finds the words in passages that answer a question."""

    async def read_answer(self, question: str, asked: date, passages: Sequence[ReadPassage]) -> ReadAnswer:
        """Read the first passages, best first, as many as fit; `asked` is the day of the question."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores the best hits against the question again; for users who have a cross-encoder. Holdfast ships none."""

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers the question; higher is better."""
        ...


@runtime_checkable
class Extractor(Protocol):
    """Extracts memories from messages."""

    @property
    def name(self) -> str:
        """name/version: recorded on each memory."""
        ...

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        """Extract drafts from `messages` (one session, in order); `before` are the messages just before them.

        `keys` loads the topic keys already in use, for an extractor that can reuse them to keep keys stable.
        """
        ...


@runtime_checkable
class Judge(Protocol):
    """Decides how a new statement affects an older one."""

    async def compare(self, pairs: Sequence[tuple[Draft, Memory]]) -> list[Verdict]:
        """Decide for each pair whether the draft says the same, replaces the memory, or is independent of it."""
        ...


@runtime_checkable
class Filer(Protocol):
    """Classifies a statement that the user wants to remember."""

    async def file(self, statement: str, keys: TopicKeyLoader = load_no_topic_keys) -> Draft:
        """Return the statement with its kind, key, summary, keywords and queries."""
        ...


@runtime_checkable
class Summariser(Protocol):
    """Summarises a run of turns in a few sentences."""

    @property
    def name(self) -> str:
        """name/version: recorded on each summary."""
        ...

    async def summarise(self, turns: Sequence[Turn]) -> str:
        """Return the summary; empty when there is nothing to summarise."""
        ...


@runtime_checkable
class Analyst(Protocol):
    """Analyses a question for hints that help to find its answer."""

    async def analyse(self, question: str) -> Reading: ...


@runtime_checkable
class Synthesiser(Protocol):
    """Writes an answer from the evidence found, and from nothing else."""

    def answer(self, brief: Brief) -> AsyncIterator[str | Wording]:
        """Yield the answer's text in pieces and the whole Wording last; empty when nothing supports an answer."""
        ...
