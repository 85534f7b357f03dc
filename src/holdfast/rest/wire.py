"""Values → JSON. Times are ISO 8601 in UTC; tuples are lists; frozen dataclasses are objects."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import Header
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse

from ..moments import iso
from ..types import Memory


class Json(JSONResponse):
    def render(self, content: Any) -> bytes:
        try:
            return orjson.dumps(content, default=plain)
        except TypeError:  # a number of more than 64 bits, which JSON allows and somebody kept
            return json.dumps(content, default=plain, ensure_ascii=False).encode()


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, frozenset | set):
        return sorted(plain(each) for each in value)
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value


def entry(memory: Memory) -> dict[str, Any]:
    """A memory as the Agent Memory contract lists it."""
    return {
        "id": memory.id,
        "type": memory.kind,
        "summary": memory.summary,
        "sessionId": memory.session_id,
        "createdAt": iso(memory.created_at),
        "updatedAt": iso(memory.updated_at),
    }


def whole(memory: Memory) -> dict[str, Any]:
    """A memory as the Agent Memory contract gives it."""
    return entry(memory) | {"content": memory.content}


Once = Annotated[str | None, Header(alias="Idempotency-Key", description="Repeat a write safely.")]


class Body(BaseModel):
    """What a request of ours may carry: known fields of the right types, nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True)


Moment = str | float | None
"""A point in time as callers write it: ISO 8601 or Unix seconds."""
