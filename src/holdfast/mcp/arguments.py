"""What the tools take, as pydantic checks it and as their schemas tell it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

MOST_TOKENS = 8_000


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


Once = Annotated[str | None, Field(description="Repeat a lost call with the same key.", max_length=255)]


Profiles = Annotated[
    list[str] | None, Field(description="Only these of the memories you share.", min_length=1, max_length=50)
]


class Query(Arguments):
    query: Annotated[str, Field(min_length=1, max_length=10_000)]
    profiles: Profiles = None


class Search(Query):
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    kind: str | None = None
    session_id: str | None = None
    as_of: Annotated[str | None, Field(description="ISO 8601")] = None


class Context(Query):
    tokens: Annotated[int, Field(ge=50, le=MOST_TOKENS)] = 1000


class Remember(Arguments):
    content: Annotated[str, Field(min_length=1, description="One statement, complete in itself.")]
    kind: Literal["fact", "event", "instruction", "task"] | None = None
    key: Annotated[str | None, Field(description="Topic; a later memory with the same key replaces it.")] = None
    profile: Annotated[str | None, Field(description="A shared memory to keep it in.")] = None
    idempotency_key: Once = None


class Listing(Arguments):
    kind: str | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    cursor: str | None = None


class Identified(Arguments):
    id: Annotated[str, Field(min_length=1)]


class Correct(Identified):
    content: Annotated[str, Field(min_length=1)]
    idempotency_key: Once = None


class Asked(Arguments):
    name: Annotated[str, Field(min_length=1, max_length=200)]


class Forget(Identified):
    idempotency_key: Once = None


SAID: dict[str, Any] = {
    "type": "object",
    "properties": {
        "role": {"enum": ["user", "assistant", "system", "tool"], "type": "string"},
        "content": {"type": ["string", "array"]},
        "speaker": {"type": "string"},
        "timestamp": {"type": "string", "description": "ISO 8601"},
    },
    "required": ["role"],
}
"""What a model needs to know of a message. Chat clients' own fields are taken too: ingest checks them all."""


class Ingest(Arguments):
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
