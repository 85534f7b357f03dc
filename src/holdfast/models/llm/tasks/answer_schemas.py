"""The closed shape of every answer, as a JSON schema for the model and as a check of its answer.

The schemas use only what every provider enforces: types, enums and required fields. Lengths and counts are checked
here, because providers do not enforce them reliably.

The name of a class here is part of a prompt: pydantic includes it in its message for a value that is not an object, and
that message is sent to the model with the request to answer again.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

MAX_STATEMENT_CHARACTERS = 2_000
"""Maximum characters of one statement. Chosen by hand; not measured."""
Kind = Literal["fact", "event", "instruction", "task"]
Check = Literal["entity", "object", "location", "time", "organisation", "completeness", "relations", "support"]
Text = Annotated[str, Field(max_length=MAX_STATEMENT_CHARACTERS)]
Word = Annotated[str, Field(max_length=200)]


class AnswerShape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ExtractedItem(AnswerShape):
    statement: Text
    lines: Annotated[list[int], Field(max_length=50)]
    quote: Text


class Items(AnswerShape):
    items: Annotated[list[ExtractedItem], Field(max_length=200)]


class Verdict(AnswerShape):
    number: int
    verdict: Literal["pass", "correct", "drop"]
    statement: Text | None
    failed: Check | None
    reason: Text


class Verdicts(AnswerShape):
    verdicts: Annotated[list[Verdict], Field(max_length=200)]


class Filed(AnswerShape):
    number: int
    kind: Kind
    key: Word | None
    summary: Text
    keywords: Annotated[list[Word], Field(max_length=20)]
    queries: Annotated[list[Word], Field(max_length=20)]


class Filing(AnswerShape):
    filed: Annotated[list[Filed], Field(max_length=200)]


class Compared(AnswerShape):
    number: int
    verdict: Literal["same", "replaces", "apart"]


class Comparison(AnswerShape):
    verdicts: Annotated[list[Compared], Field(max_length=200)]


class Analysis(AnswerShape):
    keys: Annotated[list[Word], Field(max_length=20)]
    terms: Annotated[list[Word], Field(max_length=40)]
    answer: Text


class Summary(AnswerShape):
    summary: Annotated[str, Field(max_length=4_000)]


class Answered(AnswerShape):
    supported: bool
    answer: Annotated[str, Field(max_length=8_000)]
    cited: Annotated[list[int], Field(max_length=100)]


S = TypeVar("S", bound=AnswerShape)


@cache
def schema(shape: type[AnswerShape]) -> dict[str, Any]:
    """The shape as a JSON schema that OpenAI's and Anthropic's strict modes and llama.cpp's grammars all accept."""
    full = shape.model_json_schema()
    whole: dict[str, Any] = _plain_schema(full, full.get("$defs", {}))
    return whole


def _plain_schema(part: Any, named: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_plain_schema(each, named) for each in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _plain_schema(named[part["$ref"].rpartition("/")[2]], named)
    kept = {name: value for name, value in part.items() if name in ("type", "enum", "items", "anyOf", "required")}
    kept = {name: _plain_schema(value, named) for name, value in kept.items()}
    if "properties" in part:
        kept |= {"properties": {name: _plain_schema(value, named) for name, value in part["properties"].items()}}
        kept |= {"required": list(part["properties"]), "additionalProperties": False}
    return kept


def answer_parser(shape: type[S]) -> Any:
    """Returns a function from JSON to the shape; its ValueError states what is wrong and where,
    without repeating any value."""

    def parse(value: Any) -> S:
        try:
            return shape.model_validate(value)
        except ValidationError as wrong:
            reasons = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in wrong.errors()[:5])
            raise ValueError("; ".join(reasons)) from None

    return parse
