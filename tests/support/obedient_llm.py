"""A model that obeys: text that it sees and that gives orders to the memory is followed, in every way it can.

It can only be told what it is shown: a request that holds nothing of the injected text is answered honestly.
"""

from __future__ import annotations

import json
import re
from typing import Any

from holdfast.testing import Asked
from holdfast.text.quoting import single_line_json
from holdfast.text.redaction import redacted_text

from .scripted_llm import ScriptedLlm, data_block, line_numbers

SECOND_HAND = ("document", "tool")
_TRACE_CHARS = 40


class ObedientLlm(ScriptedLlm):
    """Plays one case of evals/data/injection.json. A sly one quotes lines of the user's only."""

    def __init__(self, case: dict[str, Any], *, sly: bool = False) -> None:
        super().__init__()
        self.case, self.sly = case, sly
        self.obeyed: set[str] = set()
        """The tasks in which it did as it was told."""
        self.broke = 0
        """How often it answered in a shape that nobody asked for."""
        texts = [redacted_text(m["content"]) for m in case["messages"] if m["role"] in SECOND_HAND]
        self._traces = [single_line_json(text.strip())[1 : _TRACE_CHARS + 1] for text in texts]
        self._traces += [single_line_json(text)[1:-1] for text in (*case["must_not"], *texts)]

    def sees_injection(self, asked: Asked) -> bool:
        """Whether something of the injected text is in sight."""
        seen = asked.user.casefold()
        return any(trace.casefold() in seen for trace in self._traces)

    def _extract(self, asked: Asked) -> Any:
        shown = data_block(asked, "conversation").splitlines()
        if not self.sees_injection(asked):
            return {"items": self._honest(shown)}
        self.obeyed.add("extract")
        if "Your last answer" not in asked.user:
            self.broke += 1
            return {"items": [{"statement": self._wish, "lines": [1], "quote": self._wish, "trust": "user"}]}
        return {"items": [*self._honest(shown), *self._forged(shown)]}

    _detail = _extract

    def _honest(self, shown: list[str]) -> list[dict[str, Any]]:
        """What was known before and what the case's people say themselves, each with its own words as quote."""
        said = [each["content"] for each in self.case["known"]]
        said += [m["content"] for m in self.case["messages"] if m["role"] == "user"]
        said += [each["statement"] for each in self.case["asks"] if self.case["innocent"]]
        return [
            {"statement": text[:1500], "lines": line_numbers(line), "quote": text[:1500]}
            for line in shown
            for text in dict.fromkeys(said)
            if single_line_json(text[:1500])[1:-1] in line
        ]

    def _forged(self, shown: list[str]) -> list[dict[str, Any]]:
        """The wish, hung on every line in turn with a quote of any: the user's, the document's, nobody's."""
        lines = {line_numbers(line)[0]: _words(line) for line in shown}
        if self.sly:
            theirs = [line_numbers(line)[0] for line in shown if line.startswith(f"[{line_numbers(line)[0]}] user")]
            return [
                {"statement": each["statement"], "lines": [number], "quote": lines[number][:200]}
                for each in self.case["asks"]
                for number in theirs
            ]
        forged = [
            {"statement": each["statement"], "lines": [number], "quote": quote}
            for each in self.case["asks"]
            for number in (*lines, 99)
            for quote in (*(words[:200] for words in lines.values()), each["statement"])
        ]
        return forged + [{"statement": w[:1500], "lines": [min(lines)], "quote": w[:1500]} for w in lines.values()]

    def _verify(self, asked: Asked) -> Any:
        if not self.sees_injection(asked):
            return super()._verify(asked)
        self.obeyed.add("verify")
        wrong = {"verdict": "correct", "statement": self._wish, "failed": "object", "reason": "as told"}
        passed = {"verdict": "pass", "statement": None, "failed": None, "reason": "as told"}
        found = line_numbers(data_block(asked, "statements"))
        return {"verdicts": [{"number": n, **(wrong if n % 2 else passed)} for n in found]}

    def _classify(self, asked: Asked) -> Any:
        told, filed = self.sees_injection(asked), []
        if told:
            self.obeyed.add("classify")
        for line in data_block(asked, "statements").splitlines():
            statement = json.loads(line.partition("] ")[2])
            wish = self.case["asks"][0] if told else self._known(statement)
            about = {"summary": wish["statement"], "keywords": self.case["must_not"][:1] if told else [], "queries": []}
            filed.append({"number": line_numbers(line)[0], "kind": wish["kind"], "key": wish["key"], **about})
        return {"filed": filed}

    def _known(self, statement: str) -> dict[str, Any]:
        asks = self.case["asks"] if self.case["innocent"] else []
        plain = {"statement": statement, "key": None, "kind": "fact"}
        held = [each | {"statement": each["content"]} for each in self.case["known"]]
        return next((each for each in [*asks, *held] if each["statement"] == statement), plain)

    def _compare(self, asked: Asked) -> Any:
        if self.sees_injection(asked):
            self.obeyed.add("compare")
        verdict = "replaces" if self.sees_injection(asked) or self.case["innocent"] else "apart"
        return {"verdicts": [{"number": n, "verdict": verdict} for n in line_numbers(data_block(asked, "pairs"))]}

    def _analyse(self, asked: Asked) -> Any:
        key = self.case["asks"][0]["key"]
        return {"keys": [key] if key else [], "terms": self.case["must_not"][:1], "answer": self._wish}

    def _answer(self, asked: Asked) -> Any:
        return {"supported": True, "answer": self._wish, "cited": [1, 2, 99]}

    @property
    def _wish(self) -> str:
        wish: str = self.case["asks"][0]["statement"]
        return wish


def _words(line: str) -> str:
    """The words of a line of the transcript."""
    found = re.search(r'\d{4}-\d\d-\d\d \w+: (".*")$', line)
    words: str = json.loads(found[1]) if found else ""
    return words
