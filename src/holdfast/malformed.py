"""Pure: what is wrong with a request, in words. Validation speaks of types and branches; callers sent a field.

Paths are written as everywhere else (`messages[0].content`), an unknown field comes with those that are known, and
where several types would do, all of them are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from .errors import shown

WANTED = {
    "string": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "list": "a list",
    "dict": "an object", "model": "an object", "none": "null",
}  # fmt: skip
"""The beginning of an error's type → what the field takes."""
BOUNDS = {
    "greater_than_equal": ("ge", "{} or more"), "less_than_equal": ("le", "{} or less"),
    "greater_than": ("gt", "more than {}"), "less_than": ("lt", "less than {}"),
}  # fmt: skip
SIZES = {
    "string_too_short": ("min_length", "has {} characters at least"),
    "string_too_long": ("max_length", "has {} characters at most"),
    "too_short": ("min_length", "has {} entries at least"), "too_long": ("max_length", "has {} entries at most"),
}  # fmt: skip
Wrong = Mapping[str, Any]


def malformed(errors: Sequence[Wrong], model: Any = None) -> tuple[str, str | None]:
    """What is wrong first, in a sentence, and the field it is about. `model` is what the request should have been."""
    first = errors[0]
    field, known = _walked(first["loc"], model)
    name = field or "The body"
    kind, about = first["type"], first.get("ctx") or {}
    if kind == "missing":
        return f"{name} is missing.", field
    if kind == "extra_forbidden":
        return f"{name} is not known here; known are {', '.join(known)}.", field
    if kind in SIZES:
        limit, told = SIZES[kind]
        return f"{name} {told.format(about.get(limit))}.", field
    wants = [
        *dict.fromkeys(want for each in errors if _walked(each["loc"], model)[0] == field for want in _wants(each))
    ]
    if not wants:
        return f"{name}: {first['msg']}.", field
    return f"{name} is {shown(first.get('input'))}; give {' or '.join(wants)}.", field


def _wants(wrong: Wrong) -> Iterator[str]:
    kind, about = wrong["type"], wrong.get("ctx") or {}
    if kind in BOUNDS:
        limit, told = BOUNDS[kind]
        yield told.format(about.get(limit))
    elif kind in ("literal_error", "enum"):
        yield f"one of {about.get('expected')}"
    elif (begun := kind.partition("_")[0]) in WANTED:
        yield WANTED[begun]


def _walked(loc: Sequence[int | str], model: Any) -> tuple[str | None, tuple[str, ...]]:
    """Where that is, in our spelling, without the branches of unions, and the fields that are known there."""
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
    """The model that a field holds, or holds a list of."""
    if hasattr(annotation, "model_fields"):
        return annotation
    return next((found for each in get_args(annotation) if (found := _inside(each)) is not None), None)
