"""Pure: finds what a user says about themselves, which belongs to the personal profile and not to one project.

The rule: a sentence whose subject is the user ("I", "my …", "call me …") and whose verb tells a lasting trait, taste or
habit. Sentences about what is being done now, about "we" or about this project are not personal.
"""

from __future__ import annotations

import re

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_ADVERBS = r"(?:(?:really|strongly|much|generally|usually|always|never|mostly|only|also|personally|still|just) )*"
_LASTING_VERBS = (
    r"(?:prefer|like|love|enjoy|hate|dislike|can't stand|cannot stand|live|work (?:at|for|as|in|from)|speak|"
    r"use|run|write|code|develop|type|indent|read|am (?:an? |from |based |allergic |colou?r-?blind|left-handed|"
    r"dyslexic|vegan|vegetarian))"
)
_NO = r"(?:(?:do not|don't|dont) )?"
_OWN_THINGS = (
    r"(?:name|pronouns?|e-?mail|time ?zone|editor|shell|terminal|keyboard(?: layout)?|operating system|os|laptop|"
    r"machine|native language|language|(?:favou?rite|preferred) [\w-]+(?: [\w-]+)?|github (?:handle|user|name|account)|"
    r"handle|job|role|birthday|home town|employer|company)"
)
_PERSONAL = re.compile(
    rf"(?:(?:and|but|also|btw|by the way|note|remember|please remember|fyi)[,:]? )*(?:that )?(?:"
    rf"i {_ADVERBS}{_NO}{_ADVERBS}{_LASTING_VERBS}\b|i'm (?:an? |from |based |allergic |colou?r-?blind|left-handed|"
    rf"vegan|vegetarian)|my {_OWN_THINGS} (?:is|are)\b|(?:please )?call me \w|"
    rf"i (?:always|never) \w+)",
    re.I,
)
_OF_THE_MOMENT = re.compile(
    r"\b(?:we|us|our|ours|this (?:project|repo|repository|branch|file|function|class|test|code|module|package|app|time|"
    r"one|bug|error|change|version|approach|idea|solution)|"
    r"here|now|today|at the moment|this|it|that)\b",
    re.I,
)
MAX_SENTENCE_CHARS = 300
"""A longer sentence is rarely a plain statement about oneself. Chosen by hand; not measured."""


def personal_text(text: str) -> str:
    """The sentences in which the user tells something lasting about themselves; may be empty."""
    return " ".join(sentence for sentence in map(str.strip, _SENTENCE_END.split(text)) if _is_personal(sentence))


def _is_personal(sentence: str) -> bool:
    found = _PERSONAL.match(sentence)
    if found is None or len(sentence) > MAX_SENTENCE_CHARS or sentence.endswith("?"):
        return False
    return _OF_THE_MOMENT.search(sentence, found.end()) is None
