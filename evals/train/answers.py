"""Trains a reader of answers on the lives of evals/data/lives. In steps:

python -m evals.train.answers pack [file …]     questions with what is found for them, into evals/.cache/answers
python evals/train/answer_network.py FOLDER     trains on a GPU, with PyTorch alone
python -m evals.train.answers report FOLDER     how well it does on lives it never saw, by how sure it must be
python -m evals.train.answers build FOLDER      answer_reader.npz and .onnx in FOLDER, with the package onnx
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from holdfast import AsyncHoldfast
from holdfast.domain.ports.models import ReadPassage
from holdfast.models import answer_reader, onnx_file
from holdfast.models.answer_reader import EncodedPassage
from holdfast.models.local import ArcticEmbedder
from holdfast.storage.in_memory import MemoryVault
from holdfast.testing import ScriptedExtractor
from holdfast.text.passages import passage_spans
from holdfast.text.static_vectors import weights_path
from holdfast.text.wordpiece import WordPiece

from ..data.life import FOLDER, Life, Question, Said, parse_lives
from ..measure.lives import message_body, noon
from .answer_report import HERE, calibration, report
from .reader import network_graph, short_numbers, small_numbers

NONE, SPAN, LIST, YES, NO = range(len(answer_reader.KINDS))
PASSAGE_CHARS = 240
"""Longer messages are read in parts."""
FOUND = 16


async def pack(names: list[str]) -> None:
    """Packs every file of lives, or the named ones beside those that are packed."""
    HERE.mkdir(parents=True, exist_ok=True)
    pieces = WordPiece(weights_path("arctic-embed-s/vocab.txt"))
    packed = [life for life in _packed_lives() if life["name"].split("-")[0] not in names] if names else []
    for path in [path for path in sorted(FOLDER.glob("*.txt")) if not names or path.stem in names]:
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


def _packed_lives() -> list[dict[str, Any]]:
    if not (HERE / "lives.json.gz").exists():
        return []
    with gzip.open(HERE / "lives.json.gz", "rt") as file:
        return list(json.load(file))


async def _packed_life(holdfast: AsyncHoldfast, life: Life, name: str, pieces: WordPiece) -> dict[str, Any]:
    profile = holdfast.profile("lives", name)
    for session in sorted({said.session for said in life.messages}):
        some = [message_body(said) for said in life.messages if said.session == session]
        await profile.ingest(some, session_id=f"s{session}", wait=True)
    stored = {}
    for session in sorted({said.session for said in life.messages}):
        mine = [said for said in life.messages if said.session == session]
        stored |= dict(zip([m.id for m in await profile.messages(f"s{session}")], mine, strict=True))
    parts = _parts(life)
    passages = [_encoded(pieces, *part) for part in parts]
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
        "ids": answer_reader.encoded_question(pieces, question.text, question.asked),
        "kind": _kind(question),
        "category": question.category,
        "text": question.text,
        "answer": question.answer,
        "ranked": ranked,
        "near": sorted(spans) if spans else near,
        "spans": [[n, *tokens] for n, some in spans.items() for tokens in some],
        "told": question.spans,
    }


def _parts(life: Life) -> list[tuple[Said, int, int]]:
    return [(said, start, stop) for said in life.messages for start, stop in passage_spans(said.text, PASSAGE_CHARS)]


def _encoded(pieces: WordPiece, said: Said, start: int, stop: int) -> EncodedPassage:
    return answer_reader.encoded_passage(pieces, ReadPassage(said.text[start:stop], speaker(said), said.day))


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


# build


def build(found: Path) -> None:
    import onnx

    learned = short_numbers(dict(np.load(found / "learned.npz"))) | {"calibration": calibration(found)}
    np.savez_compressed(found / "answer_reader.npz", **learned)
    (found / "answer_reader.onnx").write_bytes(network_graph(onnx, "answer_reader").SerializeToString())
    print({path.name: path.stat().st_size for path in found.glob("answer_reader.*")})


if __name__ == "__main__":
    step, *folder = sys.argv[1:]
    if step == "pack":
        asyncio.run(pack(folder))
    else:
        {"report": report, "build": build}[step](Path(*folder))
