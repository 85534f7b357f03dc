"""Sentences in their setting, as what reads them sees them: what `reader` learns from besides pairs.

Every finding of the rules in the annotated conversations, in talk that leaves nothing and in single lines; its parts;
and the lines of timelines and contrasts, which have kinds but no talk around them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import numpy as np

from holdfast.domain.types import Message
from holdfast.models import statement_reader
from holdfast.models.rules import judge
from holdfast.models.rules.conversation import SourcedFinding, sourced_findings
from holdfast.text import statement_parts
from holdfast.text.wordpiece import WordPiece

from ..data.timelines import contrasts, timelines
from . import judge as judge_training
from .judge import Example
from .life_cases import life_cases

AT = datetime(2025, 3, 4, tzinfo=UTC)


def sentences(pieces: WordPiece) -> list[dict[str, Any]]:
    """`words` is what the words alone say, out of fold; `kinds` are the classes of all that the sentence states."""
    found: list[dict[str, Any]] = []
    rows: list[Example] = []
    for case in (*judge_training.cases(), *judge_training.chatter(), *life_cases()):
        for _, group in groupby(case["messages"], key=lambda message: message["session"]):
            for note in sourced_findings([judge_training.message_of(message) for message in group]):
                if judge_training.is_unsure(note, case):
                    continue
                for setting in dict.fromkeys((note.setting, replace(note.setting, reply=""))):
                    found += _told(pieces, replace(note, setting=setting), case, len(rows))
                    rows.append(judge_training.example(note, setting, case))
    for name, text, kind in judge_training.lines():
        for note in _alone(text):
            given = {"id": name, "messages": [{}], "expected": [_whole(kind)] if kind != "none" else []}
            found += _told(pieces, note, given, len(rows))
            rows.append(judge_training.example(note, note.setting, given))
    words = np.log(judge_training.cross_validated(rows) + 1e-6).round(3).tolist()
    for each in found:
        each["words"] = words[each["of"]]
    return found + _lines(pieces, rows)


def _told(pieces: WordPiece, note: SourcedFinding, case: dict[str, Any], of: int) -> list[dict[str, Any]]:
    """The note, and each of its parts."""
    content = note.found.content
    items = [item for item in case["expected"] if judge_training.states(note, item)]
    made = {"of": of, "case": case["id"], "quiet": not case["expected"]}
    made |= {"messages": len(case["messages"]), "rule": note.found.rule, "text": content}
    whole = {"source": "told", "kinds": _classes(note, items), "answered": bool(note.setting.reply)}
    found = [made | whole | _packed(pieces, content, note)]
    spans = statement_parts.part_spans(content) if items else []
    texts = [content[slice(*span)].casefold() for span in spans]
    where: list[list[dict[str, Any]]] = [[] for _ in spans]
    for item in items if spans else []:
        hits = [sum(judge_training.has(text, each) for each in item["says"]) for text in texts]
        if max(hits):
            where[hits.index(max(hits))].append(item)
    for span, some in zip(spans, where, strict=True):
        part = {"source": "part", "kinds": _classes(note, some), "text": content[slice(*span)]}
        found.append(made | part | _packed(pieces, statement_parts.with_part_marked(content, span), note))
    return found


def _lines(pieces: WordPiece, rows: list[Example]) -> list[dict[str, Any]]:
    held = [(name, line) for name, some in (timelines() | contrasts()).items() for line in some]
    found, seen = [], []
    for name, line in held:
        label = judge.CLASSES.index(line.kind)
        for note in _alone(line.text):
            seen.append(Example(judge.features(note.found, note.setting), label, name, ""))
            made = {"source": "line", "case": name, "kinds": [label] if label else []}
            found.append(made | _packed(pieces, note.found.content, note))
    names, weights, bias = judge_training.fit(rows)
    chances = judge_training.class_chances(judge_training.FeatureMatrix(seen, names).totals(weights) + bias)
    for each, words in zip(found, np.log(chances + 1e-6).round(3).tolist(), strict=True):
        each["words"] = words
    return found


def _alone(text: str) -> list[SourcedFinding]:
    return sourced_findings([Message("m", "s", "user", text, AT, None, AT)])


def _whole(kind: str) -> dict[str, Any]:
    return {"from": ["m"], "kind": kind, "says": []}


def _classes(note: SourcedFinding, items: list[dict[str, Any]]) -> list[int]:
    return sorted({judge.CLASSES.index(kind) for kind in judge_training.stated_kinds(note, items)})


def _packed(pieces: WordPiece, content: str, note: SourcedFinding) -> dict[str, Any]:
    setting = note.setting
    ids, kinds = statement_reader.encoded_sentence(pieces, content, setting.before, setting.message, setting.reply)
    return {"ids": ids, "first": kinds.count(0)}
