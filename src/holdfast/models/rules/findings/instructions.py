"""Finds instructions (how to behave from now on) and tasks (what has to be done)."""

from __future__ import annotations

import re

from holdfast.domain.identifiers import topic_key
from holdfast.models.rules.findings.finding import RuleFinding, as_sentence, with_absolute_dates
from holdfast.models.rules.patterns.vocabulary import IMPERATIVES, split_words
from holdfast.models.rules.people.third_person import Subject, third_person_text
from holdfast.models.rules.sentences.task_lists import TaskList, chores, is_chore, task_list
from holdfast.text.dates import Window, meant_window
from holdfast.text.lexicon.geography import LANGUAGES

_LASTING_ORDER = re.compile(
    r"(?:please )?(?P<how>always|never|from now on,?|going forward,?|in (?:the )?future,?|for "
    r"future (?:reference|conversations),?|"
    r"(?:do not|don't|please don't|please do not) ever|make sure (?:to|you) always|make sure to "
    r"never|remember to always|"
    r"i (?:want|need|would like|'d like|expect) you to (?:always|never)|you (?:should|must) (?:always|never)|stop|"
    r"whenever (?:you|i|we) [^,]{3,60}, ?(?:please |always |never )?|when (?:you|i ask|i say|we|"
    r"writing|coding|answering)[^,]{0,60}, "
    r"(?:please |always |never ))\s*(?:please |you should |you must |always )?(?P<what>[\w'-]+.*)",
    re.I,
)
_CONDITIONAL_ORDER = re.compile(
    r"(?:please )?(?P<what>(?:use|prefer|avoid|write|answer|reply|respond|format|keep|stick to|"
    r"address me|refer to me)\b .{2,100}?"
    r"\b(?:when(?:ever)?|for all|in all|in every|for every|every time|each time|instead of|rather "
    r"than|from now on|"
    r"going forward|as|everywhere|by default)\b.*)",
    re.I,
)
_LANGUAGE_ORDER = re.compile(
    r"(?:please )?(?:always )?(?:answer|reply|respond|write|speak|talk)(?: to me)?(?: only)? in "
    rf"(?P<v>{'|'.join(LANGUAGES)})\b",
    re.I,
)
_CALL_ME = re.compile(
    r"(?:please |you can |just )*(?:call|address) me (?:as )?(?-i:(?P<v>[A-Z][\w'-]+))(?! (?:back|"
    r"when|if|at|on|tomorrow)\b)",
    re.I,
)
_SYSTEM_ORDER = re.compile(
    r"(?:you (?:must|should|will|may not|are not allowed to)|do not|don't|only)\b (?P<what>.{5,200})", re.I
)
_NAME_QUESTIONS = "What does {s} want to be called?|How should {s} be addressed?|What is {s}'s name?"
_LANGUAGE_QUESTIONS = (
    "Which language does {s} want answers in?|What language should be used with {s}?|How should {s} be answered?"
)
_FIXED_PHRASE = re.compile(r"\b(?:as an? example|as follows|as well|as soon as|as much)\b", re.I)
_NO_ORDER = re.compile(
    r"^(?:stop (?:it|that)|always (?:been|had|wanted|loved|happy|good|nice|a)|never (?:mind|been|"
    r"heard|had|seen|knew))",
    re.I,
)
_OBJECT_END = re.compile(
    r"\b(?:before|after|when|whenever|if|unless|for|in|on|with|to|at|as|instead|rather|because|so|"
    r"and|or|by|until|than|from|"
    r"everywhere|every|without|that|about)\b",
    re.I,
)

_TASK = re.compile(
    r"(?:please )?(?:(?P<remind>remind (?:me|us) (?:to|about|that)|(?:please )?(?:do not|don't) "
    r"(?:let me )?forget (?:to|about)|"
    r"remember to|task:|reminder(?: (?:to self|to myself))?:|make a note to|note to self)|(?P<need>(?:i|"
    r"we) (?:still |also |really )?"
    r"(?:need to|have to|must|have got to|gotta|ought to|am supposed to|are supposed to)))\s+(?P<what>.{3,200})",
    re.I,
)
_TO_DO = re.compile(r"(?:todo|to-do) (?=[a-z]+ [^:]*$)", re.I)
_NEED_OF_DAYS = re.compile(r"(?:still )?need \d", re.I)
"""As in "need 10 to 12 April, and a room"."""
_ORDER_SUBJECT = re.compile(
    r"\b(?:(?P<noun>summar|stor(?=y|ies)|prs?\b|pull request|commit|invoice|diagram|comment)|(?P<format>bullet|"
    r"paragraph|"
    r"tables?\b|markdown)|(?P<length>short|brief|concise|detailed|long(?:er)?\b|one sentence)|(?P<emoji>emoji)|"
    r"(?P<units>"
    r"metric|imperial|celsius|fahrenheit|miles|kilomet)|(?P<tone>formal|informal|casual))",
    re.I,
)
_NO_TASK = re.compile(
    r"(?:know|understand|be|say|admit|think|figure|decide|see|make sure|ask|get (?:a|some) "
    r"(?:idea|better|more)|find out|"
    r"learn|consider|do (?:is|it|this|that)|have|keep in mind|"
    r"find (?!(?:someone|somebody|a|an|another|some|my|our|the|new) (?!(?:better|good|new |other )?(?:ways?|solutions?|"
    r"balance|time|reasons?|rhythm|motivation|energy|words|answers?|right|best|middle)\b)\w)|find(?! )|"
    r"focus|determine|choose|come up|"
    r"create|use|feel|start "
    r"by|look into|explain|want|like|work on|get (?:better|used|back into)|improve|remember|deal|"
    r"live|go through)\b",
    re.I,
)

_LEADING_MANNERS = r"^(?:please |don't |do not |only |never |always |ever |again |just |also |really |not )+"
_SMALL_WORDS = frozenset(
    split_words(
        "the a an my any all your me our always never ever again just also really not please now though anymore"
    )
)
"""Words of an order that are not part of its topic."""


def instruction_finding(clause: str, author: Subject) -> RuleFinding | None:
    if m := _CALL_ME.match(clause):
        content = f"{author.name} wants to be called {m['v']}."
        return RuleFinding(
            "instruction",
            "call-me",
            author,
            content,
            0.92,
            "call-name",
            m["v"],
            _filled_questions(_NAME_QUESTIONS, author),
        )
    m = _LASTING_ORDER.match(clause)
    content = order_text(author, clause)
    if spoken := _LANGUAGE_ORDER.match(m["what"] if m else clause):
        queries = _filled_questions(_LANGUAGE_QUESTIONS, author)
        return RuleFinding("instruction", "language", author, content, 0.85, "reply-language", spoken["v"], queries)
    if _NO_ORDER.match(clause):
        return None
    if m and _is_order(m["how"], m["what"]):
        return RuleFinding("instruction", "lasting", author, content, 0.88, object_key(m["what"]), m["what"])
    if (m := _CONDITIONAL_ORDER.match(clause)) and not _FIXED_PHRASE.search(clause):
        return RuleFinding("instruction", "use-when", author, content, 0.75, object_key(m["what"]), m["what"])
    return None


def _is_order(how: str, what: str) -> bool:
    """Whether "always", "never" or "stop" begins an order rather than a recollection ("never been there")."""
    words = what.lower().split()
    verb = words[0].rstrip(",")
    return (
        verb in IMPERATIVES
        or verb in ("don't", "only")
        or (how.lower() == "stop" and verb.endswith("ing") and len(words) > 1)
    )


def _filled_questions(questions: str, author: Subject) -> tuple[str, ...]:
    return tuple(questions.replace("{s}", author.inline).split("|"))


def system_instruction_finding(clause: str, author: Subject) -> RuleFinding | None:
    """The instruction in a clause of a system message, where "you must" and "only" also give orders."""
    found = instruction_finding(clause, author)
    if not found and (m := _SYSTEM_ORDER.match(clause)):
        return RuleFinding("instruction", "system", author, as_sentence(f"Instruction: {clause}"), 0.7, None, m["what"])
    return found


def order_text(author: Subject, clause: str) -> str:
    text = re.sub(
        r"^(?:please |i (?:want|need|would like|expect) you to |you (?:should|must) )+", "", clause, flags=re.I
    )
    text = re.sub(r"\bme\b", author.inline, re.sub(r"\bmy\b", f"{author.inline}'s", text, flags=re.I), flags=re.I)
    return as_sentence(f"{author.name} asks: {text[:1].lower()}{third_person_text(text[1:])}")


def order_key(text: str) -> str | None:
    """The key of an order about something that is done in one way at a time: summaries, length, units."""
    matches = list(_ORDER_SUBJECT.finditer(text[:300]))
    named = next((m["noun"] for m in matches if m["noun"]), None)
    return f"order-{named.lower()[:4]}" if named else f"order-{matches[0].lastgroup}" if matches else None


def object_key(what: str) -> str | None:
    """The verb and its object as a key: run-tests from "run the tests before pushing"."""
    what = re.sub(_LEADING_MANNERS, "", re.split(r"[,;:.!]\s", what.strip())[0], flags=re.I)
    return _slug(_OBJECT_END.split(what)[0]) or _slug(_OBJECT_END.sub(" ", what))


def _slug(head: str) -> str | None:
    words = [w for w in re.findall(r"[\w'-]+", head.lower()) if w not in _SMALL_WORDS]
    if words and words[0].endswith("ing"):
        words[0] = "use" if words[0] == "using" else words[0][:-3]
    return topic_key(" ".join(words[:3])) if len(words) >= 2 else None


def task_findings(clause: str, author: Subject, dates: list[Window]) -> list[RuleFinding]:
    """The tasks in a clause; each of a list is one: "todo: call the bank, return the books"."""
    if (several := task_list(_TO_DO.sub("todo: ", clause))) and not (dates and _NEED_OF_DAYS.match(clause)):
        return [_listed_task(several, each, author, dates) for each in several.items]
    m = _TASK.match(clause)
    if not m or len(m["what"].split()) < 2 or (m["need"] and _NO_TASK.match(m["what"])):
        return []
    if re.match(r"(?:\w+ ){1,2}(?:it|this|that|them|her|him)\b", m["what"]) or (
        m["need"] and m["need"].lower().startswith("we") and not dates
    ):
        return []
    frame, confidence = _task_frame(m, author, bool(dates))
    what = m["what"].strip()
    parts = chores(what) if frame.endswith(" to") else [what]
    return [_task(f"{frame} {{}}", part, author, confidence, dates) for part in parts]


def _listed_task(of: TaskList, what: str, author: Subject, dates: list[Window]) -> RuleFinding:
    """One of a list: "needs to call the bank", "needs: new glasses", "needs to buy: milk", "has open: the logo"."""
    if is_chore(what):
        frame = "wants to be reminded to" if of.sort == "reminder" else "needs to"
    elif of.sort == "reminder":
        frame = "wants to be reminded of:"
    elif of.sort == "open":
        frame = "has open:"
    else:
        frame = f"needs to {of.verb}:" if of.verb else "needs:"
    return _task(f"{author.name} {frame} {{}}", what, author, 0.9, dates)


def _task(sentence: str, what: str, author: Subject, confidence: float, dates: list[Window]) -> RuleFinding:
    own = [each for each in dates if each.text in what]
    window = meant_window(own, bounded=False)
    content = as_sentence(with_absolute_dates(sentence.replace("{}", third_person_text(what)), own))
    return RuleFinding("task", "task", author, content, confidence, value=window.text if window else "", window=window)


def _task_frame(m: re.Match[str], author: Subject, dated: bool) -> tuple[str, float]:
    """The words before a task, and the confidence in it."""
    if not m["remind"]:
        we = m["need"].lower().startswith("we")
        return f"{author.name} and others need to" if we else f"{author.name} needs to", 0.8 if dated else 0.6
    words = m["remind"].lower()
    if "remind" not in words and "forget" not in words:
        return f"{author.name} needs to", 0.9
    about = next((each for each in ("about", "that") if words.endswith(each)), "to")
    return f"{author.name} wants to be reminded {about}", 0.9
