"""Finds instructions (how to behave from now on) and tasks (what has to be done)."""

from __future__ import annotations

import re

from holdfast.domain.identifiers import topic_key
from holdfast.models.rules.findings.finding import RuleFinding, as_sentence, with_absolute_dates
from holdfast.models.rules.patterns.vocabulary import CHORES, IMPERATIVES, split_words
from holdfast.models.rules.people.third_person import Subject, third_person_text
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
    r"remember to|(?:todo|to-do|to do)(?: (?:for|before|after|by|at|in|on|this|next)\b[^:,]{2,40}(?=:))?:?|task:|"
    r"reminder(?: (?:for me|to self|to myself|for us))?:|action item:|make a note to|note to self:?)|(?P<need>(?:i|"
    r"we) (?:still |also |really )?"
    r"(?:need to|have to|must|have got to|gotta|ought to|am supposed to|are supposed to)))\s+(?P<what>.{3,200})",
    re.I,
)
_TO_DO_LIST = re.compile(r"(?:todo|to-do|to do|task|reminder|action item|note to self)\b", re.I)
_LIST_OF_TASKS = re.compile(
    r"(?:(?:things|stuff|jobs|chores|errands|bits|tasks) |(?:still|left|all) )?(?:to |i need to |we need to |need to )"
    r"(?P<verb>arrange|buy|book|bring|pack|fix|organi[sz]e|sort(?: out)?|get)"
    r"(?: (?:for|before|after|by|at|in|on|this|next)\b[^:,]{2,40})?: (?P<what>.{5,300})"
    r"|(?:(?:jobs|chores|errands|tasks|things) (?:for|before|after|by|at|in|on|this|next|left)\b[^:,]{2,40}|"
    r"(?:still )?left to do|(?:things|stuff|jobs|bits) to do(?: now| then)?|open tasks|errands|chores|"
    r"(?:shopping|grocery|packing) list): (?P<any>.{5,300})"
    r"|(?:(?:my |our )?(?:jobs|tasks|list)(?: now| then| left)?|need to): (?P<chores>.{5,300})"
    r"|(?:still )?need (?!to\b)(?P<needed>.{5,300}[,;] .+)",
    re.I,
)
"""A list of tasks after what is to be done with them: "to buy: milk, a bulb for the hall"; "jobs: fix the tap, …" is
one if one of it says what to do."""
_TASK_BORDER = re.compile(r",? and (?=[a-z]+ )|[,;] ")
_LISTED_TASK = re.compile(r"(?:the |an? |my |our )?\w\S* \S|[a-z]{4,}")
_SENTENCE_WORD = re.compile(
    r"\b(?:i|im|we|you|he|she|it|its|they|that|this|is|are|was|were|but|because|so|please|pls|thanks|honestly|really|asap)\b",
    re.I,
)
"""What "need a break, honestly" has and no list of things does."""
_FIRST_WORD = re.compile(r"(?P<word>[a-z]+) \S")
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
    r"learn|consider|do (?:is|it|this|that)|have|find|keep in mind|focus|determine|choose|come up|"
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
    if several := _listed_tasks(clause, author, dates):
        return several
    m = _TASK.match(clause)
    if not m or len(m["what"].split()) < 2 or (m["need"] and _NO_TASK.match(m["what"])):
        return []
    if re.match(r"(?:\w+ ){1,2}(?:it|this|that|them|her|him)\b", m["what"]) or (
        m["need"] and m["need"].lower().startswith("we") and not dates
    ):
        return []
    frame, confidence = _task_frame(m, author, bool(dates))
    if not _TO_DO_LIST.match(clause):
        return [_task(f"{frame} {{}}", m["what"].strip(), author, confidence, dates)]
    listed = _TASK_BORDER.split(m["what"].strip())
    each_one = len(listed) > 1 and all(_LISTED_TASK.match(each) for each in listed)
    return [
        _task(_to_do(frame, what), what, author, confidence, dates)
        for what in (listed if each_one else [m["what"].strip()])
    ]


def _listed_tasks(clause: str, author: Subject, dates: list[Window]) -> list[RuleFinding]:
    """The tasks of a list that says what is to be done with each: "to arrange: parking card, new glasses for me"."""
    m = _LIST_OF_TASKS.match(clause)
    if m is None:
        return []
    named = m["what"] or m["any"] or m["chores"] or m["needed"]
    listed = [each.strip(" .!") for each in _TASK_BORDER.split(named.strip())]
    if len(listed) < 2 or not all(_LISTED_TASK.match(each) for each in listed):
        return []
    if m["chores"] and not any(map(_is_chore, listed)):
        return []
    if m["needed"] and (dates or any(map(_SENTENCE_WORD.search, listed))):
        return []  # "need 10 to 12 April, and a room" asks for days
    needs = f"{author.name} needs to"
    verb = f" to {m['verb'].lower()}" if m["verb"] else ""
    sentences = [
        f"{author.name} needs{verb}: {{}}" if verb and not _is_chore(each) else _to_do(needs, each) for each in listed
    ]
    return [_task(sentence, each, author, 0.9, dates) for sentence, each in zip(sentences, listed, strict=True)]


def _to_do(frame: str, what: str) -> str:
    """The sentence for one of a list: "needs to call the bank", but "needs: new glasses"."""
    if _is_chore(what):
        return f"{frame} {{}}"
    return re.sub(r"(?P<of> reminded)? to$", lambda m: " reminded of:" if m["of"] else ":", frame) + " {}"


def _is_chore(what: str) -> bool:
    first = _FIRST_WORD.match(what)
    return first is not None and first["word"] in CHORES


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
