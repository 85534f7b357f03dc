"""Finds the words that restore a wallet: twelve to twenty-four of them after "seed phrase" or "recovery phrase"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.text.redaction.normalised_text import Span

SIGNS = ("phrase", "mnemonic", "seed", "wallet", " words", "-word", "12-", "24-")
_NAMED = re.compile(
    r"\b(?:(?:seed|recovery|mnemonic|backup|secret|wallet|restore|metamask|ledger"
    r"|trezor)[ -](?:recovery )?(?:phrases?|words?|seed)"
    r"|mnemonics?(?: phrase)?|seed|(?:12|24|twelve|twenty-four)[ -]words?(?: phrase)?|phrase de récupération"
    r"|frase (?:semilla|seme)"
    r"|words (?:for|of|to|from) (?:\w{1,12} ){0,2}(?:wallet|ledger|trezor|metamask|phantom|exodus)"
    r"|wiederherstellungsphrase|frase de recuperaci[oó]n)\b[^\n:=\"'`]{0,60}?(?:\s{0,8}[:=\"'`\n]+|\s{1,8}(?:is"
    r"|are|to|was|goes|ist|est|es)\b|\s-)\s{0,8}",
    re.I,
)
_WORDS = re.compile(r"[\"'`(\[]{0,2}(?:\d{1,2}[.):]?\s{1,2})?[a-z]{3,8}(?:[\"',]{0,2}[\s,]{1,3}(?:and\s)?[\"']?(?:"
    r"\d{1,2}[.):]?\s{0,2})?[a-z]{3,8}){10,23}(?![A-Za-z])", re.I)  # fmt: skip


def seed_phrase_spans(text: str) -> Iterator[Span]:
    for m in _NAMED.finditer(text):
        words = _WORDS.match(text, m.end())
        if words is not None and not re.search(
            r"\b(?:the|that|is|you|your|they|was|should|must|never)\b", words[0], re.I
        ):
            yield words.span()
