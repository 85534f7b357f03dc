"""Shared parts of REST requests and responses: JSON encoding, headers, and the base class of request bodies."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any

import orjson
from fastapi import Header
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse

from holdfast.domain.json_codec import attributes, encode, encode_outermost, public_fields
from holdfast.domain.results import Answer, Context, Hit
from holdfast.domain.timestamps import iso_text
from holdfast.domain.types import Memory

_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_UTC_Z
"""A dataclass may have fields that are not encoded. Times become what `iso_text` makes of them."""
_UNEXPLAINED_FIELDS = tuple(field.name for field in public_fields(Hit) if field.name != "features")
_unexplained_values = attributes(_UNEXPLAINED_FIELDS)


def encode_json(content: Any) -> bytes:
    """Encode a response, or one event of a stream, as JSON on one line. Values of the domain need no `encode` before:
    the writer asks for the form of each, which takes a quarter of the time."""
    try:
        return orjson.dumps(content, default=encode_outermost, option=_OPTIONS)
    except TypeError:  # a stored number of more than 64 bits, which JSON allows
        return json.dumps(content, default=encode, ensure_ascii=False).encode()


def hits_json(hits: Iterable[Hit], explain: bool) -> list[Any]:
    """Hits as a response has them: with all features when the caller asked for explanations."""
    if explain:
        return list(hits)
    return [dict(zip(_UNEXPLAINED_FIELDS, _unexplained_values(hit), strict=True)) for hit in hits]


def found_json(found: Answer | Context, explain: bool) -> dict[str, Any]:
    """An answer or a context, and its hits likewise."""
    told: dict[str, Any] = encode_outermost(found)
    return told | {"hits": hits_json(found.hits, explain)}


class Json(JSONResponse):
    def render(self, content: Any) -> bytes:
        return encode_json(content)


def agent_memory_entry(memory: Memory) -> dict[str, Any]:
    """A memory as the Agent Memory contract lists it, without its content."""
    return {
        "id": memory.id,
        "type": memory.kind,
        "summary": memory.summary,
        "sessionId": memory.session_id,
        "createdAt": iso_text(memory.created_at),
        "updatedAt": iso_text(memory.updated_at),
    }


def full_entry(memory: Memory) -> dict[str, Any]:
    """A single memory of the Agent Memory contract, with its content."""
    return agent_memory_entry(memory) | {"content": memory.content}


_ONCE = "A repeated request with the same key returns the first result."
Once = Annotated[str | None, Header(alias="Idempotency-Key", description=_ONCE)]


class Body(BaseModel):
    """The base of request bodies: known fields of the right types, nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


Moment = str | float | None
"""A point in time as callers give it: ISO 8601 or Unix seconds."""
