"""Lists of things to do: "to do before we fly: isbn, print the maps"; "left to migrate: users"; a shopping list.

A list is an opening, which says that what follows is to be done, and its items. An opening is known by its words: each
of them is one of openings, one of them is a cue, and a phrase such as "for the wedding" may come last. A weak cue opens
a list only if its items say what to do ("next: get paint, find the drill").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.models.rules.patterns.vocabulary import CHORES, split_words

MAX_OPENING_CHARACTERS, MAX_ITEMS = 70, 20
MAX_ITEM_CHARACTERS = 120
"""Bounds, chosen by hand; not measured."""
_FRAME = frozenset(
    split_words(
        "also and anyway but ok okay so then now new more my our the a an all just other another things thing stuff "
        "bits what what's whats is are which i we i've we've must have has had got get still yet to do be done need "
        "needs needed updated current next here's heres this that hi hey note for you me us quick whole full big "
        "last final few some self points items issues bugs tickets features questions"
    )
)
"""Words of an opening that are no cue."""
_STRONG = frozenset(
    split_words(
        "todo todos to-do to-dos outstanding pending remaining missing undone errands chores shopping groceries "
        "reminder reminders open"
    )
)
_STRONG_PHRASE = re.compile(
    r"\b(?:to do|(?:i|we) (?:still |also )*(?:need|have|must)(?: to)?|still (?:need|open|left|needed)|need (?:still|to)"
    r"|left|(?:shopping|grocery|packing|to-?do|to do|task|job|bug) lists?|action (?:items?|points)|note to self"
    r"|open (?:points|items|issues|bugs|tasks|tickets|things|jobs|ends|questions))$",
    re.I,
)
_WEAK = frozenset(split_words("jobs tasks list next need to tomorrow today tonight weekend left actions plan"))
_VERB = re.compile(r"(?:^|\b(?:left|still|need|have|things|stuff|i|we) )+to (?P<verb>[a-z]{2,12}(?: out)?)$", re.I)
_ABOUT = re.compile(
    r"(?:^| )(?:for|before|after|by|at|in|on|this|until|till|with|from|of|over|next (?=week|month|time|year|sprint))"
    r"\b(?:[^:;,.!?]|\.\d){0,40}$",
    re.I,
)
_ABOUT_FIRST = re.compile(r"^(?:for|before|by) [^:;,.!?]{2,30}? (?=(?:i|we) )", re.I)
_TODAY = re.compile(r"(?:tomorrow|today|tonight|(?:this|next|over the) \w+|(?:before|after|until) .+)", re.I)
_VERSION = re.compile(r"v?\d+(?:\.\d+)+", re.I)
_VERSION_LIST = re.compile(rf"(?:{_VERSION.pattern}) (?:list|tasks|plan)|(?:list|tasks|plan) for {_VERSION.pattern}")
_ANOTHER_CHORE = re.compile(r",? (?:and|then) (?:then |also |to )?(?=\w)|, (?:to )?(?=\w)")
_HAS_TO_DO = re.compile(
    r"(?:i|we)(?:['’]ve| have)? (?:also |still |really )*(?:need to|have to|has to|must|should|gotta|got to|ought to) "
    r"(?P<what>.+?)[.!]*$",
    re.I,
)
_BORDER = re.compile(r",? and (?=[a-z]+ ?)|[,;] ?(?![^()]*\))|,? (?:&|\+) ")
_NUMBER = re.compile(r"\s+\(?\d{1,2}[.)]\s+(?=\S)")
_BULLET = re.compile(r"\s*(?:(?:[-*•–+]|\(?\d{1,2}[.)])\s+)?(?P<box>\[[ xX✓]?\]\s*)?(?P<item>\S.*?)\s*$")
_IS_POINT = re.compile(r"\s*(?:[-*•–+]\s+|\(?\d{1,2}[.)]\s+|\[[ xX✓]?\])")
_CHECKED = re.compile(r"\[[xX✓]\]|✅|✔")
_ITEM_OPENING = re.compile(r"(?:(?:and|also|then|plus|so|still|maybe|ok|oh)\b[ ,]*)+", re.I)
_SENTENCE_WORD = re.compile(
    r"\b(?:im|i'm|you|he|she|its|it's|they|is|are|was|were|but|because|cos|pls|thanks|honestly|really|asap)\b", re.I
)
"""What "need a break, honestly" has and no list of things does."""
_DONE = re.compile(r"\b(?:done|finished|sorted|in)$", re.I)
_FIRST_WORD = re.compile(r"(?P<word>[a-z]+) \S", re.I)
_VERB_TAKEN_FOR_NOUN = re.compile(r"\w+ (?:from|of|for the|machine|box|list|book|test|office)\b", re.I)
_NEEDED = re.compile(r"(?:(?:i|we) still |still |also )?need (?!to\b)(?P<items>.{5,300})", re.I)
_NEW_TICKET = re.compile(
    r"(?:(?:and|also|but) )?(?:one |a )?new(?: ones?| bugs?| tickets?| issues?|(?=:))[:,]? "
    r"(?P<items>[A-Z]{2,}-\d+\b.{5,200})",
    re.I | re.S,
)
_TICKET_BORDER = re.compile(r"(?:,|;| and|, and) (?=[A-Z]{2,}-\d)")
_HOURS = re.compile(r"\d|(?:mon|tue|wed|thu|fri|sat|sun)\w*\b|weekdays|daily|closed|from\b|every", re.I)
"""How an item begins where "open:" tells the hours of a shop."""
_WITH_OBJECT = re.compile(
    r"(?!(?:all|both|half|for|with|of|to|in|on|at|from|plus|also|not)\b)[a-z]+ (?:the|my|our|his|her|their) \w"
)
_ANY_ITEM = re.compile(r"(?:the |an? |my |our )?[\w\"'“(#@].{2,}")


@dataclass(frozen=True, slots=True)
class TaskList:
    verb: str
    """What is to be done with each item; empty where the items say so, or nothing does."""
    sort: str
    """"open" of open points, which nobody needs; "reminder" of reminders; else empty."""
    items: tuple[str, ...]


def task_list(sentence: str) -> TaskList | None:
    """The list of tasks that the sentence is; None if it is something else."""
    if new := _NEW_TICKET.fullmatch(sentence):
        return TaskList("", "open", tuple(each.strip(" .!") for each in _TICKET_BORDER.split(new["items"])))
    opening, colon, rest = sentence.partition(":")
    if colon and rest[:1].isspace():
        return _opened_list(opening, rest)
    if bare := _NEEDED.fullmatch(sentence):
        items = _items(bare["items"])
        if len(items) > 1 and "," in bare["items"] and not any(map(_SENTENCE_WORD.search, items)):
            return TaskList("", "", items)
    return None


def with_lists_in_lines(text: str) -> str:
    """The text with each list of tasks that stands in lines, one point each, in one line; points that are ticked off
    are left out."""
    lines = [_with_numbers_parted(line) for line in text.split("\n")]
    written: list[str] = []
    place = 0
    while place < len(lines):
        line, end = lines[place], place + 1
        while end < len(lines) and (_IS_POINT.match(lines[end]) or not lines[end].strip()):
            end += 1
        points = [each for each in lines[place + 1 : end] if each.strip()]
        said, opening = _last_sentence(line.strip().rstrip(":").strip())
        is_listed = len(points) > 1 and not _IS_POINT.match(line) and _cue(opening) != _NONE
        if is_listed:
            items = [m["item"].replace(";", ",").rstrip(" .,") for each in points if (m := _open_point(each))]
            written += [said, f"{opening}: {'; '.join(items)}." if items else ""]
            place = end
        else:
            written.append(line)
            place += 1
    return "\n".join(written)


def _with_numbers_parted(line: str) -> str:
    """The line with semicolons for the numbers of its list: "open points: 1. logo 2. photos"."""
    opening, colon, rest = line.partition(":")
    several = colon and len(_NUMBER.findall(rest)) > 1 and _cue(opening.strip()) != _NONE
    return f"{opening}: {_NUMBER.sub('; ', rest).lstrip('; ')}" if several else line


def is_chore(item: str) -> bool:
    """Whether the item begins with what to do: "call the bank", but not "sign from the printer"."""
    if _WITH_OBJECT.match(item):
        return True
    first = _FIRST_WORD.match(item)
    return first is not None and first["word"].lower() in CHORES and not _VERB_TAKEN_FOR_NOUN.match(item)


def chores(what: str) -> list[str]:
    """Each of the things to do, if every one begins with what to do: "call Anna, wash the car and buy milk"."""
    parts = _ANOTHER_CHORE.split(what)
    return parts if all(map(is_chore, parts)) else [what]


def names_chores(sentence: str) -> bool:
    """Whether the author has several things to do: "I need to buy milk and call the plumber"."""
    to_do = _HAS_TO_DO.match(sentence)
    return to_do is not None and len(chores(to_do["what"])) > 1


def _last_sentence(line: str) -> tuple[str, str]:
    """What the line says before its last sentence, and that."""
    end = max(line.rfind(stop) for stop in (". ", "! ", "? "))
    return line[: end + 1], line[end + 1 :].strip()


def _open_point(line: str) -> re.Match[str] | None:
    return None if _CHECKED.search(line) else _BULLET.fullmatch(line)


_NONE, _SLIGHT, _PLAIN = range(3)


def _cue(opening: str) -> int:
    """How surely an opening begins a list of tasks."""
    if len(opening) > MAX_OPENING_CHARACTERS or "," in opening:
        return _NONE
    head = _head(opening)
    if not head:
        return _SLIGHT if _TODAY.fullmatch(opening.strip()) else _NONE
    if verb := _VERB.search(head):
        return _PLAIN if verb["verb"].split()[0] in CHORES and _is_frame(head[: verb.start("verb")]) else _NONE
    words = head.split()
    if not _is_frame(" ".join(word for word in words if word not in _STRONG | _WEAK)):
        return _NONE
    if _STRONG.intersection(words) or _STRONG_PHRASE.search(head) or _VERSION_LIST.fullmatch(head):
        return _PLAIN
    return _SLIGHT if _WEAK.intersection(words) else _NONE


def _head(opening: str) -> str:
    """The opening without what the list is for."""
    return _ABOUT.sub("", _ABOUT_FIRST.sub("", opening)).strip().lower()


def _is_frame(words: str) -> bool:
    return all(word in _FRAME or word in _WEAK or _VERSION.fullmatch(word) for word in words.split())


def _opened_list(opening: str, rest: str) -> TaskList | None:
    cue = _cue(opening.strip())
    items = _items(rest) if cue != _NONE else ()
    if not items or any(len(item) > MAX_ITEM_CHARACTERS for item in items):
        return None
    if cue == _SLIGHT and not (any(map(is_chore, items)) and (len(items) > 1)):
        return None
    if len(items) == 1 and len(items[0].split()) < 2:
        return None
    head = _head(opening)
    sort = next((sort for sort in ("open", "reminder") if sort in head), "")
    if sort == "open" and any(map(_HOURS.match, items)):
        return None
    verb = _VERB.search(head)
    return TaskList(verb["verb"] if verb and verb["verb"] not in ("do", "be") else "", sort, items)


def _items(listed: str) -> tuple[str, ...]:
    border = listed.split(";") if ";" in listed else _BORDER.split(listed)
    items = (_without_opening(each.strip(" .!\n")) for each in border if not _CHECKED.search(each))
    return tuple(item for item in items if _ANY_ITEM.match(item) and not _is_done(item))[:MAX_ITEMS]


def _without_opening(item: str) -> str:
    opening = _ITEM_OPENING.match(item)
    return item[opening.end() :] if opening else item


def _is_done(item: str) -> bool:
    """Whether the item says of itself that it is done: "bog roll's in"."""
    return _DONE.search(item) is not None and not is_chore(item)
