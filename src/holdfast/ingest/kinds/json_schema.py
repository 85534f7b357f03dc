"""Decides which JSON Schemas may be registered: untrusted schemas must be safe to run. Pure.

It accepts Draft 2020-12 without keywords that reach outside the schema or have unbounded cost: `$ref` only to `#…`, no
dynamic references, no `unevaluated…`; patterns run in safe_regex.py. An unknown keyword is an error, not an annotation,
unless its name starts with `x-`. `x-metadata` is the schema of the memory's metadata. `format` is an annotation.

Importing jsonschema takes a tenth of a second, so it is imported when the first schema is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from holdfast.domain.errors import InvalidInput, quoted_value
from holdfast.domain.types import Json
from holdfast.ingest.kinds.safe_regex import pattern
from holdfast.ingest.kinds.validation import (
    METADATA_KEYWORD,
    TooManySteps,
    path_text,
    validation_error,
    value_and_metadata_schemas,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_SCHEMA_BYTES = 65_536
MAX_DEPTH = 32
MAX_LIST_ITEMS = 1_000
"""These three limits were chosen by hand; not measured."""
ANNOTATION_KEYWORDS = (
    "$schema", "$id", "$comment", "$anchor", "title", "description", "default", "examples", "deprecated", "readOnly",
    "writeOnly", "format", "contentEncoding", "contentMediaType", "discriminator",
)  # fmt: skip
ASSERTION_KEYWORDS = (
    "$ref", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
    "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains",
    "maxProperties", "minProperties", "required", "dependentRequired",
)  # fmt: skip
SUBSCHEMA_KEYWORDS = (
    "additionalProperties",
    "propertyNames",
    "items",
    "contains",
    "not",
    "if",
    "then",
    "else",
    METADATA_KEYWORD,
)
SUBSCHEMA_LIST_KEYWORDS = ("allOf", "anyOf", "oneOf", "prefixItems")
SUBSCHEMA_MAP_KEYWORDS = ("properties", "patternProperties", "dependentSchemas", "$defs")
KNOWN_KEYWORDS = {
    *ANNOTATION_KEYWORDS,
    *ASSERTION_KEYWORDS,
    *SUBSCHEMA_KEYWORDS,
    *SUBSCHEMA_LIST_KEYWORDS,
    *SUBSCHEMA_MAP_KEYWORDS,
}
SAMPLE_VALUES: tuple[Json, ...] = (None, True, 0, "", [], {}, [{}], {"a": {}})
"""Sample values used to detect schemas whose validation does not terminate."""


def validate_schema(schema: object, field: str = "schema") -> str:
    """Validate a schema and return it as JSON text. Raises InvalidInput with the path of what is wrong."""
    if not isinstance(schema, Mapping):
        raise InvalidInput(f"{field} must be an object, not {quoted_value(schema)}.", field=field)
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as bad:
        raise InvalidInput(f"{field} is not JSON: {bad}.", field=field) from None
    if size > MAX_SCHEMA_BYTES:
        raise InvalidInput(f"{field} is {size:,} bytes of JSON; the limit is {MAX_SCHEMA_BYTES:,}.", field=field)
    whole = json.loads(text)
    if whole.get("$schema", DIALECT) not in (DIALECT, DIALECT + "#"):
        raise InvalidInput(
            f"{field}.$schema is {quoted_value(whole['$schema'])}; use {DIALECT}.", field=f"{field}.$schema"
        )
    _check_bounds(whole, field, 0)
    _check_keywords(whole, field, outermost=True)
    _check_metaschema(whole, field)
    _check_references(whole, text, field)
    return text


def _check_bounds(schema: Json, path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidInput(f"{path} is nested deeper than {MAX_DEPTH} levels.", field=path)
    if isinstance(schema, list) and len(schema) > MAX_LIST_ITEMS:
        raise InvalidInput(f"{path} has more than {MAX_LIST_ITEMS:,} items.", field=path)
    children = schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ()
    for name, each in children:
        _check_bounds(each, f"{path}.{name}", depth + 1)


def _check_keywords(schema: Json, path: str, *, outermost: bool = False) -> None:
    """Accept only known keywords, and no reference that leads outside the schema."""
    if not isinstance(schema, dict):
        return  # true, false, or something that the metaschema will reject
    for name, value in schema.items():
        here = f"{path}.{name}"
        if name not in KNOWN_KEYWORDS and not name.startswith("x-"):
            raise InvalidInput(
                f"{here} is not a supported keyword.",
                field=here,
                fix="Names of your own annotations must start with x-.",
            )
        if name in ("$id", "$schema", METADATA_KEYWORD) and not outermost:
            raise InvalidInput(f"{here} is allowed only at the top of the schema.", field=here)
        if name == "$ref" and not (isinstance(value, str) and value.startswith("#")):
            raise InvalidInput(
                f"{here} is {quoted_value(value)}; a reference must point into the same schema (#…).", field=here
            )
        if name == "pattern" and isinstance(value, str):
            pattern(value, here)
        if name == "patternProperties" and isinstance(value, dict):
            for each in value:
                pattern(each, here)
        if name in SUBSCHEMA_KEYWORDS:
            _check_keywords(value, here)
        elif name in SUBSCHEMA_LIST_KEYWORDS and isinstance(value, list):
            for n, each in enumerate(value):
                _check_keywords(each, f"{here}[{n}]")
        elif name in SUBSCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            for each in value:
                _check_keywords(value[each], f"{here}.{each}")


def _check_metaschema(schema: Json, field: str) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    for path, each in ((field, schema), (f"{field}.{METADATA_KEYWORD}", schema.get(METADATA_KEYWORD, True))):
        try:
            Draft202012Validator.check_schema(each)
        except SchemaError as bad:
            where = path + path_text(bad.absolute_path)
            raise InvalidInput(
                f"{where} is {quoted_value(bad.instance)}, which is not a valid schema: {bad.message[:200]}.",
                field=where,
            ) from None


def _check_references(schema: Json, text: str, field: str) -> None:
    """Check that every reference resolves and that no rule refers to itself without end."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    for each in value_and_metadata_schemas(schema):
        resolver = Registry().with_resource("", DRAFT202012.create_resource(each)).resolver()
        for ref in _references(each):
            try:
                resolver.lookup(ref)
            except Unresolvable:
                raise InvalidInput(f"{field} refers to {quoted_value(ref)}, which is not in it.", field=field) from None
    for sample in SAMPLE_VALUES:
        refused = validation_error(text, sample, {})
        why = None if refused is None else refused.__cause__
        if isinstance(why, RecursionError | TooManySteps):
            again = "without end" if isinstance(why, RecursionError) else "too often"
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
