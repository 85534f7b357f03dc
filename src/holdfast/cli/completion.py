"""Completes commands, options and their values in bash, zsh and fish. The shell runs the program to ask for words."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.domain.errors import HoldfastError, InvalidInput, NotFound, quoted_value

if TYPE_CHECKING:
    import click

    from holdfast.service.sync import Holdfast

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_HOLDFAST_COMPLETE"
"""The variable by which a shell's script asks this program for words, as click names it."""


def completion_script(shell: str) -> str:
    """The script that a shell runs to complete `holdfast`."""
    from click.shell_completion import get_completion_class

    from holdfast.cli.app import app

    made_for = get_completion_class(shell) if shell in SHELLS else None
    if made_for is None:
        raise InvalidInput(f"shell is {quoted_value(shell)}; use one of {', '.join(SHELLS)}.", field="shell")
    script = made_for(app("completion"), {}, "holdfast", VARIABLE)
    return script.source_template % script.source_vars()  # source() would start bash to learn its version


def print_completions(instruction: str) -> int:
    """Answer a shell: print the words that may come next. What cannot be read completes to nothing."""
    from click.shell_completion import shell_complete

    from holdfast.cli.app import app

    words = os.environ.get("COMP_WORDS", "").split()
    shell, _, request = instruction.partition("_")
    if request != "complete" or shell not in SHELLS:
        return InvalidInput.exit
    try:
        return shell_complete(app(words[1] if len(words) > 1 else None), {}, "holdfast", VARIABLE, instruction)
    except HoldfastError:
        return 0


def namespace_names(context: click.Context, _: click.Parameter, start: str) -> list[str]:
    with _open_folder(context) as holdfast:
        return [each.name for each in holdfast.namespaces() if each.name.startswith(start)]


def profile_names(context: click.Context, _: click.Parameter, start: str) -> list[str]:
    with _open_folder(context) as holdfast:
        found = holdfast.profiles(context.params.get("namespace") or "default")
        return [each.name for each in found if each.name.startswith(start)]


def _open_folder(context: click.Context) -> Holdfast:
    """The data folder of the command, without waiting for another process. Raises NotFound where there is none."""
    from holdfast.cli.shared_folder import open_or_connect, unwritten_folder

    data = context.params.get("data")
    if unwritten_folder(data) is not None:
        raise NotFound("There is no data folder.")
    return open_or_connect(data, max_wait_seconds=0)
