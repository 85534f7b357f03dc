"""Says whether a memory is well-formed English: nothing is cut or open, and no verb is missing or double. Pure."""

from __future__ import annotations

import re

from holdfast.text.lexicon import word_list
from holdfast.text.lexicon.calendar import A_FULL_WEEKDAY, MONTHS

QUOTED = re.compile(r'[^"]{1,80}? said(?: of (?P<of>[^":]{1,80}))?: "(?P<said>.*)"(?P<dates>(?: \([^()]*\))*)\.?', re.S)
ANSWERED = re.compile(
    r'(?:Asked|Told) "(?P<asked>.*)", [^"]{1,80}? (?:answered|agreed): "?(?P<said>.*?)"?(?P<dates>(?: \([^()]*\))*)\.?',
    re.S,
)
COMPUTED_DATE = re.compile(rf" \((?:[^()]*\b(?:{'|'.join(MONTHS)}|{A_FULL_WEEKDAY}|(?:19|20)\d\d)\b[^()]*)\)", re.I)
REFERENCE = re.compile(r' \(of: "(?P<of>[^"]*)"\)')
_BROKEN = re.compile(
    r"\b(?:needs?|wants?|asks?|has|have|reminded) to (?:for|of|at|the|and|an?|in|on|with|their|they)\b|"
    r"\b(?:is|are|was|were) (?:[\w'-]+ ){1,2}(?:is|are|was|were|has|have)\b(?! (?:called|named))|"
    r"\b(?:is|are|was|were) (?:day|week|weekend|month|year) |"
    r"^(?:The user|\w+), (?:that'?s|which|who|when|and)\b|\bsaid of (?:the|an?|it|that)\s*:|"
    r"\b(?!(?:had|that|very|so|really|bye|no|ha|is)\b)([^\W\d_]{2,}) \1\b",
    re.I,
)
_LINKING = (
    "a|an|the|and|or|but|so|as|if|to|it|that|this|they|them|their|he|she|his|her|what|which|who|how|why|when|where|"
    "because|bc|since|with|for|in|on|at|of|from|by|until|before|after"
)
_PARTICIPLE = re.compile(
    rf"The user \w+ed (?:(?!(?:{_LINKING})\b)[\w'’-]+ ){{1,3}}(?:is|are|was|were|has|gets?|needs?|costs?)\b", re.I
)
"""A participle that was read as what the user did: "deleted accounts get purged", "signed firmware is done"."""
_HEADLESS = re.compile(r"According to [^:]{1,80}: …")
CUT_END = re.compile(
    r"(?<!what )\b(?:because|and|or|but|of|the|an?|with|to|for|cos|so|my|our|their|than|from|into|if)"
    r"[.\"”]*(?: \([^()]*\))*\.?$",
    re.I,
)
_UNFINISHED = re.compile(r"\b(?:wanted|wants|want|going|meant|needs|need|tried|hoping) to\W*$", re.I)
LOOSE_END = re.compile(r"(?:,? (?:so|and|but|because|cos|or))+$")
"""Words at the end of a quotation that began something else."""
_SMILEY = re.compile(r"[:;=]['-]?[()]+|(?:^|[\n\"])\s*(?:\d{1,2}|[a-zA-Z])\)(?= )")
_SUBJECT_VERB = re.compile(r"The user (?!and others\b)(?P<verb>[\w']+)")
_PLAIN_VERBS = frozenset(
    word_list(
        "said asks has is was does did will would can can't cannot won't must should went bought got met came saw "
        "took made gave left began ate flew drove ran won lost spent told found broke built wrote read held sold "
        "became quit fell felt sent grew paid rode swam taught thought threw wore chose caught cut hit put set hurt "
        "hung had were forgot drank slept spoke stood woke fought let led shot sang brought kept didn't doesn't isn't "
        "wasn't hasn't never no are have need work live are"
    )
)


LEFT_OUT = "…"
"""Stands between words for others of the clause, which no longer hold."""


def is_well_formed(memory: str) -> bool:
    """Whether brackets and quotation marks pair, nothing ends in the middle, and no verb is missing or double."""
    if not is_balanced(memory):
        return False
    if quoted := QUOTED.fullmatch(memory) or ANSWERED.fullmatch(memory):
        return not quoted["said"].startswith(LEFT_OUT) and not _UNFINISHED.search(quoted["said"])
    if memory.count('"') % 2 or CUT_END.search(memory) or _HEADLESS.match(memory) or _PARTICIPLE.match(memory):
        return False
    plain = REFERENCE.sub("", COMPUTED_DATE.sub("", memory))
    plain = plain.replace(f" {LEFT_OUT} ", " ")
    if _BROKEN.search(plain) or LEFT_OUT in plain:
        return False
    if m := _SUBJECT_VERB.match(plain):
        verb = m["verb"].lower()
        return verb.endswith(("s", "ed")) or verb in _PLAIN_VERBS
    return True


def is_balanced(text: str) -> bool:
    bare = _SMILEY.sub("", text)
    return bare.count("(") == bare.count(")")
