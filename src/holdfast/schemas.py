"""Pure: JSON Schemas that other people wrote, made harmless: what may be registered.

Draft 2020-12 without what reaches outside the schema or costs more than it says: `$ref` only to `#…`, no dynamic
references, no `unevaluated…`; patterns by patterns.py. A keyword that nobody knows is a typing error, not a note,
unless its name starts with `x-`. `x-metadata` is the schema of the memory's metadata. `format` is a note.

The package that checks takes a tenth of a second to load, so it is loaded with the first schema that is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from .conforming import ABOUT_METADATA, TooMuch, schemas_in, steps, wrong
from .errors import InvalidInput, shown
from .patterns import pattern
from .types import Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_BYTES = 65_536
DEEPEST = 32
LONGEST_LIST = 1_000
NOTES = (
    "$schema", "$id", "$comment", "$anchor", "title", "description", "default", "examples", "deprecated", "readOnly",
    "writeOnly", "format", "contentEncoding", "contentMediaType", "discriminator",
)  # fmt: skip
VALUES = (
    "$ref", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
    "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains",
    "maxProperties", "minProperties", "required", "dependentRequired",
)  # fmt: skip
ONE = ("additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else", ABOUT_METADATA)
MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs")
KNOWN = {*NOTES, *VALUES, *ONE, *MANY, *NAMED}
SAMPLES: tuple[Json, ...] = (None, True, 0, "", [], {}, [{}], {"a": {}})


def checked(schema: object, field: str = "schema") -> str:
    """A schema that may be used, as JSON text; anything else is refused with the place of what is wrong."""
    if not isinstance(schema, Mapping):
        raise InvalidInput(f"{field} must be an object, not {shown(schema)}.", field=field)
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as bad:
        raise InvalidInput(f"{field} is not JSON: {bad}.", field=field) from None
    if size > SCHEMA_BYTES:
        raise InvalidInput(f"{field} is {size:,} bytes of JSON; the limit is {SCHEMA_BYTES:,}.", field=field)
    whole = json.loads(text)
    if whole.get("$schema", DIALECT) not in (DIALECT, DIALECT + "#"):
        raise InvalidInput(f"{field}.$schema is {shown(whole['$schema'])}; use {DIALECT}.", field=f"{field}.$schema")
    _bounded(whole, field, 0)
    _walk(whole, field, outermost=True)
    _keeps_the_rules_of_schemas(whole, field)
    _resolves(whole, text, field)
    return text


def _bounded(held: Json, path: str, depth: int) -> None:
    if depth > DEEPEST:
        raise InvalidInput(f"{path} is nested deeper than {DEEPEST} levels.", field=path)
    if isinstance(held, list) and len(held) > LONGEST_LIST:
        raise InvalidInput(f"{path} lists more than {LONGEST_LIST:,} things.", field=path)
    for name, each in held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, list) else ():
        _bounded(each, f"{path}.{name}", depth + 1)


def _walk(schema: Json, path: str, *, outermost: bool = False) -> None:
    """Only what is known, and nothing that leads outside."""
    if not isinstance(schema, dict):
        return  # true, false, or what the rules of schemas will name
    for name, value in schema.items():
        here = f"{path}.{name}"
        if name not in KNOWN and not name.startswith("x-"):
            raise InvalidInput(f"{here} is no keyword that is known here.", field=here, fix="Notes start with x-.")
        if name in ("$id", "$schema", ABOUT_METADATA) and not outermost:
            raise InvalidInput(f"{here} may stand only at the top of the schema.", field=here)
        if name == "$ref" and not (isinstance(value, str) and value.startswith("#")):
            raise InvalidInput(f"{here} is {shown(value)}; only #… in the same schema is followed.", field=here)
        if name == "pattern" and isinstance(value, str):
            pattern(value, here)
        if name == "patternProperties" and isinstance(value, dict):
            for each in value:
                pattern(each, here)
        if name in ONE:
            _walk(value, here)
        elif name in MANY and isinstance(value, list):
            for n, each in enumerate(value):
                _walk(each, f"{here}[{n}]")
        elif name in NAMED and isinstance(value, dict):
            for each in value:
                _walk(value[each], f"{here}.{each}")


def _keeps_the_rules_of_schemas(schema: Json, field: str) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    for path, each in ((field, schema), (f"{field}.{ABOUT_METADATA}", schema.get(ABOUT_METADATA, True))):
        try:
            Draft202012Validator.check_schema(each)
        except SchemaError as bad:
            where = path + steps(bad.absolute_path)
            raise InvalidInput(
                f"{where} is {shown(bad.instance)}, which is no schema: {bad.message[:200]}.", field=where
            ) from None


def _resolves(schema: Json, text: str, field: str) -> None:
    """References lead somewhere, and no rule leads back to itself without end."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    for each in schemas_in(schema):
        resolver = Registry().with_resource("", DRAFT202012.create_resource(each)).resolver()
        for ref in _references(each):
            try:
                resolver.lookup(ref)
            except Unresolvable:
                raise InvalidInput(f"{field} refers to {shown(ref)}, which is not in it.", field=field) from None
    for sample in SAMPLES:
        refused = wrong(text, sample, {})
        why = None if refused is None else refused.__cause__
        if isinstance(why, RecursionError | TooMuch):
            again = "without end" if isinstance(why, RecursionError) else "again and again"
            raise InvalidInput(f"{field} refers to itself {again}.", field=field)


def _references(schema: Json) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for each in schema.values():
            yield from _references(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references(each)
