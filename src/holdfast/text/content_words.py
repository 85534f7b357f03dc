"""The content words of a text, as stems that are the same for all forms of a word, without persons and small words.

"I live in my flat" and "The user lives in their flat" have the same content words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.text.cache import cached_by_text
from holdfast.text.lexicon import word_list
from holdfast.text.values import MAX_SCANNED_CHARACTERS

_WORD = re.compile(r"[^\W_]+(?:[.,:/@_'’+#&]+[^\W_]+)*")
_FUNCTION_WORDS = frozenset(
    word_list(
        "a an the i me my mine myself we us our ours ourselves you your yours he him his himself she her hers herself "
        "they them their theirs themselves it its itself this that these those who which what im ive ill am is are "
        "was were be been being have has had having do does did doing done will would shall should can could may "
        "might must s d ll m re ve t user others of in on at to for from with by as into about and or but so because "
        "if than then up out off over there here now also just still really actually very too please already "
        "currently finally recently always usually both all originally mostly mainly basically officially simply even "
        "once often sometimes first ended absolutely generally typically normally personally truly definitely deeply "
        "much so severely mildly quite happily lol haha btw tbh fyi though tho kinda pls omg ya ok okay"
    )
)
_REMINDER = re.compile(r"\b(?:do not|don['’]?t)(?: let (?:me|us))? forget\b", re.I)
"""Negations that negate nothing."""
_LIMITS = frozenset(("only", "rarely", "seldom", "hardly", "barely"))
QUALIFIERS = frozenset(("not", "never", "nobody", "nothing", "none")) | _LIMITS
"""Words without which a clause says something else."""


@dataclass(frozen=True, slots=True)
class ContentWord:
    stem: str
    start: int
    end: int


def content_words(text: str) -> list[ContentWord]:
    """The content words of a text."""
    return list(_content_words(text))


@cached_by_text
def _content_words(text: str) -> tuple[ContentWord, ...]:
    found = []
    text = _REMINDER.sub(lambda m: " " * len(m[0]), text[:MAX_SCANNED_CHARACTERS])
    for m in _WORD.finditer(text):
        token = m[0].lower()
        if token == "cannot" or token.endswith("n't"):
            found.append(ContentWord("not", *m.span()))
            continue
        token = re.sub(r"'(?:s|m|re|ve|ll|d)?$", "", token) if "'" in token else token
        if token in ("no", "not", "never") and text[m.end() : m.end() + 1] != ",":
            found.append(ContentWord("not", *m.span()))
        elif token not in _FUNCTION_WORDS and token != "no":
            found.append(ContentWord(_stem(token), *m.span()))
    return tuple(found)


def _stem(token: str) -> str:
    """A rough stem, the same for all forms of a regular verb or noun."""
    if not token.isalpha() or len(token) < 3:
        return token
    token = _IRREGULAR.get(token, token)
    for ending in ("ies", "ing", "ied", "es", "ed", "s"):
        if (
            token.endswith(ending)
            and len(token) - len(ending) >= (3 if ending == "ed" else 2)
            and not token.endswith("ss")
        ):
            token = token[: -len(ending)] + ("y" if ending in ("ies", "ied") else "")
            break
    if len(token) > 3 and token[-1] == token[-2]:
        token = token[:-1]
    return token[:-1] if token.endswith("e") and len(token) > 2 else token


_IRREGULAR = {
    "used": "use", "began": "begin", "begun": "begin", "goes": "go", "gone": "go", "longer": "long",
    "anymore": "long", "more": "long",
}  # fmt: skip
TEMPLATE_WORDS = frozenset(
    _stem(word)
    for word in word_list(
        "live work name call long prefer seat use ask remind need want answer say said accord move instruction port "
        "open year old due deadline favourite fan agree"
    )
)
"""Words that the rules add: "lives in", "works at", "is called", "no longer", "has open:"."""
