"""Pure: courtesies, the texts that say nothing to remember: "OK.", "Thanks Kim!", "Let me know if you need more."

A text is a courtesy when it consists of such phrases only, or has no letter and no digit. Anything else in it, a name
that is not being addressed or a figure, makes it more than that: "Thanks to Kim", "Yes, in the morning".
"""

from __future__ import annotations

import re
from functools import cache

from holdfast.text.cache import cached_by_text

MAX_COURTESY_CHARS = 80
"""A longer text is taken for more than a courtesy. Chosen by hand: it also bounds the work of the pattern."""
_PRAISE = (
    r"(?:good|great|fine|nice|perfect|excellent|awesome|wonderful|amazing|brilliant|lovely|fantastic|super|cool|right|"
    r"correct|clear|true|helpful|better|fair enough)"
)
_ADDRESSED = (
    r"(?:many )?(?:thanks|thank you|thx|ty|cheers)(?: (?:(?:so|very) much|a lot|a million|a bunch|again|in advance|"
    r"anyway|everyone|all|for (?:that|this|it|everything|now|asking|checking|your (?:help|time|patience)|the "
    r"(?:help|info|update|reminder)|letting me know)))*",
    r"(?:hi|hello|hey|hiya)(?: there| again| everyone| all)*",
    r"good (?:morning|afternoon|evening|night|day)",
    r"(?:bye|goodbye|see you(?: (?:later|soon|then|tomorrow))?|talk (?:to you )?(?:later|soon))(?: bye)?",
    r"(?:you(?:'re| are)|ur) (?:very |most )?welcome",
    r"(?:good|great|nice) (?:work|job|one)|well done|congrat(?:s|ulations)",
    r"(?:(?:i'?m|i am) )?(?:so |very )?sorry(?: (?:about|for) (?:that|this|it|the (?:delay|confusion|trouble)))?",
    "danke(?: schön| sehr| dir| ihnen)?|vielen dank|merci(?: beaucoup)?|(?:muchas )?gracias|grazie(?: mille)?|"
    "(?:muito )?obrigad[oa]|bedankt|dank je|hallo|bonjour|hola|ciao|olá",
)
"""Phrases that a name may follow."""
_PHRASES = (
    r"o+k(?:ay|ey)?|k+|yes|yep|yeah|yup|yea|no|nope|nah|sure(?: thing)?|certainly|absolutely|definitely|exactly|indeed",
    r"agreed|alright|of course|no (?:worries|problem|thanks|need)|my (?:pleasure|bad|mistake)|not at all|np|yw|lgtm",
    r"sgtm|great minds",
    rf"(?:(?:that|this|it|all|everything)(?:'?s| is| was| looks?| sounds?| works?)?|sounds|looks) (?:all |very |so |"
    rf"really |pretty )?(?:{_PRAISE}|to me)(?: (?:to|for|by|with) me)?",
    rf"(?:very |so |really |all |how )?{_PRAISE}(?: then| enough| too)?",
    r"(?:(?:that |it )?(?:works|makes sense|helps|will do|does it))(?: (?:for me|now|great|well|a lot))?",
    r"(?:good|great|glad|nice|happy)(?: i could help| to (?:hear|know|see|help|read)(?: (?:that|it|this|from you))?)",
    r"(?:i )?(?:got|get) (?:it|that|you)|gotcha|i (?:see|know|agree|understand|hope so|think so|guess so)|noted|"
    r"understood|all (?:set|done)|will do|(?:i'?m )?on it|done(?: that)?",
    r"please(?: do)?|yes please|pls|(?:please )?(?:go (?:ahead|on)|continue|proceed|carry on|keep going|do "
    r"(?:it|so|that))|next(?: one| please)?|again|one moment|just a (?:moment|second|sec)|"
    r"let'?s (?:go|do (?:it|this|that)|continue)",
    r"have a (?:nice|good|great|lovely) (?:day|evening|night|weekend|one|time)|good luck|take care|you too",
    r"same(?: here)?",
    r"(?:just |please )?let me know(?: (?:if|when) (?:you (?:need|want|have) (?:any(?:thing| more| other)?|more|"
    r"something)(?: (?:else|help|questions))*|(?:there(?:'s| is) )?anything else|that (?:helps|works)))?",
    r"(?:how|what) (?:can|may) i (?:help|do)(?: (?:you|for you))?(?: (?:with|today|now))*|(?:is there )?anything else"
    r"(?: i can (?:help|do)(?: (?:you|for you))?(?: with)?)?(?: today)?|happy to help(?: anytime)?",
    r"h+m+|a+h+|o+h+|u+h+|u+m+|(?:ha)+h?|lol|wow|yay|oops|whoops|aww+|ugh|phew",
    "ja|nein|bitte(?: schön| sehr)?|alles klar|gut|prima|oui|non|d'accord|s'il (?:te|vous) plaît|de rien|sí|claro|vale|"
    "por favor|de nada|certo|va bene|prego|sim|não|спасибо|да|нет|хорошо|谢谢|好的|好|是的|"
    "ありがとう(?:ございます)?|はい|감사합니다|네",
)
_LINKS = r"and|but|so|then|now|just|well|also|too|for now|as well|very much"
_NAMES = r"(?:,? (?-i:[A-ZÀ-ÖØ-Þ])[\w'’-]*){0,2}"
_GAP = r"(?:[\s,;:.!?…)(-]+|$)"


def is_courtesy(text: str) -> bool:
    """Whether a text says nothing to remember."""
    return len(text) <= MAX_COURTESY_CHARS and _is_courtesy(text)


@cached_by_text
def _is_courtesy(text: str) -> bool:
    plain = re.sub(r"[^\w\s',;:.!?…()-]+", " ", text.replace("’", "'")).strip(" ,;:.!?…()-\n\t")
    return not any(map(str.isalnum, plain)) or _pattern().fullmatch(plain) is not None


@cache
def _pattern() -> re.Pattern[str]:
    """Compiled at first use: most programs never ask."""
    phrases = [rf"(?:{'|'.join(_ADDRESSED)}){_NAMES}", *_PHRASES, _LINKS]
    return re.compile(rf"(?:(?:{'|'.join(phrases)}){_GAP})+", re.I)
