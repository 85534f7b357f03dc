"""Every command in one place. Nothing heavy is imported here: `holdfast --help` must be quick."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import carry, connect, curate, find, folder, graph, keep, kinds, mcp, notes, read, serve, tell, tokens, transfer

app = typer.Typer(
    name="holdfast",
    help="Memory for AI agents: ingest conversations, recall what matters. Start with: holdfast demo",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # drawing help with rich would cost more than everything else --help does
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...


for commands in (
    tell, read, find, curate, notes, keep, folder, kinds, graph, carry, transfer, tokens, serve, mcp, connect,
):  # fmt: skip
    commands.add_to(app)
