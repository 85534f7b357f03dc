"""Pure: whether a value keeps a JSON Schema that schemas.py has let in, and if not, where and by which rule.

Every rule that is asked is counted, and rules whose own code takes more time than they say are ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from .errors import InvalidInput, shown
from .patterns import pattern
from .types import Json

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

ABOUT_METADATA = "x-metadata"
MOST_STEPS = 50_000
_left: ContextVar[list[int]] = ContextVar("left")


class TooMuch(Exception):
    """A check took more steps than it may."""


_WHY = {
    TooMuch: f"it takes more than {MOST_STEPS:,} steps",
    RecursionError: "it is nested too deeply",
    OverflowError: "a number is too large",
}


def wrong(text: str, value: Json, metadata: Mapping[str, Json]) -> InvalidInput | None:
    """Why the schema of this text refuses them: names the place, what is there, and the rule. None when it is kept."""
    of_value, of_metadata = _checkers(text)
    for checker, given, root in ((of_value, value, "value"), (of_metadata, dict(metadata), "metadata")):
        found = None if checker is None else _first_error(checker, given, root)
        if found is not None:
            return found
    return None


def _first_error(checker: Validator, given: Json, root: str) -> InvalidInput | None:
    from jsonschema.exceptions import best_match

    token = _left.set([MOST_STEPS])
    try:
        error: ValidationError | None = best_match(checker.iter_errors(given))
        return None if error is None else _told(error, root)
    except (TooMuch, RecursionError, OverflowError) as bad:
        refused = InvalidInput(f"{root} cannot be checked: {_WHY[type(bad)]}.", field=root)
        refused.__cause__ = bad
        return refused
    finally:
        _left.reset(token)


def _told(error: ValidationError, root: str) -> InvalidInput:
    """value.size.unit is 'kg'; the rule is enum: ["cm", "in"]."""
    where, held, rule = root + steps(error.absolute_path), shown(error.instance), error.validator_value
    name = _culprit(error)
    if name is not None:
        where += steps([name])
        held = "missing" if name not in error.instance else shown(error.instance[name])
    said = "false" if rule is False else json.dumps(rule, ensure_ascii=False)
    said = said if len(said) <= 120 else f"{said[:119]}…"
    return InvalidInput(f"{where} is {held}; the rule is {error.validator}: {said}.", field=where)


def _culprit(error: ValidationError) -> str | None:
    """The property that an object has too much or too little."""
    if error.validator == "required":
        return next((name for name in error.validator_value if name not in error.instance), None)
    if error.validator == "additionalProperties":
        return next(iter(_additional(error.instance, error.schema)), None)
    return None


def steps(path: Iterable[Any]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


@lru_cache(512)
def _checkers(text: str) -> tuple[Validator, Validator | None]:
    of_value, *of_metadata = map(_checker, schemas_in(json.loads(text)))
    return of_value, of_metadata[0] if of_metadata else None


def schemas_in(schema: Json) -> Iterator[Json]:
    """The value's, and the metadata's if there is one, which may refer to the same definitions."""
    yield {name: each for name, each in schema.items() if name != ABOUT_METADATA}
    about = schema.get(ABOUT_METADATA)
    if isinstance(about, dict):
        yield {"$defs": schema.get("$defs", {}), **about}
    elif about is not None:
        yield about


def _checker(schema: Json) -> Validator:
    from referencing import Registry

    made: Validator = _validator()(schema, registry=Registry())
    return made


@cache
def _validator() -> Any:
    """Draft 2020-12 with every rule counted, and with rules of our own where its take more time than they should."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    rules = dict(Draft202012Validator.VALIDATORS) | {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    }
    return extend(Draft202012Validator, {name: _counted(rule) for name, rule in rules.items()})


Rule = Callable[[Any, Any, Any, Any], Iterable[Any] | None]


def _counted(rule: Rule) -> Rule:
    def run(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _spend(1)
        yield from rule(validator, wanted, instance, schema) or ()

    return run


def _spend(steps: int) -> None:
    left = _left.get()
    left[0] -= steps
    if left[0] < 0:
        raise TooMuch


def _occurs(text: str, given: str) -> bool:
    seen = [0]

    def spend(states: int) -> None:  # a state is visited ten times as fast as a rule is asked
        seen[0] += states
        if seen[0] >= 10:
            _spend(seen[0] // 10)
            seen[0] %= 10

    return pattern(text).found_in(given, spend)


def _error(message: str) -> Any:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message)


def _pattern(validator: Any, wanted: str, instance: Any, _: Any) -> Iterator[Any]:
    if validator.is_type(instance, "string") and not _occurs(wanted, instance):
        yield _error("does not match")


def _pattern_properties(validator: Any, wanted: Any, instance: Any, _: Any) -> Iterator[Any]:
    if validator.is_type(instance, "object"):
        for text, schema in wanted.items():
            for name, value in instance.items():
                if _occurs(text, name):
                    yield from validator.descend(value, schema, path=name, schema_path=text)


def _additional(instance: Any, schema: Any) -> Iterator[str]:
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name in instance:
        if name not in known and not any(_occurs(text, name) for text in patterns):
            yield name


def _additional_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for name in _additional(instance, schema):
        if wanted is False:
            yield _error(f"{name} is not allowed")
            return
        yield from validator.descend(instance[name], wanted, path=name)


def _unique_items(validator: Any, wanted: Any, instance: Any, _: Any) -> Iterator[Any]:
    if wanted and validator.is_type(instance, "array"):
        seen = {json.dumps(_even(each), sort_keys=True) for each in instance}
        if len(seen) < len(instance):
            yield _error("has the same thing twice")


def _even(value: Any) -> Any:
    """1.0 and 1 are the same number."""
    if isinstance(value, list):
        return [_even(each) for each in value]
    if isinstance(value, dict):
        return {name: _even(each) for name, each in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
