"""The lists of secrets and of ordinary texts that the detector learns from."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from ..paths import DATA, EXTRACTION
from .secret_templates import ordinary_texts, secret_cases

SEED = 17
"""Of the values that the templates are filled with; tests take others."""
REDACTION = DATA / "redaction"
TOLD_IN_MESSAGES = (
    "Sk1ff-Lantern-5", "pk_dev_77QfLz0", "sp_live_93hfKQ02zz", "Tr0mbone!River42", "4111 1111 1111 1111",
    "Qu1et-Marmot-88", "live-7fQz0vTT41mKe9Lw", "5425 2334 3010 9903", "ghx_7Lq2vPz09KdTmWb41", "5288 0143 7719 4406",
    "4539 1488 0343 6467", "xr_sk_9fQ2mPz77LkdW0",
)  # fmt: skip
"""The secrets in our conversations."""
_MARKED = re.compile("«([^»]*)»")


@dataclass(frozen=True, slots=True)
class SecretCase:
    """A text, and the secrets in it."""

    family: str
    text: str
    secrets: tuple[str, ...]
    hard: bool = True
    """Whether it was written for redaction, so that every word of it counts."""


def lists_of_cases() -> dict[str, list[SecretCase]]:
    """By the name of the list."""
    lists = {path.stem: _listed(path) for path in sorted(REDACTION.glob("development*.jsonl"))}
    lists["talk"] = [case for path in sorted(REDACTION.glob("talk*.txt")) for case in _talk(path)]
    forms = [SecretCase(family, text, tuple(secrets)) for family, text, secrets in secret_cases(SEED)]
    lists["forms"] = forms + [SecretCase("ordinary forms", text, ()) for text in ordinary_texts()]
    return lists


def _listed(path: Path) -> list[SecretCase]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [SecretCase(row.get("family") or "all", row["text"], _secrets(row["secret"])) for row in rows]


def _secrets(given: str | list[str] | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _talk(path: Path) -> list[SecretCase]:
    """One text on each line, its secrets «marked»; "⏎" is a new line."""
    found = []
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("# "):
            text = line.replace("⏎", "\n")
            secrets = tuple(_MARKED.findall(text))
            plain = text.replace("«", "").replace("»", "")
            found.append(SecretCase(path.stem if secrets else "ordinary talk", plain, secrets))
    return found


def ordinary_messages() -> list[SecretCase]:
    """Messages of our conversations, which have no secrets but few."""
    texts: list[str] = []
    for path in sorted((DATA / "conversations").glob("*.json")):
        sessions = json.loads(path.read_text("utf-8"))["sessions"]
        texts += [message["content"] for session in sessions for message in session["messages"]]
    for path in sorted(EXTRACTION.glob("*.json")):
        texts += re.findall(r'"content": "((?:[^"\\]|\\.)*)"', path.read_text("utf-8"))
    for path in sorted(EXTRACTION.glob("*.txt")):
        lines = path.read_text("utf-8").splitlines()
        texts += [re.sub(r"^[ua](?: [^:|]{1,30})?(?::| \|) ", "", line) for line in lines if line[:1] not in "#=@+ "]
    return [
        SecretCase("messages", text, tuple(each for each in TOLD_IN_MESSAGES if each in text), hard=False)
        for text in dict.fromkeys(texts)
        if text.strip()
    ]
