"""Schemas that others wrote, patterns that cannot hang, mappings between versions."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import InvalidInput
from holdfast.ingest.kinds import json_schema, validation
from holdfast.ingest.kinds import mapping as mappings
from holdfast.ingest.kinds.safe_regex import pattern
from support.example_counts import example_count

# Patterns

PATTERNS = [
    r"^a+b$", r"a|b|cd", r"^[a-c_-]{1,3}$", r"^\d{2}-\d{2}$", r"(ab)*c", r"^(a|b)?c+$", r"a{0}b", "^$", "", r"(?:a|)b",
    r"[^a-c]", r"a*?b", r"^(a*)*$", r"(^a|b$)", r"(a{2}){2}", r"[\w.]+@\w+\.\w{2,}", r"^(a|b|ab)*c$", r"a.c", r"\.",
    r"[.]",    r"(?<name>a)b", r"\x61\u0062", r"^[^\d\s]+$", r"[a\]]", r"a{1,}$", r"[+*-]", r"\D\W\S",
]  # fmt: skip


@pytest.mark.parametrize("text", PATTERNS)
@settings(max_examples=example_count(150), deadline=None)
@given(st.text("abc 1-2._@]\n", max_size=8))
def test_patterns_find_what_regular_expressions_find(text: str, said: str) -> None:
    python = re.sub(r"\$", r"\\Z", text).replace("(?<", "(?P<")
    assert pattern(text).found_in(said) == bool(re.search(python, said, re.ASCII)), (text, said)


@pytest.mark.parametrize(
    "text",
    ["(", "a)", "a**", "*a", "(?=a)b", "(?!a)", r"(a)\1", r"\bfoo", "[a", "(a{1000}){1000}", "a{5,2}", r"\p{L}",
     "(" * 30 + ")" * 30, "a" * 501, "{", "[z-a]", "\\", "(?i)a", r"\u12"],
)  # fmt: skip
def test_a_pattern_that_needs_backtracking_or_too_much_room_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        pattern(text)


@pytest.mark.parametrize("text", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "a*a*a*a*a*a*b", "(.*a){15}$"])
def test_no_pattern_hangs(text: str) -> None:
    """Backtracking would not end within the time limit of a test."""
    assert pattern(text).found_in("a" * 30_000 + "!") is False


# Schemas

SIZE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+$"},
        "size": {
            "type": "object",
            "properties": {"n": {"type": "number", "minimum": 0}, "unit": {"enum": ["cm", "in"]}},
            "required": ["unit"],
        },
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
    "required": ["name"],
    "additionalProperties": False,
    "x-metadata": {"properties": {"room": {"type": "integer"}}},
}


@pytest.mark.parametrize(
    ("value", "field", "held", "rule"),
    [
        ({"name": "a", "size": {"n": 1, "unit": "kg"}}, "value.size.unit", "'kg'", 'enum: ["cm", "in"]'),
        ({"name": "a", "size": {"n": -1, "unit": "cm"}}, "value.size.n", "-1", "minimum: 0"),
        ({"name": "a", "size": {}}, "value.size.unit", "missing", 'required: ["unit"]'),
        ({"name": "A"}, "value.name", "'A'", 'pattern: "^[a-z]+$"'),
        ({"name": "a", "tags": ["x", 3]}, "value.tags[1]", "3", 'type: "string"'),
        ({"name": "a", "tags": ["x", "x"]}, "value.tags", "['x', 'x']", "uniqueItems: true"),
        ({"name": "a", "more": 1}, "value.more", "1", "additionalProperties: false"),
        ({}, "value.name", "missing", 'required: ["name"]'),
        (None, "value", "None", 'type: "object"'),
    ],
)
def test_a_refusal_names_the_path_the_value_and_the_rule(value: Any, field: str, held: str, rule: str) -> None:
    refused = validation.validation_error(json_schema.validate_schema(SIZE), value, {})
    assert refused is not None
    assert refused.field == field
    assert str(refused) == f"{field} is {held}; the rule is {rule}."


def test_metadata_are_held_to_their_own_schema() -> None:
    text = json_schema.validate_schema(SIZE)
    assert validation.validation_error(text, {"name": "a"}, {"room": 4, "other": []}) is None
    refused = validation.validation_error(text, {"name": "a"}, {"room": "4"})
    assert refused is not None
    assert refused.field == "metadata.room"


def deep(levels: int) -> Any:
    made: Any = {}
    for _ in range(levels):
        made = {"not": made}
    return made


DOUBLING = {
    "$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)} | {"d40": {}},
    "$ref": "#/$defs/d0",
}


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ([], "schema"),
        ({"$ref": "https://example.org/x.json"}, "schema.$ref"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "schema.properties.a.$ref"),
        ({"properties": {"a": {"$id": "https://example.org"}}}, "schema.properties.a.$id"),
        ({"$dynamicRef": "#a"}, "schema.$dynamicRef"),
        ({"unevaluatedProperties": False}, "schema.unevaluatedProperties"),
        ({"requird": ["a"]}, "schema.requird"),
        ({"type": "text"}, "schema.type"),
        ({"minimum": "3"}, "schema.minimum"),
        ({"properties": []}, "schema.properties"),
        ({"pattern": "(a"}, "schema.pattern"),
        ({"patternProperties": {r"(a)\1": {}}}, "schema.patternProperties"),
        ({"$ref": "#/$defs/absent"}, "schema"),
        ({"$ref": "#"}, "schema"),
        ({"if": {"type": "array"}, "then": {"$ref": "#"}}, "schema"),
        ({"$schema": "http://json-schema.org/draft-07/schema"}, "schema.$schema"),
        ({"$schema": 7}, "schema.$schema"),
        (DOUBLING, "schema"),
        ({"enum": list(range(1001))}, "schema.enum"),
        ({"title": "x" * 70_000}, "schema"),
        ({"const": float("nan")}, "schema"),
        ({"x-metadata": {"type": "thing"}}, "schema.x-metadata.type"),
        ({"properties": {"a": {"x-metadata": {}}}}, "schema.properties.a.x-metadata"),
    ],
)
def test_a_schema_that_leads_outside_or_is_none_is_refused(schema: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        json_schema.validate_schema(schema)
    assert refused.value.field == field


def test_a_schema_nested_too_deeply_is_refused() -> None:
    json_schema.validate_schema(deep(20))
    for levels in (40, 100_000):
        with pytest.raises(InvalidInput):
            json_schema.validate_schema(deep(levels))


def test_a_tree_may_be_described_by_itself() -> None:
    tree = {"properties": {"below": {"type": "array", "items": {"$ref": "#"}}, "n": {"type": "integer"}}}
    text = json_schema.validate_schema(tree)
    refused = validation.validation_error(text, {"n": 1, "below": [{"n": 2, "below": [{"n": "x"}]}]}, {})
    assert refused is not None
    assert refused.field == "value.below[0].below[0].n"


PATHOLOGICAL: list[tuple[Any, Any]] = [
    ({"allOf": [{"properties": {"x": {"$ref": "#"}}}] * 2}, json.loads('{"x":' * 60 + "1" + "}" * 60)),
    ({"uniqueItems": True}, [n if n % 2 else str(n) for n in range(30_000)]),
    ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {"a" * 30_000 + "!": 1}),
    ({"items": {"pattern": "(a|b)*a(a|b){60}c"}}, ["ab" * 2000 + "aab" * n for n in range(60)]),
    ({"multipleOf": 0.1}, 10**400),
    ({"items": {"$ref": "#"}}, json.loads("[" * 400 + "]" * 400)),
]


@pytest.mark.parametrize(("schema", "value"), PATHOLOGICAL)
def test_no_schema_takes_more_than_a_moment(schema: Any, value: Any) -> None:
    """What grows out of hand would not end within the time limit of a test."""
    validation.validation_error(json_schema.validate_schema(schema), value, {})


@settings(max_examples=example_count(100), deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), lambda inner: (
    st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(sorted(json_schema.KNOWN_KEYWORDS)) | st.text(), inner, max_size=3)
), max_leaves=8))  # fmt: skip
def test_whatever_is_called_a_schema_is_taken_or_refused(schema: Any) -> None:
    try:
        text = json_schema.validate_schema(schema)
    except InvalidInput:
        return
    for value in json_schema.SAMPLE_VALUES:
        validation.validation_error(text, value, {})


def test_nothing_is_loaded_before_there_is_a_schema() -> None:
    code = "import sys, holdfast.service.profile.memories; print('jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# Mappings


@pytest.mark.parametrize(
    ("mapping", "before", "after"),
    [
        ({"rename": {"colour": "color"}}, {"colour": "red"}, {"color": "red"}),
        ({"rename": {"a.b": "c"}}, {"a": {"b": 1}}, {"a": {"c": 1}}),
        ({"move": {"unit": "size.unit"}}, {"unit": "cm", "size": {"n": 1}}, {"size": {"n": 1, "unit": "cm"}}),
        ({"move": {"": "text"}}, "Window", {"text": "Window"}),
        ({"move": {"text": ""}}, {"text": "Window", "lost": 1}, "Window"),
        ({"default": {"a.b": 1, "c": 2}}, {"c": 3}, {"c": 3, "a": {"b": 1}}),
        ({"constant": {"by": "import"}}, {"by": 1}, {"by": "import"}),
        ({"remove": ["a.b", "never"]}, {"a": {"b": 1}}, {"a": {}}),
        ({"convert": {"n": "number", "s": "string", "b": "boolean"}}, {"n": "1.5", "s": 3, "b": "yes"},
         {"n": 1.5, "s": "3", "b": True}),
        ({"map": {"s": {"S": "small", "true": 1}}}, {"s": "S"}, {"s": "small"}),
        ({"map": {"s": {"S": "small", "true": 1}}}, {"s": True}, {"s": 1}),
        ({"map": {"s": {"S": "small"}}}, {"s": "XL"}, {"s": "XL"}),
        ({"rename": {"/a.b": "ab", "/x~1y": "xy"}}, {"a.b": 1, "x/y": 2}, {"ab": 1, "xy": 2}),
        ([{"rename": {"a": "b"}}, {"rename": {"b": "c"}}], {"a": 1}, {"c": 1}),
        ({}, {"a": 1}, {"a": 1}),
    ],
)  # fmt: skip
def test_a_mapping_does_what_it_says(mapping: Any, before: Any, after: Any) -> None:
    kept = copy.deepcopy(before)
    assert mappings.parse_mapping(mapping)(before, {}) == (after, {})
    assert before == kept


def test_a_mapping_may_change_metadata_too() -> None:
    mapping = {"constant": {"a": 1}, "metadata": {"rename": {"x": "y"}}}
    assert mappings.parse_mapping(mapping)({}, {"x": 2}) == ({"a": 1}, {"y": 2})


@pytest.mark.parametrize(
    ("mapping", "value", "field"),
    [
        ({"rename": {"a": "b"}}, {"a": 1, "b": 2}, "value.b"),
        ({"move": {"a": "b.c"}}, {"a": 1, "b": 2}, "value.b"),
        ({"convert": {"a.b": "number"}}, {"a": {"b": "many"}}, "value.a.b"),
        ({"convert": {"a": "string"}}, {"a": None}, "value.a"),
        ({"convert": {"a": "boolean"}}, {"a": 2}, "value.a"),
        ({"default": {"a": 1}}, "text", "value"),
    ],
)
def test_what_a_mapping_cannot_do_names_the_path(mapping: Any, value: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        mappings.parse_mapping(mapping)(value, {})
    assert refused.value.field == field


@pytest.mark.parametrize(
    "mapping",
    [1, "x", [1], {"renam": {}}, {"rename": []}, {"rename": {"a": 1}}, {"rename": {"": "a"}}, {"remove": {"a": 1}},
     {"convert": {"a": "date"}}, {"map": {"a": "b"}}, {"move": {"a": "a.b"}}, {"move": {"a..b": "c"}},
     {"move": {"a": 1}}, {"constant": {str(n): n for n in range(1001)}}, {"constant": {"a": "x" * 70_000}},
     {"metadata": 3}],
)  # fmt: skip
def test_what_is_no_mapping_is_refused(mapping: Any) -> None:
    with pytest.raises(InvalidInput):
        mappings.parse_mapping(mapping)


names = st.sampled_from(["a", "b", "c", "d"])
paths = st.lists(names, max_size=3).map(".".join)
leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["1", "x", "yes", ""])
values = st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=8)
mapping_of = st.lists(
    st.one_of(
        st.builds(lambda a, b: {"rename": {a: b}}, paths.filter(bool), names),
        st.builds(lambda a, b: {"move": {a: b}}, paths, paths).filter(
            lambda m: not any(a and b.split(".")[: len(a.split("."))] == a.split(".") for a, b in m["move"].items())
        ),
        st.builds(lambda a, b: {"default": {a: b}}, paths, leaves),
        st.builds(lambda a, b: {"constant": {a: b}}, paths, values),
        st.builds(lambda a: {"remove": [a]}, paths),
        st.builds(lambda a, b: {"convert": {a: b}}, paths, st.sampled_from(mappings.CONVERSION_TYPES)),
        st.builds(lambda a, b: {"map": {a: {"1": b, "true": "t"}}}, paths, leaves),
    ),
    max_size=4,
)


@settings(max_examples=example_count(300), deadline=None)
@given(mapping_of, values)
def test_any_mapping_gives_json_or_says_what_it_cannot_do_and_leaves_the_old_value_alone(
    mapping: Any, value: Any
) -> None:
    kept = copy.deepcopy(value)
    try:
        after, _ = mappings.parse_mapping(mapping)(value, {})
    except InvalidInput:
        after = None
    json.dumps(after)
    assert value == kept


@settings(max_examples=example_count(200), deadline=None)
@given(st.dictionaries(names, values, max_size=4), names)
def test_a_renaming_and_its_reverse_are_nothing(value: Any, name: str) -> None:
    there = mappings.parse_mapping({"rename": {name: "fresh"}, "move": {"": "all.of.it"}})
    back = mappings.parse_mapping({"move": {"all.of.it": ""}, "rename": {"fresh": name}})
    assert back(*there(value, {})) == (value, {})
