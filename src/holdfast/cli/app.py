"""Every command in one place. Only what is asked for is loaded: the start is most of what a small command costs."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from .. import __version__

COMMANDS = {
    "tell": ("ingest", "remember", "forget", "redigest"),
    "read": ("add", "documents"),
    "find": ("recall", "usage", "search", "context", "list", "get", "history", "summary"),
    "curate": ("edit", "merge", "split", "mark", "review", "undo", "audit"),
    "notes": ("notes",),
    "keep": ("retention",),
    "folder": ("profiles", "namespaces", "stats", "doctor", "demo", "version"),
    "kinds": ("kinds",),
    "graph": ("graph",),
    "carry": ("export", "import", "backup", "verify"),
    "transfer": ("transfer",),
    "tokens": ("token", "tokens", "grant", "revoke", "access"),
    "serve": ("serve",),
    "mcp": ("mcp",),
    "connect": ("connect", "hook"),
}
"""Which file has which commands, in the order in which help lists them."""


def app(command: str | None = None) -> typer.Typer:
    """The command line; of one command, with no more than the file that has it."""
    made = typer.Typer(
        name="holdfast",
        help="Memory for AI agents: ingest conversations, recall what matters. Start with: holdfast demo",
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # drawing help with rich would cost more than everything else --help does
        pretty_exceptions_enable=False,
    )
    made.callback()(_root)
    for file in [file for file, names in COMMANDS.items() if command in names] or COMMANDS:
        import_module(f".{file}", __package__).add_to(made)
    return made


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...
