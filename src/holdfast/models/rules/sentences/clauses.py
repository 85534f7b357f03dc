"""Splits a message into sentences and into the clauses that assert something.

Questions, hypotheticals, quotations and irony are left out. Only the first `MAX_MESSAGE_CHARACTERS` characters and
`MAX_SENTENCES` sentences of a message are read.
"""

from __future__ import annotations

import re

from holdfast.models.rules.people.pronouns import RELATION
from holdfast.models.rules.sentences.task_lists import names_chores, task_list, with_lists_in_lines
from holdfast.text.lexicon.sentences import ABBREVIATION, BUT_OF_ANOTHER_CLAUSE, ENDS, NUMBER_ABBREVIATION

MAX_MESSAGE_CHARACTERS = 12_000
MAX_SENTENCES = 120
MAX_SENTENCE_CHARACTERS = 400
"""Maximum characters of a message, sentences of a message, and characters of a sentence; the rest is not read. Chosen
by hand, to bound the time per message; not measured."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{81,200}`", re.S)
_SENTENCE_BORDER = re.compile(
    rf"(?<= [;:]\))\s+|(?<=[{ENDS}…])[\"')\]]?\s+(?=[\"'(\[A-Za-z0-9])|\n+|(?<=[{ENDS}])\s*(?=[\U0001F300-\U0001FAFF])"
)
_QUOTATION = re.compile(r"[\"“]([^\"“”\n]{0,400})[\"”]")
_PAUSE = re.compile(r"(?<=,) |(?= (?:and|but|so|then|because|anyway|also) )")
_PASTED_LINE = re.compile(
    r"\s*(?:[>|<{$#]|Traceback \(most recent|File \".*\", line \d|at [\w.$<>]+\(|[\w.]*(?:Error|Exception)\b:|"
    r"(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|Error|Warning)\b[: ]|\[[^\]]{1,60}\]:\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)"
)
"""Beginnings of lines that are quoted, code or log output."""
_MATERIAL = re.compile(r":(?:\s|$)|[\"“]")
_REQUEST = re.compile(
    r"(?:please |can you |could you |now )?(?:help me (?:with|write)|write|rewrite|translate|proofread|summari[sz]e|"
    r"draft|fix|edit|correct|paraphrase|"
    r"generate|act as|pretend|imagine|role-?play|compose|continue the story|here(?:'s| is) (?:the|"
    r"my|an?) (?:text|essay|story|"
    r"draft|article|transcript|email|script|code|letter)|improve|rephrase|analy[sz]e|classify|extract)\b",
    re.I,
)
_IRONY = re.compile(
    r"(?:^|\s)/s(?:\s|$)|\byeah,? right\b|\bas if\b|\bsure,? because\b|\bsaid no one\b|\bnot!$|"
    r"\boh (?:great|wonderful|fantastic|joy|yes,? please)\b|\b(?-i:LOVE) (?:it )?when\b|\b(?:yeah|oh) sure, i\b|"
    r"\bjust kidding\b|\bjk\b|\bi'm kidding\b|\bin my dreams\b|🙄",
    re.I,
)
_QUESTION_START = re.compile(
    r"(?:what|where|who|whom|whose|which|why|how|when|can|could|would|will|should|shall|may|do|"
    r"does|did|is|are|am|was|were|has|have (?:you|we|i|they)|any|isn't|aren't|(?:don't|didn't|won't|haven't) (?:you|"
    r"we|i|"
    r"they|he|she|it)|doesn't|wanna|what's|whats|where's|wheres|who's|whos|how's|hows)\b",
    re.I,
)
_ASKED_TO_REMEMBER = (
    r"(?:can|could|will|would) you (?:please |also )*(?:remember|note(?: down)?|save|keep in mind|write down)"
    r"(?: (?:this|these|that|the following))?(?: for me)?(?! (?:what|when|where|who|how|if|why|which)\b)"
)
_NO_QUESTION = re.compile(
    rf"(?:{_ASKED_TO_REMEMBER}|do not|do (?:please|always|never|keep)|"
    r"when (?:i|we|you|it|the|anyone|someone|people|he|she|they)\b|will "
    r"be|have a (?:nice|good)|"
    r"(?:who|what|when|where|which|how)ever)\b",
    re.I,
)
_QUESTION_TAG = re.compile(
    r",\s*(?:right|correct|ok|okay|no|yes|eh|huh|remember|do(?:n't)? (?:i|we)|did(?:n't)? (?:i|we)|"
    r"(?:is|was|wo|wasn|isn|are|aren|have|haven)(?:'?t)? (?:it|i|we|she|he|they))\s*\?",
    re.I,
)
_HYPOTHESIS = re.compile(
    r"\b(?:if|might|maybe|perhaps|would|wouldn't|could|couldn't|wish|unless|suppose|supposing|"
    r"imagine|pretend|hypothetically|"
    r"thinking (?:about|of)|think about|considering|consider|wondering|hoping|hope|let's say|in "
    r"theory|i'd|we'd|possibly|"
    r"probably|not sure|unsure|i guess|what about|how about|tempted|dream(?:ing)? of|someday|one day|debating|"
    r"toying with|almost|nearly|supposedly|apparently|allegedly|rumou?r)\b",
    re.I,
)
_UNREAL = re.compile(
    r"\b(?:if|might|maybe|perhaps|could|couldn't|wish|unless|suppose|supposing|imagine|pretend|hypothetically|"
    r"(?:would|i'd|we'd) (?:love|like|prefer|rather)|thinking (?:about|of)|think about|considering|consider|wondering|"
    r"hoping|hope|let's say|in theory|i guess|what about|how about|tempted|dream(?:ing)? of|someday|debating|"
    r"toying with|supposedly|allegedly|rumou?r|character|protagonist|narrator)\b",
    re.I,
)
_REPORTED_SPEECH = re.compile(
    r"\b(?:(?:he|she|they|you|people|everyone|someone|[A-Z]\w{1,20}) (?:said|says|say|told|tells|"
    r"claims?|claimed|thinks?|"
    r"thought|believes?|believed|wrote|asked|asks|suggested)|according to|i(?:'ve)? (?:heard|read) (?:that|about)|"
    r"(?:the )?(?:character|protagonist|narrator))\b"
)
_ATTRIBUTED_STATEMENT = re.compile(
    rf"(?:[\w ]{{2,30}}: )?(?:(?:my|our) (?:{RELATION})|(?-i:[A-ZÀ-Þ][a-zà-ÿ]+(?: [A-ZÀ-Þ][a-zà-ÿ]+)?))"
    r"(?: just| also)? (?:said|says|told (?:me|us)|confirmed|mentioned) "
    r"(?:that )?(?!(?:i|he|she|they|it|you|no|yes|so|to|this|that)\b)"
    r"[\w' ]+ (?:is|are|was|were|got|has|have|will|costs?|needs?)\b",
    re.I,
)
_LEADING_FILLER = re.compile(
    rf"(?:(?:{_ASKED_TO_REMEMBER}|oh|omg|please be advised that|(?:please|kindly) note(?: that)?|well|yeah|yes|yep|yup|"
    r"now that(?!['’]s)|(?:done|perfect|correct|affirmative|noted|no)(?=[,.;:!])|"
    r"nope|nah|ok|okay|hi|hello|hey|hey there|hi there|so|and|"
    r"but|also|btw|by the way|fyi|anyway|"
    r"haha|lol|hmm|um|uh|ah|right|sure|great|thanks|thank you|cool|plus|well then|just so you know|for the record|"
    r"for context|for reference|note that|note|as i said|speaking of which|good (?:morning|evening|afternoon)|honestly|"
    r"actually|to be honest|tbh|luckily|unfortunately|sadly|fortunately|anyways|additionally|besides|i think|i believe|"
    r"you know|i mean|remember that|remember|please remember(?: that)?|important|update|info|news|guess what|"
    r"for what it's worth|quick note|as you know|turns out|it turns out(?: that)?)\b[\s,:;!.–-]*)",
    re.I,
)
_CLAUSE_BORDER = re.compile(
    rf"\s*;\s+|\s+[–—-]\s+|,?\s+{BUT_OF_ANOTHER_CLAUSE}|,?\s+(?:and|so|because|although|though|while|"
    r"whereas)\s+(?=(?:i|i'm|i've|we|we're|we've|my|our|"
    r"he|she|she's|he's)\b)|,\s+(?=(?:i|i'm|i've|we|we're|we've|my|our|she|he|please(?= \w))\b)|"
    r",\s+(?:and\s+)?(?=(?:work|live|moved|"
    r"have|(?:(?:still|also|really) )?(?:need to|gotta|must))\b)|"
    r"\s+and\s+(?=(?:work|live|moved to|am|love|hate|drive|speak|study)\b)|,\s+(?:so\s+|"
    r"and\s+|but\s+)?(?=(?:what|"
    r"where|how|(?:can|could|does|should|would) (?:you|i|we|he|she|it|they|the|this|that|my|our|any\w*|some\w*)|do you|"
    r"is there|are there|any|which|who|why)\b)|"
    r",?\s+(?:so|and|then)\s+(?=(?:from now on|always|never|please|kindly|do please|do not|don't)\b)|"
    r",\s+(?:and\s+)?(?=(?:the |our )?[\w-]+(?: [\w-]+)? (?:is|are|will be)\b)|\s+and\s+(?=[a-z][\w-]+ (?:is|was) )|"
    r",\s+(?=(?:page|call|ping|email|goal is|don't|dont)\b)|"
    r",\s+(?:and |but |so )?(?=(?:thinking (?:of|about)|considering|hoping|wondering|tempted|maybe|perhaps|probably|"
    r"might|not sure)\b)",
    re.I,
)

_BEFORE_ACTION = (
    r"(?= (?:(?:just|finally|recently|also|now|already|then) )*(?:quit|left|used|works?|lives?|is|was|has|moved|joined|"
    r"started|stopped|sold|no longer|doesn't|got|\w{3,}ed)\b)"
)
_CLAUSE_SUBJECT = re.compile(
    rf"(?:(?:i|we|she|he)(?= [a-z])|(?:my|our|his|her) (?:[a-z]+ )?(?:{RELATION})\b(?:,? (?-i:[A-ZÀ-Þ][a-zà-ÿ]+),?)?"
    rf"(?= [a-z])|(?-i:[A-ZÀ-Þ][a-zà-ÿ]{{1,20}}(?: (?:and |& )?[A-ZÀ-Þ][a-zà-ÿ]{{1,20}})?{_BEFORE_ACTION}))",
    re.I,
)
"""The subject at the beginning of a clause."""
_NEW_PREDICATE = re.compile(
    r"(?:(?:am|is|are) (?:now|currently) (?:an? |at |in |with |on )?\w|(?:now|currently) (?:works?|lives?|am|is|are|"
    r"runs?|drives?|uses?|owns?|stud(?:y|ies)|teach(?:es)?|plays?|speaks?|loves?|likes?|hates?|prefers?|eats?|drinks?)\b|"
    r"(?:has|have) (?:since|now|recently|just) (?:joined|moved|started|switched|become|got|taken)\b|"
    r"(?:works?|lives?) (?:at|in|for|as|with|near)\b|moved (?:(?:back )?to|in)\b|joined (?-i:[A-Z])|"
    r"(?:started|starts|began) (?:working |a new job |a job )?(?:at|for|with) (?-i:[A-Z])|switched to\b)",
    re.I,
)
"""Predicates that state something new about the subject of the clause before."""
_OTHER_SUBJECT = re.compile(r"\b(?:who|which|that|because|when|while|if|everyone|they|you|he|she|it)\b|,", re.I)
"""Words that introduce another subject into a clause."""
_CONTINUED_PREDICATE = re.compile(
    rf"(?:work|live|moved|have|am|love|hate|drive|speak|study)\b|{_NEW_PREDICATE.pattern}", re.I
)
_BEFORE_NEW_PREDICATE = re.compile(rf",?\s+(?:and|but|then|and then)\s+(?={_NEW_PREDICATE.pattern})", re.I)


def cleaned_text(text: str) -> str:
    """The text with straight quotes and without code and quoted lines."""
    text = text[:MAX_MESSAGE_CHARACTERS].replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    text = _CODE.sub(" … ", text)
    return "\n".join(line for line in text.split("\n") if not _PASTED_LINE.match(line))


_LIST_NUMBER = re.compile(r"(?:\d{1,2}|[a-h])\) +(?=\w)")


def sentences(text: str) -> list[str]:
    """The sentences of a message that are its author's own words; it ends before a request to work on a given text."""
    parts: list[str] = []
    written = with_lists_in_lines(cleaned_text(text))
    for piece in (each for whole in _SENTENCE_BORDER.split(written) for each in _breath_parts(whole)):
        piece = _LIST_NUMBER.sub("", piece.strip(" \t-*•"))
        if parts and piece and _goes_on(parts[-1], piece):
            parts[-1] += " " + piece
        elif piece:
            parts.append(piece)
        if len(parts) >= MAX_SENTENCES:
            break
    for i, sentence in enumerate(parts):
        if not _REQUEST.match(without_leading_fillers(sentence)):
            continue
        if _MATERIAL.search(sentence) or (len(text) > 300 and i + 1 < len(parts)):
            return parts[:i]
    return parts


_NUMBERED = re.compile(r"[\w/-]*\d")
"""A number, or a code with one: "policy no. HH-229-8817"."""


def _goes_on(sentence: str, piece: str) -> bool:
    """Whether a full stop is that of an abbreviation, and the sentence goes on: "job no. 8862"."""
    return bool(ABBREVIATION.search(sentence) or (_NUMBERED.match(piece) and NUMBER_ABBREVIATION.search(sentence)))


def _breath_parts(sentence: str) -> list[str]:
    """Splits a sentence that is too long to be read whole, as dictation produces them, at commas and conjunctions."""
    if len(sentence) <= MAX_SENTENCE_CHARACTERS:
        return [sentence]
    parts = [""]
    for piece in _PAUSE.split(sentence):
        if len(parts[-1]) + len(piece) > MAX_SENTENCE_CHARACTERS // 2:
            parts.append("")
        parts[-1] += f" {piece}" if parts[-1].endswith(",") else piece
    return parts


def without_leading_fillers(sentence: str) -> str:
    """The sentence without filler words at its beginning ("oh well, by the way, …")."""
    for _ in range(4):
        m = _LEADING_FILLER.match(sentence)
        if not m or m.end() == len(sentence):
            break
        sentence = sentence[m.end() :]
    return sentence.strip()


def is_question(sentence: str) -> bool:
    return sentence.rstrip(" \"')*").endswith("?") or bool(
        _QUESTION_START.match(sentence) and not _NO_QUESTION.match(sentence)
    )


def without_quoted_speech(sentence: str) -> str:
    """The sentence without quoted speech; the words of quoted titles stay."""
    return _QUOTATION.sub(lambda m: "…" if re.search(r"\b(?:I|I'm|we|my|you)\b", m[1]) else m[1], sentence)


_RETRACTED = re.compile(r"\b(?:i|we) said\b.+\b(?:i|we) (?:actually |really )?meant\b", re.I)


def clauses(sentence: str) -> list[str]:
    """The clauses that a sentence asserts; a clause without a subject takes that of the clause before it. A list of
    tasks is one clause."""
    told = without_leading_fillers(sentence)
    if len(sentence) <= MAX_SENTENCE_CHARACTERS and "?" not in sentence and (task_list(told) or names_chores(told)):
        return [told.rstrip(" .!…,;:")]
    if len(sentence) > MAX_SENTENCE_CHARACTERS or _QUESTION_TAG.search(sentence):
        return []
    if _RETRACTED.search(told):  # the half that was meant does not stand without the half that was said
        return [told.rstrip(" .!…,;:")]
    main, of_named = _without_relative_clauses(without_quoted_speech(told))
    parts = [without_leading_fillers(p) for p in _CLAUSE_BORDER.split(main) if p and p.strip()]
    if is_question(sentence) and parts:
        parts = [p for p in parts[:-1] if not is_question(p)]
    asserted, subject = [], ""
    for part in (half for whole in _with_bare_relations(parts) for half in _clause_halves(whole)):
        if who := _CLAUSE_SUBJECT.match(part):
            subject = who[0]
        elif own := re.match(r"(?:i'm|i've|we're|we've|my|our)\b", part, re.I):
            subject = "we" if own[0].lower().startswith("we") else "I"
        elif subject and (_CONTINUED_PREDICATE if subject.lower() in ("i", "we") else _NEW_PREDICATE).match(part):
            part = f"{subject} {part}"
        if not is_question(part):
            asserted.append(re.sub(r",?\s+(?:and|but|so|because)$", "", part.rstrip(" .!…,;:)")))
    return [c for c in (*asserted, *of_named) if len(c) > 3]


_RELATIVE_CLAUSE = re.compile(
    r"(?P<who>(?:(?:my|our|his|her|their) (?:[\w-]+ ){1,3}?)?(?-i:[A-ZÀ-Þ][\w'-]+)), who(?P<be>'s)? "
    r"(?P<what>[^,;?]{3,80}?)(?:,|(?=[.!]?$))",
    re.I,
)


def _without_relative_clauses(sentence: str) -> tuple[str, list[str]]:
    """The sentence without what it says of a named person in passing, and that as clauses of its own: "my sister Ana,
    who lives in Graz, is a lawyer"."""
    told = [f"{m['who']} {'is ' if m['be'] else ''}{m['what'].strip()}" for m in _RELATIVE_CLAUSE.finditer(sentence)]
    return _RELATIVE_CLAUSE.sub(lambda m: m["who"], sentence), told


_BARE_RELATION = re.compile(
    rf"(?:my|our) (?:[\w-]+ ){{0,2}}?(?:{RELATION}|kids|children|boys|girls|parents|cats|dogs|twins)"
    r"(?:,? (?-i:[A-ZÀ-Þ])[\w'-]+)?(?:,? and (?-i:[A-ZÀ-Þ])[\w'-]+)?[ .!]*",
    re.I,
)


def _with_bare_relations(parts: list[str]) -> list[str]:
    """The clauses, with "our cat Biscuit" joined to the clause before: it has no verb of its own."""
    joined: list[str] = []
    for part in parts:
        if joined and _BARE_RELATION.fullmatch(part):
            joined[-1] = f"{joined[-1]} and {part}"
        else:
            joined.append(part)
    return joined


def _clause_halves(part: str) -> list[str]:
    """The clause, or its two halves with a subject each: "Ana quit Acme and now works at Bolt"."""
    who = _CLAUSE_SUBJECT.match(part)
    first, *more = _BEFORE_NEW_PREDICATE.split(part)
    if not who or not more or _OTHER_SUBJECT.search(first, who.end()):
        return [part]
    return [first, *(f"{who[0]} {half}" for half in more)]


def is_ironic(sentence: str) -> bool:
    return bool(_IRONY.search(sentence))


def is_hypothetical(clause: str) -> bool:
    return bool(_HYPOTHESIS.search(clause))


def is_unreal(sentence: str) -> bool:
    """Whether the sentence speaks of what is only imagined or wished for. What somebody says, or had to do ("I'd to cut
    my hours"), and what is likely, may be kept in its author's words."""
    return bool(_UNREAL.search(sentence))


def is_reported(clause: str) -> bool:
    """Whether the clause reports somebody else's words, which may be wrong."""
    return bool(_REPORTED_SPEECH.search(clause))


def is_attributed(clause: str) -> bool:
    """Whether the clause repeats a plain statement of a person it names: "Dana said the budget is 60k"."""
    return bool(_ATTRIBUTED_STATEMENT.match(clause))
