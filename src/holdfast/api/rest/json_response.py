"""Shared parts of REST requests and responses: JSON encoding, headers, and the base class of request bodies."""

from __future__ import annotations

import json
from typing import Annotated, Any

import orjson
from fastapi import Header
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse

from holdfast.domain.json_codec import encode, encode_outermost
from holdfast.domain.timestamps import iso_text
from holdfast.domain.types import Memory

_OWN_FORMS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def encode_json(content: Any) -> bytes:
    """Encode a response, or one event of a stream, as JSON on one line. Values of the domain need no `encode` before:
    the writer asks for the form of each, which takes a quarter of the time."""
    try:
        return orjson.dumps(content, default=encode_outermost, option=_OWN_FORMS)
    except TypeError:  # a stored number of more than 64 bits, which JSON allows
        return json.dumps(content, default=encode, ensure_ascii=False).encode()


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
