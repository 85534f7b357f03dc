"""Pure: words pydantic's validation errors in terms of the fields that the caller sent.

Field paths have the usual form (`messages[0].content`). For an unknown field, the message lists the known ones. Where
several types are allowed, it names all of them. A model may say what to give in place of a field that callers try:
`hints`, from the name of the unknown field to a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from holdfast.domain.errors import nearest_names, quoted_value

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
    "string_too_short": ("min_length", "at least", "character", "characters"),
    "string_too_long": ("max_length", "at most", "character", "characters"),
    "too_short": ("min_length", "at least", "entry", "entries"),
    "too_long": ("max_length", "at most", "entry", "entries"),
}  # fmt: skip
JSON_WORDS = {None: "null", True: "true", False: "false"}
FieldError = Mapping[str, Any]


def validation_message(errors: Sequence[FieldError], model: Any = None) -> tuple[str, str | None]:
    """A sentence about the most telling error, and the field that it concerns. `model` is the model of the request."""
    first = _misspelt_field(errors) or errors[0]
    field, known = _field_path(first["loc"], model)
    name = field or "The body"
    kind, about = first["type"], first.get("ctx") or {}
    if kind == "missing":
        return f"{name} is missing.", field
    if kind == "json_invalid":
        return f"{name} is not valid JSON: {about.get('error')}.", field
    if kind == "extra_forbidden":
        hint = getattr(model, "hints", {}).get(name) or _missing_beside(first, errors)
        return unknown_field(name, known, hint), field
    if kind in SIZES:
        limit, bound, one, many = SIZES[kind]
        count = about.get(limit)
        return f"{name} must have {bound} {count} {one if count == 1 else many}.", field
    wants = [
        *dict.fromkeys(
            want for each in errors if _field_path(each["loc"], model)[0] == field for want in _wanted_type(each)
        )
    ]
    if not wants:
        return f"{name}: {first['msg']}.", field
    return f"{name} is {_json_value(first.get('input'))}; give {' or '.join(wants)}.", field


def unknown_field(name: str, known: Sequence[str], hint: str = "") -> str:
    """A sentence about a field that nobody knows, with those that are known, and which of them may be meant: the
    nearest, else as `hint` says."""
    alike = nearest_names(name.rpartition(".")[2], known) or f" {hint}".rstrip()
    return f"{name} is not a known field; use one of {', '.join(known)}.{alike}"


def _missing_beside(unknown: FieldError, errors: Sequence[FieldError]) -> str:
    """The one required field that is missing where an unknown one was given: probably that one was meant."""
    missing = [
        each["loc"][-1] for each in errors if each["type"] == "missing" and each["loc"][:-1] == unknown["loc"][:-1]
    ]
    return f"Did you mean {missing[0]!r}?" if len(missing) == 1 else ""


def _json_value(value: Any) -> str:
    """A value as JSON calls it."""
    return JSON_WORDS[value] if value is None or isinstance(value, bool) else quoted_value(value)


def _misspelt_field(errors: Sequence[FieldError]) -> FieldError | None:
    """The unknown field beside the first one, if that is missing: probably it was meant."""
    first = errors[0]
    beside = (each for each in errors if each["type"] == "extra_forbidden" and each["loc"][:-1] == first["loc"][:-1])
    return next(beside, None) if first["type"] == "missing" else None


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
