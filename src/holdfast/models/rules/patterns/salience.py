"""Signs that a clause is worth keeping although it matches no table: figures, names, identifiers, people, health.

Also signs that it is not: reactions, moods, requests of the moment, comments on what somebody else said.
"""

from __future__ import annotations

import re

from holdfast.models.rules.patterns.vocabulary import (
    CONDITIONS,
    JOBS,
    TECHNOLOGY,
    split_words,
)
from holdfast.text.lexicon.kinship import RELATIONS
from holdfast.text.lexicon.numbers import A_LARGER_NUMBER

_RELATION = "|".join(sorted(map(re.escape, RELATIONS), key=len, reverse=True))
_FIGURE = re.compile(r"(?<![\w/])[$€£#]?\d[\d.,:]*(?!/|\d)", re.I)
_NUMBER = re.compile(
    rf"\b(?:{A_LARGER_NUMBER})(?:-\w+)? (?!things|questions|minutes?|times?|more|of)[a-z]{{3,}}",
    re.I,
)
_NAME = re.compile(r"(?:(?<=[\w,;:('\"&/-] )|(?<=\())(?:the )?(?!I\b|I'|OK\b|NO\b|LOVE\b)[A-ZÀ-Þ][\w'’&.-]*[a-zà-ÿ0-9]")
_IDENTIFIER = re.compile(
    r"`[^`]{2,}`|\b[\w*-]+(?:\.[\w-]+)+\b(?<!\d)|\b\w+_\w+|(?<![\w<])(?!\d+/\d)[\w.-]+/[\w./-]+|"
    r"\b[a-z]+-[a-z]*\d[\w-]*|--\w+|"
    r"\b(?:SSO|VAT|MIT|CI|API|UTC|AWS|GCP|SQL|CPU|GPU|DNS|VPN|URL|SLA|[A-Z]+[-_]?\d[\w-]*)\b|"
    r"\b(?!(?:NO|WAY|LOVE|PLEASE|YES|OK|OMG|LOL|HR|DID|YOU|SEE|THAT|SO|NOT|VERY|ALL|EVER|NEVER|THE|AND|WTF|BTW|FYI|"
    r"BRB)\b)"
    r"[A-Z]{2,5}\b(?= [a-z])|\b[\w.+-]+@[\w-]+\.\w+"
)
_SPECIFIC_TOPIC = re.compile(
    rf"\b(?:(?:my|our|her|his|their|the) (?:[\w-]+ ){{0,2}}?(?:{_RELATION}|twins|grandchildren|in-laws|tortoise|"
    rf"landlady)s?|"
    r"repo|monorepo|branch|prod|production|staging|ci|deploys?|tests? (?:run|go)|pipelines?|dashboards?|cluster|"
    r"namespace|docstrings?|line length|commit messages?|stand-?ups?|on-?call|pager|lockfile|schema|timestamps?|"
    r"primary keys?|server|database|cache|sessions|backups?|plan|seats|order|invoices?|rent|salary|net|savings|"
    rf"budget|{'|'.join(JOBS)}|freelance|security lead|team lead|illustrator|celiac|"
    rf"{'|'.join(CONDITIONS)}|dyslexic|wheelchair|epipen|allerg\w+|intoleran\w+|vegan|vegetarian|penicillin|insulin|"
    r"medication|pills?|heart attack|fracture|hearing|eyesight|surgery|blood test|pregnan\w+|diagnos\w+|leather|car|"
    r"bike|garden|piano|guitar|violin|course|exam|thesis|degree|class|school|"
    r"university|insurance|bank|account|loan|tax(?:es)?|gym|marathon|doctor|therapist|clinic|hospital|prescription|"
    r"vaccine|"
    r"glasses|flight|train|hotel|booking|reservation|aisle|seat|router|repeater|firmware|laptop|printer|proxy|"
    r"subscription|"
    r"warranty|delivery|parcel|refund|api|endpoint|migration|release|sprint|tickets?|incident|alerts?|framework|"
    r"library|"
    r"linter|formatter|tabs|spaces|indentation|shift|deadline|goal|"
    r"alcohol|smok(?:e|ing|es)|left[- ]handed|driving test|licen[cs]e|passport|cert(?:ificate)?|visa|dentist|vet|"
    r"contract|mortgage|tenant|flat|apartment|birthday|anniversary|wedding|colleague|nickname|pottery)\b",
    re.I,
)
_EVERYDAY_WORDS = frozenset(
    split_words("go main rest node teams linear signal spring windows notion master black swift excel zoom")
)
_TECH = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, TECHNOLOGY - _EVERYDAY_WORDS)))})\b", re.I)
_NOISE = re.compile(
    r"(?:i(?:'m| am| was|m| feel)(?: so| too| actually| just| very| really| also| still| all| a bit| pretty| quite)* "
    r"(?:tired|bored|cooked|broke|sorry|glad|happy|sad|excited|late|fine|good|ok|okay|here|back|sure|done|confused|"
    r"curious|hungry|ready|lost|stuck|impressed|looking|trying|asking|talking|not sure|doing|guessing|feeling|having "
    r"(?:trouble|issues|problems))\b|(?:you|your|\d+ mins?|(?:that's|that is|thats) (?:great|fine|nice|ok|okay|cool|"
    r"good|right|awesome|what|kind|why|how|it|"
    r"all|true|quick|so|a|the (?:best|worst))|this|these|those|there's|what|nice|perfect|great|good|"
    r"love|cool|wow|congrats|happy (?:new|birthday)|makes sense|\w+ makes more sense|sounds|looks|works|thx|thanks|"
    r"thank|yes|yep|yeah|no "
    r"(?:worries|problem|need|way|idea)|fine|done|better|clear|awful|insane|typical|ugh|omg|oh no|lovely|i (?:know|"
    r"see|feel|"
    r"think|guess|mean|understand|want to|wanna|agree|don't (?:know|think|care|mind)|get it|want (?:to|you))|let me|"
    r"let's|lets|see you|bye|good (?:luck|night)|night|ttyl|brb|as i (?:said|told)|once more|same|too|noted|aww|"
    r"even|card is|scratch that|happy)\b(?! is\b))",
    re.I,
)
_QUESTION_INSIDE = re.compile(
    r"(?:^|[,;:.)] {0,3}|\b(?:so|and|anyway|but|say) )(?:what|why|how|where|who|which) (?:does|do|is|are|did|can|"
    r"would|should|was|"
    r"means?)\b|\bwhat (?:does|means)\b|\b(?:diff between|difference between|help me|show me|tell me|give me|make "
    r"me|write me|"
    r"find me|looking for|ideas for|recipe)\b|\bsay i\b|\w(?:Error|Exception)\b|\b(?:error|exit code|line) \d|"
    r"^(?:the weather|yesterday was|today (?:is|was))\b|\bis the (?:capital|largest|biggest|highest|president)\b",
    re.I,
)
_ABILITY = re.compile(
    r"(?:i|we|she|he) (?:(?:can't|cannot|don't|never|do not|won't|doesn't) (?:eat|drink|have|stand|smoke|wear|"
    r"tolerate|do) \w|eats? "
    r"(?:any|every)thing)",
    re.I,
)
_WISH = re.compile(r"(?:i |we )?(?:also )?(?:need|want) (?:a|an|some|ideas|gift|help)\b", re.I)
_DENIAL = re.compile(
    r"\b(?:not from|do not live|don't live|(?:have|'ve) never (?:been|seen|heard|had)|has never|did not|didn't|"
    r"never (?:stood|mind|knew|know))\b",
    re.I,
)
_BACK_REFERENCE = re.compile(
    r"(?:(?:oops|whoops|sorry|wait|no)[\s,.!]+)*"
    r"(?:it|its|it's|he|he's|she|she's|they|they're|they've|both|his|her|their|that one|that's|that is|deadline is|"
    r"needs|uses|runs|"
    r"hates|likes|has|works)\b|.*\b(?:does that|do those|do that|do these)$",
    re.I,
)
_FILLER = re.compile(
    r"(?:[\s,]*\b(?:lol|lmao|ha(?:ha)+|omg|btw|tbh|fyi|ya|ufa|tho(?:ugh)?(?=\W*$)|kinda|pls|plz|heads up|"
    r"just so you know|by the way|did i (?:ever )?(?:say|mention|tell you)|as i told (?:you )?before|"
    r"in case you look for (?:him|her|it)|i think|you know)\b|"
    r"[\U0001F300-\U0001FAFF\u2600-\u27BF]+)+",
    re.I,
)


def specific_signs(clause: str, dated: bool) -> int:
    """How many kinds of specific information a clause contains."""
    found = (_FIGURE, _NUMBER, _NAME, _IDENTIFIER, _SPECIFIC_TOPIC, _TECH)
    return sum(1 for pattern in found if pattern.search(clause)) + dated + bool(_ABILITY.match(clause))


def names_something(clause: str) -> bool:
    """Whether a few words without a verb are specific because they name something: "order
    88213", "host db.internal"."""
    return bool(_IDENTIFIER.search(clause) or _SPECIFIC_TOPIC.search(clause) or _NAME.search(clause))


def without_fillers(sentence: str) -> str:
    """The sentence without chat fillers."""
    return re.sub(r"\s{2,}", " ", _FILLER.sub("", sentence)).strip(" ,;:.!?…")


def is_noise(clause: str, dated: bool) -> bool:
    """Whether the clause is a reaction, a question, a request of the moment or a denial."""
    wanting = _WISH.match(clause) and not dated
    return bool(wanting or _NOISE.match(clause) or _QUESTION_INSIDE.search(clause) or _DENIAL.search(clause))


def is_denial(clause: str) -> bool:
    """Whether the clause denies something."""
    return bool(_DENIAL.search(clause))


def points_back(clause: str) -> bool:
    """Whether the clause begins with a word that refers back to the sentence before."""
    return bool(_BACK_REFERENCE.match(clause))


def has_subject_and_verb(clause: str) -> bool:
    """Whether the clause has its own subject and verb, so that it needs no "said"."""
    return bool(_SUBJECT_AND_VERB.search(clause))


_SUBJECT_AND_VERB = re.compile(
    r"^(?!i\b|i'm|we\b|my\b|our\b)[\w'`*./,&() -]{2,70}? (?:is|are|was|were|has|have|had|will|can|goes|go|runs?|"
    r"owns?|does|did|"
    r"lives?|works?|starts?|ends?|needs?|takes?|uses?|likes?|loves?|hates?|moved|left|report|reports|covers?|follow|"
    r"gets?|keeps?|stays?|lies|sits|ships?|means?|comes?|came|expires|leaves?|arrives?|\w{3,}ed)\b"
)
