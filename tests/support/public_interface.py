"""The public interface as data: the OpenAPI document, the MCP tools, the help of every command, the Python names."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import re
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from .server_process import ServerProcess, server_environment

HELP_COLUMNS = "100"
CLASSES = ("Holdfast", "Profile", "AsyncHoldfast", "LocalProfile")
MODULES = ("holdfast", "holdfast.testing")
UNLISTED_COMMANDS = ("hook",)
"""Commands that the overview of commands does not show."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def openapi_document(folder: Path) -> dict[str, Any]:
    with ServerProcess(folder / "openapi") as server:
        document: dict[str, Any] = server.ask("GET", "/openapi.json").json()
    return document


async def mcp_tools(folder: Path) -> list[dict[str, Any]]:
    command = ["-m", "holdfast", "mcp", "--data", str(folder / "mcp")]
    async with Client(StdioServerParameters(command=sys.executable, args=command, env=server_environment())) as client:
        listed = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]


def command_help() -> dict[str, str]:
    """Command → what its --help prints; the empty name is the program itself."""
    found: dict[str, str] = {}
    _collect_help((), found)
    for name in UNLISTED_COMMANDS:
        _collect_help((name,), found)
    return found


def _collect_help(command: tuple[str, ...], found: dict[str, str]) -> None:
    from holdfast.cli import main

    printed = io.TextIOWrapper(io.BytesIO(), "utf-8")  # main sets the encoding of stdout, which a StringIO has not
    columns = mock.patch.dict(os.environ, COLUMNS=HELP_COLUMNS, TERMINAL_WIDTH=HELP_COLUMNS)
    with contextlib.redirect_stdout(printed), columns:
        assert main([*command, "--help"]) == 0
        printed.flush()
    text = printed.buffer.getvalue().decode()  # type: ignore[attr-defined]
    found[" ".join(command)] = text
    _, _, listed = text.partition("\nEveryday:\n")
    for name in re.findall(r"^  ([a-z][a-z-]*)", listed, re.M):
        _collect_help((*command, name), found)


def python_names() -> dict[str, Any]:
    """Public names of the modules, and the public methods of the main classes with their signatures."""
    modules = {name: list(importlib.import_module(name).__all__) for name in MODULES}
    package = importlib.import_module("holdfast")
    return modules | {name: _methods(getattr(package, name)) for name in CLASSES}


def _methods(cls: type) -> dict[str, str]:
    public = [name for name in dir(cls) if not name.startswith("_") or name in ("__init__", "__enter__", "__aenter__")]
    return {name: _signature(inspect.getattr_static(cls, name), getattr(cls, name)) for name in public}


def _signature(static: object, value: Any) -> str:
    if isinstance(static, property):
        return "property"
    if not callable(value):
        return type(value).__name__
    kind = "async " if inspect.iscoroutinefunction(value) else ""
    return kind + _ADDRESS.sub("", str(inspect.signature(value)))
