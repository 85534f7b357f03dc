"""Time expressions made absolute: "last spring" and a reference date give a window.

The invariant: pure and linear. One pass over the words of at most `SCANNED` characters, at most `FOUND` windows; each
word that can open an expression tries a few anchored patterns without nested quantifiers, so hostile text costs no more
than ordinary text of its length.

Choices, where English leaves one. Weeks start on Monday, seasons are northern and meteorological. "last Friday" is the
latest Friday before today, "this Friday" the coming one (today included), "next Friday" the Friday of next week. "Two
weeks ago" is that calendar week, months and years likewise; "a few" is 2 to 5, "a couple" 2 to 3. A bare "Friday",
"in May" or "3 March" leans the way the clause does ("went", "will"); without a lean, weekdays and "the 14th" look
ahead and the rest takes the nearest. "since X" ends with today. "before X" and "after X" are open: they reach to
OPEN_START or OPEN_STOP, as does "until X" when X is over. "every second Monday" is its first occurrence on or after
today; "every Monday" is no date. A day's "evening" is 17 to 24 o'clock; the clock is otherwise not read. Early, mid and
late are thirds. "within two weeks" starts today. Holidays that move are the United States' and western Easter's.

To read this code: `reading` walks the text and asks `rules`, whose builders live in `named`, `dated`, `counted`,
`holidays` and `recurring`; `pairs` and `modifiers` then let neighbouring words join or change what was found.
"""

from .reading import FOUND, SCANNED, window, windows
from .spans import OPEN_START, OPEN_STOP, Window
from .wording import phrase

__all__ = ["Window", "window", "windows", "phrase", "OPEN_START", "OPEN_STOP", "SCANNED", "FOUND"]
