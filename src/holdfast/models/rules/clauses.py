"""From a message to the clauses that assert something: questions, hypotheticals, quotations and irony are left out.

Bounded: at most `READ` characters and `SENTENCES` sentences of a message are looked at.
"""

from __future__ import annotations

import re

from .people import RELATION

READ = 12_000
SENTENCES = 120
LONGEST = 400

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{81,200}`", re.S)
_SENTENCE = re.compile(
    r"(?<= [;:]\))\s+|(?<=[.!?…])[\"')\]]?\s+(?=[\"'(\[A-Za-z0-9])|\n+|(?<=[.!?])\s*(?=[\U0001F300-\U0001FAFF])"
)
_ABBREVIATED = re.compile(r"\b(?:[Dd]r|[Mm]r|[Mm]rs|[Mm]s|Prof|St|vs|etc|e\.g|i\.e|approx|No|Inc|Ltd|Co|[A-Z])\.$")
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{0,400})[\"”]")
_BREATH = re.compile(r"(?<=,) |(?= (?:and|but|so|then|because|anyway|also) )")
_PASTED = re.compile(
    r"\s*(?:[>|<{$#]|Traceback \(most recent|File \".*\", line \d|at [\w.$<>]+\(|[\w.]*(?:Error|Exception)\b:|"
    r"(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|Error|Warning)\b[: ]|\[[^\]]{1,60}\]:\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)"
)
"""Lines that are quoted, code, or out of a log."""
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
_ASKING = re.compile(
    r"(?:what|where|who|whom|whose|which|why|how|when|can|could|would|will|should|shall|may|do|"
    r"does|did|is|are|am|was|were|has|have (?:you|we|i|they)|any|isn't|aren't|(?:don't|didn't|won't|haven't) (?:you|"
    r"we|i|"
    r"they|he|she|it)|doesn't|wanna|what's|whats|where's|wheres|who's|whos|how's|hows)\b",
    re.I,
)
_NOT_ASKING = re.compile(
    r"(?:do not|do (?:please|always|never|keep)|when (?:i|we|you|it|the|anyone|someone|people|he|she|they)\b|will "
    r"be|have a (?:nice|good)|"
    r"(?:who|what|when|where|which|how)ever)\b",
    re.I,
)
_TAG = re.compile(
    r",\s*(?:right|correct|ok|okay|no|yes|eh|huh|remember|do(?:n't)? (?:i|we)|did(?:n't)? (?:i|we)|"
    r"(?:is|was|wo|wasn|isn|are|aren|have|haven)(?:'?t)? (?:it|i|we|she|he|they))\s*\?",
    re.I,
)
_HYPOTHETICAL = re.compile(
    r"\b(?:if|might|maybe|perhaps|would|wouldn't|could|couldn't|wish|unless|suppose|supposing|"
    r"imagine|pretend|hypothetically|"
    r"thinking (?:about|of)|think about|considering|consider|wondering|hoping|hope|let's say|in "
    r"theory|i'd|we'd|possibly|"
    r"probably|not sure|unsure|i guess|what about|how about|tempted|dream(?:ing)? of|someday|one day|debating|"
    r"toying with|almost|nearly|supposedly|apparently|allegedly|rumou?r)\b",
    re.I,
)
_REPORTED = re.compile(
    r"\b(?:(?:he|she|they|you|people|everyone|someone|[A-Z]\w{1,20}) (?:said|says|say|told|tells|"
    r"claims?|claimed|thinks?|"
    r"thought|believes?|believed|wrote|asked|asks|suggested)|according to|i(?:'ve)? (?:heard|read) (?:that|about)|"
    r"(?:the )?(?:character|protagonist|narrator))\b"
)
_ATTRIBUTED = re.compile(
    rf"(?:[\w ]{{2,30}}: )?(?:(?:my|our) (?:{RELATION})|(?-i:[A-ZÀ-Þ][a-zà-ÿ]+(?: [A-ZÀ-Þ][a-zà-ÿ]+)?))"
    r"(?: just| also)? (?:said|says|told (?:me|us)|confirmed|mentioned) "
    r"(?:that )?(?!(?:i|he|she|they|it|you|no|yes|so|to|this|that)\b)"
    r"[\w' ]+ (?:is|are|was|were|got|has|have|will|costs?|needs?)\b",
    re.I,
)
_LEAD = re.compile(
    r"(?:(?:oh|omg|please be advised that|(?:please|kindly) note(?: that)?|well|yeah|yes|yep|yup|now that|(?:done|"
    r"perfect|correct|affirmative|noted|no)(?=[,.;:!])|nope|nah|ok|okay|hi|hello|hey|hey there|hi there|so|and|"
    r"but|also|btw|by the way|fyi|anyway|"
    r"haha|lol|hmm|um|uh|ah|right|sure|great|thanks|thank you|cool|plus|well then|just so you know|for the record|"
    r"for context|for reference|note that|note|as i said|speaking of which|good (?:morning|evening|afternoon)|honestly|"
    r"actually|to be honest|tbh|luckily|unfortunately|sadly|fortunately|anyways|additionally|besides|i think|i believe|"
    r"you know|i mean|remember that|remember|please remember(?: that)?|important|update|info|news|guess what|"
    r"for what it's worth|quick note|as you know|turns out|it turns out(?: that)?)\b[\s,:;!.–-]*)",
    re.I,
)
_SPLIT = re.compile(
    r"\s*;\s+|\s+[–—-]\s+|,?\s+but\s+|,?\s+(?:and|so|because|although|though|while|"
    r"whereas)\s+(?=(?:i|i'm|i've|we|we're|we've|my|our|"
    r"he|she|she's|he's)\b)|,\s+(?=(?:i|i'm|i've|we|we're|we've|my|our|she|he|please(?= \w))\b)|"
    r",\s+(?:and\s+)?(?=(?:work|live|moved|"
    r"have)\b)|\s+and\s+(?=(?:work|live|moved to|am|love|hate|drive|speak|study)\b)|,\s+(?:so\s+|"
    r"and\s+|but\s+)?(?=(?:what|"
    r"where|how|can|could|do you|does|is there|are there|any|which|who|why|should|would)\b)|"
    r",?\s+(?:so|and|then)\s+(?=(?:from now on|always|never|please|kindly|do please|do not|don't)\b)|"
    r",\s+(?:and\s+)?(?=(?:the |our )?[\w-]+(?: [\w-]+)? (?:is|are|will be)\b)|\s+and\s+(?=[a-z][\w-]+ (?:is|was) )|"
    r",\s+(?=(?:page|call|ping|email|goal is|don't|dont)\b)",
    re.I,
)

_ACTS = (
    r"(?= (?:(?:just|finally|recently|also|now|already|then) )*(?:quit|left|used|works?|lives?|is|was|has|moved|joined|"
    r"started|stopped|sold|no longer|doesn't|got|\w{3,}ed)\b)"
)
_WHO = re.compile(
    rf"(?:(?:i|we|she|he)(?= [a-z])|(?:my|our|his|her) (?:[a-z]+ )?(?:{RELATION})\b(?:,? (?-i:[A-ZÀ-Þ][a-zà-ÿ]+),?)?"
    rf"(?= [a-z])|(?-i:[A-ZÀ-Þ][a-zà-ÿ]{{1,20}}(?: [A-ZÀ-Þ][a-zà-ÿ]{{1,20}})?{_ACTS}))",
    re.I,
)
"""Whom a clause is about."""
_NEWS = re.compile(
    r"(?:(?:am|is|are) (?:now|currently) (?:an? |at |in |with |on )?\w|(?:now|currently) (?:works?|lives?|am|is|are|"
    r"runs?|drives?|uses?|owns?|stud(?:y|ies)|teach(?:es)?|plays?|speaks?|loves?|likes?|hates?|prefers?|eats?|drinks?)\b|"
    r"(?:has|have) (?:since|now|recently|just) (?:joined|moved|started|switched|become|got|taken)\b|"
    r"(?:works?|lives?) (?:at|in|for|as|with|near)\b|moved (?:back )?to\b|joined (?-i:[A-Z])|"
    r"(?:started|starts|began) (?:working |a new job |a job )?(?:at|for|with) (?-i:[A-Z])|switched to\b)",
    re.I,
)
"""What is so from now on, said of the subject of the clause before."""
_OTHERS = re.compile(r"\b(?:who|which|that|because|when|while|if|everyone|they|you|he|she|it)\b|,", re.I)
"""What brings another subject into a clause."""
_GOES_ON = re.compile(rf"(?:work|live|moved|have|am|love|hate|drive|speak|study)\b|{_NEWS.pattern}", re.I)
_AND_NEWS = re.compile(rf",?\s+(?:and|but|then|and then)\s+(?={_NEWS.pattern})", re.I)


def clean(text: str) -> str:
    """Straight quotes, no code, no quoted lines."""
    text = text[:READ].replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    text = _CODE.sub(" … ", text)
    return "\n".join(line for line in text.split("\n") if not _PASTED.match(line))


def sentences(text: str) -> list[str]:
    """The sentences of a message that are its author's own words."""
    made: list[str] = []
    for piece in (each for whole in _SENTENCE.split(clean(text)) for each in _breaths(whole)):
        piece = piece.strip(" \t-*•")
        if made and _ABBREVIATED.search(made[-1]) and piece:
            made[-1] += " " + piece
        elif piece:
            made.append(piece)
        if len(made) >= SENTENCES:
            break
    for i, sentence in enumerate(made):
        if not _REQUEST.match(bare(sentence)):
            continue
        if _MATERIAL.search(sentence) or (len(text) > 300 and i + 1 < len(made)):
            return made[:i]
    return made


def _breaths(sentence: str) -> list[str]:
    """A sentence too long to be read whole, as dictation makes them, in pieces of a breath each."""
    if len(sentence) <= LONGEST:
        return [sentence]
    made = [""]
    for piece in _BREATH.split(sentence):
        if len(made[-1]) + len(piece) > LONGEST // 2:
            made.append("")
        made[-1] += f" {piece}" if made[-1].endswith(",") else piece
    return made


def bare(sentence: str) -> str:
    """The sentence without its opening noises ("oh well, by the way, …")."""
    for _ in range(4):
        m = _LEAD.match(sentence)
        if not m or m.end() == len(sentence):
            break
        sentence = sentence[m.end() :]
    return sentence.strip()


def asks(sentence: str) -> bool:
    return sentence.rstrip(" \"')*").endswith("?") or bool(_ASKING.match(sentence) and not _NOT_ASKING.match(sentence))


def unquoted(sentence: str) -> str:
    """Quoted titles keep their words; quoted speech goes."""
    return _QUOTED.sub(lambda m: "…" if re.search(r"\b(?:I|I'm|we|my|you)\b", m[1]) else m[1], sentence)


def clauses(sentence: str) -> list[str]:
    """What a sentence asserts, clause by clause; a clause without a subject takes over the one before it."""
    if len(sentence) > LONGEST or _TAG.search(sentence):
        return []
    parts = [bare(p) for p in _SPLIT.split(unquoted(bare(sentence))) if p and p.strip()]
    if asks(sentence) and parts:
        parts = [p for p in parts[:-1] if not asks(p)]
    made, subject = [], ""
    for part in (half for whole in parts for half in _halves(whole)):
        if who := _WHO.match(part):
            subject = who[0]
        elif own := re.match(r"(?:i'm|i've|we're|we've|my|our)\b", part, re.I):
            subject = "we" if own[0].lower().startswith("we") else "I"
        elif subject and (_GOES_ON if subject.lower() in ("i", "we") else _NEWS).match(part):
            part = f"{subject} {part}"
        if not asks(part):
            made.append(re.sub(r",?\s+(?:and|but|so|because)$", "", part.rstrip(" .!…,;:)")))
    return [c for c in made if len(c) > 3]


def _halves(part: str) -> list[str]:
    """ "Ana quit Acme and now works at Bolt" as two clauses, each with its subject."""
    who = _WHO.match(part)
    first, *more = _AND_NEWS.split(part)
    if not who or not more or _OTHERS.search(first, who.end()):
        return [part]
    return [first, *(f"{who[0]} {half}" for half in more)]


def ironic(sentence: str) -> bool:
    return bool(_IRONY.search(sentence))


def hypothetical(clause: str) -> bool:
    return bool(_HYPOTHETICAL.search(clause))


def reported(clause: str) -> bool:
    """Somebody else's words: told, not known."""
    return bool(_REPORTED.search(clause))


def attributed(clause: str) -> bool:
    """Whether it passes on what a person it names has said of the matter: "Dana said the budget is 60k"."""
    return bool(_ATTRIBUTED.match(clause))
