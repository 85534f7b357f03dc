"""Pure: a closed JSON schema as the hosted providers take it. Local servers take every word, and profit by maxItems."""

from __future__ import annotations

from typing import Any

_KEPT = frozenset(("$defs", "$ref", "type", "enum", "const", "anyOf", "allOf", "properties", "required", "items",
                   "additionalProperties", "description", "title", "format"))  # fmt: skip
"""The words of JSON schema that structured output knows; any other is refused, and the reader checks it anyway."""


def known_words(schema: Any) -> Any:
    """The schema without the words that structured output refuses, such as maxLength and pattern."""
    kept: dict[str, Any] = {}
    for word, value in schema.items():
        if word in ("properties", "$defs"):
            kept[word] = {name: known_words(each) for name, each in value.items()}
        elif word == "items":
            kept[word] = known_words(value)
        elif word in ("anyOf", "oneOf", "allOf"):
            kept["anyOf" if word == "oneOf" else word] = [known_words(each) for each in value]
        elif word in _KEPT or (word == "minItems" and value in (0, 1)):
            kept[word] = value
    return kept
