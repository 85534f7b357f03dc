"""Finds statements in a few other languages, recognised by their function words, and quotes them whole.

Precision comes first: a sentence must contain something specific, and no question, wish or supposition. Its dates are
translated to English first, so that the one date parser (text/dates) makes them absolute.
"""

from __future__ import annotations

import re
from datetime import datetime

from holdfast.models.rules.findings.finding import RuleFinding, as_sentence
from holdfast.models.rules.patterns.foreign_signs import foreign_signs
from holdfast.models.rules.patterns.salience import specific_signs, without_fillers
from holdfast.models.rules.patterns.vocabulary import split_words
from holdfast.models.rules.people.third_person import Subject
from holdfast.models.rules.sentences.clauses import MAX_SENTENCE_CHARACTERS
from holdfast.text.cache import cached_by_text
from holdfast.text.dates import Window, meant_window, windows
from holdfast.text.lexicon.calendar import MONTHS, WEEKDAYS
from holdfast.text.lexicon.sentences import ENDS, WIDE_ENDS

_LANGUAGES = {
    name: frozenset(split_words(words))
    for name, words in {
        "de": "ich du wir ist nicht und der die das mein meine unser mit auf für bei eine bis zum wird aber bitte hat "
        "alles mich mir von den dem einen heißt nie im zu auch noch hab habe haben sich uns ein sie jetzt seit muss",
        "es": "el la los las mi mis es que y para por con una nos está soy yo solo sí del podemos en de se su un al ha "
        "hay pero más muy ya tengo",
        "fr": "je tu nous est pas et le la les mon ma mes du des une pour avec au suis ne un tout sur bon c'est de "
        "j'ai il elle aux dans qui ce cette ont été ça mais faut",
        "pt": "o os meu minha minhas é que e para com uma não eu todo da do agora às então de pra um na se mas já tem "
        "tenho ao são está foi",
        "it": "il lo mio mia è e di che per con una non gli sono ho della mi le la nel alle solo siamo mai un del "
        "si ma ha abbiamo dei da al anche",
        "nl": "ik niet en het mijn een voor van dan altijd ben neemt vanaf per de ja graag zijn heb hebben heeft "
        "op maar nog naar bij moet geen dat aan wordt",
        "pl": "w nie na jest się mam też są dane trzymamy stoi że ale od dla mój moja już jestem był będzie mnie "
        "jak po za czy teraz mi",
    }.items()
}
_ELIDED_WORDS = ("l'", "dell'", "nell'", "all'", "un'", "qu'", "s'", "n'")
"""French and Italian function words that have lost their vowel before a noun or a verb."""
_ENGLISH = frozenset(
    split_words(
        "the i i'm i've is and a an no to my of for it you we with this that in on at have are be not our me was its"
    )
)
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_SUPPOSITION = re.compile(
    r"\b(?:si (?:me|je|yo|tuviera)|wenn|falls|vielleicht|irgendwann|würde|könnte|quizás?|tal vez|ojalá|peut-être|"
    r"talvez|se eu|"
    r"magari|forse|misschien|als ik|może|gdyby|jajaja|pff|ni idea|ci penso)\b|要是|如果|もし|吗|呢|哈哈|\?$|？|"
    r"(?:です|ます)か",
    re.I,
)
_FIRST_PERSON = re.compile(
    r"\b(?:ich|mein\w*|unser\w*|uns|wir|mich|mi|mis|yo|nos|nuestr\w+|je|j'ai|mon|ma|mes|notre|nous|eu|meu|minhas?|"
    r"nosso|mio|mia|"
    r"ho|siamo|ik|mijn|ons|mój|moja|trzymamy|paguei|deixo)\b|我|她|他|私|僕|うち|新しい|猫|犬|仕事",
    re.I,
)
ORDER_PATTERN = re.compile(
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
    "january": "januar|enero|janvier|janeiro|gennaio|januari|stycznia",
    "february": "februar|febrero|février|fevereiro|febbraio|februari|lutego",
    "march": "märz|marzo|mars|março|maart|marca", "april": "abril|avril|aprile|kwietnia",
    "may": "mai|mayo|maio|maggio|mei|maja", "june": "juni|junio|juin|junho|giugno|czerwca",
    "july": "juli|julio|juillet|julho|luglio|lipca", "august": "agosto|août|augustus|sierpnia",
    "september": "septiembre|septembre|setembro|settembre|września",
    "october": "oktober|octubre|octobre|outubro|ottobre|października",
    "november": "noviembre|novembre|novembro|listopada",
    "december": "dezember|diciembre|décembre|dezembro|dicembre|grudnia",
}  # fmt: skip
_DAYS = {
    "monday": "montag|lunes|lundi|lunedì|maandag|segunda-feira|poniedziałek|月曜日?|월요일",
    "tuesday": "dienstag|martes|mardi|martedì|dinsdag|terça-feira|wtorek|火曜日?|화요일",
    "wednesday": "mittwoch|miércoles|mercredi|mercoledì|woensdag|quarta-feira|środę|水曜日?|수요일",
    "thursday": "donnerstag|jueves|jeudi|giovedì|donderdag|quinta-feira|czwartek|木曜日?|목요일",
    "friday": "freitag|viernes|vendredi|venerdì|vrijdag|sexta-feira|piątek|金曜日?|금요일",
    "saturday": "samstag|sábado|samedi|sabato|zaterdag|sobotę|土曜日?|토요일",
    "sunday": "sonntag|domingo|dimanche|domenica|zondag|niedzielę|日曜日?|일요일",
}  # fmt: skip
_RELATIVE_DATES = {
    "tomorrow": "mañana|morgen|demain|amanhã|domani|jutro|明日|明天|내일",
    "today": "heute|hoy|aujourd'hui|hoje|oggi|vandaag|dziś|dzisiaj|今日|今天|오늘",
    "yesterday": "gestern|ayer|hier|ontem|ieri|gisteren|wczoraj|昨日|昨天|어제",
    "christmas eve": "vigilia di natale|nochebuena|heiligabend",
    "last week": "letzte woche|la semana pasada|la semaine dernière|semana passada|"
    "la settimana scorsa|vorige week|上周|先週",
    "next week": "nächste woche|la semana que viene|la semaine prochaine|semana que vem|"
    "la settimana prossima|volgende week",
}  # fmt: skip


def _date_words(words: str) -> re.Pattern[str]:
    """Words between borders; those of scripts without spaces anywhere, but not after "every week"."""
    each = words.split("|")
    wide = "|".join(word for word in each if _CJK.match(word))
    spaced = rf"(?<!\w)(?:{'|'.join(word for word in each if not _CJK.match(word))})(?!\w)"
    return re.compile(rf"{spaced}|(?<!毎週)(?<!매주 )(?:{wide})" if wide else spaced, re.I)


_DATES = [
    (_date_words(words), english)
    for english, words in {**_RELATIVE_DATES, **{m.title(): w for m, w in _MONTHS.items()}, **_DAYS}.items()
]
_WIDE_DAY_OF_MONTH = re.compile(r"(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日号號일]")
_RANGE = re.compile(r"\b(?:du|vom|del|dal|van) (\d{1,2})\.? (?:au|bis|al|tot) (\d{1,2})\.?(?= )", re.I)
_DAY_OF_MONTH = re.compile(r"\b(\d{1,2})(?:\.| de| di)? (?=(?:" + "|".join(_MONTHS) + r")\b)", re.I)
_KANJI_DAYS = dict(zip("月火水木金土一二三四五六", WEEKDAYS[:6] * 2, strict=True))
_KANJI = re.compile(r"(来週|先週|下周|上周|这周|今週)の?(?:星期)?([月火水木金土一二三四五六])(?:曜日|曜)?")
_KANJI_WEEK = {"来": "next", "下": "next", "先": "last", "上": "last", "这": "this", "今": "this"}


def is_foreign(text: str) -> bool:
    """Whether the text is in one of these languages rather than in English."""
    if _CJK.search(text):
        return True
    if text.isascii() and len(text) < 12:
        return False
    foreign, english = _function_words(text)
    return foreign >= 2 and foreign > 1.5 * english


def may_be_foreign(text: str) -> bool:
    """Whether the text has no function words that make it English, such as a short sentence of another language."""
    foreign, english = _function_words(text)
    return foreign >= english


@cached_by_text
def _function_words(text: str) -> tuple[int, int]:
    """How many function words of the likeliest other language, and how many of English, the text begins with."""
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.lower()[:300])
    best = max(sum(1 for word in words if word in known) for known in _LANGUAGES.values())
    best += sum(1 for word in words if word.startswith(_ELIDED_WORDS))
    return best, sum(1 for word in words if word in _ENGLISH)


def foreign_sentences(text: str) -> list[str]:
    """The sentences of a text, split also at Chinese and Japanese full stops; "22. Mai" stays one date."""
    text = re.sub(r"(?<=\d)\.(?= (?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))", "", text[:4000])
    parts = (
        p for p in re.split(rf"(?<=[{ENDS}…])\s+|(?<=[{WIDE_ENDS}])|\n+", text) if 0 < len(p) <= MAX_SENTENCE_CHARACTERS
    )
    return [said for p in parts if (said := without_fillers(p) + p[-1] * (p[-1] in "?？"))]


def foreign_finding(said: str, author: Subject, now: datetime) -> RuleFinding | None:
    """The finding in a sentence of another language, or None."""
    chinese = bool(_CJK.search(said))
    if _SUPPOSITION.search(said) or (len(said) < 8 if chinese else len(said.split()) < 3):
        return None
    dates = windows(english_dates(said), now)
    if not (
        _FIRST_PERSON.search(said)
        or ORDER_PATTERN.search(said)
        or _TASK.search(said)
        or dates
        or foreign_signs(said)
        or specific_signs(said, False) > (len(said.split()) < 5)
    ):
        return None
    content = as_sentence(f'{author.name} said: "{said.strip("。 ")}"')
    window: Window | None = meant_window(dates, bounded=False)
    kind = "task" if _TASK.search(said) else "instruction" if ORDER_PATTERN.search(said) and not dates else "fact"
    if kind == "fact" and window and not _STATE.search(said):
        kind = "event"
    return RuleFinding(kind, "abroad", author, content, 0.6, None, "", (), window)


def _written_day(found: re.Match[str]) -> str:
    month = int(found[1])
    return f" {found[2]} {MONTHS[month - 1].title()} " if 1 <= month <= len(MONTHS) else found[0]


def english_dates(text: str) -> str:
    """The text with its date words in English."""
    text = _WIDE_DAY_OF_MONTH.sub(_written_day, text)
    text = _KANJI.sub(lambda m: f" {_KANJI_WEEK[m[1][0]]} {_KANJI_DAYS[m[2]]} ", text)
    for pattern, english in _DATES:
        text = pattern.sub(f" {english} " if _CJK.search(text) else english, text)
    return _DAY_OF_MONTH.sub(r"\1 ", _RANGE.sub(r"\1 to \2", text))
