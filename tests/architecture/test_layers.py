"""The layout of the package, read off the source: layers, folders, drivers, SQL, names and sizes."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import holdfast
from support.syntax_trees import nodes, tree

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


def imports() -> Iterator[tuple[Path, str, str]]:
    """File, place and dotted name of every import, also inside functions and for typing."""
    for path in FILES:
        package = ("holdfast", *path.relative_to(SRC).parts[:-1])
        for node in nodes(path):
            if isinstance(node, ast.Import):
                yield from ((path, place(path, node), alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else ()
                start = ".".join([*base, *([node.module] if node.module else [])])
                yield from ((path, place(path, node), f"{start}.{alias.name}") for alias in node.names)


def place(path: Path, node: ast.stmt | ast.expr) -> str:
    return f"{relative(path)}:{node.lineno}"


def test_imports_point_to_lower_layers() -> None:
    wrong = []
    for path, where, dotted in imports():
        package, parts = path.relative_to(SRC).parts[0], dotted.split(".")
        if package not in RANK or relative(path) == WIRING:
            continue
        if parts[0] == "holdfast" and len(parts) > 1 and parts[1] in RANK and parts[1] != package:
            if RANK[parts[1]] >= RANK[package]:
                wrong.append(f"{where}: {package} may not import {parts[1]}")
    assert wrong == []


def test_nothing_lies_in_the_root_and_every_package_has_a_layer() -> None:
    assert {path.name for path in SRC.glob("*.py")} == {"__init__.py", "__main__.py"}
    assert {path.parent.name for path in SRC.glob("*/__init__.py")} == set(RANK)


def test_no_folder_is_overfull() -> None:
    counts = Counter(relative(path.parent) for path in FILES)
    assert {folder: count for folder, count in counts.items() if count > MAX_MODULES_PER_FOLDER} == {}


def test_a_driver_is_imported_in_its_own_folder_only() -> None:
    wrong = []
    for path, where, dotted in imports():
        allowed = DRIVERS.get(dotted.split(".")[0])
        if allowed is not None and relative(path) != DOCTOR and not relative(path).startswith(allowed):
            wrong.append(f"{where} imports {dotted}")
    assert wrong == []


def test_sql_stands_in_a_backend_only() -> None:
    sql = re.compile(r"\b(?:SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|PRAGMA)\b")
    elsewhere = [path for path in FILES if not relative(path).startswith(("storage/sqlite", "storage/postgres"))]
    constants = [(path, node) for path in elsewhere for node in nodes(path) if isinstance(node, ast.Constant)]
    assert [place(path, it) for path, it in constants if isinstance(it.value, str) and sql.search(it.value)] == []


def test_the_environment_is_read_in_one_place() -> None:
    elsewhere = [path for path in FILES if not relative(path).startswith(("service/settings.py", "cli/"))]
    assert [relative(path) for path in elsewhere if re.search(r"os\.environ|getenv", path.read_text())] == []


def test_every_module_says_what_it_is() -> None:
    assert [relative(path) for path in FILES if not ast.get_docstring(tree(path))] == []


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


def test_no_file_and_no_function_grows_out_of_hand() -> None:
    lines = {relative(path): path.read_text().count("\n") for path in FILES}
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines[f"{place(path, node)} {node.name}"] = (node.end_lineno or 0) - node.lineno + 1
    limits = {name: MAX_FUNCTION_LINES if " " in name else MAX_FILE_LINES for name in lines}
    assert {name: count for name, count in lines.items() if count > limits[name]} == {}


def test_a_class_name_is_defined_once() -> None:
    places: dict[str, list[str]] = {}
    for path in FILES:
        for node in nodes(path):
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
OF_NAMED_TUPLES = ("_fields", "_replace", "_asdict")
"""Public in spite of their names: the underscore keeps them apart from the fields."""


def test_private_names_stay_private() -> None:
    wrong = []
    for _, where, dotted in imports():
        last = dotted.rpartition(".")[2]
        if dotted.startswith("holdfast.") and last.startswith("_") and last != "__version__":
            wrong.append(f"{where} imports {dotted}")
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr) and node.attr not in OF_NAMED_TUPLES:
                if ast.unparse(node.value) not in ("self", "cls") and ast.unparse(node) not in REACHES:
                    wrong.append(f"{place(path, node)} reaches into {ast.unparse(node)}")
    assert wrong == []
