"""Patterns for what people eat, like, use, speak, study, decide and do regularly."""

from __future__ import annotations

from holdfast.models.rules.patterns.row import fact_row
from holdfast.text.lexicon.calendar import A_FULL_WEEKDAY
from holdfast.text.lexicon.geography import LANGUAGES
from holdfast.text.lexicon.negation import CANNOT, DO_NOT
from holdfast.text.lexicon.numbers import A_NUMBER_TO_TEN

_LIKE = "What does {s} think of {v}?|Does {s} like {v}?|What are {s}'s likes and dislikes?"
_DIET = "What does {s} eat?|What is {s}'s diet?|Does {s} have dietary restrictions?"
_THING = (
    r"(?!that\b|this\b|it\b|these\b|those\b|your\b|the (?:idea|way|fact|sound|look|first|second|"
    r"suggestion|concept|option|thought)|"
    r"how\b|what\b|when\b|to (?:know|see|hear|add|get|learn|make|keep|have|be|start|try|use|focus|"
    r"create|think|do|find|ask)\b|"
    r"their\b|its\b|the (?!(?-i:[A-Z])|beach|sea|ocean|mountains|outdoors|rain|snow|cold|city|"
    r"countryside|forest|gym|theat|cinema|opera|colou?r\b)|all\b|them\b|you\b|her\b|him\b|both\b|"
    r"being able|having\b|most of|some of|each\b)"
)

ROWS = (
    fact_row(
        "diet",
        r"(?:am|are|is|became|went|(?:have|has) been|have become|have gone|turned) (?:an? )?(?:strict )?(?P<v>vegan|"
        r"vegetarian|pescatarian|flexitarian|keto|gluten-free|halal|kosher|omnivore)\b",
        "diet",
        0.9,
        _DIET,
    ),
    fact_row(
        "diet",
        r"(?:follow|follows|keep|keeps|am on|is on|eat|eats) (?:an? )?(?P<v>(?:[\w-]+ )?(?:vegan|"
        r"vegetarian|keto|paleo|gluten-free|halal|kosher|mediterranean|low-carb))(?: (?:diet|food))?",
        "diet",
        0.85,
        _DIET,
    ),
    fact_row(
        "diet",
        rf"(?:(?:{DO_NOT}|{CANNOT}) )?(?:eats?|drinks?) (?P<v>meat|fish|red "
        r"meat|pork|beef|dairy|gluten|alcohol|coffee|tea|soda|milk)\b",
        "{diet}",
        0.85,
        _DIET,
    ),
    fact_row(
        "seat",
        r"(?:prefer|prefers|like|likes|want|always (?:take|book|choose)) (?:an? |the )?(?P<v>aisle|"
        r"window|front|back|exit row)(?: seats?)?(?=$| (?:on|when|for|in|over|to|because)\b| seats?)",
        "seat-preference",
        0.88,
        "Which seat does {s} prefer?|Does {s} like window or aisle seats?|What is {s}'s seat preference?",
    ),
    fact_row(
        "versus",
        rf"(?:prefer|prefers) {_THING}(?P<v>[\w' -]{{2,40}}?) (?:to|over|rather than|instead of) "
        rf"(?P<w>[\w' -]{{2,40}})$",
        "preference-{pair}",
        0.85,
        "Does {s} prefer {v} or {w}?|What does {s} prefer?|Which does {s} like better, {v} or {w}?",
    ),
    fact_row(
        "prefer-for",
        rf"(?:prefer|prefers) {_THING}(?P<v>[\w'+#. -]{{2,40}}?) for (?P<k>[\w -]{{2,30}})$",
        "preference-{k}",
        0.82,
        "What does {s} prefer for {k}?|What are {s}'s preferences for {k}?",
    ),
    fact_row(
        "likes",
        rf"(?:(?:(?:{DO_NOT}|didn't) )?(?:really |particularly |much )?(?:love|"
        r"like|enjoy|adore|hate|dislike|prefer)s?|can't stand|cannot stand|(?:am|is) (?:an? )?(?:big |"
        r"huge |massive )?fan of|(?:am|is) (?:really )?(?:into|obsessed with|fond of|scared of|afraid "
        rf"of)|loathes?|detests?) {_THING}(?P<v>[\w'&-]+(?: [\w'&-]+){{0,4}})$",
        "opinion-{v}",
        0.72,
        _LIKE,
    ),
    fact_row(
        "car",
        r"(?:drive|drives) (?P<v>(?:an? |my |(?-i:[A-Z]))[^,;]{2,40})$",
        "car",
        0.75,
        "What car does {s} drive?|What does {s} drive?|Which car does {s} have?",
    ),
    fact_row(
        "owns",
        r"(?:own|owns) (?P<v>(?:an? |two |three |\d+ )[^,;]{2,40})",
        "owns-{v}",
        0.75,
        "What does {s} own?|Does {s} own {v}?",
    ),
    fact_row(
        "speaks",
        r"(?:can |am fluent in |is fluent in |(?:am |is )?bilingual in )?(?:speaks? )?(?:fluent |a "
        rf"little |some )?(?P<v>(?:{'|'.join(LANGUAGES)})\b(?:(?:,| and|, and)? (?:some |a little "
        rf")?(?:{'|'.join(LANGUAGES)})\b){{0,5}})",
        "languages",
        0.85,
        "Which languages does {s} speak?|What languages does {s} know?|Does {s} speak {v}?",
    ),
    fact_row(
        "learning",
        r"(?:am|are|is|have been|has been|started) (?:learning|taking lessons in) (?P<v>(?:how to "
        r")?(?:play )?(?:the )?[\w-]+)(?=$| (?:for|since|and|on|at|with|because|through)\b)",
        "learning-{v}",
        0.78,
        "What is {s} learning?|Is {s} learning {v}?",
    ),
    fact_row(
        "studies",
        r"(?:study|studies|(?:am|is) studying|(?:am|is) majoring in|major in|majored in|studied) "
        r"(?P<v>[A-Za-z][\w ]{2,40}?)(?=$| (?:at|in|and|for)\b)",
        "field-of-study",
        0.8,
        "What does {s} study?|What is {s}'s major?|What is {s}'s field of study?",
    ),
    fact_row(
        "studying",
        r"(?:am|is|are) (?:doing|pursuing|finishing|starting|writing) (?:an?|my|his|her|their) (?P<v>(?:PhD|doctorate|"
        r"master's|masters|bachelor's|MBA|diploma|apprenticeship|thesis|dissertation)\b[^,;]{0,80})",
        "",
        0.8,
        "What is {s} studying?|What degree is {s} doing?|What is {s}'s research about?",
    ),
    fact_row(
        "school",
        r"(?:study|studies|studied|(?:am|is) studying|"
        r"(?:am|is) doing (?:an?|my|his|her|their) [\w']+|(?:am|is) an? [\w ]{0,20}student|graduated|"
        r"(?:attend|attends|attended|go to|goes to|went to))(?: [\w ]{2,30})? (?:at|from|to "
        r")?(?-i:(?P<v>(?:the )?(?:University of [A-Z]\w+(?: [A-Z]\w+)?|(?:[A-Z][\w'.&-]* "
        r"){1,3}(?:University|College|School|Institute|Academy)|MIT|UCLA|ETH|NYU|Stanford|Harvard|"
        r"Oxford|Cambridge|Yale|Princeton)))",
        "school",
        0.82,
        "Where does {s} study?|Which university did {s} attend?|Where did {s} go to school?",
    ),
    fact_row(
        "degree",
        r"(?:have|has|hold|holds|got|earned|received|completed|finished|graduated with) (?:an? |my "
        r")?(?P<v>(?:[\w']+ )?(?:degree|PhD|doctorate|MBA|diploma|bachelor's|master's)(?: degree)?(?: "
        r"in [\w ]{3,40}?(?= (?:from|at|in|with|and|last|this)\b|$))?)",
        "degree-{v}",
        0.85,
        "What degree does {s} have?|What did {s} study?|What did {s} graduate in?",
    ),
    fact_row(
        "choice",
        r"(?:have |has )?(?:use|uses|are using|am using|is using|are going with|went with|chose|"
        r"picked|settled on|decided on|decided to (?:use|go with|adopt)|agreed (?:on|to use)|agreed "
        r"to go with|standardi[sz]ed on|switched to|migrated to) (?!it\b|this\b|that\b|"
        r"them\b)(?P<v>[\w'+#./-]+(?: [\w'+#./-]+){0,3}?) (?:for|as) (?:our |my |the |all |all our "
        r")?(?P<k>[\w -]{2,40})$",
        "choice-{k}",
        0.85,
        "What does {s} use for {k}?|What was chosen for {k}?|Which tool is used for {k}?",
    ),
    fact_row(
        "decision",
        r"(?:have |has )?(?:decided (?:to|on|against|that)|agreed (?:to|on|that)|are going with|"
        r"settled on|chose to|chose|are switching to|switched (?:from [\w'+#./ -]{2,30} )?to|migrated "
        r"(?:from [\w'+#./ -]{2,30} )?to) (?P<v>(?!it\b|this\b|that$)[^,;]{3,80})",
        "",
        0.72,
        "What did {s} decide?|What was decided about {v}?",
    ),
    fact_row(
        "uses",
        r"(?:use|uses|am using|are using|is using|have been using) (?:an? |the "
        r")?(?-i:(?P<v>[A-Z][\w'+#./-]*(?: [A-Z0-9][\w'+#./-]*){0,3}))(?= |$)",
        "uses-{v}",
        0.68,
        "What does {s} use?|Does {s} use {v}?",
    ),
    fact_row(
        "uses",
        r"(?:have |has )?(?:just |finally )?(?:upgraded|switched|migrated) to "
        r"(?-i:(?P<v>[A-Z][\w'+#./-]*(?: [A-Z0-9][\w'+#./-]*){0,3}))(?= |$)",
        "uses-{v}",
        0.8,
        "What does {s} use?|Does {s} use {v}?|Which {v} does {s} use?",
        content="{S} uses {v}",
    ),
    fact_row(
        "hosting",
        r"(?:deploy|deploys|host|hosts|run everything) (?:\w+ )?(?:to|on|with|in) "
        rf"(?!{A_FULL_WEEKDAY})(?P<v>(?-i:[A-Z])[\w. -]{{1,40}}|AWS|GCP)",
        "hosting",
        0.78,
        "Where does {s} deploy?|What hosting does {s} use?",
    ),
    fact_row(
        "timezone",
        r"(?:am|are|is) (?:in|on) (?:the )?(?P<v>(?:UTC|GMT)(?: ?[+-]\d{1,2}(?::\d\d)?)?|CES?T|E[SD]T|"
        r"P[SD]T|C[SD]T|M[SD]T|IST|JST|BST|A?E[SD]T)(?: time ?zone| time)?$",
        "timezone",
        0.85,
        "What is {s}'s time zone?|Which time zone is {s} in?",
    ),
    fact_row(
        "former",
        r"used to (?P<v>(?:live|work|play|smoke|own|study|be|drive|teach|have) [^,;]{2,60})",
        "",
        0.75,
        "What did {s} use to do?|What did {s} do in the past?",
    ),
    fact_row(
        "ongoing",
        r"(?:have|has) been (?P<v>\w+ing [^,;]{2,60}? (?:for (?:about |over |almost |the past "
        rf")?(?:\d+|an?|{A_NUMBER_TO_TEN}|several|a few|many) (?:day|"
        r"week|month|year|decade)s?|since [\w ]{3,20}))",
        "",
        0.72,
        "How long has {s} been doing this?|What has {s} been doing?",
    ),
    fact_row(
        "habit",
        r"(?P<v>(?!need\b|want\b|know\b|get to\b|make sure\b|like to know\b)[a-z]+ "
        r"[^,;]{0,60}?\b(?:every (?:day|morning|night|evening|week|month|year|summer|winter|weekend|"
        r"other \w+|second \w+|\w+day)|(?:once|twice|three times|four times|five times|\d times) an? "
        rf"(?:day|week|month|year)|on {A_FULL_WEEKDAY}s|on weekends|on "
        r"weekdays))",
        "",
        0.7,
        "What does {s} do regularly?|How often does {s} do this?",
    ),
)
