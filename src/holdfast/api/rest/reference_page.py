"""The API reference as one HTML page, rendered from the OpenAPI document, without scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
nav a { margin-right: 1rem; white-space: nowrap; }
h1, h2 { line-height: 1.2; }
h2 { margin: 3rem 0 .5rem; }
h2 + p { margin-top: 0; }
details { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: .5rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
code, b { font-family: ui-monospace, monospace; }
b { display: inline-block; min-width: 4.5rem; }
summary span { display: block; margin-left: 4.75rem; opacity: .75; }
table { border-collapse: collapse; margin: .5rem 0 1rem; }
td, th { text-align: left; vertical-align: top; padding: .15rem 1rem .15rem 0; }
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; frame-ancestors 'none'"
MAX_DEPTH = 3


def reference_page(about: dict[str, Any]) -> str:
    """Render the page from an OpenAPI document."""
    schemas: dict[str, Any] = about["components"].get("schemas", {})
    groups: dict[str, list[str]] = {tag["name"]: [] for tag in about["tags"]}
    for path, methods in about["paths"].items():
        for method, operation in methods.items():
            told = "".join(_route(path, method.upper(), operation, schemas))
            groups[operation["tags"][0]].append(told)
    title = escape(f"{about['info']['title']} API, version {about['info']['version']}")
    links = "".join(f'<a href="#{_anchor(group)}">{escape(group)}</a>' for group in (*groups, "Objects"))
    parts = (
        f'<h2 id="{_anchor(tag["name"])}">{escape(tag["name"])}</h2>\n<p>{escape(tag["description"])}</p>\n'
        + "\n".join(groups[tag["name"]])
        for tag in about["tags"]
    )
    objects = "".join(part for name in sorted(schemas) for part in _object(name, schemas))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
        f"<h1>{title}</h1><p>Send <code>Authorization: Bearer TOKEN</code>, and JSON. The same for programs: "
        '<a href="/openapi.json">openapi.json</a>. The guides: <a href="/help/">help</a>.</p>'
        f"<nav>{links}</nav>{''.join(parts)}"
        f'<section id="objects"><h2>Objects</h2><p>What the routes above name as types.</p>{objects}</section></html>'
    )


def _anchor(group: str) -> str:
    return escape(group.lower().replace(" ", "-"))


def _route(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    first, _, rest = " ".join(operation.get("description", "").split()).partition(". ")
    yield f"<details><summary><b>{method}</b> <code>{escape(path)}</code><span>{escape(first)}</span></summary>"
    if rest:
        yield f"<p>{escape(rest)}</p>"
    given = [each for each in operation.get("parameters", []) if each["in"] != "path"]
    if given:
        rows = [(each["name"], each["schema"], each.get("required", False), each["in"]) for each in given]
        yield _table("Parameters", rows)
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        yield from _fields(f"Body, {kind}", body.get("schema", {}), schemas)
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            for kind, body in answer.get("content", {}).items():
                yield from _fields(f"Answer {status}, {kind}", body.get("schema", {}), schemas)
    yield "</details>"


def _object(name: str, schemas: dict[str, Any]) -> Iterator[str]:
    """The definition of a type, which its name leads to wherever it stands."""
    yield f'<h3 id="{_object_anchor(name)}">{escape(name)}</h3>'
    if told := schemas[name].get("description"):
        yield f"<p>{escape(' '.join(told.split()))}</p>"
    yield from _fields("", schemas[name], schemas)


def _object_anchor(name: str) -> str:
    return escape(f"object-{name}")


def _fields(title: str, schema: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    held = _opened(schema, schemas)
    needed = held.get("required", [])
    rows = [(name, each, name in needed, "") for name, each in held.get("properties", {}).items()]
    yield _table(title, rows) if rows else f"<p>{escape(title and f'{title}: ')}{_type(schema)}</p>"


def _table(title: str, rows: list[tuple[str, dict[str, Any], bool, str]]) -> str:
    lines = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{_type(schema)}</td>"
        f"<td>{'required' if required else ''} {escape(where)} {escape(_description(schema))}</td></tr>"
        for name, schema, required, where in rows
    )
    heading = f"<tr><th colspan=3>{escape(title)}</th></tr>" if title else ""
    return f"<table>{heading}{lines}</table>"


def _description(schema: dict[str, Any]) -> str:
    default = schema.get("default")
    said = [schema.get("description", ""), f"default {default}" if default not in (None, "") else ""]
    bounds = [f"{word} {schema[name]}" for name, word in (("minimum", "from"), ("maximum", "to")) if name in schema]
    return "; ".join(filter(None, [*said, " ".join(bounds)]))


def _type(schema: dict[str, Any], depth: int = 0) -> str:
    """A short description of a schema, as HTML; the name of an object leads to its definition."""
    if name := str(schema.get("$ref", "")).rpartition("/")[2]:
        return f'<a href="#{_object_anchor(name)}">{escape(name)}</a>'
    if "enum" in schema:
        return escape(" | ".join(map(str, schema["enum"])))
    if either := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(_type(each, depth + 1) for each in either))
    if schema.get("type") == "array" and depth < MAX_DEPTH:
        return f"list of {_type(schema.get('items', {}), depth + 1)}"
    return escape(str(schema.get("type", "anything")))


def _opened(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schemas.get(schema.get("$ref", "").rpartition("/")[2], schema)
    return found
