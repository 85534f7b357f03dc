"""Statements in a few other languages, told by their function words: kept whole, in their own language.

High precision before all: a sentence needs a sign of substance and nothing that asks, wishes or supposes. Its dates are
put into English words first, so that the one reader of dates (`when`) makes them absolute.
"""

from __future__ import annotations

import re
from datetime import datetime

from ...when import Window, meant, windows
from .clauses import LONGEST
from .found import Found, sentence
from .signs import plain, signs
from .voice import Subject
from .words import listed

_LANGUAGES = {
    name: frozenset(listed(words))
    for name, words in {
        "de": "ich du wir ist nicht und der die das mein meine unser mit auf für bei eine bis zum wird aber bitte hat "
        "alles mich mir von den dem einen heißt nie",
        "es": "el la los las mi mis es que y para por con una nos está soy yo solo sí del podemos en de",
        "fr": "je tu nous est pas et le la les mon ma mes du des une pour avec au suis ne un tout sur bon c'est de",
        "pt": "o os meu minha minhas é que e para com uma não eu todo da do agora às então de pra",
        "it": "il lo mio mia è e di che per con una non gli sono ho della mi le la nel alle solo siamo mai",
        "nl": "ik niet en het mijn een voor van dan altijd ben neemt vanaf per de ja graag",
        "pl": "w nie na jest się mam też są dane trzymamy stoi",
    }.items()
}
_ENGLISH = frozenset(
    listed(
        "the i i'm i've is and a an no to my of for it you we with this that in on at have are be not our me was its"
    )
)
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_SUPPOSED = re.compile(
    r"\b(?:si (?:me|je|yo|tuviera)|wenn|falls|vielleicht|irgendwann|würde|könnte|quizás?|tal vez|ojalá|peut-être|"
    r"talvez|se eu|"
    r"magari|forse|misschien|als ik|może|gdyby|jajaja|pff|ni idea|ci penso)\b|要是|如果|もし|吗|呢|哈哈|\?$|？|"
    r"(?:です|ます)か",
    re.I,
)
_OWN = re.compile(
    r"\b(?:ich|mein\w*|unser\w*|uns|wir|mich|mi|mis|yo|nos|nuestr\w+|je|j'ai|mon|ma|mes|notre|nous|eu|meu|minhas?|"
    r"nosso|mio|mia|"
    r"ho|siamo|ik|mijn|ons|mój|moja|trzymamy|paguei|deixo)\b|我|她|他|私|僕|うち|新しい|猫|犬|仕事",
    re.I,
)
ORDER = re.compile(
    r"\bbitte\b|\bnie von\b|\bfrag mich\b|\bduz\b|\breden\b|\bgrundsätzlich nicht\b|\bpor favor\b|\bnunca\b|"
    r"\bjamais\b|\bs'il (?:vous|te) "
    r"plaît\b|\btoujours\b|\bsempre\b|\baltijd graag\b|\bja graag\b|\bauf (?:englisch|deutsch)\b",
    re.I,
)
_TASK = re.compile(
    r"\b(?:erinner\w* mich|recuérdame|rappelle[- ]moi|me lembr\w+|lembra-me|ricordami|herinner me)\b|リマインド|提醒我",
    re.I,
)
_STATE = re.compile(r"\b(?:geburtstag|muss|frist|vence|seit|vanaf|agora|werk)\b", re.I)
_MONTHS = {
    "january": "januar|enero|janvier|janeiro|gennaio|januari",
    "february": "februar|febrero|février|fevereiro|febbraio|februari",
    "march": "märz|marzo|mars|março|maart", "april": "abril|avril|aprile", "may": "mai|mayo|maio|maggio|mei",
    "june": "juni|junio|juin|junho|giugno", "july": "juli|julio|juillet|julho|luglio", "august": "agosto|août|augustus",
    "september": "septiembre|septembre|setembro|settembre", "october": "oktober|octubre|octobre|outubro|ottobre",
    "november": "noviembre|novembre|novembro", "december": "dezember|diciembre|décembre|dezembro|dicembre",
}  # fmt: skip
_DAYS = {
    "monday": "montag|lunes|lundi|lunedì|maandag", "tuesday": "dienstag|martes|mardi|martedì|dinsdag",
    "wednesday": "mittwoch|miércoles|mercredi|mercoledì|woensdag",
    "thursday": "donnerstag|jueves|jeudi|giovedì|donderdag",
    "friday": "freitag|viernes|vendredi|venerdì|vrijdag", "saturday": "samstag|sábado|samedi|sabato|zaterdag",
    "sunday": "sonntag|domingo|dimanche|domenica|zondag",
}  # fmt: skip
_OTHER = {
    "tomorrow": "mañana|morgen|demain|amanhã|domani|明日|明天",
    "today": "heute|hoy|aujourd'hui|hoje|oggi|vandaag|今日|今天",
    "yesterday": "gestern|ayer|hier|ontem|ieri|gisteren|昨日|昨天",
    "christmas eve": "vigilia di natale|nochebuena|heiligabend",
    "last week": "letzte woche|la semana pasada|la semaine dernière|semana passada|"
    "la settimana scorsa|vorige week|上周|先週",
    "next week": "nächste woche|la semana que viene|la semaine prochaine|semana que vem|"
    "la settimana prossima|volgende week",
}  # fmt: skip
_DATES = [
    (re.compile(rf"(?<!\w)(?:{words})(?!\w)" if words.isascii() or "|" in words else words, re.I), english)
    for english, words in {**_OTHER, **{m.title(): w for m, w in _MONTHS.items()}, **_DAYS}.items()
]
_RANGE = re.compile(r"\b(?:du|vom|del|dal|van) (\d{1,2})\.? (?:au|bis|al|tot) (\d{1,2})\.?(?= )", re.I)
_OF = re.compile(r"\b(\d{1,2})(?:\.| de| di)? (?=(?:" + "|".join(_MONTHS) + r")\b)", re.I)
_KANJI_DAYS = dict(
    zip("月火水木金土一二三四五六", listed("monday tuesday wednesday thursday friday saturday") * 2, strict=True)
)
_KANJI = re.compile(r"(来週|先週|下周|上周|这周|今週)の?(?:星期)?([月火水木金土一二三四五六])(?:曜日|曜)?")
_KANJI_WEEK = {"来": "next", "下": "next", "先": "last", "上": "last", "这": "this", "今": "this"}


def foreign(text: str) -> bool:
    """Whether the text is in one of these languages rather than in English."""
    if _CJK.search(text):
        return True
    if text.isascii() and len(text) < 12:
        return False
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.lower()[:300])
    best = max(sum(1 for word in words if word in known) for known in _LANGUAGES.values())
    return best >= 2 and best > 1.5 * sum(1 for word in words if word in _ENGLISH)


def pieces(text: str) -> list[str]:
    """Sentences, also by the stops of Chinese and Japanese; "22. Mai" is one date."""
    text = re.sub(r"(?<=\d)\.(?= (?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))", "", text[:4000])
    made = (p for p in re.split(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+", text) if 0 < len(p) <= LONGEST)
    return [said for p in made if (said := plain(p) + p[-1] * (p[-1] in "?？"))]


def told_abroad(said: str, author: Subject, now: datetime) -> Found | None:
    """What a sentence in another language states, or None."""
    chinese = bool(_CJK.search(said))
    if _SUPPOSED.search(said) or (len(said) < 8 if chinese else len(said.split()) < 3):
        return None
    found = windows(english_dates(said), now)
    if not (
        _OWN.search(said)
        or ORDER.search(said)
        or _TASK.search(said)
        or found
        or signs(said, False) > (len(said.split()) < 5)
    ):
        return None
    content = sentence(f'{author.name} said: "{said.strip("。 ")}"')
    window: Window | None = meant(found, bounded=False)
    kind = "task" if _TASK.search(said) else "instruction" if ORDER.search(said) and not found else "fact"
    if kind == "fact" and window and not _STATE.search(said):
        kind = "event"
    return Found(kind, "abroad", author, content, 0.6, None, "", (), window)


def english_dates(text: str) -> str:
    """The text with its date words in English."""
    text = _KANJI.sub(lambda m: f" {_KANJI_WEEK[m[1][0]]} {_KANJI_DAYS[m[2]]} ", text)
    for pattern, english in _DATES:
        text = pattern.sub(f" {english} " if _CJK.search(text) else english, text)
    return _OF.sub(r"\1 ", _RANGE.sub(r"\1 to \2", text))
