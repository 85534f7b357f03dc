"""Pure: detects the language of a text from its script and its most frequent function words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from holdfast.documents.types import DocumentProperties

_SAMPLE_CHARS = 20_000
"""How much text is examined. Chosen by hand; not measured."""
_MIN_SHARE_PERCENT, _MIN_FUNCTION_WORDS = 8, 5
"""At least 8 of 100 words, and at least 5, must be function words of the language. Chosen by hand; not measured."""
_FUNCTION_WORDS = {
    "en": "the of and to in is that for it with was on are be this as",
    "de": "der die und das ist nicht mit den von zu ein eine auf für im sich",
    "fr": "le la les des et est que une dans pour pas sur qui du au avec",
    "es": "el los las que una por con para del es como más pero sus al y",
    "it": "il di che è la per una non con del sono della gli nel alla i",
    "pt": "o que não uma os com para as do da em por mais dos no se",
    "nl": "de het een van en is dat op te niet met voor zijn aan er ook",
    "pl": "się nie na że jest to w z do o jak przez od dla po co",
    "sv": "och att det som en på är av för med till den har inte ett om",
    "da": "og at det er en til af på for med der den ikke som har et",
    "fi": "ja on ei että se oli hän mutta kun niin myös joka ovat kuin tai olla",
    "tr": "ve bir bu da için ile de çok olarak daha gibi ne ama kadar var olan",
    "cs": "a se na je že to s v z do o jako ale za by pro",
}
_FUNCTION_WORD_SETS = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_SCRIPT_PATTERNS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")), ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")), ("uk", re.compile(r"[іїєґІЇЄҐ]")), ("ru", re.compile(r"[а-яА-Я]")),
    ("el", re.compile(r"[α-ωΑ-Ω]")), ("he", re.compile(r"[\u05d0-\u05ea]")), ("ar", re.compile(r"[\u0620-\u064a]")),
    ("hi", re.compile(r"[\u0900-\u097f]")), ("th", re.compile(r"[\u0e00-\u0e7f]")),
)  # fmt: skip


@dataclass(slots=True)
class LanguageSample:
    """Collects the beginning of a document while it is parsed."""

    texts: list[str] = field(default_factory=list)
    chars: int = 0

    def add(self, text: str) -> None:
        if self.chars < _SAMPLE_CHARS:
            self.texts.append(text[:_SAMPLE_CHARS])
            self.chars += len(text)

    def fill(self, about: DocumentProperties, format: str) -> DocumentProperties:
        """The properties with the format and, if the document states no language, the detected one."""
        language = (about.language or "").strip().split("-")[0].split("_")[0].lower()
        if not re.fullmatch("[a-z]{2,3}", language):
            language = detected_language(" ".join(self.texts)[:_SAMPLE_CHARS]) or ""
        return replace(about, format=format, language=language or None)


def detected_language(text: str) -> str | None:
    """The language as a two-letter code; None when unsure."""
    letters = sum(map(str.isalpha, text))
    for language, script in _SCRIPT_PATTERNS:
        # A quarter of the letters; less for Japanese (mostly Han) and Ukrainian (few letters of its own).
        share = {"uk": 40, "ja": 12}.get(language, 4)
        if letters and len(script.findall(text)) * share > letters:
            return language
    words = re.findall(r"[^\W\d_]+", text.lower())
    counts = {language: sum(word in known for word in words) for language, known in _FUNCTION_WORD_SETS.items()}
    best, second = sorted(counts, key=counts.__getitem__, reverse=True)[:2]
    is_sure = counts[best] * 100 >= _MIN_SHARE_PERCENT * len(words) and counts[best] >= max(
        _MIN_FUNCTION_WORDS, counts[second] + 1
    )
    return best if is_sure else None
