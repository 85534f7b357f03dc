"""Turns time expressions into absolute windows: "last spring" and a reference date give a start and a stop.

The invariant: pure and linear. One pass over the words of at most `MAX_SCANNED_CHARS` characters, at most `MAX_WINDOWS`
windows; each word that can open an expression tries a few anchored patterns without nested quantifiers, so hostile text
costs no more than ordinary text of its length.

Choices, where English leaves one. Weeks start on Monday, seasons are northern and meteorological. "last Friday" is the
latest Friday before today, "this Friday" the coming one (today included), "next Friday" the Friday of next week. A bare
weekday is never today, unless a part of today still to come is named ("Friday night"). "Two weeks ago" is that calendar
week, months and years likewise; "a few" is 2 to 5, "a couple" 2 to 3. A bare "Friday", "in May" or "3 March" takes the
tense of its clause ("went", "will"); without a tense, weekdays and "the 14th" look ahead and the rest takes the
nearest. After a date in the same sentence "the 14th" is the next one after that date, and "until" reaches from it.
12/05/2027 is no date unless the text's other dates tell which number is the day. "since X" ends with today. "before X"
and "after X" are open: they reach to OPEN_START or OPEN_STOP, as does "until X" when X is over. "every second Monday"
and "31 March every year" are their first occurrence on or after today, marked as recurring, and so are the days of a
habit ("open Tuesday to Saturday"), which `meant_window` leaves out; "every Monday" is no date. A time that the text
rules out ("instead of the 3rd") is marked as denied; `meant_window` returns the one that holds. A day's "evening" is 17
to 24 o'clock; the clock is otherwise not read. Early, mid and late are thirds, the end of a month is its last week. A
date of last year needs a year or a past tense if it is more than three months ago and still to come this year. "within
two weeks" starts today. Holidays that move are the United States' and western Easter's.

To read this code: `parse` walks the text and asks `rules`, whose builders are in `named_periods`, `calendar`,
`offsets`, `holidays` and `recurrence`; `ranges` and `modifiers` then let neighbouring words join or change the
windows, and `negation` marks those that are not meant.
"""

from holdfast.text.dates.context import day_first, is_in_past_clause
from holdfast.text.dates.negation import meant_window
from holdfast.text.dates.parse import MAX_SCANNED_CHARS, MAX_WINDOWS, window, windows
from holdfast.text.dates.recurrence import is_yearly_day
from holdfast.text.dates.spans import OPEN_START, OPEN_STOP, Window
from holdfast.text.dates.wording import window_phrase, written_date

__all__ = [
    "Window", "window", "windows", "meant_window", "window_phrase", "written_date", "day_first", "OPEN_START",
    "OPEN_STOP", "MAX_SCANNED_CHARS", "MAX_WINDOWS", "is_yearly_day",
    "is_in_past_clause",
]  # fmt: skip
