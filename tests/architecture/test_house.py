"""The house's rules, read off the source: who may import whom, where SQL may stand, what is public."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast

SRC = Path(holdfast.__file__).parent
FILES = sorted(SRC.rglob("*.py"))
ROOMS = ("sqlite", "postgres", "memory", "models", "documents", "cli", "rest", "mcp", "importers", "integrations",
         "objects", "web")  # fmt: skip
PURE = {
    "clauses", "finished", "fit", "given_names", "lasting", "sought", "traits",
    "addressed", "alike", "bookmarks", "conditions", "conforming", "credentials", "cursors", "entities",
    "entity_words", "errors", "features", "filters", "graphs", "happened", "identity", "kinds", "malformed", "mappings",
    "moments", "names", "pack", "passages", "paths", "pattern_text", "patterns", "question", "quoted", "rank",
    "reading", "reckon", "reconcile", "records", "redaction", "relations", "results", "schemas", "sights", "spending",
    "spoken", "statics", "stored", "support", "trail", "types", "vectors", "when", "wordpiece", "words",
}  # fmt: skip
VERBS = {
    "latest", "earlier", "agenda",
    "ingest", "digest", "remember", "recall", "answer", "forget", "summary", "once", "transfer", "moving", "inventory",
    "archive", "archive_checks", "archive_file", "export", "restore", "merging", "luggage", "unpacking",
    "migrate", "restate", "discreet", "graph", "entity_changes", "owned", "undated", "topics",
}  # fmt: skip
OUTER = {
    "live",
    "recorder",
    "telemetry",
    "profile",
    "service",
    "worker",
    "sync",
    "wiring",
    "config",
    "cli",
    "doctor",
    "rest",
    "access",
}
DRIVERS = {
    "apsw": "sqlite",
    "psycopg": "postgres",
    "psycopg_pool": "postgres",
    "onnxruntime": "models",
    "typer": "cli",
    "rich": "cli",
    "fastapi": "rest",
    "starlette": "rest",
    "uvicorn": "rest",
    "limits": "rest",
    "prometheus_client": "rest",
    "httpx2": "remote models documents",
    "httpcore2": "documents",
    "pydantic": "rest mcp models",
    "mcp": "mcp rest cli",
    "mcp_types": "mcp",
    "cryptography": "postgres objects",
    "obstore": "objects",
    "anthropic": "integrations",
    "langgraph": "integrations",
    "jsonschema": "conforming schemas",
    "referencing": "conforming schemas",
}


def imports(path: Path, *, late: bool = False) -> Iterator[str]:
    """Dotted names this file imports; ours without the package's name. Imports inside functions only when `late`."""
    tree = ast.parse(path.read_text())
    package = path.relative_to(SRC).parts[:-1]
    nodes = ast.walk(tree) if late else _outside_functions(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = (".".join(["holdfast", *base]) + "." if node.level else "") + (node.module or "")
            for alias in node.names:
                yield f"{start.rstrip('.')}.{alias.name}"


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _outside_functions(child)


def room(dotted: str) -> str | None:
    """The file or folder of ours that a dotted name is in."""
    parts = dotted.split(".")
    return parts[1] if parts[0] == "holdfast" and len(parts) > 1 else None


def own_room(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_imports_point_inwards(path: Path) -> None:
    me = own_room(path)
    seen = {name for dotted in imports(path) if (name := room(dotted)) is not None} - {me}
    if me in PURE or me == "ports":
        assert not seen & (VERBS | OUTER | set(ROOMS)), f"{me} computes; it may not know {seen}"
    elif me in VERBS:
        assert not seen & (OUTER | set(ROOMS)), f"{me} is a verb; it may not know {seen}"
    elif me in ("sqlite", "postgres", "memory", "objects"):
        assert not seen & (VERBS | OUTER | (set(ROOMS) - {me})), f"a backend may not know {seen}"
    elif me == "models":
        assert not seen & (VERBS | OUTER | {"sqlite", "memory", "cli"}), f"a model may not know {seen}"
    elif me == "documents":
        assert seen <= {"types", "errors", "names", "moments"}, f"documents are read without knowing {seen}"
    elif me == "importers":
        assert seen <= PURE, f"an importer reads files and computes; it may not know {seen - PURE}"
    elif me == "integrations":
        assert seen <= {*holdfast.__all__, "names", "notes", "paths", "remote"}, f"it knows the front, not {seen}"
    elif me in ("profile", "service", "worker", "sync"):
        assert not seen & set(ROOMS), f"{me} takes ports, not {seen}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_a_driver_is_known_in_its_own_room_only(path: Path) -> None:
    for dotted in imports(path, late=True):
        driver = dotted.split(".")[0]
        if driver in DRIVERS and own_room(path) != "doctor":
            assert own_room(path) in DRIVERS[driver].split(), f"{path.name} imports {driver}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_sql_stands_in_a_backend_only(path: Path) -> None:
    if own_room(path) in ("sqlite", "postgres"):
        return
    strings = [n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)]
    sql = re.compile(r"\b(?:SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|PRAGMA)\b")
    assert not [text for text in strings if isinstance(text, str) and sql.search(text)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_the_environment_is_read_in_one_place(path: Path) -> None:
    if own_room(path) not in ("config", "cli"):
        assert not re.search(r"os\.environ|getenv", path.read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path} has no docstring"


def test_nothing_else_is_public() -> None:
    public = {name for name in dir(holdfast) if not name.startswith("_")}
    modules = {path.stem for path in SRC.iterdir() if path.suffix == ".py"} | {path.name for path in SRC.iterdir()}
    assert public - modules - {"annotations"} == set(holdfast.__all__)
    assert [name for name in holdfast.__all__ if getattr(holdfast, name).__name__ != name] == []


def test_errors_are_drawn_in_their_tree() -> None:
    from holdfast import errors

    drawn = errors.__doc__ or ""
    for name, thing in vars(errors).items():
        if isinstance(thing, type) and issubclass(thing, errors.HoldfastError):
            line = next((line for line in drawn.splitlines() if re.search(rf"\b{name}\b", line)), "")
            assert line, f"{name} is not in the tree"
            if thing is not errors.HoldfastError:
                assert thing.code in line.split()
                assert str(thing.exit) in line.split()


def test_migrations_are_numbered_without_gaps_and_paired_across_backends() -> None:
    """Each backend has the same numbers for the profile's schema, so a copied profile is at one version everywhere."""
    backends = [path for path in SRC.iterdir() if (path / "migrations" / "profile").is_dir()]
    assert backends
    numbers = {
        backend.name: [int(path.name[:4]) for path in sorted((backend / "migrations" / "profile").glob("*.sql"))]
        for backend in backends
    }
    for found in numbers.values():
        assert found == list(range(1, len(found) + 1))
    assert len(set(map(tuple, numbers.values()))) == 1


def test_the_storage_port_stays_small() -> None:
    from holdfast import ports

    methods = [name for name, it in vars(ports.Store).items() if not name.startswith("_") and callable(it)]
    assert len(methods) <= 11, methods


def test_no_file_and_no_function_grows_out_of_hand() -> None:
    for path in FILES:
        text = path.read_text()
        assert text.count("\n") <= 400, f"{path} has {text.count(chr(10))} lines"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                assert length <= 60, f"{path}:{node.lineno} {node.name} has {length} lines"
