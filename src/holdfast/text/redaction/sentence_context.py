"""What stands around a word in its sentence: words that equate or tell, quotes, other odd words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from holdfast.text.redaction.normalised_text import word_set
from holdfast.text.redaction.secret_nouns import BORDERLESS

SENTENCE_ENDS = ".!?。！？\n"
_ENDS = frozenset(SENTENCE_ENDS)


class MarkedWord(Protocol):
    """A word with the punctuation around it."""

    @property
    def opening(self) -> str: ...

    @property
    def closing(self) -> str: ...


_COPULAS = word_set(
    "is was are were be being still now remains became becomes stays it's its that's ist war lautet heißt bleibt est",
    "était c'est reste es era sigue son è era resta é fica continua jest to był brzmi blijft luidt är var blir heter",
    "er on oli ovat je byl zní van volt este e era rămâne είναι ήταν است هست هي هو היא הוא है हैं था hai tha adalah ialah",
    "yaitu là ay ni это — - = := are's это всё é das c is: olan oldu yaptım ir yra és da está",
)
"""Words between a name and its value, in many languages."""
_TELLING = word_set(
    "use used using try tried type typed enter entered say said says put set chose choose picked answered answer wrote",
    "write gave give press punch dial tap hit key with to as called changed reset make made go goes open opens takes",
    "nimm benutze tippe gib drück mit auf als geantwortet geschrieben angegeben gesetzt genommen utilise tape mets mis",
    "avec répondu choisi écrit usa pon puse con marca contesté respondí metti messo con scritto risposto premi digita",
    "coloca coloquei com respondi gebruik typ met toets ingevuld ingesteld użyj wpisz wpisałem kodem odpowiedziałam",
    "введи",
    "набери поставил поставила ответил ответила написал написала кодом zadej napsal odpověděl med använd svarade skriv",
    "slå bruk svarte brug skrev käytä näppäile koodilla kullan yaz yazdım ile yaptım cu folosește am χρησιμοποίησε με",
    "ketik pakai dengan dùng bấm bằng gamit gamitin",
)
"""Words by which people tell what to type."""


def ends_sentence(closing: str) -> bool:
    """Whether the punctuation after a word ends its sentence."""
    return not _ENDS.isdisjoint(closing)


def role_of(said: str) -> str:
    """What the word before does: it equates, or it tells what to type."""
    return "is" if said in _COPULAS else "tell" if said in _TELLING else ""


def key_of(text: str) -> str:
    """A word as its neighbours know it; of a script without blanks, what it ends with."""
    return text.lower() if text.isascii() or not _BORDERLESS.match(text) else f"~{text[-2:]}"


_BORDERLESS = re.compile(f"[{BORDERLESS}]")
_QUOTES = frozenset("\"'`“”‘’„«»「」『』")


class Surroundings(NamedTuple):
    """Of a word: whether it stands in quotes, and how many odd words are in its sentence before and after it."""

    quoted: bool
    odd_before: int
    odd_after: int
    position: int
    """In its sentence."""


def surroundings_of(words: Sequence[MarkedWord], odd: Sequence[bool]) -> list[Surroundings]:
    found: list[Surroundings] = []
    quoted = False
    begins = 0
    for stop, word in enumerate(words):
        if not ends_sentence(word.closing) and stop + 1 < len(words):
            continue
        total, before = sum(odd[begins : stop + 1]), 0
        for n in range(begins, stop + 1):
            quoted = quoted or not _QUOTES.isdisjoint(words[n].opening)
            found.append(Surroundings(quoted, before, total - before - odd[n], n - begins))
            before += odd[n]
            if quoted and not _QUOTES.isdisjoint(words[n].closing):
                quoted = False
        quoted = False
        begins = stop + 1
    return found
