"""Trains the encoder of questions on the lives of evals/data/lives. In steps:

python -m evals.train.questions pack [file …]    messages and questions, into evals/.cache/questions; and the lines of
                                                 these files, of which a teacher's vectors are learned (taught_texts.py)
python evals/train/question_network.py FOLDER    trains on a GPU, with PyTorch alone (two minutes)
python -m evals.train.questions build FOLDER     question_encoder.npz and .onnx in FOLDER, with the package onnx
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.models import onnx_file
from holdfast.models.local import ArcticEmbedder
from holdfast.text.static_vectors import weights_path
from holdfast.text.wordpiece import WordPiece

from ..data.life import FOLDER, Life, parse_lives
from ..paths import CACHE
from .life_split import MEASURES
from .reader import network_graph, short_numbers, small_numbers

MAX_TOKENS = 128
"""What is read of a message."""


def pack(files: list[str]) -> None:
    pieces = WordPiece(weights_path("arctic-embed-s/vocab.txt"))
    lives = []
    for path in sorted(FOLDER.glob("*.txt")):
        if path.stem not in MEASURES:
            told, _ = parse_lives(path.read_text("utf-8"), path.name)
            lives += [_packed_life(life, f"{path.stem}-{n}", pieces) for n, life in enumerate(told)]
    taught = [_ids(pieces, line) for file in files for line in Path(file).read_text("utf-8").splitlines()]
    for folder in ("questions", "answers"):
        (CACHE / folder).mkdir(parents=True, exist_ok=True)
    with gzip.open(CACHE / "questions" / "lives.json.gz", "wt") as file:
        json.dump({"prefix": pieces.ids(ArcticEmbedder.prefix), "lives": lives, "taught": taught}, file)
    network = onnx_file.load_network(weights_path("arctic-embed-s/model.onnx"))
    np.savez_compressed(CACHE / "answers" / "embedder.npz", **small_numbers(network))
    print(len(lives), "lives,", sum(len(each["questions"]) for each in lives), "questions")


def _packed_life(life: Life, name: str, pieces: WordPiece) -> dict[str, Any]:
    """The messages, and the questions that some of them answer."""
    place = {said.number: n for n, said in enumerate(life.messages)}
    asked = [question for question in life.questions if question.category != "never" and question.messages]
    return {
        "name": name,
        "messages": [_ids(pieces, said.text) for said in life.messages],
        "questions": [
            {"ids": _ids(pieces, question.text), "right": [place[number] for number in question.messages]}
            for question in asked
        ],
    }


def _ids(pieces: WordPiece, text: str) -> list[int]:
    return [pieces.start, *pieces.ids(text)[:MAX_TOKENS], pieces.end]


def build(found: Path) -> None:
    import onnx

    np.savez_compressed(found / "question_encoder.npz", **short_numbers(dict(np.load(found / "learned.npz"))))
    (found / "question_encoder.onnx").write_bytes(network_graph(onnx, "question_encoder").SerializeToString())
    print({path.name: path.stat().st_size for path in found.glob("question_encoder.*")})


if __name__ == "__main__":
    step, *given = sys.argv[1:]
    if step == "pack":
        pack(given)
    else:
        build(Path(*given))
