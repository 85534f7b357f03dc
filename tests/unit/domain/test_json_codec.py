"""Values pass through JSON, rows and archive lines and come back equal, whatever fields they have."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.archive import format, validation
from holdfast.domain.credentials import Credential
from holdfast.domain.json_codec import compact_json, decode, encode, encode_outermost
from holdfast.domain.results import Answer, Citation, Document, Hit, Origin
from holdfast.domain.types import Json, Memory, Message
from holdfast.storage import inventory, rows

AT = datetime(2025, 3, 4, 18, 20, 0, 123456, tzinfo=UTC)
VALUES: dict[str, Any] = {
    "str": "text", "str | None": "text", "int": 3, "float": 0.75, "float | None": 0.75, "bool": True,
    "datetime": AT, "datetime | None": AT, "tuple[str, ...]": ("one", "two"), "dict[str, Json]": {"b": [1.5, None]},
    "Json": {"big": 2**70, "nested": [{"é": False}]},
}  # fmt: skip


def filled(kind: type[Any]) -> Any:
    """A value of which every field has something that is not its default."""
    return kind(**{field.name: VALUES[str(field.type)] for field in fields(kind)})


@pytest.mark.parametrize("kind", [Memory, Message])
def test_every_field_comes_back_from_json(kind: type[Any]) -> None:
    value = filled(kind)
    told = json.loads(compact_json(encode(value)))
    assert list(told) == [field.name for field in fields(kind)]
    assert decode(kind, told) == value
    assert decode(Memory | Message, told) == value  # type: ignore[arg-type]


def test_every_field_comes_back_from_a_row() -> None:
    memory = replace(filled(Memory), trust="tool", origin="draft")
    assert rows.memory((*rows.memory_row(memory), compact_json(memory.sources))) == memory
    message = replace(filled(Message), pending=False)
    assert rows.message((*rows.message_row(message, message.position), "aside", 3)) == message


def test_every_field_comes_back_from_an_archive_line() -> None:
    memory = replace(filled(Memory), kind="fact", superseded_by="another@2")
    line = format.item_line(memory, [], vectors=False)
    assert validation.memory(validation.parse_line(line)).item == memory


def test_a_digest_tells_every_field_that_lasts() -> None:
    memory = filled(Memory)
    changing = {"sources", "superseded_by", "marks", "reviewed_at"}
    for field in fields(Memory):
        other = replace(memory, **{field.name: None})
        same = inventory.MEMORY_DIGEST.of(other) == inventory.MEMORY_DIGEST.of(memory)
        assert same == (field.name in changing), field.name


def test_what_is_missing_has_its_default_and_what_is_unknown_is_left_out() -> None:
    memory = Memory("id", "fact", "text", "text", AT, AT)
    told = {name: value for name, value in encode(memory).items() if value not in (None, [], {})}
    assert decode(Memory, told | {"of a newer server": 1}) == memory


def test_nothing_is_nothing_whatever_is_wanted() -> None:
    for wanted in (Memory, datetime, tuple[str, ...], Memory | None, Json):
        assert decode(wanted, None) is None  # type: ignore[arg-type]


def test_sets_are_sorted_and_nested_values_keep_their_types() -> None:
    credential = Credential("id", "key", "name", frozenset({"write", "read"}), AT)
    told = encode(credential)
    assert told["rights"] == ["read", "write"]
    assert told["created_at"] == "2025-03-04T18:20:00.123456Z"
    assert decode(Credential, told) == credential
    assert decode(list[Credential], [told]) == [credential]


def test_numbers_that_json_does_not_have_are_refused() -> None:
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON compliant"):
            compact_json(encode(Document("id", "s", "n", AT, AT, metadata={"x": number})))


def test_the_codec_loads_neither_pydantic_nor_numpy() -> None:
    code = "import sys, holdfast.domain.json_codec; print([m for m in ('pydantic', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_writer_that_asks_for_each_form_writes_what_encode_returns() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 600, UTC)
    hit = Hit(
        id="1", kind="fact", content="tea", summary="tea", score=0.5, channels={"words": 1}, session_id=None,
        created_at=at, sources=("a", "b"), metadata={"shelf": [1, {"deep": None}]}, origin=Origin("app", "p"),
    )  # fmt: skip
    answer = Answer("Tea.", (Citation("1", "tea"),), (hit,), 0.9)
    written = json.dumps({"answer": answer, "names": {"b", "a"}, "at": at}, default=encode_outermost)
    assert json.loads(written) == {"answer": encode(answer), "names": ["a", "b"], "at": "2026-01-02T03:04:05.000600Z"}
    with pytest.raises(TypeError):
        encode_outermost(object())
