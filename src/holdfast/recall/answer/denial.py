"""Pure: whether a statement does not answer a question, however well its words fit: it denies it, or is about another.

"I'm not allergic to shellfish after all" answers "Am I allergic to shellfish?", but not "What am I allergic to?". What
the husband does is no answer to "What does my wife do?", and "I play the cello" none to "What music do I like?".
"""

from __future__ import annotations

import re

from holdfast.recall.answer.computed import FoundSpan
from holdfast.recall.question.analysis import Question
from holdfast.recall.question.target import KIN, kin_of
from holdfast.text import tokens
from holdfast.text.lexicon.given_names import MEN, WOMEN
from holdfast.text.lexicon.kinship import PETS
from holdfast.text.lexicon.negation import SHORT_NOT
from holdfast.text.lexicon.numbers import A_COMMON_NUMBER
from holdfast.text.lexicon.patterns import ASIDE
from holdfast.text.similarity import UNSPECIFIC_STEMS
from holdfast.text.statement_topics import names_no_such_product

MAX_WORDS_AFTER_NOT = 3
"""How far a denied word may be behind its "not". Chosen by hand."""
_NOT = re.compile(rf"\b(?:not|never|no longer|cannot)\b|{SHORT_NOT}", re.I)
_OVER = re.compile(
    r"\b(?:used to|was|were|if|might|may|maybe|would|stopped|quit|cancelled|canceled|off|without)\b", re.I
)
_ALTERNATIVE = re.compile(r"\b(?:or|still|again|only|also|too|yet|all|both|any|every)\b", re.I)
"""A question with such a word asks for more than whether something is told."""
_IS_GONE = re.compile(
    r"(?: [\w-]+){0,2}(?: (?:is|are|has|have)|['’]s) (?:now |finally |all |been )*(?:gone|cured|cleared up)"
    r"(?=\W*$|[,.;!?)]| (?:now|for good|at last)\b)",
    re.I,
)
"""What follows the words for a thing that is no more: "the egg allergy is gone"."""
_CLAUSE_BORDER = re.compile(r"[,;:.!?–—]\s|\b(?:and|but|so|while|because)\b", re.I)
_ASKS_FOR_SOMETHING = re.compile(r"\W*(?:(?:and|so|but)\W+)?(?:what|which|who|whom|whose|where)\b", re.I)


_LIKES = re.compile(r"\b(?:likes?|loves?|enjoys?|prefers?|favou?rites?|fan of)\b", re.I)
_DISLIKES = re.compile(r"\b(?:hates?|dislikes?|detests?|loathes?|can(?:no|')t stand|least favou?rites?)\b", re.I)
_KIN_WORD = "|".join(sorted(map(re.escape, KIN), key=len, reverse=True))
_PETS = frozenset(PETS)
_PERSON_WORD = "|".join(map(re.escape, sorted(KIN - _PETS, key=len, reverse=True)))
_WIDE_KIN = frozenset(
    {
        "partner",
        "child",
        "children",
        "parent",
        "sibling",
        "family",
        "friend",
        "pet",
        "relative",
        "colleague",
        "roommate",
    }
)
"""Words that may mean somebody for whom there is a narrower word."""
_OWN_KIN = re.compile(
    rf"\W*(?:and |but |so )?(?:my|our|the user['’]s) (?:\w+ )?(?P<kin>{_KIN_WORD})\b(?P<rest>.*)", re.I | re.S
)
_ANOTHER = re.compile(
    r"\b(?:he|she|they|him|her|his|them|their|with|and)\b|"
    r"(?<=\s)(?<!\bin )(?<!\bat )(?<!\bfor )(?<!\bfrom )(?<!\bnear )(?-i:[A-ZÀ-Þ])\w+",
    re.I,
)
_KIN_OF_KIN = re.compile(rf"\b(?:{_KIN_WORD})['’]s (?:{_KIN_WORD})\b", re.I)
_KIN_OWNS = re.compile(rf"\b(?:my|our) (?:{_KIN_WORD})['’]s (?P<what>[\w -]+)", re.I)
_LIKED = re.compile(
    r"\W*(?:what|which)(?: (?:kind|sort|type)s? of)? (?P<what>\w+)\b.*\b(?:do|does) .*\b(?:like|love|enjoy|prefer)s?\b",
    re.I,
)
_FAVOURITE = re.compile(r"\bfavou?rite (?P<what>\w+)", re.I)
_TELLS_TASTE = re.compile(
    r"\b(?:lik|lov|enjoy|prefer|ador|hat|dislik|favou?rit|listen|watch|read|eat|drink|collect|follow|grow|cook|order)\w*|"
    r"\b(?:fan|into|keen|mad|crazy|obsessed|addicted|can't get enough|allergic)\b",
    re.I,
)
_COUNTS_OWN = re.compile(rf"\W*how many (?:{_PERSON_WORD}|children)s? (?:do i have|have i|do we have|have we)\b", re.I)
_TELLS_OWN_COUNT = re.compile(
    rf"^\W*(?:and |so |also )*(?:got|have) |\b(?:{_PERSON_WORD}|children)s?: (?-i:[A-ZÀ-Þ])", re.I
)
"""What tells the author's own without saying so: "got two kids", "three kids: Imani 14, Jordan 10"."""
_OWN = re.compile(r"\b(?:i|my|we|our|i'm|i've|we've|ive|weve|the user(?:'s)?)\b", re.I)
_HOME = re.compile(
    r"\b(?:live[sd]?|living|home|moved?|moving|based|settled|reside|flat|house|apartment|address)\b", re.I
)
_LEFT_WORK = re.compile(
    r"\b(?:(?:handed|put|gave|giving|handing) in (?:my|their|his|her) notice|quit|resign\w*|laid off|sacked|fired|"
    r"made redundant|(?:left|leaving) (?:my|the|their|his|her) job|last (?:day|shift|week) at)\b",
    re.I,
)
_LEFT_HOME = re.compile(r"\b(?:moved? (?:out|away)|moving (?:out|away)|left|leaving)\b(?! .*\b(?:to|into)\b)", re.I)
_ASKS_NUMBER = re.compile(
    r"\b(?:account|booking|case|customer|flight|id|invoice|licence|license|member|membership|order|passport|phone|policy|"
    r"reference|registration|room|serial|student|ticket|tracking) (?:number|no\b\.?)",
    re.I,
)
_A_NUMBER = re.compile(r"\d|\b(?:number|no\.)")
_ASKS_HOUR = re.compile(r"\W*(?:at |from |until )?what time\b", re.I)
_AN_HOUR = re.compile(
    rf"\d|\b(?:{A_COMMON_NUMBER}|noon|midnight|midday|dawn|half|quarter|mornings?|afternoons?|evenings?|"
    r"nights?|tonight|lunch\w*|breakfast|dinner|tea ?time|early|late|later|before|after|when|straight)\b",
    re.I,
)
_TIME = re.compile(r"\b\d{1,2}[:.]\d\d\b")
_MEASURES = frozenset({"height", "weight"})
_WORK = re.compile(r"\b(?:work(?:s|ed|ing)?|job|employ\w*|compan(?:y|ies))\b", re.I)


def is_denied_at(question: Question, span: FoundSpan) -> bool:
    """Whether the clause with the found words denies a word of the question, or is about something else."""
    clause = _CLAUSE_BORDER.split(span.hit.content[: span.start])[-1] + span.text
    if _IS_GONE.match(span.hit.content, span.stop) and _ASKS_FOR_SOMETHING.match(question.text):
        return True
    return is_denied(question, clause) or is_off_topic(question, clause, span.sentence)


def is_denied(question: Question, statement: str) -> bool:
    """Whether the question asks for something, and the statement denies a word of it."""
    if not _ASKS_FOR_SOMETHING.match(question.text) or _NOT.search(question.text):
        return False
    if _is_opposite(question.text, statement) or _is_left(question, statement):
        return True
    asked = set(question.words)
    return any(
        not asked.isdisjoint(tokens.tokens(_CLAUSE_BORDER.split(statement[found.end() :])[0])[:MAX_WORDS_AFTER_NOT])
        for found in _NOT.finditer(statement)
    )


def _is_left(question: Question, statement: str) -> bool:
    """Whether it is asked where somebody works or lives, and the statement tells that they leave there."""
    if question.target.past or question.past_state is not None:
        return False
    return any(
        asked.search(question.text) and left.search(statement)
        for asked, left in ((_WORK, _LEFT_WORK), (_HOME, _LEFT_HOME))
    )


_SON = re.compile(r"\b(?:grand)?sons?\b(?!['’]s)|\bnephews?\b(?!['’]s)", re.I)
_DAUGHTER = re.compile(r"\b(?:grand)?daughters?\b(?!['’]s)|\bnieces?\b(?!['’]s)", re.I)
_BOY = re.compile(rf"{_SON.pattern}|\bboys?\b", re.I)
_GIRL = re.compile(rf"{_DAUGHTER.pattern}|\bgirls?\b", re.I)


def is_affirmed(question: Question, statement: str) -> bool:
    """Whether the question wants yes or no, and the statement has all its words and no denial."""
    asked = set(question.words) - {"user"}
    if not question.target.confirms or not asked or _ALTERNATIVE.search(question.text):
        return False
    if question.target.own and is_of_named_person(statement):
        return False
    denied = _NOT.search(question.text) or _NOT.search(statement) or _OVER.search(statement)
    return not denied and asked <= set(tokens.tokens(statement))


def is_of_named_person(statement: str) -> bool:
    """Whether the statement begins with a given name and does not speak of its author: "Tom got engaged to Zoe"."""
    first = re.match(r"\W*([A-ZÀ-Þ]\w+)\b", statement)
    return first is not None and first[1] in WOMEN | MEN and not _OWN.search(statement)


def _is_opposite(question: str, statement: str) -> bool:
    """Whether one of the two is about what somebody likes, and the other only about what they dislike."""
    asks, tells = (
        (bool(_LIKES.search(_DISLIKES.sub("", text))), bool(_DISLIKES.search(text))) for text in (question, statement)
    )
    return asks in ((True, False), (False, True)) and tells == (asks[1], asks[0])


def is_off_topic(question: Question, statement: str, sentence: str = "") -> bool:
    """Whether the statement is surely about something else than what is asked, however well its words fit. `sentence`
    is the whole one where the statement is a part of it."""
    return (
        _is_of_other_kin(question, statement)
        or _is_of_the_user(question.text, statement)
        or _is_no_taste(question.text, statement)
        or _is_work_not_home(question.text, statement)
        or _is_count_of_others(question.text, sentence or statement)
        or _is_of_other_sex(question.text, statement)
        or _is_no_measure(question, statement)
        or _has_no_number(question.text, statement)
        or _has_no_hour(question.text, sentence or statement)
        or names_no_such_product(question.text, sentence or statement)
        or _is_reversed(question.text, sentence or statement)
        or _is_at_another_place(question.text, sentence or statement)
        or _has_no_blood_type(question.text, sentence or statement)
        or _is_another_act(question.text, sentence or statement)
    )


_ASKED_PERSON = re.compile(
    rf"\W*(?:(?:what|which|who|where|when|how)\b[\w ]*? )?(?:is|does|has|did|was|can|will|are|do) "
    rf"(?:(?:my|our) (?P<kin>{_KIN_WORD})\b(?!['’]s)|(?P<name>(?-i:[A-ZÀ-Þ])[\w'-]+)\b)",
    re.I,
)
_AUTHOR_FIRST = re.compile(
    r"\W*(?:(?:and|so|oh|also|but|btw|yes|no|well|ok|now)\W+)*(?:i|i['’]m|im|i['’]?ve|the user (?!(?:and|said)\b))\b",
    re.I,
)
_SOMEBODY = re.compile(
    rf"\b(?:he|she|they|him|her|his|them|their|we|us|our|both|everybody|everyone|{_KIN_WORD}|children|parents|family)\b|"
    r"(?<!^)(?<![.!?] )(?<!\bin )(?<!\bat )(?<!\bnear )(?<!\bfrom )(?<!\bto )(?<!\bof )(?<!\ba )(?<!\ban )\b"
    r"(?-i:[A-ZÀ-Þ])[a-zà-ÿ]+",
    re.I,
)
_ASKS_YES_OR_NO = re.compile(r"\W*(?:is|does|has|did|was|can|will)\b", re.I)
_OF_ANOTHER = re.compile(r"^(?!.*\b(?:he|she|they|his|her|their|both)\b).*(?<!^)\b[A-ZÀ-Þ][a-zà-ÿ]+")
_CLAUSES = re.compile(r"[,;.!?]\s+|\s+(?:and|but|while|whereas)\s+")
_WHO_DOES = re.compile(
    r"\W*who (?P<verb>[a-z]+s|did|does|do) (?:for |with |to |from )?(?:the )?(?P<what>[\w'-]+)\W*$", re.I
)
_PLACED = re.compile(
    r"\b(?P<what>hotel|hostel|flat|apartment|house|room|office|shop|store|branch|restaurant|airbnb|studio|school) in "
    r"(?P<place>[A-ZÀ-Þ]\w+)"
)
_BLOOD_TYPE = re.compile(r"\bblood (?:type|group)\b", re.I)
_A_BLOOD_TYPE = re.compile(rf"{_BLOOD_TYPE.pattern}|\b(?:A|B|AB|O)\b ?(?:[+-]|pos|neg|rh)", re.I)


def is_of_another_person(question: str, statement: str) -> bool:
    """Whether one person is asked about, and the statement, of the asker, tells of another: "I gave up smoking" says
    nothing of Petra, and "Idris has ADHD and Nia is coeliac" does not say that Nia has ADHD."""
    asked = _ASKED_PERSON.match(question)
    if asked is None:
        return False
    name, statement = asked["name"], ASIDE.sub("", statement)
    if _AUTHOR_FIRST.match(statement) and not _SOMEBODY.search(statement):
        return not name or name.casefold() not in statement.casefold()
    if not name or not _ASKS_YES_OR_NO.match(question):
        return False
    wanted = set(tokens.question_words(question[asked.end() :]))
    clauses = _CLAUSES.split(statement)
    telling = [clause for clause in clauses if wanted & set(tokens.question_words(clause))]
    told_apart = any(name in clause for clause in clauses if clause not in telling)
    return told_apart and bool(telling) and all(name not in each and _OF_ANOTHER.search(each) for each in telling)


def _is_reversed(question: str, statement: str) -> bool:
    """Whether it is asked who does something for somebody, and the statement tells what that one does: "Dan covers for
    me" does not tell who covers for Dan. What is done must be in it: who does the dishes does not do the laundry."""
    asked = _WHO_DOES.match(question)
    if asked is None:
        return False
    verb, what = asked["verb"].lower(), asked["what"]
    if what[0].isupper():
        return re.search(rf"\b{re.escape(what)} {re.escape(verb)}\b", statement) is not None
    done = re.search(r"\b(?:does|do) the (\w+)", statement, re.I)
    return verb == "does" and done is not None and what.lower() not in statement.lower()


def _is_at_another_place(question: str, statement: str) -> bool:
    """Whether a thing in a place is asked for, and the statement has such a thing in another place only."""
    asked = _PLACED.search(question)
    if asked is None or asked["place"].casefold() in statement.casefold():
        return False
    return re.search(rf"\b{re.escape(asked['what'])} in (?!(?:the|a|an|my|our)\b)[\w-]+", statement, re.I) is not None


_DID_I = re.compile(
    r"\W*(?:did|have) (?:i|we) (?:ever |already )?(?P<verb>call|phone|ring|rung|text|e-?mail|message|contact|write to|"
    r"written to|pay|paid|buy|bought|book|order|visit|sell|sold|been to)(?:e?d)? (?P<what>[^?]+)",
    re.I,
)
_CALLS = re.compile(r"\b(?:call|phon|ring|rang|rung|spoke|talk)\w*", re.I)
_WRITES = re.compile(r"\b(?:e-?mail|wrote|writ|text|messag|sent)\w*", re.I)


def _is_another_act(question: str, statement: str) -> bool:
    """Whether it is asked if the asker called, paid or bought somebody or something, and the statement is about another
    one, or tells of an email where a call is asked for."""
    asked = _DID_I.match(question)
    if asked is None:
        return False
    what = set(tokens.question_words(asked["what"])) - UNSPECIFIC_STEMS
    if what and what.isdisjoint(tokens.question_words(statement)):
        return True
    calls, writes = (pattern.search(statement) is not None for pattern in (_CALLS, _WRITES))
    called, wrote = (pattern.fullmatch(asked["verb"].split()[0]) is not None for pattern in (_CALLS, _WRITES))
    return (called and writes and not calls) or (wrote and calls and not writes)


def _has_no_blood_type(question: str, statement: str) -> bool:
    return _BLOOD_TYPE.search(question) is not None and not _A_BLOOD_TYPE.search(statement)


def _has_no_number(question: str, statement: str) -> bool:
    """Whether the number of something is asked for, such as a flight number, and the statement has none but times."""
    return _ASKS_NUMBER.search(question) is not None and _A_NUMBER.search(_TIME.sub("", statement)) is None


def _has_no_hour(question: str, statement: str) -> bool:
    """Whether a time of the day is asked for, and the statement has none: "puppy class moved to tuesdays"."""
    return _ASKS_HOUR.match(question) is not None and _AN_HOUR.search(statement) is None


def _is_no_measure(question: Question, statement: str) -> bool:
    """Whether a height or a weight is asked for, and the statement has a figure of something else: "Eli is 4"."""
    return any(trait.name in _MEASURES and not trait.told.search(statement) for trait, _ in question.target.traits)


def _is_of_other_sex(question: str, statement: str) -> bool:
    """Whether a nephew or a son is asked for, and the statement tells of a girl, or the other way round."""
    male, female = (bool(pattern.search(question)) for pattern in (_SON, _DAUGHTER))
    boy, girl = (bool(pattern.search(statement)) for pattern in (_BOY, _GIRL))
    return (male and not female and girl and not boy) or (female and not male and boy and not girl)


def _is_of_other_kin(question: Question, statement: str) -> bool:
    """Whether the subject of the statement is another relative than those asked about, and nobody else is named."""
    asked, told = question.target.kin - _PETS, _OWN_KIN.match(statement)
    if not asked or told is None or question.target.value == "person" or _KIN_OF_KIN.search(question.text):
        return False
    kin = kin_of(told["kin"].lower())
    name = re.match(r",? [A-ZÀ-Þ]\w+", told["rest"])
    rest = told["rest"][name.end() if name else 0 :]
    wide = kin in _WIDE_KIN or not _WIDE_KIN.isdisjoint(asked)
    return kin not in asked and not wide and not _ANOTHER.search(rest) and not re.match(r"['’]s\b", told["rest"])


def _is_of_the_user(question: str, statement: str) -> bool:
    """Whether a relative's thing is asked for, and the statement tells the user's."""
    asked = _KIN_OWNS.search(question)
    if asked is None:
        return False
    what = re.escape(asked["what"].split()[-1])
    return re.match(rf"\W*(?:my|the user['’]s) (?!(?:{_KIN_WORD})\b)(?:\w+ )?{what}\b", statement, re.I) is not None


def _is_no_taste(question: str, statement: str) -> bool:
    """Whether it is asked which of some things somebody likes, and the statement says nothing of liking them."""
    asked = _LIKED.match(question)
    if asked is None or not set(tokens.tokens(asked["what"])).isdisjoint(tokens.tokens(statement)):
        return False
    return not _TELLS_TASTE.search(_FAVOURITE.sub("", statement))


def _is_count_of_others(question: str, statement: str) -> bool:
    """Whether it is asked how many relatives somebody has, and the statement does not say whose it counts: "14 kids in
    the end"."""
    return _COUNTS_OWN.match(question) is not None and not (
        _OWN.search(statement) or _TELLS_OWN_COUNT.search(statement)
    )


def _is_work_not_home(question: str, statement: str) -> bool:
    """Whether it is asked where somebody lives, and the statement tells where they work; or the reverse."""
    home, work = (pattern.search(question) is not None for pattern in (_HOME, _WORK))
    if home == work or not re.match(r"\W*where\b", question, re.I):
        return False
    wanted, other = (_HOME, _WORK) if home else (_WORK, _HOME)
    return other.search(statement) is not None and not wanted.search(statement)
