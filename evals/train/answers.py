"""Trains a reader of answers on the lives of evals/data/lives. In steps:

python -m evals.train.answers pack              questions with what is found for them, into evals/.cache/answers
python evals/train/answer_network.py FOLDER     trains on a GPU, with PyTorch alone
python -m evals.train.answers report FOLDER     how well it does on the lives held back, by how sure it must be
python -m evals.train.answers build FOLDER      answer_reader.npz and .onnx in FOLDER, with the package onnx
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from holdfast import AsyncHoldfast
from holdfast.models import onnx_file
from holdfast.models.local import ArcticEmbedder
from holdfast.storage.in_memory import MemoryVault
from holdfast.testing import ScriptedExtractor
from holdfast.text.passages import passage_spans
from holdfast.text.static_vectors import weights_path
from holdfast.text.wordpiece import WordPiece

from ..data.life import FOLDER, Life, Question, Said, parse_lives
from ..measure.lives import VERDICTS, judge, message_body, noon
from ..paths import CACHE
from . import answer_input
from .answer_input import LIST, NO, NONE, SPAN, YES, EncodedPassage, ReadPassage
from .reader import network_graph, short_numbers, small_numbers

HERE = CACHE / "answers"
PASSAGE_CHARS = 240
"""Longer messages are read in parts."""
FOUND = 16


async def pack() -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    pieces = WordPiece(weights_path("arctic-embed-s/vocab.txt"))
    packed = []
    for path in sorted(FOLDER.glob("*.txt")):
        lives, faults = parse_lives(path.read_text("utf-8"), path.name)
        print(path.name, len(lives), "lives", len(faults), "faults", flush=True)
        async with AsyncHoldfast(MemoryVault(), ArcticEmbedder(), ScriptedExtractor()) as holdfast:
            for n, life in enumerate(lives):
                packed.append(await _packed_life(holdfast, life, f"{path.stem}-{n}", pieces))
    with gzip.open(HERE / "lives.json.gz", "wt") as file:
        json.dump(packed, file)
    network = onnx_file.load_network(weights_path("arctic-embed-s/model.onnx"))
    np.savez_compressed(HERE / "embedder.npz", **small_numbers(network))
    print(sum(len(each["questions"]) for each in packed), "questions")


async def _packed_life(holdfast: AsyncHoldfast, life: Life, name: str, pieces: WordPiece) -> dict[str, Any]:
    profile = holdfast.profile("lives", name)
    for session in sorted({said.session for said in life.messages}):
        some = [message_body(said) for said in life.messages if said.session == session]
        await profile.ingest(some, session_id=f"s{session}", wait=True)
    stored = {}
    for session in sorted({said.session for said in life.messages}):
        mine = [said for said in life.messages if said.session == session]
        stored |= dict(zip([m.id for m in await profile.messages(f"s{session}")], mine, strict=True))
    parts = [(said, start, stop) for said in life.messages for start, stop in passage_spans(said.text, PASSAGE_CHARS)]
    passages = [
        answer_input.encoded_passage(pieces, ReadPassage(said.text[start:stop], speaker(said), said.day))
        for said, start, stop in parts
    ]
    questions = []
    for question in life.questions:
        hits = await profile.search(question.text, limit=FOUND, reference_date=noon(question.asked))
        order = [stored[hit.id].number for hit in hits if hit.id in stored]
        ranked = [n for number in order for n, (said, _, _) in enumerate(parts) if said.number == number]
        questions.append(_packed_question(question, parts, passages, ranked, pieces))
    return {
        "name": name,
        "passages": [each.ids for each in passages],
        "words": [each.words for each in passages],
        "texts": [said.text[start:stop] for said, start, stop in parts],
        "questions": questions,
    }


def _packed_question(
    question: Question, parts: list[Any], passages: list[EncodedPassage], ranked: list[int], pieces: WordPiece
) -> dict[str, Any]:
    near = [n for n, (said, _, _) in enumerate(parts) if said.number in question.messages]
    spans: dict[int, list[tuple[int, int]]] = {}
    for n in near:
        said, start, stop = parts[n]
        for span in question.spans:
            if (at := said.text.find(span)) >= 0 and start <= at < stop:
                if tokens := _token_span(passages[n], at - start, min(at + len(span), stop) - start):
                    spans.setdefault(n, []).append(tokens)
    return {
        "ids": answer_input.encoded_question(pieces, question.text, question.asked),
        "kind": _kind(question),
        "category": question.category,
        "text": question.text,
        "answer": question.answer,
        "ranked": ranked,
        "near": sorted(spans) if spans else near,
        "spans": [[n, *tokens] for n, some in spans.items() for tokens in some],
        "told": question.spans,
    }


def _kind(question: Question) -> int:
    if question.category == "never":
        return NONE
    if question.category == "yesno":
        return YES if question.answer.lower() == "yes" else NO
    return LIST if len(question.spans) > 1 else SPAN


def _token_span(passage: EncodedPassage, start: int, stop: int) -> tuple[int, int] | None:
    inside = [n for n, (first, last) in enumerate(passage.words) if last > first and first < stop and last > start]
    return (inside[0], inside[-1]) if inside else None


def speaker(said: Said) -> str:
    return {"U": "user", "A": "assistant"}.get(said.speaker, said.speaker)


# report


def report(found: Path) -> None:
    """Counts right, wrong and empty answers on the lives held back, by the least confidence to answer with."""
    with gzip.open(HERE / "lives.json.gz", "rt") as file:
        lives = {life["name"]: life for life in json.load(file)}
    asked = {(life["name"], q["text"]): q for life in lives.values() for q in life["questions"]}
    rows = []
    for each in json.loads((found / "read.json").read_text()):
        question = asked[each["life"], each["question"]]
        answer, confidence = told_answer(lives[each["life"]], each)
        rows.append((question["category"], confidence, judge(_question(question), answer)))
    print(
        len(rows),
        "questions; evidence read for",
        sum(each["has"] for each in json.loads((found / "read.json").read_text())),
    )
    for least in (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        count = Counter[str]()
        for category, confidence, verdict in rows:
            empty = "rightly empty" if category == "never" else "wrongly empty"
            count[verdict if confidence >= least else empty] += 1
        shares = ", ".join(f"{verdict} {100 * count[verdict] / len(rows):.1f}" for verdict in VERDICTS)
        print(f"at {least}: {shares}")


def told_answer(life: dict[str, Any], read: dict[str, Any]) -> tuple[str, float]:
    """What the reader answers, and how sure it is of it."""
    kind = int(np.argmax(read["chances"]))
    if kind == NONE or not read["spans"]:
        return "", 0.0
    passage, first, last, score, _ = read["spans"][0]
    sure = read["chances"][kind] * float(np.exp(score / 2))
    if kind in (YES, NO):
        return ("Yes" if kind == YES else "No"), read["chances"][kind]
    spans = read["listed"] if kind == LIST and read["listed"] else [(passage, first, last)]
    return "; ".join(_text(life, *span) for span in spans), sure


def _text(life: dict[str, Any], passage: int, first: int, last: int) -> str:
    words, text = life["words"][passage], life["texts"][passage]
    start, stop = answer_input.whole_words(text, words[first][0], words[last][1])
    return str(text[start:stop])


def _question(packed: dict[str, Any]) -> Question:
    spans = tuple(packed["told"])
    return Question(packed["category"], packed["text"], packed["answer"], spans, (), date.min)


# build


def build(found: Path) -> None:
    import onnx

    np.savez_compressed(found / "answer_reader.npz", **short_numbers(dict(np.load(found / "learned.npz"))))
    (found / "answer_reader.onnx").write_bytes(network_graph(onnx, tokens=True).SerializeToString())
    print({path.name: path.stat().st_size for path in found.glob("answer_reader.*")})


if __name__ == "__main__":
    step, *folder = sys.argv[1:]
    if step == "pack":
        asyncio.run(pack())
    else:
        {"report": report, "build": build}[step](Path(*folder))
