"""Whether a clause without a subject, which a memory tells of the user, may be about somebody else. Pure.

"Marijke stays where she is but went to 28 hours": that the user went there cannot be proved.
"""

from __future__ import annotations

import re

from holdfast.text.content_words import TEMPLATE_WORDS, content_words
from holdfast.text.lexicon.kinship import OTHER_PEOPLE
from holdfast.text.lexicon.patterns import ASIDE
from holdfast.text.lexicon.sentences import ENDS

_OF_USER = re.compile(r"The user (?!said|asks|and others)", re.I)
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|im|i've|ive|i'll|i'd|me|my|mine|we|we're|we've|we'll|us|our|ours)\b", re.I)
_THIRD_PERSON = re.compile(rf"\b(?:he|she|they|(?:his|her|their) (?:{OTHER_PEOPLE}))(?:'s|'ll|'d|'re)?\b", re.I)
_OTHER_SUBJECT = re.compile(
    rf"\W*(?!(?:it|that|this|there|these|those|what|which|all|everything|nothing|i|we|you|so|and|but|the) )"
    rf"(?:(?:my|our|his|her) )?(?:{OTHER_PEOPLE}|[^\W\d_]{{2,}}(?<!ed)) "
    r"(?:is|was|has|had|said|says|told|called|wants|got|went|will|can|left|moved|just|\w+ed)\b",
    re.I,
)
"""A sentence that begins with somebody and what they did."""
_SENTENCE_END = re.compile(rf"(?<=[{ENDS}])\s+|\n+")


def may_speak_of_another(memory: str, message: str) -> bool:
    """Whether the memory says of the user what a clause of the message says that names no subject, after somebody
    else."""
    if not _OF_USER.match(memory):
        return False
    told = {word.stem for word in content_words(ASIDE.sub("", memory))} - TEMPLATE_WORDS
    before = ""
    for sentence in _SENTENCE_END.split(message):
        words = [word for word in content_words(sentence) if word.stem in told]
        if len(words) * 2 > len(told):
            lead = sentence[: words[0].start]
            if _FIRST_PERSON.search(sentence):
                return False
            return bool(_THIRD_PERSON.search(lead) or _OTHER_SUBJECT.match(before))
        before = sentence
    return False
