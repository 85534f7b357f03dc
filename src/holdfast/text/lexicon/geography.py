"""Countries, cities, languages and nationalities."""

from __future__ import annotations

from holdfast.text.lexicon import word_list

COUNTRIES = frozenset(
    word_list(
        "argentina australia austria bangladesh belgium brazil bulgaria canada chile china colombia croatia cyprus "
        "czechia denmark egypt england estonia ethiopia finland france germany ghana greece hungary iceland india "
        "indonesia iran iraq ireland israel italy jamaica japan kenya korea latvia lebanon lithuania luxembourg "
        "malaysia malta mexico morocco nepal netherlands nigeria norway pakistan panama peru philippines poland "
        "portugal romania russia scotland serbia slovakia slovenia spain sweden switzerland taiwan thailand tunisia "
        "turkey ukraine uruguay usa us uk venezuela vietnam wales"
    )
) | {
    "united states", "united kingdom", "new zealand", "south africa", "south korea", "saudi arabia", "costa rica",
    "hong kong", "sri lanka", "the netherlands", "the us", "the uk", "the usa", "the united states",
    "the philippines",
}  # fmt: skip
CITIES = frozenset(
    word_list(
        "amsterdam antwerp athens atlanta auckland austin baltimore bangalore bangkok barcelona basel beijing belfast "
        "belgrade berlin bern bilbao birmingham bologna bordeaux boston bremen brisbane bristol brooklyn brussels "
        "bucharest budapest cairo calgary cambridge chicago cologne copenhagen cork dallas delhi denver detroit "
        "dresden dubai dublin düsseldorf edinburgh eindhoven florence frankfurt geneva genoa ghent glasgow gothenburg "
        "graz hamburg hanoi hanover helsinki houston istanbul jakarta kraków krakow kyiv kyoto lagos leeds leipzig "
        "lille lima lisbon liverpool ljubljana london luxembourg lyon madrid malmö manchester marseille melbourne "
        "miami milan minneapolis montreal moscow mumbai munich nairobi nantes naples nice nuremberg osaka oslo ottawa "
        "oxford palermo paris perth philadelphia phoenix pittsburgh porto portland prague riga rome rotterdam "
        "salzburg santiago seattle seoul seville shanghai sheffield singapore sofia stockholm stuttgart sydney taipei "
        "tallinn tokyo toronto toulouse turin utrecht valencia vancouver venice vienna vilnius warsaw wellington "
        "zagreb zurich zürich"
    )
) | {"new york", "san francisco", "los angeles", "cape town", "mexico city", "buenos aires", "tel aviv", "san diego"}
_OTHER_PLACES = frozenset(
    word_list(
        "afghanistan africa albania algeria ankara armenia asia azerbaijan baghdad bavaria beirut bogota bogotá "
        "bolivia bosnia bratislava bruges california cambodia cameroon canberra cardiff casablanca catalonia chengdu "
        "cuba dakar damascus dhaka dortmund dubrovnik durban ecuador essen europe faro fukuoka galway gdansk granada "
        "grenoble groningen guangzhou guatemala haiti hannover havana heidelberg hiroshima honduras hongkong "
        "innsbruck islamabad jerusalem johannesburg karachi kathmandu kazakhstan kiev kobe kosovo kuwait lahore laos "
        "lausanne leiden libya maastricht madagascar malaga manila marrakesh minsk moldova mongolia montenegro "
        "montevideo montpellier mozambique myanmar málaga nagoya namibia nara newcastle nicaragua nicosia nottingham "
        "oman paraguay pisa podgorica pristina qatar quito reykjavik rwanda sapporo sarajevo senegal shenzhen skopje "
        "somalia strasbourg sudan syria tanzania tartu tbilisi tehran texas thessaloniki tirana toledo trieste uganda "
        "uzbekistan verona wroclaw yemen yerevan zambia zanzibar zaragoza zimbabwe"
    )
) | {
    "addis ababa", "den haag", "ho chi minh city", "kuala lumpur", "las vegas", "new delhi", "new orleans",
    "new york city", "northern ireland", "puerto rico", "rio de janeiro", "sao paulo", "st. petersburg", "são paulo",
    "the hague", "united arab emirates",
}  # fmt: skip
_NOT_IN_PLACES = frozenset(
    word_list(
        "atlanta austin baltimore bangalore brooklyn cork dallas florence hanover korea lima milan nice perth phoenix "
        "portland sofia us"
    )
) | {"the netherlands", "the philippines", "the uk", "the united states", "the us", "the usa"}
"""Countries and cities that are not in `PLACES`: names of people and ordinary words ("nice", "sofia", "us"), names with
an article, and some that were left out for no known reason."""
PLACES = (COUNTRIES | CITIES | _OTHER_PLACES) - _NOT_IN_PLACES
"""Countries and cities whose names hardly ever mean anything else."""

COMMON_LANGUAGES = word_list(
    "english german french spanish portuguese italian dutch polish russian ukrainian czech greek turkish arabic "
    "hebrew hindi mandarin cantonese chinese japanese korean vietnamese thai swedish norwegian danish finnish"
)
LANGUAGES = COMMON_LANGUAGES + word_list(
    "urdu bengali tamil hungarian romanian bulgarian serbian croatian swahili farsi persian catalan irish welsh latin"
)
NATIONALITIES = word_list(
    "american argentine australian austrian belgian brazilian british bulgarian canadian chilean chinese "
    "colombian croatian czech danish dutch egyptian english estonian ethiopian finnish french german ghanaian "
    "greek hungarian icelandic indian indonesian iranian irish israeli italian japanese kenyan korean latvian "
    "lebanese lithuanian mexican moroccan nigerian norwegian pakistani peruvian polish portuguese romanian "
    "russian scottish serbian slovak slovenian spanish swedish swiss syrian thai turkish ukrainian vietnamese "
    "welsh"
)
