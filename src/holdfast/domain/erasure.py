"""What a forgetting takes out of the journal, besides the items themselves.

A trace that mentions something forgotten is reduced to its operation, its time, its durations, its numbers and its
caller; where the caller's agent, session or turn is what it mentions, to the credential. It mentions it when it names
an id of it or of a message that was shortened, a person or session that was forgotten, a key, kind or agent that
nothing carries any more, or when its question has a word that no text of the profile has any more.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from holdfast.domain.identifiers import version_reference
from holdfast.domain.records import Caller, Job, Once, Trace
from holdfast.domain.timestamps import now

FORGOTTEN_EVENTS = ("memory.forgotten", "message.forgotten", "message.shortened")
"""They tell listeners which items to drop or to read again, so they keep the ids until they are trimmed."""
FORGOTTEN_LOOKBACK = timedelta(minutes=1)
"""How long after an item was forgotten a trace that names it may still arrive. Chosen by hand; not measured."""
MAX_LOOKBACK_EVENTS = 1_000
MAX_SOUGHT = 50
"""Up to so many ids, labels and words are sought one by one in a trace's text; more are compared with all its strings.
Chosen by hand."""
TRACED_CONSTANTS = ("stages", "spans", "error")
"""Details that Holdfast itself words: names of stages with their durations, and the code of an error."""
_JSON_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"')
_WORDS = re.compile(r'"words":\[([^\]]*)\]')
_TEXT = re.compile(r'"text":"([^"\\]*(?:\\.[^"\\]*)*)"')
LABEL_FIELDS = ("session", "agent", "key", "kind")
"""Columns whose values traces and events may repeat."""


def name_pattern(name: str) -> re.Pattern[str]:
    """Matches a name by whole words, without case, however its characters are composed and its spaces are set.

    Search in texts that `composed_text` has normalised.
    """
    words = r"\s+".join(re.escape(word) for word in composed_text(name).split())
    return re.compile(rf"(?<![^\W_]){words}(?![^\W_])", re.I)


def composed_text(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def names_person(patterns: Iterable[re.Pattern[str]], *values: Any) -> bool:
    """Whether a text in these values matches a pattern, at any depth; names of objects' fields count."""
    return any(
        pattern.search(composed_text(text)) for pattern in patterns for each in values for text in texts_in(each)
    )


def texts_in(value: Any) -> Iterator[str]:
    """Every text of a JSON value, at any depth: names and values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name)
            yield from texts_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)


@dataclass(frozen=True, slots=True)
class RemovedVersion:
    """A version of a memory that a change removed."""

    id: str
    version: int
    draft_id: str

    @property
    def ref(self) -> str:
        return version_reference(self.id, self.version)


def removed_references(removed: Iterable[RemovedVersion], left: Container[str]) -> tuple[str, ...]:
    """What a forget took: ids of memories of which nothing is left, else versions; `left` has the ids that stay."""
    return tuple(dict.fromkeys(each.ref if each.id in left else each.id for each in removed))


def removed_ids(removed: Iterable[RemovedVersion], left: Container[str]) -> frozenset[str]:
    """Every name of the removed versions that stands for nothing any more."""
    names = {name for each in removed for name in (each.id, each.ref, each.draft_id)}
    return frozenset(name for name in names if name not in left)


def stripped_trace(trace: Trace, *, anonymous: bool = True) -> Trace:
    """The trace without what was asked and found; when anonymous, of who asked only the credential."""
    kept = {
        name: value
        for name, value in trace.details.items()
        if name in TRACED_CONSTANTS or isinstance(value, bool | int | float)
    }
    caller = Caller(trace.caller.credential) if anonymous else trace.caller
    return replace(trace, caller=caller, details=kept | {"erased": True})


def notable_traces(
    traces: Iterable[Trace], began: Mapping[str, datetime], forgotten: Sequence[tuple[datetime, dict[str, Any]]]
) -> list[Trace]:
    """The traces to write, stripped where they may mention what was forgotten since their operations began.

    `began` says when operations began, by id of their trace; `forgotten` is the time and data of the last events that
    tell what was forgotten. An operation that began before the last of them may have read anything of it. One that
    began later may have read it before that change was committed: then it names an id.
    """
    last = max((at for at, _ in forgotten), default=None)
    since = None if last is None else now() - FORGOTTEN_LOOKBACK
    ids = {id for at, data in forgotten if since is not None and at > since for id in texts_in(list(data.values()))}
    return [
        stripped_trace(trace)
        if (last is not None and trace.id in began and began[trace.id] <= last)
        or (ids and not ids.isdisjoint(texts_in(trace.details)))
        else trace
        for trace in traces
    ]


@dataclass(slots=True)
class Leftovers:
    """What forgotten items carried and others may carry too: values by column, and the words of their texts."""

    labels: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in LABEL_FIELDS})
    words: set[str] = field(default_factory=set)

    def add(self, **values: str | None) -> None:
        for name, value in values.items():
            if value is not None:
                self.labels[name].add(value)

    def add_all(self, **values: Iterable[str]) -> None:
        for name, each in values.items():
            self.labels[name].update(each)


@dataclass(frozen=True)
class Erasure:
    """What must not be mentioned any more."""

    ids: frozenset[str] = frozenset()
    """Of memories, messages and documents."""
    shortened: frozenset[str] = frozenset()
    """Of messages that lost words: what traces tell of them goes, other records keep their ids."""
    sessions: frozenset[str] = frozenset()
    """Sessions of which no message and no memory is left."""
    labels: frozenset[str] = frozenset()
    """Keys, kinds and agents that no item has any more."""
    words: frozenset[str] = frozenset()
    """Words, as the index has them, that no text has any more."""
    people: tuple[str, ...] = ()
    asked_in: frozenset[str] = frozenset()
    """Sessions whose traces go as a whole, whether the sessions are gone or not."""
    asked_by: str | None = None
    """The agent whose traces alone `people` and `asked_in` are about; None for everybody's."""
    word_hash: Callable[[str], str] = str
    """How the index writes a word."""

    def may_concern(self, caller: Caller, details: str) -> bool:
        """Whether a trace may mention it, by its details as JSON text; True too often, since nothing is parsed."""
        if caller != Caller(caller.credential) and self._is_caller_concerned(caller):
            return True
        if self._has_plain(details) or (self.people and self._may_name_people(details)):
            return True
        if self._sessions and any(
            self._sessions.search(composed_text(json.loads(f'"{text}"'))) for text in _TEXT.findall(details)
        ):
            return True
        return self.word_hash is not str and any(
            self.word_hash(word) in self.words
            for listed in _WORDS.findall(details)
            for word in _JSON_STRING.findall(listed)
        )

    def _has_plain(self, details: str) -> bool:
        if len(self._plain) > MAX_SOUGHT:
            return not self._plain.isdisjoint(_JSON_STRING.findall(details))
        return any(f'"{each}"' in details for each in self._plain)

    def _may_name_people(self, details: str) -> bool:
        if details.isascii():  # several times as fast as a pattern without case
            low = details.lower()
            return any(name in low for name in self._first_names)
        return any(re.search(re.escape(name), composed_text(details), re.I) is not None for name in self._first_names)

    def trace_left(self, trace: Trace) -> Trace | None:
        """The trace if it mentions nothing of it, else what may stay of it; None when it goes as a whole."""
        session, own = trace.caller.session_id, self._is_own(trace.caller)
        if session in self.sessions or (own and session in self.asked_in):
            return None
        values = set(_values_in(trace.details))
        anonymous = self._is_caller_concerned(trace.caller)
        named = not self._ids.isdisjoint(texts_in(trace.details)) or not self._labels.isdisjoint(values)
        named = named or (own and names_person(self._people, *values))
        for question in _questions_in(trace.details):
            words = [word for word in question.get("words", ()) if isinstance(word, str)]
            named = named or any(self.word_hash(word) in self.words for word in words)
            named = named or bool(self._sessions and self._sessions.search(composed_text(str(question.get("text")))))
        return stripped_trace(trace, anonymous=anonymous) if named or anonymous else trace

    def _is_own(self, caller: Caller) -> bool:
        return self.asked_by in (None, caller.agent)

    def _is_caller_concerned(self, caller: Caller) -> bool:
        given = {caller.agent or "", caller.session_id or "", caller.turn_id or ""}
        listed = self._labels | (self.asked_in if self._is_own(caller) else frozenset())
        return not listed.isdisjoint(given) or (self._is_own(caller) and names_person(self._people, *given))

    @cached_property
    def _labels(self) -> frozenset[str]:
        return self.labels | self.sessions

    @cached_property
    def _ids(self) -> frozenset[str]:
        return self.ids | self.shortened

    @cached_property
    def _plain(self) -> frozenset[str]:
        """Ids, labels, and words that are not hashed, as JSON text writes them."""
        words = self.words if self.word_hash is str else frozenset()
        return self._ids | {json.dumps(each, ensure_ascii=False)[1:-1] for each in self._labels | words}

    @cached_property
    def _people(self) -> tuple[re.Pattern[str], ...]:
        return tuple(name_pattern(name) for name in self.people)

    @cached_property
    def _first_names(self) -> tuple[str, ...]:
        """The first word of each name as JSON text writes it, in lower case."""
        first = [composed_text(name).lower().split()[0] for name in self.people]
        return tuple(json.dumps(each, ensure_ascii=False)[1:-1] for each in first)

    @cached_property
    def _sessions(self) -> re.Pattern[str] | None:
        """Matches the sessions' names in a text, but not the s of "it's"."""
        names = "|".join(re.escape(composed_text(name)) for name in sorted(self.sessions))
        return re.compile(rf"(?<![\w'’])(?:{names})(?!\w)", re.I) if names else None

    def event_left(self, type: str, data: dict[str, Any]) -> dict[str, Any]:
        """An event's data without forgotten ids and sessions; what it said of a forgotten item goes with the id."""
        if type in FORGOTTEN_EVENTS:
            return data
        left = {name: value for name, value in data.items() if not _is_one_of(value, self.ids)}
        if event_reference(data) in self.ids:
            left = {name: value for name, value in left.items() if name not in ("id", "version")}
        if left.get("session_id") in self.sessions:
            del left["session_id"]
        if "ids" in left:
            left["ids"] = [id for id in left["ids"] if id not in self.ids]
        if "id" in data and "id" not in left:
            return {name: value for name, value in left.items() if name == "by"}
        return left

    def job_left(self, job: Job) -> Job:
        """The job with an empty text in the place of each forgotten id: their number is part of its progress."""
        return replace(job, messages=tuple("" if id in self.ids else id for id in job.messages))

    def once_left(self, once: Once) -> Once:
        """What the first request did, without forgotten ids. The answer to a forget lists what it took, and stays."""
        answer = None if once.answer in self.ids else once.answer
        return replace(once, answer=answer, new=once.new - self.ids)


def event_reference(data: Mapping[str, Any]) -> str | None:
    """The reference to the version that an event is about; None when it is about none."""
    id, version = data.get("id"), data.get("version")
    return id if id is None or version is None else version_reference(str(id), int(version))


def _is_one_of(value: Any, ids: frozenset[str]) -> bool:
    return isinstance(value, str) and value in ids


def _values_in(value: Any) -> Iterator[str]:
    """Every text of a JSON value that is no field's name."""
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _values_in(each)


def _questions_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """What the searches of a trace looked for."""
    if isinstance(value, Mapping) and isinstance(question := value.get("question"), Mapping):
        yield question
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _questions_in(each)
