"""Finds the words that restore a wallet: twelve to twenty-four of them, near "seed phrase" or "the 12 words"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.text.lazy_pattern import lazy_pattern
from holdfast.text.redaction.normalised_text import Span, word_set

SIGNS = (
    "phrase", "mnemonic", "seed", "wallet", " words", "-word", "12-", "24-", "2 word", "4 word", "ledger", "trezor",
    "metamask", "frase", "fraz", "фраз", "助记词", "wörter", "mots ", "palabras", "palavras", "parole", "woorden",
)  # fmt: skip
_NAMED = lazy_pattern(
    r"\b(?:(?:seed|recovery|mnemonic|backup|secret|wallet|restore|metamask|ledger"
    r"|trezor)[ -](?:recovery )?(?:phrases?|words?|seed)"
    r"|mnemonics?(?: phrase)?|seed|(?:12|24|twelve|twenty-four)[ -]words?(?: phrase)?|phrase de récupération"
    r"|frase (?:semilla|seme)"
    r"|words (?:for|of|to|from) (?:\w{1,12} ){0,2}(?:wallet|ledger|trezor|metamask|phantom|exodus)"
    r"|wiederherstellungsphrase|frase de recuperaci[oó]n)\b[^\n:=\"'`]{0,60}?(?:\s{0,8}[:=\"'`\n]+|\s{1,8}(?:is"
    r"|are|to|was|goes|ist|est|es)\b|\s-)\s{0,8}",
    re.I,
)
_WORDS = lazy_pattern(r"[\"'`(\[]{0,2}(?:\d{1,2}[.):]?\s{1,2})?[a-z]{3,8}(?:[\"',]{0,2}[\s,]{1,3}(?:and\s)?[\"']?(?:"
    r"\d{1,2}[.):]?\s{0,2})?[a-z]{3,8}){10,23}(?![A-Za-z])", re.I)  # fmt: skip


_RUN = lazy_pattern(r"(?<![\w'-])[a-z]{3,8}(?:(?:,? |\s?\n\s?)(?:\d{1,2}[.):]? ?)?[a-z]{3,8}(?![\w'-])){10,40}")
_SENTENCE_WORDS = word_set(
    "the and that this for with you your are was were have has had not but from they them their what when where which",
    "who how why will would can could should may must did does its it's about into than then there here because only",
    "just also all any some our ours his her she him out off over under been being get got goes please right like",
    "und der die das ist ein eine mit von les des est pas pour que con por una los las del per non che een het van",
)
"""Words that no wallet's list has beside eleven others, and every sentence has."""
MIN_RUN_WORDS = 11


def _runs(text: str) -> Iterator[Span]:
    """Small words in a row as no sentence has them."""
    for m in _RUN.finditer(text):
        row: list[re.Match[str]] = []
        for word in [*re.finditer(r"[a-z]+", m[0]), None]:
            if word is not None and word[0] not in _SENTENCE_WORDS:
                row.append(word)
                continue
            if len(row) >= MIN_RUN_WORDS and len({each[0] for each in row}) >= MIN_RUN_WORDS:
                yield m.start() + row[0].start(), m.start() + row[-1].end()
            row = []


def seed_phrase_spans(text: str) -> Iterator[Span]:
    yield from _runs(text)
    for m in _NAMED.finditer(text):
        words = _WORDS.match(text, m.end())
        if words is not None and not re.search(
            r"\b(?:the|that|is|you|your|they|was|should|must|never)\b", words[0], re.I
        ):
            yield words.span()
