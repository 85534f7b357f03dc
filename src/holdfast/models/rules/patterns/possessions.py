"""Patterns for what people call theirs: names, favourites, numbers, deadlines, settings.
They match the whole clause."""

from __future__ import annotations

from holdfast.models.rules.patterns.row import PROPER_NAME, fact_row
from holdfast.models.rules.patterns.vocabulary import ATTRIBUTES, THINGS
from holdfast.text.lexicon.calendar import A_FULL_MONTH
from holdfast.text.lexicon.change import RESCHEDULING_VERBS

_A_STATE = (
    r"(?:at|out|off|back|away|under|behind|with|gone|broken|dead|stolen|lost)\b|"
    rf"(?:in|on) (?!(?:the )?\d|{A_FULL_MONTH}\b)"
)
"""Where something is or what became of it, which is not what it is: "my car is in the garage", but "in May" of a
birthday."""

ROWS = (
    fact_row(
        "employer",
        r"(?:today was )?(?:my )?(?:day one|first day|first week) at " + PROPER_NAME,
        "employer",
        0.8,
        "Where does {s} work?|Who is {s}'s employer?|Which company does {s} work for?",
        content="{S} works at {v}",
    ),
    fact_row(
        "seat",
        r"(?:from now on )?(?:it's|it is) (?:always )?(?:the |an? )(?P<v>aisle|window)(?: seat)? for me",
        "seat-preference",
        0.85,
        "Which seat does {s} prefer?|Does {s} like window or aisle seats?|What is {s}'s seat preference?",
        content="{S} prefers the {v} seat",
    ),
    fact_row(
        "employer",
        r"my (?:new |current )?job is (?:at|with) " + PROPER_NAME,
        "employer",
        0.88,
        "Where does {s} work?|Who is {s}'s employer?|Which company does {s} work for?",
        content="{S} works at {v}",
    ),
    fact_row(
        "name",
        r"(?:my|our) (?:full )?name(?: is|'s) (?-i:(?P<v>[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2}))",
        "name",
        0.95,
        "What is {s}'s name?|What is {s} called?|Who is {s}?",
        content="{S}'s name is {v}",
    ),
    fact_row(
        "name",
        r"my name(?: is|'s) (?P<v>[a-z]+)$",
        "name",
        0.85,
        "What is {s}'s name?|What is {s} called?",
        content="{S}'s name is {v}",
        lower=True,
    ),
    fact_row(
        "favourite",
        r"(?:my|our) (?:(?:absolute|all[- ]time|current|new) )?favou?rite (?P<k>[\w' -]{2,40}?) (?:is|"
        r"are|has always been|was always) (?:now |currently |still |definitely |probably |actually "
        r")?(?P<v>[^,;]{1,60})",
        "favourite-{k}",
        0.92,
        "What is {s}'s favourite {k}?|Which {k} does {s} like best?|What {k} does {s} prefer?",
        content="{S}'s favourite {k} is {v}",
    ),
    fact_row(
        "favourite",
        r"(?P<v>[^,;]{1,50}?) (?:is|are) (?:my|our) (?:absolute |all[- ]time )?favou?rite (?P<k>[\w' -]{2,40})$",
        "favourite-{k}",
        0.85,
        "What is {s}'s favourite {k}?|Which {k} does {s} like best?|What {k} does {s} prefer?",
        content="{S}'s favourite {k} is {v}",
    ),
    fact_row(
        "deadline",
        r"(?:the|our|my) (?:(?P<k>[\w-]+(?: [\w-]+){0,2}) )?(?:deadline|due date)(?: for (?:the |our |"
        r"my )?(?P<k2>[\w-]+(?: [\w-]+){0,3}?))? (?:is|was|has been|got|has|will be)(?: now)?(?: "
        r"moved| pushed| shifted| extended| changed| set)?(?: (?:to|on|for|by|back to|until))* "
        r"(?P<v>[^,;]{2,50})",
        "deadline{-k}",
        0.9,
        "When is the{ k} deadline?|What is the due date{ for k}?|When is{ k} due?",
        content="The{ k} deadline is {v}",
    ),
    fact_row(
        "deadline",
        r"(?:the|our|my) (?P<k>[\w-]+(?: [\w-]+){0,2}) (?:is|are) due (?:on |by |at )?(?P<v>[^,;]{3,40})",
        "deadline-{k}",
        0.85,
        "When is the {k} due?|What is the deadline for the {k}?|By when must the {k} be done?",
        content="The {k} is due {v}",
    ),
    fact_row(
        "port",
        r"(?:the |our |my )?(?P<k>[\w -]{2,30}?) (?:is |runs |listens |is running |is listening |now "
        r"runs |lives )(?:now )?(?:on|at) (?:port |localhost:)(?P<v>\d{2,5})",
        "port-{k}",
        0.9,
        "Which port is {k} on?|What port does {k} use?|Where does {k} listen?",
        content="{K} is on port {v}",
    ),
    fact_row(
        "attribute",
        rf"(?:(?:my|our) (?:new |current )?|(?:the )?new )(?P<k>{ATTRIBUTES}) (?:is|are|'s)(?: now| currently| "
        rf"actually)? (?!not\b|that\b|to\b|really\b|very\b|too\b|so\b|\w+ing\b|{_A_STATE})(?P<v>[^,;]{{1,70}})",
        "{k}",
        0.85,
        "What is {s}'s {k}?|What {k} does {s} have?",
        content="{S}'s {k} is {v}",
    ),
    fact_row(
        "attribute",
        r"(?:i |we )?(?:(?:just |also )?(?:ran|set|got|hit|lifted|did) )?(?:an? |my )?"
        r"(?:new |beat my |smashed my |\d+k )(?P<k>personal best|personal record|pb)\b(?=\D{0,40}\d)[^\d;]{0,40}?"
        r"(?P<v>\d+(?:[:.,]\d+)*(?: ?(?:kg|km|k|m|s|min(?:ute)?s?|hours?|seconds))?)(?=$|[ ,.!])",
        "{k}",
        0.85,
        "What is {s}'s {k}?|What is {s}'s best time?",
        content="{S}'s new {k} is {v}",
    ),
    fact_row(
        "attribute",
        r"(?:i |we )?(?:just |also )?(?:ran|swam|rode|cycled|rowed|lifted|did|finished in|clocked) "
        r"(?P<v>\d+(?:[:.,]\d+)*(?: ?(?:kg|km|k|m|s|min(?:ute)?s?|hours?|seconds))?)\b[^.;\d]{0,40}?"
        r"(?:,|-|which is|that's|it's) (?:an? |my )?new (?P<k>personal best|personal record|pb)\b"
        r"(?P<w>(?: (?:over|on|for|in) (?:the )?[\w-]+)?)",
        "{k}",
        0.85,
        "What is {s}'s {k}?|What is {s}'s best time?",
        content="{S}'s new {k}{ w} is {v}",
    ),
    fact_row(
        "setting",
        rf"(?:the|our) (?P<k>(?:[\w-]+ )?(?:{THINGS})) (?:is|are)(?: now| currently)? (?:called |named "
        r"|at )?(?!not\b|that\b|to\b|really\b|very\b|too\b|so\b|being\b|down\b|broken\b|\w+ing(?:\s|"
        r"$)|failing\b|slow\b|up\b|empty\b|full\b|fine\b|"
        r"(?:in|on|under|behind|inside|within|from|with)\b)(?P<v>[\w'+#:/.@-]+(?: "
        rf"[\w'+#:/.@-]+){{0,4}})$",
        "{k}",
        0.75,
        "What is the {k}?|Which {k} is used?",
        content="The {k} is {v}",
    ),
    fact_row(
        "rescheduled",
        r"(?:the|our|my) (?P<k>(?:[\w-]+ ){0,2}(?:stand-?up|sync|meeting|retro(?:spective)?|demo|planning|one-on-one|"
        r"1:1|call|class|lesson|rehearsal|practice|training|shift)) (?:is |was |has been |got |has )?(?:now )?"
        rf"(?:{RESCHEDULING_VERBS}|brought forward)(?: back| forward| up)?(?: from [^,;]{{2,30}})? to "
        r"(?P<v>(?:\w+days? )?(?:at )?(?:\d{1,2}(?:[:.h]\d{2})?(?: ?[ap]\.?m\.?)?|noon)(?: on \w+days?)?)",
        "{k}",
        0.85,
        "When is the {k}?|What time is the {k}?",
        content="The {k} moved to {v}",
    ),
    fact_row(
        "their-name",
        r"(?:my|our) (?P<adj>(?:older |younger |little |new )?)(?P<k>[a-z-]+)(?:'s name is| is "
        r"(?:called|named)|'s called) (?-i:(?P<v>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?))",
        "{k}.name",
        0.92,
        "What is the name of {s}'s {k}?|What is {s}'s {k} called?|Who is {v}?",
        content="{S}'s {k}'s name is {v}",
    ),
    fact_row(
        "their-date",
        r"(?:my|our) (?P<k>[a-z-]+)'s (?P<k2>birthday|anniversary) is (?:on )?(?P<v>[^,;]{3,30})",
        "{k}.{k2}",
        0.92,
        "When is {s}'s {k}'s {k2}?|What date is the {k}'s {k2}?",
        content="{S}'s {k}'s {k2} is {v}",
    ),
    fact_row(
        "measure",
        r"(?:my|our) (?P<k>[a-z-]+(?: [a-z-]+)?) (?:is|are|costs?|takes?|weighs?|lasts?) (?:now |"
        r"about |around |roughly |only )?(?P<v>[$€£]?\d[\w.,:/$€£% -]{0,30})",
        "{k}",
        0.72,
        "What is {s}'s {k}?|How much is {s}'s {k}?",
    ),
)
