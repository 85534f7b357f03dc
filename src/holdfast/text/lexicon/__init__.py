"""Word lists: one definition of each piece of knowledge about words.

A place that needs other words than the rest adds them by name where it uses the list: `MALE | {"godson"}`.
"""


def word_list(text: str) -> list[str]:
    """The words of a text, in order."""
    return text.split()
