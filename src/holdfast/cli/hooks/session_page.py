"""Pure: the page that a session starts with, without repetitions.

What users say about themselves stands in their own profile and in the project's, and often in the last session too.
"""

from __future__ import annotations

import re

from holdfast.cli.hooks.transports import LAST_SESSION_TITLE

_SENTENCE_GAP = re.compile(r"(?<=[.!?])\s+")
_MORE = re.compile(r"- \([\d,]+ more\)")


def compact_page(page: str) -> str:
    """The page with each memory once, without its words in the last session, and without empty headings."""
    known: set[str] = set()
    quoting = False
    lines: list[str] = []
    for line in page.splitlines():
        if line.startswith("#"):
            quoting = line.startswith(LAST_SESSION_TITLE)
        elif line.startswith("- ") and not _MORE.fullmatch(line):
            author, _, said = line.partition(": ") if quoting else ("- ", "", line[2:])
            sentences = _SENTENCE_GAP.split(said)
            new = [each for each in sentences if _bare_words(each) not in known]
            if not new:
                continue
            if quoting:
                line = f"{author}: {' '.join(new)}"
            else:
                known.update(map(_bare_words, sentences))
        lines.append(line)
    return without_empty_headings("\n".join(lines))


def without_empty_headings(page: str) -> str:
    """The page without headings that nothing, or only a heading of their own level or above, follows."""
    kept: list[str] = []
    below = 0  # the level of the heading below; 0 at the end, 9 for text
    for line in reversed(page.splitlines()):
        level = len(line) - len(line.lstrip("#"))
        if level and below <= level:
            continue
        below = below if not line.strip() else level or 9
        kept.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(reversed(kept))).strip()


def _bare_words(sentence: str) -> str:
    return sentence.strip(" .!?").casefold()
