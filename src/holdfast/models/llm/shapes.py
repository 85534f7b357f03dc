"""The closed shapes of every answer, as JSON schemas for the model and as checks for what it says.

The schemas use only what every provider enforces: types, enums and required fields. Lengths and counts are checked
here, since none of them can be trusted with it.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

LONGEST = 2_000
"""Characters of one statement."""
Kind = Literal["fact", "event", "instruction", "task"]
Check = Literal["entity", "object", "location", "time", "organisation", "completeness", "relations", "support"]
Text = Annotated[str, Field(max_length=LONGEST)]
Word = Annotated[str, Field(max_length=200)]


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Item(Shape):
    statement: Text
    lines: Annotated[list[int], Field(max_length=50)]
    quote: Text


class Items(Shape):
    items: Annotated[list[Item], Field(max_length=200)]


class Verdict(Shape):
    number: int
    verdict: Literal["pass", "correct", "drop"]
    statement: Text | None
    failed: Check | None
    reason: Text


class Verdicts(Shape):
    verdicts: Annotated[list[Verdict], Field(max_length=200)]


class Filed(Shape):
    number: int
    kind: Kind
    key: Word | None
    summary: Text
    keywords: Annotated[list[Word], Field(max_length=20)]
    queries: Annotated[list[Word], Field(max_length=20)]


class Filing(Shape):
    filed: Annotated[list[Filed], Field(max_length=200)]


class Compared(Shape):
    number: int
    verdict: Literal["same", "replaces", "apart"]


class Comparison(Shape):
    verdicts: Annotated[list[Compared], Field(max_length=200)]


class Analysis(Shape):
    keys: Annotated[list[Word], Field(max_length=20)]
    terms: Annotated[list[Word], Field(max_length=40)]
    answer: Text


class Summary(Shape):
    summary: Annotated[str, Field(max_length=4_000)]


class Answered(Shape):
    supported: bool
    answer: Annotated[str, Field(max_length=8_000)]
    cited: Annotated[list[int], Field(max_length=100)]


S = TypeVar("S", bound=Shape)


@cache
def schema(shape: type[Shape]) -> dict[str, Any]:
    """The shape as a JSON schema that OpenAI's and Anthropic's strict modes and llama.cpp's grammars all take."""
    full = shape.model_json_schema()
    whole: dict[str, Any] = _plain(full, full.get("$defs", {}))
    return whole


def _plain(part: Any, named: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_plain(each, named) for each in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _plain(named[part["$ref"].rpartition("/")[2]], named)
    kept = {name: value for name, value in part.items() if name in ("type", "enum", "items", "anyOf", "required")}
    kept = {name: _plain(value, named) for name, value in kept.items()}
    if "properties" in part:
        kept |= {"properties": {name: _plain(value, named) for name, value in part["properties"].items()}}
        kept |= {"required": list(part["properties"]), "additionalProperties": False}
    return kept


def reader(shape: type[S]) -> Any:
    """A check for `reading.answered`: the shape, or ValueError with what is wrong and where, and no value repeated."""

    def read(found: Any) -> S:
        try:
            return shape.model_validate(found)
        except ValidationError as wrong:
            told = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in wrong.errors()[:5])
            raise ValueError("; ".join(told)) from None

    return read
