"""The layout of the package, read off the source: layers, folders, drivers, SQL, names and sizes."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast

SRC = Path(holdfast.__file__).parent
FILES = sorted(SRC.rglob("*.py"))
LAYERS = (
    ("domain",),
    ("text",),
    ("models", "storage"),
    ("ingest", "recall", "graph"),
    ("lifecycle",),
    ("documents", "archive"),
    ("service",),
    ("api", "integrations"),
    ("cli",),
    ("testing",),
)
"""Low to high. A package imports from lower rows and from itself; packages in one row do not import each other."""
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}
WIRING = "service/wiring.py"
"""The one module that may import from every layer."""
MAX_MODULES_PER_FOLDER = 20
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
DRIVERS = {  # third-party package → the folders and files that may import it
    "apsw": ("storage/sqlite",),
    "psycopg": ("storage/postgres",),
    "psycopg_pool": ("storage/postgres",),
    "cryptography": ("storage/postgres", "storage/blobs"),
    "obstore": ("storage/blobs",),
    "onnxruntime": ("models",),
    "click": ("cli",),
    "rich": ("cli",),
    "fastapi": ("api/rest",),
    "starlette": ("api/rest",),
    "uvicorn": ("api/rest",),
    "limits": ("api/rest",),
    "prometheus_client": ("api/rest",),
    "httpx2": ("api/client", "models", "documents"),
    "httpcore2": ("documents",),
    "pydantic": ("api", "models"),
    "mcp": ("api", "cli"),
    "mcp_types": ("api/mcp",),
    "anthropic": ("integrations",),
    "langgraph": ("integrations",),
    "jsonschema": ("ingest/kinds",),
    "referencing": ("ingest/kinds",),
}
DOCTOR = "service/doctor.py"
"""Tells which drivers are installed, so it may import any."""


def relative(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, also inside functions and for typing."""
    package = ("holdfast", *path.relative_to(SRC).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)


def every_path(test: object) -> object:
    return pytest.mark.parametrize("path", FILES, ids=relative)(test)  # type: ignore[arg-type]


@every_path
def test_imports_point_to_lower_layers(path: Path) -> None:
    package = path.relative_to(SRC).parts[0]
    if package not in RANK or relative(path) == WIRING:
        return
    for line, dotted in imports(path):
        parts = dotted.split(".")
        if parts[0] == "holdfast" and len(parts) > 1 and parts[1] in RANK and parts[1] != package:
            assert RANK[parts[1]] < RANK[package], f"{relative(path)}:{line}: {package} may not import {parts[1]}"


def test_nothing_lies_in_the_root_and_every_package_has_a_layer() -> None:
    assert {path.name for path in SRC.glob("*.py")} == {"__init__.py", "__main__.py"}
    assert {path.parent.name for path in SRC.glob("*/__init__.py")} == set(RANK)


def test_no_folder_is_overfull() -> None:
    counts = Counter(relative(path.parent) for path in FILES)
    assert {folder: count for folder, count in counts.items() if count > MAX_MODULES_PER_FOLDER} == {}


@every_path
def test_a_driver_is_imported_in_its_own_folder_only(path: Path) -> None:
    for line, dotted in imports(path):
        allowed = DRIVERS.get(dotted.split(".")[0])
        if allowed is not None and relative(path) != DOCTOR:
            assert relative(path).startswith(allowed), f"{relative(path)}:{line} imports {dotted}"


@every_path
def test_sql_stands_in_a_backend_only(path: Path) -> None:
    if relative(path).startswith(("storage/sqlite", "storage/postgres")):
        return
    strings = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
    sql = re.compile(r"\b(?:SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|PRAGMA)\b")
    assert not [text for text in strings if isinstance(text, str) and sql.search(text)]


@every_path
def test_the_environment_is_read_in_one_place(path: Path) -> None:
    if relative(path) != "service/settings.py" and not relative(path).startswith("cli/"):
        assert not re.search(r"os\.environ|getenv", path.read_text())


@every_path
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path} has no docstring"


def test_nothing_else_is_public() -> None:
    public = {name for name in dir(holdfast) if not name.startswith("_")}
    modules = {path.stem for path in SRC.iterdir() if path.suffix == ".py"} | {path.name for path in SRC.iterdir()}
    assert public - modules - {"annotations"} == set(holdfast.__all__)
    assert [name for name in holdfast.__all__ if getattr(holdfast, name).__name__ != name] == []


def test_errors_are_drawn_in_their_tree() -> None:
    from holdfast.domain import errors

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
    backends = [path for path in (SRC / "storage").iterdir() if (path / "migrations" / "profile").is_dir()]
    assert backends
    numbers = {
        backend.name: [int(path.name[:4]) for path in sorted((backend / "migrations" / "profile").glob("*.sql"))]
        for backend in backends
    }
    for found in numbers.values():
        assert found == list(range(1, len(found) + 1))
    assert len(set(map(tuple, numbers.values()))) == 1


def test_the_storage_port_stays_small() -> None:
    from holdfast.domain.ports import storage

    methods = [name for name, it in vars(storage.Store).items() if not name.startswith("_") and callable(it)]
    assert len(methods) <= 11, methods


@every_path
def test_no_file_and_no_function_grows_out_of_hand(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= MAX_FILE_LINES, f"{path} has {text.count(chr(10))} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{path}:{node.lineno} {node.name} has {length} lines"


def test_a_class_name_is_defined_once() -> None:
    places: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(relative(path))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


REACHES = {
    "os._exit": "ends a child process without its parent's exit hooks",
    "threading._register_atexit": "the one hook that runs while thread pools still take work",
    "ctx.session._connection": "the MCP SDK has no public name for a client's connection",
    "profile._inner": "service/sync.py: notes and agent memories share the loop of the profile they are made from",
    "profile._loop": "the same",
}
"""Private attributes of other objects that are used, each with its reason. The list only shrinks."""


@every_path
def test_private_names_stay_private(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for line, dotted in imports(path):
        last = dotted.rpartition(".")[2]
        if dotted.startswith("holdfast."):
            assert not last.startswith("_") or last == "__version__", f"{relative(path)}:{line} imports {dotted}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr):
            owner = ast.unparse(node.value)
            assert owner in ("self", "cls") or ast.unparse(node) in REACHES, (
                f"{relative(path)}:{node.lineno} reaches into {ast.unparse(node)}"
            )
