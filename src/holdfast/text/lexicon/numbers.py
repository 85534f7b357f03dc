"""Numbers in words, and the pattern pieces that match them."""

from __future__ import annotations

from holdfast.text.lexicon import word_list

ONE_TO_NINETEEN = word_list(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS = word_list("twenty thirty forty fifty sixty seventy eighty ninety")
ORDINALS = word_list(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third "
    "twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
)
ONE_TO_TEN = ONE_TO_NINETEEN[:10]
ONE_TO_TWELVE = ONE_TO_NINETEEN[:12]

A_NUMBER_TO_TEN = "|".join(ONE_TO_TEN)
A_NUMBER_TO_TWELVE = "|".join(ONE_TO_TWELVE)
A_COMMON_NUMBER = f"{A_NUMBER_TO_TWELVE}|a dozen|twenty|thirty"
"""Alternatives for a pattern: the numbers that people count everyday things with."""
A_LARGER_NUMBER = "|".join([*ONE_TO_TWELVE[1:], *TENS])
"""Alternatives for a pattern: two to twelve and the tens; "one" is mostly not used as a number."""
