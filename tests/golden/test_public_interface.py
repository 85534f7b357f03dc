"""What others build on stays as it is: HTTP, MCP, the command line and the Python names.

Each is compared with a file in this folder; `pytest tests/golden --renew` writes the files anew. A line that goes away
or changes there is a change that breaks somebody's program, so it needs a line in the changelog too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from golden.conftest import Compare
from support import public_interface


def as_json(value: Any, *, sort_keys: bool = False) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=sort_keys) + "\n"


def test_the_openapi_document_is_the_golden_one(compare: Compare, tmp_path: Path) -> None:
    compare("openapi.json", as_json(public_interface.openapi_document(tmp_path), sort_keys=True))


async def test_the_mcp_tools_are_the_golden_ones(compare: Compare, tmp_path: Path) -> None:
    compare("mcp_tools.json", as_json(await public_interface.mcp_tools(tmp_path)))


def test_the_help_of_every_command_is_the_golden_one(compare: Compare) -> None:
    parts = [f"$ holdfast {name} --help\n{text}" for name, text in public_interface.command_help().items()]
    compare("cli_help.txt", "\n".join(parts).replace("holdfast  --help", "holdfast --help"))


def test_the_public_python_names_are_the_golden_ones(compare: Compare) -> None:
    compare("python_names.json", as_json(public_interface.python_names()))
