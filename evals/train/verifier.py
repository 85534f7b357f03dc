"""Trains what verifies an answer: does this message, with these words marked, answer the question? In steps:

python -m evals.train.verifier pack             the lives' questions and passages, into evals/.cache/verifier
python evals/train/verifier_network.py FOLDER   trains on a GPU, with PyTorch alone
python -m evals.train.verifier build FOLDER     writes answer_verifier.npz and .onnx, with the package onnx
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.models import answer_reader, onnx_file, reader_network
from holdfast.models.answer_verifier import BEFORE_TOKENS
from holdfast.text.static_vectors import weights_path
from holdfast.text.wordpiece import WordPiece

from ..data.life import FOLDER, Life, Question, parse_lives
from ..paths import CACHE
from .answers import _encoded, _kind, _parts, _token_span
from .life_split import MEASURES
from .reader import network_graph, short_numbers, small_numbers

HERE = CACHE / "verifier"
FOLDER_OF_MODELS = reader_network.FOLDER


def pack() -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    pieces = WordPiece(weights_path("arctic-embed-s/vocab.txt"))
    packed = []
    for path in sorted(FOLDER.glob("*.txt")):
        if path.stem in MEASURES:
            continue
        lives, _ = parse_lives(path.read_text("utf-8"), path.name)
        packed += [_packed_life(life, f"{path.stem}-{n}", pieces) for n, life in enumerate(lives)]
    with gzip.open(HERE / "lives.json.gz", "wt") as file:
        json.dump(packed, file)
    network = onnx_file.load_network(weights_path("arctic-embed-s/model.onnx"))
    np.savez_compressed(HERE / "embedder.npz", **small_numbers(network))
    print(len(packed), "lives", sum(len(each["questions"]) for each in packed), "questions")


def _packed_life(life: Life, name: str, pieces: WordPiece) -> dict[str, Any]:
    parts = _parts(life)
    passages = [_encoded(pieces, *part) for part in parts]
    before = [[], *(pieces.ids(said.text[start:stop])[-BEFORE_TOKENS:] for said, start, stop in parts[:-1])]
    return {
        "name": name,
        "passages": [each.ids for each in passages],
        "heads": [sum(word == (0, 0) for word in each.words) for each in passages],
        "before": before,
        "plain": [[pieces.start, *pieces.ids(said.text[start:stop]), pieces.end] for said, start, stop in parts],
        "questions": [_packed_question(question, life, parts, passages, pieces) for question in life.questions],
    }


def _packed_question(
    question: Question, life: Life, parts: list[Any], passages: list[Any], pieces: WordPiece
) -> dict[str, Any]:
    spans = []
    for n, (said, start, stop) in enumerate(parts):
        if said.number not in question.messages or question.category == "never":
            continue
        for span in question.spans:
            if (at := said.text.find(span)) >= 0 and start <= at < stop:
                if tokens := _token_span(passages[n], at - start, min(at + len(span), stop) - start):
                    spans.append([n, *tokens])
    old = {each.message for each in life.statements if each.ended_by in question.messages}
    old |= {each.ended_by for each in life.statements if each.message in question.messages and each.ended_by}
    told = {*question.messages}
    return {
        "ids": answer_reader.encoded_question(pieces, question.text, question.asked),
        "plain": [pieces.start, *pieces.ids(question.text), pieces.end],
        "kind": _kind(question),
        "category": question.category,
        "spans": spans,
        "near": [n for n, (said, _, _) in enumerate(parts) if said.number in told],
        "unsure": [n for n, (said, _, _) in enumerate(parts) if said.number in old - told],
    }


def build(found: Path) -> None:
    import onnx

    name = "answer_verifier"
    np.savez_compressed(FOLDER_OF_MODELS / f"{name}.npz", **short_numbers(dict(np.load(found / "learned.npz"))))
    (FOLDER_OF_MODELS / f"{name}.onnx").write_bytes(network_graph(onnx, name).SerializeToString())
    print({path.name: path.stat().st_size for path in FOLDER_OF_MODELS.glob(f"{name}.*")})


if __name__ == "__main__":
    step, *folder = sys.argv[1:]
    if step == "pack":
        pack()
    else:
        build(Path(*folder))
