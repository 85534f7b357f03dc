"""Splits statements of a change into what ended and what began: "left Acme for Bolt", "switched from Vim to Emacs".

Each half becomes a separate predicate, so that the old one ends the known fact and the new one supersedes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from holdfast.models.rules.findings.finding import RuleFinding
from holdfast.models.rules.patterns.row import PROPER_NAME
from holdfast.models.rules.patterns.vocabulary import TECHNOLOGY, split_words
from holdfast.models.rules.people.pronouns import is_given_name
from holdfast.text.lexicon.geography import CITIES, COUNTRIES

_NAME = r"(?-i:(?:the )?[A-ZÀ-Þ][\w'.&-]*(?: [A-ZÀ-Þ][\w'.&-]*){0,3})"
_LEAVING = re.compile(
    r"(?:have |has )?(?:(?P<quit>quit|resigned from|got fired from|was laid off from)|left)"
    r"(?: (?:my|the|his|her|their))?(?P<job> (?:old )?(?:job|position|role))?(?: at| with| from)? "
    rf"{PROPER_NAME}(?: (?:for|to (?:join|work (?:at|for)|go to)) (?P<w>{_NAME}))?",
    re.I,
)
_TOOL = r"[\w'+#./-]+(?: (?-i:[A-Z0-9])[\w'+#./-]*){0,2}"
_SWITCHING = re.compile(
    r"(?:have |has )?(?:switched|migrated|moved(?: over)?)"
    r"(?: (?:our |my |the )?(?P<k>(?!from\b|to\b|over\b)[\w-]+(?: (?!from\b|to\b)[\w-]+)?))?"
    rf"(?: from (?:using )?(?P<w>{_TOOL}))? to (?:using )?(?P<v>{_TOOL})"
    r"(?: (?:for|as) (?:our |my |the )?(?P<k2>[\w -]+))?",
    re.I,
)
_TRAILING_WORDS = re.compile(r"\s+(?:in|on|at|since|last|this|because|yesterday|today|and|so)\b.*", re.I)
_TOOLS = TECHNOLOGY | frozenset(
    split_words(
        "vim neovim emacs vscode intellij pycharm sublime cursor zed chrome firefox safari brave edge android iphone "
        "ios ubuntu debian fedora obsidian evernote onenote todoist buildkite github gitlab spotify duckduckgo"
    )
)
_TOOL_PURPOSE = re.compile(
    r"(?:ci|cd|editor|ide|database|db|browser|hosting|cloud|queue|cache|framework|build|package manager|monitoring|"
    r"payments|billing|frontend|backend|deploys?|tests|linter|formatter|chat|e-?mail|notes|shell|terminal|os|phone)",
    re.I,
)


def change_predicates(rest: str) -> tuple[str, str] | None:
    """The predicates, in the first person, that ended and that began; None when the clause states no change."""
    if (m := _LEAVING.match(rest)) and m["w"]:
        kind = _verb_of_place(m)
        return (f"{kind} {m['v']}", f"{kind} {_trimmed_name(m['w'])}") if kind else None
    m = _SWITCHING.match(rest)
    if not m or not (_is_tool(m["v"]) or (m["w"] and _is_tool(m["w"]))):
        return None
    what = _TRAILING_WORDS.sub("", m["k2"] or m["k"] or "")
    if m["k"] and not _TOOL_PURPOSE.fullmatch(m["k"]):
        return None
    purpose = f" for {what}" if what else ""
    return (f"use {m['w']}{purpose}" if m["w"] else "", f"use {m['v']}{purpose}")


def ended_predicate(rest: str) -> str | None:
    """The predicate that ended when somebody left a company or a place."""
    m = _LEAVING.match(rest)
    kind = _verb_of_place(m) if m else None
    return f"{kind} {m['v']}" if m and kind else None


def without_shared_keys(findings: Sequence[RuleFinding]) -> list[RuleFinding]:
    """Where a finding that ends and one that replaces it share a key, only the second keeps the key. Otherwise the
    second would supersede the first, and only one would be kept."""
    return [
        replace(one, topic=None)
        if one.rule == "no-longer" and any(_takes_place_of(other, one) for other in findings[i + 1 :])
        else one
        for i, one in enumerate(findings)
    ]


def _takes_place_of(new: RuleFinding, old: RuleFinding) -> bool:
    return new.rule != "no-longer" and (new.topic, new.subject.prefix) == (old.topic, old.subject.prefix)


def _verb_of_place(m: re.Match[str]) -> str | None:
    """The verb for what was left, a job or a place; None when it is a person or a tool."""
    names = [name.removeprefix("the ") for name in (m["v"], m["w"] or "") if name]
    if m["quit"] or m["job"]:
        return "work at"
    if any(name.lower() in COUNTRIES or name.lower() in CITIES for name in names):
        return "live in"
    if any(is_given_name(name) or name.lower() in _TOOLS for name in names):
        return None
    return "work at"


def _is_tool(name: str) -> bool:
    return name.split()[0].lower() in _TOOLS


def _trimmed_name(name: str) -> str:
    return name.rstrip(".'")
