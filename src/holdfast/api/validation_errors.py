"""Pure: words pydantic's validation errors in terms of the fields that the caller sent.

Field paths have the usual form (`messages[0].content`). For an unknown field, the message lists the known ones. Where
several types are allowed, it names all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from holdfast.domain.errors import quoted_value

WANTED = {
    "string": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "list": "a list",
    "dict": "an object", "model": "an object", "none": "null",
}  # fmt: skip
"""The prefix of an error's type → what the field accepts."""
BOUNDS = {
    "greater_than_equal": ("ge", "{} or more"), "less_than_equal": ("le", "{} or less"),
    "greater_than": ("gt", "more than {}"), "less_than": ("lt", "less than {}"),
}  # fmt: skip
SIZES = {
    "string_too_short": ("min_length", "must have at least {} characters"),
    "string_too_long": ("max_length", "must have at most {} characters"),
    "too_short": ("min_length", "must have at least {} entries"),
    "too_long": ("max_length", "must have at most {} entries"),
}  # fmt: skip
FieldError = Mapping[str, Any]


def validation_message(errors: Sequence[FieldError], model: Any = None) -> tuple[str, str | None]:
    """A sentence about the first error, and the field that it concerns. `model` is the model of the request."""
    first = errors[0]
    field, known = _field_path(first["loc"], model)
    name = field or "The body"
    kind, about = first["type"], first.get("ctx") or {}
    if kind == "missing":
        return f"{name} is missing.", field
    if kind == "extra_forbidden":
        return f"{name} is not a known field; use one of {', '.join(known)}.", field
    if kind in SIZES:
        limit, told = SIZES[kind]
        return f"{name} {told.format(about.get(limit))}.", field
    wants = [
        *dict.fromkeys(
            want for each in errors if _field_path(each["loc"], model)[0] == field for want in _wanted_type(each)
        )
    ]
    if not wants:
        return f"{name}: {first['msg']}.", field
    return f"{name} is {quoted_value(first.get('input'))}; give {' or '.join(wants)}.", field


def _wanted_type(wrong: FieldError) -> Iterator[str]:
    kind, about = wrong["type"], wrong.get("ctx") or {}
    if kind in BOUNDS:
        limit, told = BOUNDS[kind]
        yield told.format(about.get(limit))
    elif kind in ("literal_error", "enum"):
        yield f"one of {about.get('expected')}"
    elif (begun := kind.partition("_")[0]) in WANTED:
        yield WANTED[begun]


def _field_path(loc: Sequence[int | str], model: Any) -> tuple[str | None, tuple[str, ...]]:
    """The path of a field without branches of unions, and the names of the fields known there."""
    path, at = "", model
    known: tuple[str, ...] = ()
    for step in loc:
        if isinstance(step, int):
            path += f"[{step}]"
            continue
        fields = getattr(at, "model_fields", None)
        if fields is None and path and model is not None:
            continue  # a branch of a union
        path += f".{step}" if path else step
        if fields is not None:
            by_name = {field.alias or name: field for name, field in fields.items()}
            known = tuple(by_name)
            at = _inside(by_name[step].annotation) if step in by_name else None
    return path or None, known


def _inside(annotation: Any) -> Any:
    """The model that a field contains, directly or in a list."""
    if hasattr(annotation, "model_fields"):
        return annotation
    return next((found for each in get_args(annotation) if (found := _inside(each)) is not None), None)
