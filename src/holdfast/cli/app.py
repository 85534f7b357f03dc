"""Lists every command. Only the file of the requested command is loaded: imports are most of a command's running
time."""

from __future__ import annotations

from importlib import import_module

import click

from holdfast import __version__
from holdfast.cli.parameters import Commands

COMMANDS = {
    "commands.messages": ("ingest", "redigest"),
    "commands.memories": ("remember", "recall", "search", "context", "list", "get", "history", "summary"),
    "commands.forget": ("forget",),
    "commands.listing": ("facets", "messages", "jobs"),
    "commands.documents": ("add", "documents"),
    "commands.curation": ("edit", "merge", "split", "mark", "review", "undo", "audit"),
    "commands.notes": ("notes",),
    "commands.retention": ("retention",),
    "commands.installation": ("profiles", "namespaces", "stats", "usage", "doctor", "demo", "completion", "version"),
    "commands.kinds": ("kinds",),
    "commands.graph": ("graph",),
    "commands.archive": ("export", "import", "backup", "verify"),
    "commands.transfer": ("transfer",),
    "commands.credentials": ("token", "tokens", "grant", "revoke", "access"),
    "commands.serve": ("serve",),
    "commands.mcp": ("mcp",),
    "commands.connect": ("connect", "hook"),
    "commands.background": ("background",),
}
"""The commands of each file."""

GROUPS = {
    "Everyday": (
        "remember", "recall", "search", "list", "get", "history", "summary", "context", "ingest", "messages", "add",
        "documents", "notes", "graph", "facets",
    ),
    "Correct": ("edit", "merge", "split", "mark", "review", "audit", "undo", "redigest", "forget"),
    "Move": ("export", "import", "backup", "verify", "transfer"),
    "Serve": ("connect", "serve", "mcp", "background", "token", "tokens", "grant", "revoke", "access"),
    "Administer": (
        "profiles", "namespaces", "stats", "usage", "jobs", "kinds", "retention", "doctor", "demo", "completion",
        "version",
    ),
}  # fmt: skip
"""The commands of each group of the help, in its order."""

ABOUT = "Memory for AI agents: tell it something, ask later.\n\nStart with: holdfast demo"
START = """\
Holdfast is memory for AI agents. Everything stays on this machine.

  holdfast demo                          watch conversations become memories
  holdfast remember "I like green tea"   tell it something
  holdfast recall "What do I like?"      ask
  holdfast list                          see what it knows
  holdfast connect                       give it to your coding agents
  holdfast serve                         run a server with a web UI

All commands: holdfast --help     About one: holdfast recall --help"""


def app(command: str | None = None) -> Commands:
    """The command line; with a command, only the commands of its file."""
    version = click.Option(
        ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
        help="Show the version.",
    )  # fmt: skip
    cli = Commands("holdfast", ABOUT, [version], GROUPS)
    for file in [file for file, names in COMMANDS.items() if command in names] or COMMANDS:
        import_module(f".{file}", __package__).add_to(cli)
    return cli


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        print(__version__)
        context.exit()
