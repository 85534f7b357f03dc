"""Lists every command. Only the file of the requested command is loaded: imports are most of a command's running
time."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from holdfast import __version__

COMMANDS = {
    "commands.messages": ("ingest", "redigest"),
    "commands.memories": ("remember", "recall", "search", "context", "list", "get", "history", "summary", "forget"),
    "commands.listing": ("facets", "messages", "jobs"),
    "commands.documents": ("add", "documents"),
    "commands.curation": ("edit", "merge", "split", "mark", "review", "undo", "audit"),
    "commands.notes": ("notes",),
    "commands.retention": ("retention",),
    "commands.installation": ("profiles", "namespaces", "stats", "usage", "doctor", "demo", "version"),
    "commands.kinds": ("kinds",),
    "commands.graph": ("graph",),
    "commands.archive": ("export", "import", "backup", "verify"),
    "commands.transfer": ("transfer",),
    "commands.credentials": ("token", "tokens", "grant", "revoke", "access"),
    "commands.serve": ("serve",),
    "commands.mcp": ("mcp",),
    "commands.connect": ("connect", "hook"),
}
"""The commands of each file, in the order of the help."""


def app(command: str | None = None) -> typer.Typer:
    """The command line; with a command, only the commands of its file."""
    cli = typer.Typer(
        name="holdfast",
        help="Memory for AI agents: ingest conversations, recall what matters. Start with: holdfast demo",
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # rich would take longer than the rest of --help
        pretty_exceptions_enable=False,
    )
    cli.callback()(_root)
    for file in [file for file, names in COMMANDS.items() if command in names] or COMMANDS:
        import_module(f".{file}", __package__).add_to(cli)
    return cli


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...
