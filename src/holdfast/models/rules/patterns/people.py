"""Patterns for where people live, their work, their family, their health."""

from __future__ import annotations

from holdfast.models.rules.patterns.row import LOWERCASE_NAME, NUMBER, PROPER_NAME, fact_row
from holdfast.models.rules.patterns.vocabulary import CONDITIONS, COUNTED, JOBS
from holdfast.text.lexicon.geography import NATIONALITIES
from holdfast.text.lexicon.kinship import PETS
from holdfast.text.lexicon.organisations import EMPLOYER

_BELIEFS = "catholic|muslim|christian|jewish|hindu|buddhist|vegan|sorry|fine|back|done|sure|here|late|ready|not"
_HOME = "Where does {s} live?|Which city does {s} live in?|Where is {s}'s home?"
_WORK = "Where does {s} work?|Who is {s}'s employer?|Which company does {s} work for?"
_TITLE = "What does {s} do for a living?|What is {s}'s job?|What is {s}'s profession?"
_JOB = rf"(?P<v>(?:[\w-]+ ){{0,3}}(?:{'|'.join(JOBS)}))\b"
_LIVES = (
    r"(?:live|lives|reside|resides|(?:am|are|is) (?:living|based|located|staying permanently)|"
    r"have been living|has been living) "
)
_MOVES = r"(?:have |has )?(?:moved|relocated)(?: back| away| over| house)?(?: from (?-i:[A-Z]\w+(?: [A-Z]\w+)?))? "
ROWS = (
    fact_row(
        "address",
        _LIVES + r"at (?P<v>\d+\w?,? [^;]{3,80})",
        "address",
        0.9,
        "What is {s}'s address?|Where does {s} live?",
    ),
    fact_row("home", _LIVES + r"(?:in|near|at) " + PROPER_NAME, "home-city", 0.92, _HOME),
    fact_row(
        "home",
        _LIVES + r"in (?!a\b|an\b|the\b|my\b|fear\b|hope\b|this\b)" + LOWERCASE_NAME,
        "home-city",
        0.7,
        _HOME,
        lower=True,
    ),
    fact_row(
        "dwelling",
        _LIVES + r"(?:in|on) (?P<v>an? [^,;]{3,50})",
        "dwelling",
        0.75,
        "What kind of place does {s} live in?|Where does {s} live?",
    ),
    fact_row("moved", _MOVES + r"to " + PROPER_NAME, "home-city", 0.9, _HOME, content="{S} {lives} in {V}"),
    fact_row(
        "moved",
        _MOVES + r"to (?!a\b|an\b|the\b|my\b)" + LOWERCASE_NAME,
        "home-city",
        0.65,
        _HOME,
        content="{S} {lives} in {V}",
        lower=True,
    ),
    fact_row(
        "origin",
        r"(?:am|are|is|come|comes|came) (?:originally )?from " + PROPER_NAME,
        "origin",
        0.88,
        "Where is {s} from?|What is {s}'s country of origin?|Where does {s} come from?",
    ),
    fact_row(
        "nationality",
        rf"(?:am|is) (?P<v>{'|'.join(NATIONALITIES)})$",
        "nationality",
        0.82,
        "What is {s}'s nationality?|Where is {s} from?|What nationality is {s}?",
    ),
    fact_row(
        "birthplace",
        r"(?:was|were) born (?:and raised )?in " + PROPER_NAME,
        "birthplace",
        0.9,
        "Where was {s} born?|What is {s}'s birthplace?|Where is {s} from?",
    ),
    fact_row(
        "birthday",
        r"(?:was|were) born (?:on|in) (?P<v>.*\d.*)",
        "birthday",
        0.88,
        "When was {s} born?|When is {s}'s birthday?|How old is {s}?",
    ),
    fact_row(
        "raised",
        r"grew up in " + PROPER_NAME,
        "raised-in",
        0.88,
        "Where did {s} grow up?|Where is {s} from?|Where did {s} spend their childhood?",
    ),
    fact_row(
        "employer",
        r"(?:work|works|(?:am|are|is) working|(?:have|has) been working|(?:am|are|is) employed) "
        r"(?:(?:full|part)[- ]time )?(?:as an? [\w -]{2,40} )?(?:at|for|with) (?:a (?:company|"
        r"startup) called )?" + PROPER_NAME,
        "employer",
        0.9,
        _WORK,
    ),
    fact_row("employer", r"(?:am|are|is) an? [\w -]{2,40} (?:at|for|with) " + PROPER_NAME, "employer", 0.85, _WORK),
    fact_row(
        "employer",
        r"(?:have |has )?(?:am now at|(?:started|began)(?: a (?:new )?(?:job|position|role))?(?: working)? "
        r"(?:at|for|with)|got (?:a|the) (?:new )?(?:job|position|role) (?:at|with)|got hired (?:at|by)) " + PROPER_NAME,
        "employer",
        0.82,
        _WORK,
        content="{S} {works} at {V}",
    ),
    fact_row(
        "employer",
        r"(?:have |has )?(?:just |recently )?joined "
        rf"(?=(?-i:{EMPLOYER})|\S+(?: \S+){{0,3}} as (?:an? |the |their )?[a-z]){PROPER_NAME}",
        "employer",
        0.82,
        _WORK,
        content="{S} {works} at {V}",
    ),
    fact_row(
        "employer",
        r"(?:am|are|is) starting (?:(?:a |my |the )?(?:new )?(?:job|position|role|work) )?(?:at|with) " + PROPER_NAME,
        "employer",
        0.82,
        _WORK,
    ),
    fact_row(
        "employer",
        r"(?:have |has )?(?:just |recently )?(?:moved|switched|transferred|gone|went)(?: jobs| over| across)? to "
        rf"(?P<v>(?-i:{EMPLOYER}))",
        "employer",
        0.82,
        _WORK,
        content="{S} {works} at {V}",
    ),
    fact_row(
        "job",
        r"(?:work|works|working|(?:am|is|are) working|(?:have|has) been working|(?:am|is) employed) "
        r"as (?:an? |the )?(?P<v>[\w -]{3,50}?)(?= (?:at|for|in|with|and|since)\b|$)",
        "job-title",
        0.88,
        _TITLE,
    ),
    fact_row(
        "employer",
        rf"(?:am|are) at {PROPER_NAME}(?=,? (?:and|as) (?:[\w-]+ ){{0,3}}(?:{'|'.join(JOBS)})\b)",
        "employer",
        0.8,
        _WORK,
    ),
    fact_row("job", rf"(?:am|are) at [\w .&'-]{{2,40}}?,? (?:and|as) (?:an? |the )?{_JOB}", "job-title", 0.8, _TITLE),
    fact_row("job", rf"(?:was|got|have been) promoted to (?:an? |the )?{_JOB}", "job-title", 0.85, _TITLE),
    fact_row(
        "job",
        rf"(?:am|is|became|have become|has become) (?:an? |the |their |our )(?:new )?{_JOB}",
        "job-title",
        0.85,
        _TITLE,
    ),
    fact_row(
        "job", rf"(?:work|works) (?:at|for) [\w .&'-]{{2,40}}? as (?:an? |the )?{_JOB}", "job-title", 0.85, _TITLE
    ),
    fact_row(
        "field",
        r"(?:work|works|am working|is working) in (?P<v>(?!a\b|an\b|the\b|my\b|this\b|any\b|"
        r"some\b)[a-z][\w -]{2,30})$",
        "work-field",
        0.75,
        _TITLE,
    ),
    fact_row("retired", r"(?:am|is) (?P<v>retired|unemployed|self-employed|between jobs)", "employment", 0.85, _TITLE),
    fact_row(
        "name",
        rf"am (?!(?i:{'|'.join(NATIONALITIES)}|{_BELIEFS})\b)(?-i:(?P<v>[A-Z][a-z]{{2,14}}))$",
        "name",
        0.8,
        "What is {s}'s name?|What is {s} called?|Who is {s}?",
    ),
    fact_row(
        "name",
        r"(?:am|is) (?:called|named) (?-i:(?P<v>[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2}))",
        "name",
        0.9,
        "What is {s}'s name?|What is {s} called?|Who is {s}?",
    ),
    fact_row(
        "age",
        r"(?:am|is|turned|just turned) (?P<v>\d{1,3}|twenty|thirty|forty|fifty|sixty)(?: years old| "
        r"years? of age|$|(?= (?:and|now|today|last|this|yesterday|in|on)\b))",
        "age",
        0.85,
        "How old is {s}?|What is {s}'s age?|When was {s} born?",
    ),
    fact_row(
        "height",
        r"(?:am|is) (?P<v>\d[\d.,]* ?(?:cm|m|ft|feet|foot|')[^,;]{0,12}?)(?: tall)?$",
        "height",
        0.85,
        "How tall is {s}?|What is {s}'s height?",
    ),
    fact_row(
        "weight",
        r"weighs? (?P<v>\d[\d.,]* ?(?:kg|kilos|lbs?|pounds|stone))",
        "weight",
        0.85,
        "How much does {s} weigh?|What is {s}'s weight?",
    ),
    fact_row(
        "size",
        r"wears? (?:an? )?(?P<k>shoe |shirt |dress )?size (?P<v>[\w./]{1,6})",
        "{k}size",
        0.85,
        "What size does {s} wear?|What is {s}'s size?",
    ),
    fact_row(
        "partner",
        r"(?:am|are|is) (?:happily )?(?:married|engaged) to (?:my \w+ )?" + PROPER_NAME,
        "partner",
        0.9,
        "Who is {s} married to?|Who is {s}'s partner?|Is {s} married?",
    ),
    fact_row(
        "status",
        r"(?:am|are|is) (?P<v>married|single|divorced|engaged|widowed)\b(?! to\b)",
        "marital-status",
        0.82,
        "Is {s} married?|What is {s}'s marital status?|Does {s} have a partner?",
    ),
    fact_row(
        "pregnancy",
        r"(?:am|are|is) (?P<v>pregnant|expecting(?: a baby| twins| our \w+)?)\b(?! that\b)",
        "pregnancy",
        0.82,
        "Is {s} pregnant?|Is {s} expecting a baby?",
    ),
    fact_row(
        "named-one",
        r"(?:have|has|own|owns|adopted|got) (?:an? |another )?(?P<adj>[\w-]+ ){0,3}(?P<k>"
        rf"{'|'.join(PETS)}|son|daughter|brother|sister|baby)s? (?:named|"
        r"called|whose name is) " + PROPER_NAME,
        "{k}-{v}",
        0.9,
        "What is the name of {s}'s {k}?|Does {s} have a {k}?|Who is {v}?",
    ),
    fact_row(
        "counted",
        rf"(?:have|has|own|owns) (?P<v>{NUMBER} (?:[\w-]+ ){{0,2}}?(?P<k>{'|'.join(COUNTED)}))\b",
        "{k}",
        0.85,
        "How many {k} does {s} have?|Does {s} have {k}?|What {k} does {s} have?",
    ),
    fact_row(
        "allergy",
        r"(?:am|are|is) (?:(?:\w+ly) )?allergic to (?P<v>[\w, -]{2,60}?)"
        r"(?=,? (?:so|and i|since|which|but|btw|tho|though)\b|$)",
        "allergy-{v}",
        0.93,
        "What is {s} allergic to?|Does {s} have allergies?|Is {s} allergic to {v}?",
    ),
    fact_row(
        "allergy",
        r"(?:have|has) (?:an? )?(?:\w+ )?(?P<v>[\w-]+) allerg(?:y|ies)",
        "allergy-{v}",
        0.9,
        "What is {s} allergic to?|Does {s} have allergies?|Is {s} allergic to {v}?",
    ),
    fact_row(
        "intolerance",
        r"(?:am|is) (?P<v>lactose|gluten|fructose|histamine)[ -]intolerant",
        "intolerance-{v}",
        0.92,
        "What can {s} not eat?|Does {s} have intolerances?|Is {s} {v} intolerant?",
    ),
    fact_row(
        "condition",
        r"(?:have|has|suffer from|suffers from|was diagnosed with) (?:an? )?(?P<v>(?:type [12] |"
        rf"chronic |severe |mild )?(?:{'|'.join(CONDITIONS)}))\b",
        "condition-{v}",
        0.88,
        "Does {s} have health conditions?|Does {s} have {v}?|What is {s}'s medical history?",
    ),
)
