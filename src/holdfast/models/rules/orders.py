"""Instructions (how to behave from now on) and tasks (what is to be done)."""

from __future__ import annotations

import re

from ...names import topic
from ...when import Window, meant
from .found import Found, dated, sentence
from .voice import Subject, theirs
from .words import IMPERATIVES, LANGUAGES, listed

_LASTING = re.compile(
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
_USE = re.compile(
    r"(?:please )?(?P<what>(?:use|prefer|avoid|write|answer|reply|respond|format|keep|stick to|"
    r"address me|refer to me)\b .{2,100}?"
    r"\b(?:when(?:ever)?|for all|in all|in every|for every|every time|each time|instead of|rather "
    r"than|from now on|"
    r"going forward|as|everywhere|by default)\b.*)",
    re.I,
)
_LANGUAGE = re.compile(
    r"(?:please )?(?:always )?(?:answer|reply|respond|write|speak|talk)(?: to me)?(?: only)? in "
    rf"(?P<v>{'|'.join(LANGUAGES)})\b",
    re.I,
)
_CALL = re.compile(
    r"(?:please |you can |just )*(?:call|address) me (?:as )?(?-i:(?P<v>[A-Z][\w'-]+))(?! (?:back|"
    r"when|if|at|on|tomorrow)\b)",
    re.I,
)
_SYSTEM = re.compile(
    r"(?:you (?:must|should|will|may not|are not allowed to)|do not|don't|only)\b (?P<what>.{5,200})", re.I
)
_CALLED = "What does {s} want to be called?|How should {s} be addressed?|What is {s}'s name?"
_SPOKEN = "Which language does {s} want answers in?|What language should be used with {s}?|How should {s} be answered?"
_MANNER = re.compile(r"\b(?:as an? example|as follows|as well|as soon as|as much)\b", re.I)
_NOISE = re.compile(
    r"^(?:stop (?:it|that)|always (?:been|had|wanted|loved|happy|good|nice|a)|never (?:mind|been|"
    r"heard|had|seen|knew))",
    re.I,
)
_AFTER = re.compile(
    r"\b(?:before|after|when|whenever|if|unless|for|in|on|with|to|at|as|instead|rather|because|so|"
    r"and|or|by|until|than|from|"
    r"everywhere|every|without|that|about)\b",
    re.I,
)

_TASK = re.compile(
    r"(?:please )?(?:(?P<remind>remind (?:me|us) (?:to|about|that)|(?:please )?(?:do not|don't) "
    r"(?:let me )?forget (?:to|about)|"
    r"remember to|todo:?|to-do:?|task:|action item:|make a note to|note to self:?)|(?P<need>(?:i|"
    r"we) (?:still |also |really )?"
    r"(?:need to|have to|must|have got to|gotta|ought to|am supposed to|are supposed to)))\s+(?P<what>.{3,200})",
    re.I,
)
_ABOUT = re.compile(
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

_MANNERS = r"^(?:please |don't |do not |only |never |always |ever |again |just |also |really |not )+"
_SMALL = frozenset(
    listed("the a an my any all your me our always never ever again just also really not please now though anymore")
)
"""Words that say how an order is meant, not what it is about."""


def instruction(clause: str, author: Subject) -> Found | None:
    if m := _CALL.match(clause):
        content = f"{author.name} wants to be called {m['v']}."
        return Found("instruction", "call-me", author, content, 0.92, "call-name", m["v"], _asked(_CALLED, author))
    m = _LASTING.match(clause)
    content = ordered(author, clause)
    if spoken := _LANGUAGE.match(m["what"] if m else clause):
        queries = _asked(_SPOKEN, author)
        return Found("instruction", "language", author, content, 0.85, "reply-language", spoken["v"], queries)
    if _NOISE.match(clause):
        return None
    if m and _orders(m["how"], m["what"]):
        return Found("instruction", "lasting", author, content, 0.88, _object(m["what"]), m["what"])
    if (m := _USE.match(clause)) and not _MANNER.search(clause):
        return Found("instruction", "use-when", author, content, 0.75, _object(m["what"]), m["what"])
    return None


def _orders(how: str, what: str) -> bool:
    """Whether what follows "always", "never", "stop" is an order, not a memory ("never been there")."""
    words = what.lower().split()
    verb = words[0].rstrip(",")
    return (
        verb in IMPERATIVES
        or verb in ("don't", "only")
        or (how.lower() == "stop" and verb.endswith("ing") and len(words) > 1)
    )


def _asked(questions: str, author: Subject) -> tuple[str, ...]:
    return tuple(questions.replace("{s}", author.inline).split("|"))


def system_instruction(clause: str, author: Subject) -> Found | None:
    """A system message orders more plainly than a person."""
    made = instruction(clause, author)
    if not made and (m := _SYSTEM.match(clause)):
        return Found("instruction", "system", author, sentence(f"Instruction: {clause}"), 0.7, None, m["what"])
    return made


def ordered(author: Subject, clause: str) -> str:
    text = re.sub(
        r"^(?:please |i (?:want|need|would like|expect) you to |you (?:should|must) )+", "", clause, flags=re.I
    )
    text = re.sub(r"\bme\b", author.inline, re.sub(r"\bmy\b", f"{author.inline}'s", text, flags=re.I), flags=re.I)
    return sentence(f"{author.name} asks: {text[:1].lower()}{theirs(text[1:])}")


def about(text: str) -> str | None:
    """The key of an order about something that is done one way at a time: summaries, length, units."""
    found = list(_ABOUT.finditer(text[:300]))
    named = next((m["noun"] for m in found if m["noun"]), None)
    return f"order-{named.lower()[:4]}" if named else f"order-{found[0].lastgroup}" if found else None


def _object(what: str) -> str | None:
    """run-tests from "run the tests before pushing": the verb and its object."""
    what = re.sub(_MANNERS, "", re.split(r"[,;:.!]\s", what.strip())[0], flags=re.I)
    return _slug(_AFTER.split(what)[0]) or _slug(_AFTER.sub(" ", what))


def _slug(head: str) -> str | None:
    words = [w for w in re.findall(r"[\w'-]+", head.lower()) if w not in _SMALL]
    if words and words[0].endswith("ing"):
        words[0] = "use" if words[0] == "using" else words[0][:-3]
    return topic(" ".join(words[:3])) if len(words) >= 2 else None


def task(clause: str, author: Subject, found: list[Window]) -> Found | None:
    m = _TASK.match(clause)
    if not m or len(m["what"].split()) < 2 or (m["need"] and _NO_TASK.match(m["what"])):
        return None
    if re.match(r"(?:\w+ ){1,2}(?:it|this|that|them|her|him)\b", m["what"]) or (
        m["need"] and m["need"].lower().startswith("we") and not found
    ):
        return None
    what = theirs(m["what"].strip())
    if m["remind"]:
        about = (
            "about"
            if m["remind"].lower().endswith("about")
            else "that"
            if m["remind"].lower().endswith("that")
            else "to"
        )
        content, confidence = f"{author.name} wants to be reminded {about} {what}", 0.9
        content = (
            content
            if "remind" in m["remind"].lower() or "forget" in m["remind"].lower()
            else f"{author.name} needs to {what}"
        )
    else:
        we = m["need"].lower().startswith("we")
        content = f"{author.name} and others need to {what}" if we else f"{author.name} needs to {what}"
        confidence = 0.8 if found else 0.6
    window = meant(found, bounded=False)
    return Found(
        "task",
        "task",
        author,
        sentence(dated(content, found)),
        confidence,
        None,
        window.text if window else "",
        (),
        window,
    )
