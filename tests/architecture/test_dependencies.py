"""What the package imports, pyproject.toml declares: no import rests on what another distribution happens to bring."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest

import holdfast
from support.syntax_trees import nodes

SRC = Path(holdfast.__file__).parent
FILES = sorted(SRC.rglob("*.py"))
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
KNOWN = {*sys.stdlib_module_names, "holdfast"}
MODULE_FILE = re.compile(r"^[^,]*\.(?:py|so),")
LOADERS = ("import_module", "find_spec", "load_library", "__import__")
"""Functions that import a module, or look for it, by a name given as text."""
NAMES_FROM_VARIABLES = {("documents/parse/dispatch.py", "import_module"), ("documents/parse/image.py", "find_spec")}
"""load_library itself, whose callers are read here, and a check for libraries that the same file loads by it."""
NOT_IN_DEV = {"opentelemetry.exporter.otlp.proto.http": "opentelemetry-exporter-otlp-proto-http"}
"""Module → distribution, where the extra dev does not install it."""
BROUGHT_BY_THE_CALLER = {"anthropic": "integrations", "langgraph-checkpoint": "integrations", "pytest": "testing"}
"""Distribution → the folder that is of use only to those who have it; of the extras only dev declares it."""
USED_THROUGH_ANOTHER = {"httptools": "uvicorn", "python-multipart": "starlette"}
"""Default dependencies that no module of ours imports → the distribution that loads them if they are there."""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(*extras: str) -> set[str]:
    """The distributions of the dependencies and of these extras."""
    lines = PROJECT["dependencies"] + [line for extra in extras for line in PROJECT["optional-dependencies"][extra]]
    return {canonical(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in lines}


def imported_modules(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line and dotted names of every absolute import, also inside functions and for typing; the likeliest name first.

    What `from a import b` takes may be the module a.b or a name in a.
    """
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, (alias.name,)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, (f"{node.module}.{alias.name}", node.module)) for alias in node.names)
        elif isinstance(node, ast.Call) and (loader := called_name(node)) in LOADERS:
            yield from ((node.lineno, (name,)) for name in loaded_module(path, loader, node))


def called_name(call: ast.Call) -> str:
    """The last part of the name of the function that is called; empty where it has no name."""
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def loaded_module(path: Path, loader: str, call: ast.Call) -> Iterator[str]:
    """The module that a loader is asked for, unless it is one of ours by a relative name."""
    name = call.args[0]
    start = name.values[0] if isinstance(name, ast.JoinedStr) else name
    if isinstance(start, ast.Constant) and str(start.value).startswith("."):
        return
    if isinstance(name, ast.Constant):
        yield str(name.value)
    else:
        place = (path.relative_to(SRC).as_posix(), loader)
        assert place in NAMES_FROM_VARIABLES, f"{place} loads a module whose name cannot be read off the source"


def third_party(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    for line, names in imported_modules(path):
        if names[0].partition(".")[0] not in KNOWN:
            yield line, names


@cache
def modules() -> dict[str, set[str]]:
    """The modules that each installed distribution has files of, by its record: `metadata.files` takes seconds."""
    found: dict[str, set[str]] = {}
    for distribution in metadata.distributions():
        record = distribution.read_text("RECORD") or ""
        paths = [PurePosixPath(line.partition(",")[0]) for line in record.splitlines() if MODULE_FILE.search(line)]
        names = (".".join((*path.parts[:-1], path.name.partition(".")[0])) for path in paths)
        found[distribution.metadata["Name"]] = {name.removesuffix(".__init__") for name in names}
    return found


@cache
def distributions() -> dict[str, set[str]]:
    """By the first part of a module's name; several share one where it is a namespace."""
    found: dict[str, set[str]] = {}
    for distribution, names in modules().items():
        for top in {name.partition(".")[0] for name in names}:
            found.setdefault(top, set()).add(distribution)
    return found


def distribution_of(names: tuple[str, ...]) -> str:
    """The distribution that an imported module comes from."""
    owners = distributions().get(names[0].partition(".")[0], set())
    if len(owners) > 1:
        owners = next((found for name in names if (found := {o for o in owners if name in modules()[o]})), set())
    if not owners:
        owners = {known for start, known in NOT_IN_DEV.items() if f"{names[0]}.".startswith(f"{start}.")}
    assert len(owners) == 1, f"{names[0]} comes from {sorted(owners) or 'no installed distribution'}"
    return canonical(*owners)


def test_every_imported_distribution_is_declared() -> None:
    known = declared(*(extra for extra in PROJECT["optional-dependencies"] if extra != "dev"))
    undeclared = []
    for path in FILES:
        folder = path.relative_to(SRC).parts[0]
        brought = {name for name, place in BROUGHT_BY_THE_CALLER.items() if place == folder} & declared("dev")
        for line, names in third_party(path):
            if (name := distribution_of(names)) not in known | brought:
                undeclared.append(f"{path}:{line} imports {names[-1]} of {name}")
    assert undeclared == []


def test_every_default_dependency_is_used() -> None:
    used = {distribution_of(names) for path in FILES for _, names in third_party(path)}
    assert declared() - used == set(USED_THROUGH_ANOTHER)
    assert set(USED_THROUGH_ANOTHER.values()) <= declared()


@pytest.mark.parametrize(
    ("module", "distribution"),
    [("apsw", "apsw-sqlite3mc"), ("Stemmer", "pystemmer"), ("PIL.Image", "pillow"), ("mcp_types", "mcp-types"),
     ("opentelemetry.trace", "opentelemetry-api"), ("opentelemetry.sdk.trace", "opentelemetry-sdk"),
     ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry-exporter-otlp-proto-http")],
)  # fmt: skip
def test_a_module_is_traced_to_its_distribution(module: str, distribution: str) -> None:
    assert distribution_of((module,)) == distribution


def test_a_module_of_nobody_is_told() -> None:
    with pytest.raises(AssertionError, match=r"nowhere_to_be_found\.part comes from no installed distribution"):
        distribution_of(("nowhere_to_be_found.part",))


def test_the_exceptions_are_needed() -> None:
    used = {distribution_of(names) for path in FILES for _, names in third_party(path)}
    assert {*BROUGHT_BY_THE_CALLER, *NOT_IN_DEV.values()} <= used
    assert not {*BROUGHT_BY_THE_CALLER} & declared(*({*PROJECT["optional-dependencies"]} - {"dev"}))
