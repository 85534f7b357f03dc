"""Whether the words of a memory stand together in one message, as its author put them. Pure.

A memory may leave out a whole clause, but it may not join words of which others stood between: "the server died twice
tired today" has every word of "so tired today, the server died twice" and says something else. Words are compared
without case, with persons and inflections made alike: "I live in my flat", "the user lives in their flat". What the
rules add ("works at"), computed dates and words in quotation marks begin a run of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from holdfast.text.cache import cached_by_text
from holdfast.text.lexicon import word_list
from holdfast.text.lexicon.calendar import A_FULL_MONTH, A_FULL_WEEKDAY

Run = tuple[str, ...]
MIN_RUN_WORDS = 3
"""A run of fewer words is a name or a value, and stands anywhere."""
MAX_NAME_WORDS = 3
"""How many words may name whom a pronoun means."""
PERSON = "@"
"""Stands for every person: "I", "the user" and "they" may all be the author."""
_PERSONS = frozenset(
    word_list(
        "i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her hers herself "
        "they them their theirs themselves it its itself this that these those someone"
    )
)
_SPELLED = {
    "im": "i am", "ive": "i have", "id": "i would", "ill": "i will", "youre": "you are", "theyre": "they are",
    "hes": "he is", "shes": "she is", "its": "it is", "thats": "that is", "theres": "there is", "whos": "who is",
    "whats": "what is", "dont": "do not", "doesnt": "do not", "didnt": "did not", "cant": "can not",
    "cannot": "can not", "wont": "will not", "isnt": "is not", "arent": "are not", "wasnt": "was not",
    "couldnt": "could not", "havent": "have not", "hasnt": "have not", "wouldnt": "would not",
    "shouldnt": "should not",
}  # fmt: skip
_FILLERS = frozenset(
    word_list("usually still just also btw really actually very lol haha well already please ok anyway")
)
_SAME = {"am": "be", "is": "be", "are": "be", "were": "was", "has": "have", "does": "do", "an": "a"}
_VERB_AFTER_PERSON = {"m": "am", "s": "is", "re": "are", "ve": "have", "ll": "will", "d": "would"}
_CONTRACTION = re.compile(r"\b(i|you|he|she|it|we|they|that|there|who|what|here)'(m|s|re|ve|ll|d)\b")
_TOKEN = re.compile(r"'s\b|[^\W_]+(?:[.,:/@_\-][^\W_]+)*")
_MONTH = f"(?:{A_FULL_MONTH})"
_DATE = re.compile(
    rf"\((?:[^()]*\b{_MONTH}\b[^()]*|\d{{4}}[^()]*)\)|"
    rf"(?:\b(?:is|was|are|were) )?(?:\b(?:on|by|since|from|until|in|before|after) )?(?:\b{A_FULL_WEEKDAY},? )?"
    rf"(?:\bthe )?\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b(?:,? \d{{4}})?|"
    rf"\b(?:week|weekend|month) of (?:\d{{1,2}} )?{_MONTH}(?: \d{{4}})?|"
    rf"(?:\b(?:is|was|are|were) )?(?:\b(?:on|by|since|from|until|in|before|after) )?\b{_MONTH} \d{{4}}",
    re.I,
)
"""A date that may have been spelled out."""
_WHO = r"(?:the user|(?<!')\b[a-z]+)"
_TEMPLATE = re.compile(
    rf"\basked\b|{_WHO} (?:said|says|asked|asks|answered|replied)(?: that| to| of| about)?\b|"
    rf"{_WHO} (?:wants?|asks?) to be reminded (?:to|of|about)\b|{_WHO} (?:needs?|has|wants?|plans?) to\b|"
    rf"{_WHO} has open(?=:)|"
    r"no longer\b|used to\b|any ?more\b|\blives? in\b|\bmoved to\b|\bworks? (?:at|as|for)\b|"
    r"(?:name|job|employer|home city) is\b|is called\b|is named\b|and others\b|according to\b|of(?=:)|\[redacted\]",
    re.I,
)
"""What the rules put around words."""
_QUOTATION = re.compile(r'[^"]{1,80}? said(?: of [^":]{1,80})?: ".*"(?: \([^()]*\))*\.?', re.S)
"""The words of one message, which is_proved compares."""
_RUN_BORDER = re.compile(r'\0|["|;]|:(?=\s|$)')
_CLAUSE_BORDER = re.compile(r"[,.!?()…](?=\s|$)|\s[–—-]\s|(?<=\s)\(")


def stand_together(memory: str, cited: Sequence[str], heard: Iterable[str] = (), names: Iterable[str] = ()) -> bool:
    """Whether every run of words of the memory stands in one of its cited messages.

    A name may stand for a pronoun there if a message that was heard has it; `names` are the speakers'."""
    if _QUOTATION.fullmatch(memory):
        return True
    speakers = frozenset(names)
    texts = [_words(text, speakers) for text in cited]
    known = [f" {' '.join(_words(text, speakers))} " for text in heard or cited]
    if _in_one([_words(memory, speakers)], texts, known):
        return True
    return all(_part_stands(part, texts, known, speakers) for part in _parts(memory))


def _part_stands(part: str, texts: Sequence[Run], known: Sequence[str], speakers: frozenset[str]) -> bool:
    run = _trimmed(_words(part, speakers))
    if len(run) < MIN_RUN_WORDS or _in_one([run], texts, known):
        return True
    clauses = [_trimmed(_words(each, speakers)) for each in _CLAUSE_BORDER.split(part)]
    long = [each for each in clauses if len(each) >= MIN_RUN_WORDS]
    return long != [run] and _in_one(long, texts, known)


def _parts(memory: str) -> Iterator[str]:
    """What is left between what the rules put around words, dates, and quotation marks."""
    bare = _DATE.sub("\0", _TEMPLATE.sub("\0", _plain(memory)))
    return (part for part in _RUN_BORDER.split(bare) if part.strip())


def _trimmed(run: Run) -> Run:
    start = 0
    while start < len(run) and run[start] in (PERSON, "the", "a"):
        start += 1
    return run[start:]


def _in_one(runs: Sequence[Run], texts: Sequence[Run], known: Sequence[str]) -> bool:
    """Whether one text has all the runs."""
    return any(all(_stands_in(run, text, known) for run in runs) for text in texts)


def _stands_in(run: Run, text: Run, known: Sequence[str]) -> bool:
    return any(_fits(run, text, 0, start, known) for start in range(len(text))) or not run


def _fits(run: Run, text: Run, i: int, j: int, known: Sequence[str]) -> bool:
    """Whether the run from `i` on stands in the text at `j`."""
    while i < len(run):
        if j == len(text):
            return False
        spelled_out = run[i] == "be" and text[j] == "'s" and not {"be", "was"} & set(run[max(0, i - 3) : i])
        if run[i] != text[j] and not spelled_out:
            return text[j] == PERSON and any(
                _is_known(run[i : i + n], known) and _fits(run, text, i + n, j + 1, known)
                for n in range(MAX_NAME_WORDS, 0, -1)
                if i + n <= len(run)
            )
        i, j = i + 1, j + 1
    return True


def _is_known(name: Run, known: Sequence[str]) -> bool:
    """Whether a message has these words, one after another."""
    return any(f" {' '.join(name)} " in text for text in known)


@cached_by_text
def _words(text: str, speakers: frozenset[str]) -> Run:
    """The words of a text, with persons and inflections made alike."""
    text = _plain(text).lower()
    text = text.replace("the user and others", "they").replace("the user's", "their").replace("the user", "they")
    for name in sorted(speakers, key=len, reverse=True):
        text = re.sub(rf"\b{re.escape(name.lower())}'s\b", "their", text)
        text = re.sub(rf"\b{re.escape(name.lower())}\b", "they", text)
    text = re.sub(r"n't\b", " not", re.sub(r"\bcan't\b", "can not", re.sub(r"\bwon't\b", "will not", text)))
    text = _CONTRACTION.sub(lambda m: f"{m[1]} {_VERB_AFTER_PERSON[m[2]]}", text)
    found: list[str] = []
    for token in _TOKEN.findall(text):
        for word in map(_stem, _SPELLED.get(token, token).split()):
            if word not in _FILLERS and not (word == PERSON and found and found[-1] == PERSON):
                found.append(word)
    return tuple(found)


def _stem(word: str) -> str:
    word = _SAME.get(word, word)
    if word in _PERSONS:
        return PERSON
    if len(word) <= 3 or not word.isalpha() or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("shes", "ches", "sses", "xes", "oes")) else word[:-1]


def _plain(text: str) -> str:
    return text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"').strip()
