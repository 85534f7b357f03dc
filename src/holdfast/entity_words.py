"""The words that entities.py knows: who people are to each other, what things are, and what is never a name."""

from __future__ import annotations


def _all(relation: str, words: str) -> dict[str, str]:
    return dict.fromkeys(words.split(), relation)


ROLES: dict[str, str] = {
    **_all("sibling-of", "sister brother sibling twin stepsister stepbrother half-sister half-brother"),
    **_all("married-to", "wife husband spouse"),
    **_all("partner-of", "girlfriend boyfriend partner fiancé fiancée fiance fiancee"),
    **_all("child-of", "mother father mom mum mama dad papa parent stepmother stepfather"),
    **_all("parent-of", "son daughter kid child baby stepson stepdaughter"),
    **_all("reports-to", "boss manager supervisor"),
    **_all("works-with", "colleague coworker co-worker teammate"),
    **_all("friend-of", "friend buddy"),
    **_all("lives-with", "roommate flatmate housemate"),
    **_all("neighbour-of", "neighbour neighbor"),
    **_all("relative-of", "aunt uncle cousin niece nephew grandmother grandfather grandma grandpa granny godson"),
    **_all("relative-of", "mother-in-law father-in-law sister-in-law brother-in-law son-in-law daughter-in-law"),
    **_all("has-pet", "dog cat puppy kitten parrot rabbit horse hamster pet"),
    **_all("client-of", "doctor dentist therapist teacher tutor coach trainer mentor landlord lawyer accountant"),
}
"""Role → what its owner is to whoever has it."""

NOUNS: dict[str, str] = {
    **_all("team", "team department squad committee"),
    **_all("project", "project initiative campaign"),
    **_all(
        "thing", "service api app application database pipeline library module repo repository cluster server queue"
    ),
    **_all("thing", "gateway dashboard server worker scheduler frontend backend website site plugin bot"),
}
"""What a thing's name ends in → the type of thing."""

SUFFIXES: dict[str, str] = {
    **_all("organisation", "inc ltd llc gmbh corp corporation university college hospital bank school institute labs"),
    **_all("organisation", "foundation studio studios robotics airlines group clinic company agency museum"),
    **_all("place", "street avenue road park lake river island beach city square valley bay"),
    **_all("team", "team department"),
}
"""What a name of several words ends in → the type."""

PLACES = frozenset(
    _all(
        "",
        """
        afghanistan albania algeria argentina armenia australia austria azerbaijan bangladesh belgium bolivia bosnia
        brazil bulgaria cambodia cameroon canada chile china colombia croatia cuba cyprus czechia denmark ecuador egypt
        england estonia ethiopia finland france germany ghana greece guatemala haiti honduras hungary iceland india
        indonesia iran iraq ireland israel italy jamaica japan kazakhstan kenya kosovo kuwait laos latvia lebanon libya
        lithuania luxembourg madagascar malaysia malta mexico moldova mongolia montenegro morocco mozambique myanmar
        namibia nepal netherlands nicaragua nigeria norway oman pakistan panama paraguay peru philippines poland
        portugal qatar romania russia rwanda scotland senegal serbia singapore slovakia slovenia somalia spain sudan
        sweden switzerland syria taiwan tanzania thailand tunisia turkey uganda ukraine uruguay usa uk uzbekistan
        venezuela vietnam wales yemen zambia zimbabwe europe africa asia bavaria catalonia california texas
        amsterdam ankara antwerp athens auckland baghdad bangkok barcelona basel beijing beirut belfast belgrade berlin
        bern bilbao birmingham bogotá bogota bologna bordeaux boston bratislava bremen brisbane bristol bruges
        brussels bucharest budapest cairo calgary cambridge canberra cardiff casablanca chengdu chicago cologne
        copenhagen dakar damascus delhi denver detroit dhaka dortmund dresden dubai dublin dubrovnik durban düsseldorf
        edinburgh eindhoven essen faro frankfurt fukuoka galway gdansk geneva genoa ghent glasgow gothenburg granada
        graz grenoble groningen guangzhou hamburg hanoi hannover havana heidelberg helsinki hiroshima hongkong houston
        innsbruck islamabad istanbul jakarta jerusalem johannesburg karachi kathmandu kiev kyiv kobe krakow kraków
        kyoto lagos lahore lausanne leeds leiden leipzig lille lisbon liverpool ljubljana london lyon maastricht madrid
        málaga malaga malmö manchester manila marrakesh marseille melbourne miami minneapolis minsk montevideo
        montpellier montreal moscow mumbai munich nagoya nairobi nantes naples nara newcastle nicosia nottingham
        nuremberg osaka oslo ottawa oxford palermo paris philadelphia pisa pittsburgh podgorica porto prague pristina
        quito reykjavik riga rome rotterdam salzburg santiago sapporo sarajevo seattle seoul seville shanghai shenzhen
        sheffield skopje stockholm strasbourg stuttgart sydney taipei tallinn tartu tbilisi tehran thessaloniki
        tirana tokyo toledo toronto toulouse trieste turin utrecht valencia vancouver venice verona vienna vilnius
        warsaw wellington wroclaw yerevan zagreb zanzibar zaragoza zurich zürich
        """,
    )
) | {
    "new york", "new york city", "los angeles", "san francisco", "san diego", "las vegas", "new orleans", "new zealand",
    "south africa", "south korea", "saudi arabia", "sri lanka", "costa rica", "puerto rico", "united states",
    "united kingdom", "united arab emirates", "hong kong", "são paulo", "sao paulo", "rio de janeiro", "buenos aires",
    "mexico city", "cape town", "tel aviv", "ho chi minh city", "kuala lumpur", "new delhi", "st. petersburg",
    "den haag", "the hague", "northern ireland", "addis ababa",
}  # fmt: skip
"""Countries and cities that are hardly ever anything else."""

MALE = frozenset(_all("", "brother husband boyfriend fiancé fiance father dad papa son uncle nephew grandfather"))
FEMALE = frozenset(
    _all("", "sister wife girlfriend fiancée fiancee mother mom mum mama daughter aunt niece grandmother grandma")
)
"""Roles that a he has, and those that a she has."""

TITLES = ("Dr.", "Mr.", "Mrs.", "Ms.", "Prof.")

ORDINARY = frozenset(
    _all(
        "",
        """
        i a an the this that these those my your his her its our their he she it we they you who what when where why
        how which there here if then than but and or so because although though while after before during since until
        once yes no not never always often sometimes maybe perhaps also just only even still now today tomorrow
        yesterday tonight recently currently lately finally usually generally eventually later soon already again in
        on at by for from to of with without about as into over under between through every each all some any both
        most many much more less few several other another one two three four five six seven eight nine ten first
        second third last next new old good great nice sorry thanks thank hello hi hey dear ok okay please let do
        does did don't doesn't didn't is are was were be been being have has had will would can could should may might
        must shall it's i'm i've i'd i'll he's she's that's there's what's let's we're they're you're everyone
        everybody someone somebody anyone nobody nothing something anything everything people person man woman men
        women kid kids child children family friend friends mother father mom mum dad sister brother wife husband son
        daughter boss manager doctor teacher user assistant customer client agent system note notes task summary
        update reminder question answer fact event example monday tuesday wednesday thursday friday saturday sunday
        mondays tuesdays wednesdays thursdays fridays saturdays sundays weekend weekends
        january february march april may june july august september october november december spring summer autumn
        fall winter morning afternoon evening night week month year christmas easter halloween thanksgiving english
        german french spanish portuguese italian dutch polish russian ukrainian czech greek turkish arabic hebrew
        hindi mandarin cantonese chinese japanese korean vietnamese thai swedish norwegian danish finnish american
        british canadian australian indian european african asian mexican brazilian irish scottish swiss austrian
        wow oh yeah yep haha woah oof hmm aw yay asked anyway well really cool awesome congrats mr mrs ms dr prof sir
        am pm id ids tv pc api url http https json yaml sql html css ci cd ui ux qa hr pr ai ml llm todo faq pdf csv
        usb gps diy aka etc vs ps lol omg btw fyi asap eta
        """,
    )
)
"""What is no name, though a capital may begin it."""
