"""Last words of names of things, and ordinary words that are not names although they may be capitalised."""

from __future__ import annotations

from holdfast.text.lexicon import word_list
from holdfast.text.lexicon.calendar import MONTHS, SEASON_MONTH, WEEKDAYS
from holdfast.text.lexicon.geography import COMMON_LANGUAGES
from holdfast.text.lexicon.numbers import ONE_TO_TEN


def _all(type: str, words: str) -> dict[str, str]:
    return dict.fromkeys(word_list(words), type)


THING_NOUNS: dict[str, str] = {
    **_all("team", "team department squad committee"),
    **_all("project", "project initiative campaign"),
    **_all(
        "thing", "service api app application database pipeline library module repo repository cluster server queue"
    ),
    **_all("thing", "gateway dashboard server worker scheduler frontend backend website site plugin bot"),
}
"""Last word of a thing's name → the type of thing."""

NAME_ENDINGS: dict[str, str] = {
    **_all("organisation", "inc ltd llc gmbh corp corporation university college hospital bank school institute labs"),
    **_all("organisation", "foundation studio studios robotics airlines group clinic company agency museum"),
    **_all("place", "street avenue road park lake river island beach city square valley bay"),
    **_all("team", "team department"),
}
"""Last word of a name with several words → its type."""

ORDINARY_WORDS = frozenset(
    word_list(
        """
        i a an the this that these those my your his her its our their he she it we they you who what when where why
        how which there here if then than but and or so because although though while after before during since until
        once yes no not never always often sometimes maybe perhaps also just only even still now today tomorrow
        yesterday tonight recently currently lately finally usually generally eventually later soon already again in on
        at by for from to of with without about as into over under between through every each all some any both most
        many much more less few several other another first second third last next new old good great nice sorry thanks
        thank hello hi hey dear ok okay please let do does did don't doesn't didn't is are was were be been being have
        has had will would can could should may might must shall it's i'm i've i'd i'll he's she's that's there's
        what's let's we're they're you're everyone everybody someone somebody anyone nobody nothing something anything
        everything people person man woman men women kid kids child children family friend friends mother father mom
        mum dad sister brother wife husband son daughter boss manager doctor teacher user assistant customer client
        agent system note notes task summary update reminder question answer fact event example weekend weekends
        morning afternoon evening night week month year christmas easter halloween thanksgiving american british
        canadian australian indian european african asian mexican brazilian irish scottish swiss austrian wow oh yeah
        yep haha woah oof hmm aw yay asked anyway well really cool awesome congrats mr mrs ms dr prof sir am pm id ids
        tv pc api url http https json yaml sql html css ci cd ui ux qa hr pr ai ml llm todo faq pdf csv usb gps diy aka
        etc vs ps lol omg btw fyi asap eta
        """
    )
) | {*MONTHS, *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS), *SEASON_MONTH, *ONE_TO_TEN, *COMMON_LANGUAGES}
"""Words that are not names, although they may be capitalised."""
