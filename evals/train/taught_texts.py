"""Texts that a question encoder is taught on beside the lives' questions, so that it knows the words that lives lack:

python -m evals.train.taught_texts FOLDER > FILE     FOLDER has WordNet's data files (Debian: wordnet-base)

WordNet's definitions and examples, and questions made of its words. Only vectors of the teacher are learned from them,
nothing that they say.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

QUESTIONS = 120_000
PEOPLE = (
    "Agnes", "Priya", "Tom", "Sofia", "Omar", "Lena", "Kofi", "Mei", "Lucas", "Ines", "my wife",
    "my brother", "our team",
)  # fmt: skip
NOUNS = (
    "What did {who} say about the {noun}?", "When did {who} get the {noun}?", "Where is {who}'s {noun}?",
    "How does {who} feel about {noun}?", "Which {noun} does {who} like best?", "Who gave {who} the {noun}?",
    "Why did {who} stop with the {noun}?", "How many {noun}s does {who} have?", "What kind of {noun} does {who} want?",
    "What is {who}'s favourite {noun}?", "Did {who} ever mention a {noun}?", "What happened to the {noun} of {who}?",
    "Where did {who} buy the {noun} and the {other}?", "What does {who} do with {noun} at the {other}?",
    "Has {who} been to the {noun} since the {other}?", "What {noun} did {who} choose for the {other}?",
    "Would {who} rather have a {noun} or a {other}?",
    "What inspired {who} to try {noun}?", "my {noun}", "{noun} {other}",
)  # fmt: skip
VERBS = (
    "When did {who} {verb}?", "Why does {who} {verb}?", "How often does {who} {verb} the {noun}?",
    "Who did {who} {verb} with?", "Where does {who} plan to {verb}?", "What made {who} {verb} the {noun}?",
    "Did {who} {verb} before the {noun}?", "What will {who} {verb} next month?",
)  # fmt: skip


def main(folder: Path) -> None:
    nouns, verbs, adjectives = (_lines(folder / f"data.{part}") for part in ("noun", "verb", "adj"))
    for line in (*nouns, *verbs, *adjectives):
        for part in re.split(r"[;\"]", line.partition(" | ")[2]):
            if len(part.split()) >= 3:
                print(part.strip())
    dice = random.Random(0)
    named, done = [_word(line) for line in nouns], [_word(line) for line in verbs]
    for _ in range(QUESTIONS):
        some = dice.choice(VERBS if dice.random() < 0.3 else NOUNS)
        who, (noun, other) = dice.choice(PEOPLE), dice.choices(named, k=2)
        print(some.format(who=who, noun=noun, other=other, verb=dice.choice(done)).replace("_", " "))


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines() if not line.startswith("  ")]


def _word(line: str) -> str:
    """The first word of a set of synonyms, which is the fifth field of its line."""
    return re.sub(r"\(.*?\)", "", line.split(" ", 5)[4])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
