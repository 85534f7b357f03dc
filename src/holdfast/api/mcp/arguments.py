"""Arguments of the MCP tools, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from holdfast.domain import limits
from holdfast.domain.types import Facet, Order

MAX_TOKENS = 8_000


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


Once = Annotated[str | None, Field(description="Repeat a lost call with the same key.", max_length=255)]


Profiles = Annotated[
    list[str] | None,
    Field(description="Only these of the memories you share.", min_length=1, max_length=limits.MAX_PROFILES_ACROSS),
]


Filter = Annotated[
    dict[str, Any] | None,
    Field(description='Like {"content": {"icontains": "tea"}, "created_at": {"gte": "2026"}}.'),
]


class Query(Arguments):
    query: Annotated[str, Field(min_length=1, max_length=limits.MAX_QUERY_BYTES)]
    exclude_session: str | None = None
    profiles: Profiles = None


Relevance = Annotated[float, Field(ge=0, le=1)]


class SearchArguments(Query):
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    kind: str | None = None
    session_id: str | None = None
    as_of: Annotated[str | None, Field(description="ISO 8601")] = None
    filter: Filter = None
    min_relevance: Relevance = 0.0


class ContextArguments(Query):
    tokens: Annotated[int, Field(ge=50, le=MAX_TOKENS)] = 1000
    min_relevance: Relevance = 0.0


class RememberArguments(Arguments):
    content: Annotated[str, Field(min_length=1, description="One statement, complete in itself.")]
    kind: Literal["fact", "event", "instruction", "task"] | None = None
    key: Annotated[str | None, Field(description="Topic; a later memory with the same key replaces it.")] = None
    profile: Annotated[str | None, Field(description="A shared memory to keep it in.")] = None
    idempotency_key: Once = None


class ListArguments(Arguments):
    kind: str | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    cursor: str | None = None
    filter: dict[str, Any] | None = None
    order: Order = "written"
    facets: Annotated[list[Facet] | None, Field(description="Count by these.")] = None


class Identified(Arguments):
    id: Annotated[str, Field(min_length=1)]


class Correct(Identified):
    content: Annotated[str, Field(min_length=1)]
    idempotency_key: Once = None


class AboutArguments(Arguments):
    name: Annotated[str, Field(min_length=1, max_length=200)]


class ForgetArguments(Identified):
    idempotency_key: Once = None


SAID: dict[str, Any] = {
    "type": "object",
    "properties": {
        "role": {"type": "string"},
        "content": {"type": ["string", "array"]},
        "speaker": {"type": "string"},
        "timestamp": {"type": "string"},
    },
    "required": ["role"],
}
"""The description of a message for a model. Chat clients may send other fields; ingest validates all of them."""


class IngestArguments(Arguments):
    messages: Annotated[
        list[Annotated[dict[str, Any], WithJsonSchema(SAID)]] | None, Field(min_length=1, max_length=500)
    ] = None
    url: str | None = None
    session_id: str | None = None
    idempotency_key: Once = None


class Directory(Arguments):
    path: Annotated[str, Field(min_length=1, description="Absolute.")]


class OnPath(Arguments):
    path: Annotated[str, Field(min_length=1, description="Absolute.")]
    text: Annotated[str, Field(min_length=1)]
