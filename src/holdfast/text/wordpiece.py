"""BERT's WordPiece tokenizer in plain Python, for both local models.

The `tokenizers` package gives the same ids (a test compares them) but depends on a model-hub client; a product that
promises never to download a model should not install one. Words repeat, so a cache makes this fast enough: about 20 µs
for a short message, against milliseconds for the model that uses it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

_MAX_WORD_CHARS = 100
_MAX_KNOWN_CHARACTERS = 8192
"""More than the texts of one language use. Chosen by hand."""
_PLAIN = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")
_WITHOUT_CONTROLS = {code: None for code in range(32) if chr(code) not in "\t\n\r"}


@cache
def load_wordpiece(vocabulary: Path) -> WordPiece:
    """The tokenizer of a vocabulary. All who use it share one, with its cache."""
    return WordPiece(vocabulary)


class WordPiece:
    def __init__(self, vocabulary: Path) -> None:
        lines = vocabulary.read_text("utf-8").split("\n")
        self._ids = {piece: n for n, piece in enumerate(lines) if piece}
        self.unknown = self._ids["[UNK]"]
        self.start = self._ids["[CLS]"]
        self.end = self._ids["[SEP]"]
        self._pieces = lru_cache(maxsize=50_000)(self._split)

    def ids(self, text: str) -> list[int]:
        """The ids of a text, without the special tokens around it."""
        found: list[int] = []
        for word in _words(text):
            found += self._pieces(word)
        return found

    def _split(self, word: str) -> tuple[int, ...]:
        """Matches the longest piece first; a word with an unknown remainder is unknown as a whole."""
        if len(word) > _MAX_WORD_CHARS:
            return (self.unknown,)
        found: list[int] = []
        start = 0
        while start < len(word):
            for stop in range(len(word), start, -1):
                piece = self._ids.get(word[start:stop] if start == 0 else f"##{word[start:stop]}")
                if piece is not None:
                    found.append(piece)
                    start = stop
                    break
            else:
                return (self.unknown,)
        return tuple(found)


def _words(text: str) -> list[str]:
    if text.isascii():
        return _PLAIN.findall(text.lower().translate(_WITHOUT_CONTROLS))
    return unicodedata.normalize("NFD", text.lower()).translate(_spaced_characters).split()


class _SpacedCharacters(dict[int, str]):
    """Character → what becomes of it: a blank, nothing, or itself, with blanks around it where it is a word."""

    def __missing__(self, code: int) -> str:
        c, category = chr(code), unicodedata.category(chr(code))
        if c.isspace() or category == "Zs":
            spaced = " "
        elif category in ("Mn", "Cc", "Cf", "Cn", "Co", "Cs") or c == "\ufffd":
            spaced = ""
        else:
            spaced = f" {c} " if _stands_alone(c) else c
        if len(self) < _MAX_KNOWN_CHARACTERS:
            self[code] = spaced
        return spaced


_spaced_characters = _SpacedCharacters()


def _stands_alone(c: str) -> bool:
    """Whether the character is a separate word: punctuation (every ASCII symbol counts) and Han characters."""
    code = ord(c)
    if code < 128:
        return not c.isalnum()
    han = 0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x2FA1F
    return han or unicodedata.category(c).startswith("P")
