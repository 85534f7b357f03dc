"""Statements with two halves, what was and what is: "left Acme for Bolt", "switched from Vim to Emacs".

Each half is told as a predicate of its own, so that the old one ends what was known and the new one takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from .found import Found
from .people import given
from .row import PROPER
from .words import CITIES, COUNTRIES, TECHNOLOGY, listed

_NAME = r"(?-i:(?:the )?[A-ZÀ-Þ][\w'.&-]*(?: [A-ZÀ-Þ][\w'.&-]*){0,3})"
_LEFT = re.compile(
    r"(?:have |has )?(?:(?P<quit>quit|resigned from|got fired from|was laid off from)|left)"
    r"(?: (?:my|the|his|her|their))?(?P<job> (?:old )?(?:job|position|role))?(?: at| with| from)? "
    rf"{PROPER}(?: (?:for|to (?:join|work (?:at|for)|go to)) (?P<w>{_NAME}))?",
    re.I,
)
_TOOL = r"[\w'+#./-]+(?: (?-i:[A-Z0-9])[\w'+#./-]*){0,2}"
_SWITCHED = re.compile(
    r"(?:have |has )?(?:switched|migrated|moved(?: over)?)"
    r"(?: (?:our |my |the )?(?P<k>(?!from\b|to\b|over\b)[\w-]+(?: (?!from\b|to\b)[\w-]+)?))?"
    rf"(?: from (?:using )?(?P<w>{_TOOL}))? to (?:using )?(?P<v>{_TOOL})"
    r"(?: (?:for|as) (?:our |my |the )?(?P<k2>[\w -]+))?",
    re.I,
)
_ENDS = re.compile(r"\s+(?:in|on|at|since|last|this|because|yesterday|today|and|so)\b.*", re.I)
_TOOLS = TECHNOLOGY | frozenset(
    listed(
        "vim neovim emacs vscode intellij pycharm sublime cursor zed chrome firefox safari brave edge android iphone "
        "ios ubuntu debian fedora obsidian evernote onenote todoist buildkite github gitlab spotify duckduckgo"
    )
)
_OF_WORK = re.compile(
    r"(?:ci|cd|editor|ide|database|db|browser|hosting|cloud|queue|cache|framework|build|package manager|monitoring|"
    r"payments|billing|frontend|backend|deploys?|tests|linter|formatter|chat|e-?mail|notes|shell|terminal|os|phone)",
    re.I,
)


def changed(rest: str) -> tuple[str, str] | None:
    """What is no longer so and what is so instead, as predicates in the first person."""
    if (m := _LEFT.match(rest)) and m["w"]:
        kind = _of(m)
        return (f"{kind} {m['v']}", f"{kind} {_trimmed(m['w'])}") if kind else None
    m = _SWITCHED.match(rest)
    if not m or not (_tool(m["v"]) or (m["w"] and _tool(m["w"]))):
        return None
    what = _ENDS.sub("", m["k2"] or m["k"] or "")
    if m["k"] and not _OF_WORK.fullmatch(m["k"]):
        return None
    purpose = f" for {what}" if what else ""
    return (f"use {m['w']}{purpose}" if m["w"] else "", f"use {m['v']}{purpose}")


def left(rest: str) -> str | None:
    """What someone who left a company or a place no longer does."""
    m = _LEFT.match(rest)
    kind = _of(m) if m else None
    return f"{kind} {m['v']}" if m and kind else None


def in_two(made: Sequence[Found]) -> list[Found]:
    """Of what ends and what takes its place, only the second carries their common key, so that both are kept."""
    return [
        replace(one, topic=None)
        if one.rule == "no-longer" and any(_instead(other, one) for other in made[i + 1 :])
        else one
        for i, one in enumerate(made)
    ]


def _instead(new: Found, old: Found) -> bool:
    return new.rule != "no-longer" and (new.topic, new.subject.prefix) == (old.topic, old.subject.prefix)


def _of(m: re.Match[str]) -> str | None:
    """Whether it is a job or a place that was left; None when it is a person or a tool."""
    names = [name.removeprefix("the ") for name in (m["v"], m["w"] or "") if name]
    if m["quit"] or m["job"]:
        return "work at"
    if any(name.lower() in COUNTRIES or name.lower() in CITIES for name in names):
        return "live in"
    if any(given(name) or name.lower() in _TOOLS for name in names):
        return None
    return "work at"


def _tool(name: str) -> bool:
    return name.split()[0].lower() in _TOOLS


def _trimmed(name: str) -> str:
    return name.rstrip(".'")
