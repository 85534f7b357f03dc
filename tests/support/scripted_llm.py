"""A model that plays its parts by script: what it finds in a conversation, and what it says at every other stage."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from holdfast.models.llm.prompt import load_prompt
from holdfast.testing import Asked, Fault

TASKS = ("extract", "detail", "verify", "classify", "compare", "analyse", "answer", "summarise")
_NUMBERED = re.compile(r"^\[(\d+)\]", re.M)
Reply = Callable[[Asked], Any]


def task_of(asked: Asked) -> str:
    return next(task for task in TASKS if asked.system.startswith(load_prompt(task).text))


def data_block(asked: Asked, name: str) -> str:
    """What stands between the marks of one block of data."""
    found = re.search(rf"<<{name} (\w+)>>\n(.*)\n<<end of {name} \1>>", asked.user, re.S)
    return found[2] if found else ""


def line_numbers(text: str) -> list[int]:
    return [int(n) for n in _NUMBERED.findall(text)]


class ScriptedLlm:
    """Finds `items` (statement, quote) whose quotes stand in what it reads; passes, files and answers plainly.

    A part given by name is played instead: an answer, a Fault, or a function of what was asked.
    """

    def __init__(self, items: dict[str, str] | None = None, keys: dict[str, str] | None = None, **parts: Any) -> None:
        self.items = items or {}
        self.keys = keys or {}
        self.parts = parts
        self.asked: Counter[str] = Counter()

    def __call__(self, asked: Asked) -> str | Fault:
        task = task_of(asked)
        self.asked[task] += 1
        part = self.parts.get(task, getattr(self, f"_{task}"))
        said = part(asked) if callable(part) else part
        return said if isinstance(said, Fault | str) else json.dumps(said)

    def _extract(self, asked: Asked) -> Any:
        found = []
        for line in data_block(asked, "conversation").splitlines():
            for statement, quote in self.items.items():
                if json.dumps(quote, ensure_ascii=False)[1:-1] in line:
                    found.append({"statement": statement, "lines": line_numbers(line), "quote": quote})
        return {"items": found}

    _detail = _extract

    def _verify(self, asked: Asked) -> Any:
        blank = {"verdict": "pass", "statement": None, "failed": None, "reason": "stands"}
        return {"verdicts": [{"number": n, **blank} for n in line_numbers(data_block(asked, "statements"))]}

    def _classify(self, asked: Asked) -> Any:
        filed = []
        for line in data_block(asked, "statements").splitlines():
            statement = json.loads(line.partition("] ")[2])
            about = {"summary": statement[:40], "keywords": ["word"], "queries": ["What?", "Which?", "When?"]}
            filed.append({"number": line_numbers(line)[0], "kind": "fact", "key": self.keys.get(statement), **about})
        return {"filed": filed}

    def _compare(self, asked: Asked) -> Any:
        return {"verdicts": [{"number": n, "verdict": "replaces"} for n in line_numbers(data_block(asked, "pairs"))]}

    def _analyse(self, asked: Asked) -> Any:
        return {"keys": [], "terms": [], "answer": ""}

    def _summarise(self, asked: Asked) -> Any:
        return {"summary": ""}

    def _answer(self, asked: Asked) -> Any:
        return {"supported": True, "answer": "As remembered.", "cited": [1]}
