"""Validates values against JSON Schemas that json_schema.py has accepted; an error names the path and the rule. Pure.

Every rule that runs is counted against a budget. Rules whose implementation in the library may take much longer than
their count suggests are replaced by our own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.types import Json
from holdfast.ingest.kinds.safe_regex import pattern

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

METADATA_KEYWORD = "x-metadata"
MAX_VALIDATION_STEPS = 50_000
"""How many rules one validation may run. Lowered from 100,000; the reason was not recorded."""
_remaining_steps: ContextVar[list[int]] = ContextVar("left")


class TooManySteps(Exception):
    """A validation used up its budget of steps."""


_REASONS = {
    TooManySteps: f"it takes more than {MAX_VALIDATION_STEPS:,} steps",
    RecursionError: "it is nested too deeply",
    OverflowError: "a number is too large",
}


def validation_error(text: str, value: Json, metadata: Mapping[str, Json]) -> InvalidInput | None:
    """Why value or metadata is invalid under this schema: the path, the value there, and the rule.
    None when both are valid."""
    of_value, of_metadata = _validators(text)
    for validator, given, root in ((of_value, value, "value"), (of_metadata, dict(metadata), "metadata")):
        error = None if validator is None else _first_error(validator, given, root)
        if error is not None:
            return error
    return None


def _first_error(validator: Validator, given: Json, root: str) -> InvalidInput | None:
    from jsonschema.exceptions import best_match

    token = _remaining_steps.set([MAX_VALIDATION_STEPS])
    try:
        error: ValidationError | None = best_match(validator.iter_errors(given))
        return None if error is None else _invalid_input(error, root)
    except (TooManySteps, RecursionError, OverflowError) as bad:
        refused = InvalidInput(f"{root} cannot be checked: {_REASONS[type(bad)]}.", field=root)
        refused.__cause__ = bad
        return refused
    finally:
        _remaining_steps.reset(token)


def _invalid_input(error: ValidationError, root: str) -> InvalidInput:
    """Example: value.size.unit is 'kg'; the rule is enum: ["cm", "in"]."""
    where, there, rule = root + path_text(error.absolute_path), quoted_value(error.instance), error.validator_value
    name = _offending_property(error)
    if name is not None:
        where += path_text([name])
        there = "missing" if name not in error.instance else quoted_value(error.instance[name])
    said = "false" if rule is False else json.dumps(rule, ensure_ascii=False)
    said = said if len(said) <= 120 else f"{said[:119]}…"
    return InvalidInput(f"{where} is {there}; the rule is {error.validator}: {said}.", field=where)


def _offending_property(error: ValidationError) -> str | None:
    """The property that an object lacks or must not have."""
    if error.validator == "required":
        return next((name for name in error.validator_value if name not in error.instance), None)
    if error.validator == "additionalProperties":
        return next(iter(_additional_names(error.instance, error.schema)), None)
    return None


def path_text(path: Iterable[Any]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


@lru_cache(512)
def _validators(text: str) -> tuple[Validator, Validator | None]:
    of_value, *of_metadata = map(_new_validator, value_and_metadata_schemas(json.loads(text)))
    return of_value, of_metadata[0] if of_metadata else None


def value_and_metadata_schemas(schema: Json) -> Iterator[Json]:
    """The schema of the value, and that of the metadata if there is one; both may refer to the same definitions."""
    yield {name: each for name, each in schema.items() if name != METADATA_KEYWORD}
    about = schema.get(METADATA_KEYWORD)
    if isinstance(about, dict):
        yield {"$defs": schema.get("$defs", {}), **about}
    elif about is not None:
        yield about


def _new_validator(schema: Json) -> Validator:
    from referencing import Registry

    made: Validator = _validator_class()(schema, registry=Registry())
    return made


@cache
def _validator_class() -> Any:
    """Draft 2020-12 with every rule counted, and with our own rules where the library's may take too long."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    rules = dict(Draft202012Validator.VALIDATORS) | {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    }
    return extend(Draft202012Validator, {name: _counted_rule(rule) for name, rule in rules.items()})


Rule = Callable[[Any, Any, Any, Any], Iterable[Any] | None]


def _counted_rule(rule: Rule) -> Rule:
    def run(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _count_steps(1)
        yield from rule(validator, wanted, instance, schema) or ()

    return run


def _count_steps(steps: int) -> None:
    left = _remaining_steps.get()
    left[0] -= steps
    if left[0] < 0:
        raise TooManySteps


def _pattern_matches(text: str, given: str) -> bool:
    seen = [0]

    def spend(states: int) -> None:  # visiting a state is ten times as fast as running a rule
        seen[0] += states
        if seen[0] >= 10:
            _count_steps(seen[0] // 10)
            seen[0] %= 10

    return pattern(text).found_in(given, spend)


def _new_error(message: str) -> Any:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message)


def _pattern(validator: Any, wanted: str, instance: Any, _: Any) -> Iterator[Any]:
    if validator.is_type(instance, "string") and not _pattern_matches(wanted, instance):
        yield _new_error("does not match")


def _pattern_properties(validator: Any, wanted: Any, instance: Any, _: Any) -> Iterator[Any]:
    if validator.is_type(instance, "object"):
        for text, schema in wanted.items():
            for name, value in instance.items():
                if _pattern_matches(text, name):
                    yield from validator.descend(value, schema, path=name, schema_path=text)


def _additional_names(instance: Any, schema: Any) -> Iterator[str]:
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name in instance:
        if name not in known and not any(_pattern_matches(text, name) for text in patterns):
            yield name


def _additional_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for name in _additional_names(instance, schema):
        if wanted is False:
            yield _new_error(f"{name} is not allowed")
            return
        yield from validator.descend(instance[name], wanted, path=name)


def _unique_items(validator: Any, wanted: Any, instance: Any, _: Any) -> Iterator[Any]:
    if wanted and validator.is_type(instance, "array"):
        seen = {json.dumps(_with_whole_integers(each), sort_keys=True) for each in instance}
        if len(seen) < len(instance):
            yield _new_error("has the same thing twice")


def _with_whole_integers(value: Any) -> Any:
    """The value with whole floats as integers: in JSON Schema 1.0 and 1 are the same number."""
    if isinstance(value, list):
        return [_with_whole_integers(each) for each in value]
    if isinstance(value, dict):
        return {name: _with_whole_integers(each) for name, each in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
