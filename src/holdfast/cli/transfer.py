"""The command that moves everything from one place to another."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import Conflict, InvalidInput
from .output import Block, Note, Reply, show
from .progress import Meter, meter
from .tell import count

if TYPE_CHECKING:
    from ..config import Settings
    from ..moving import Tally
    from ..transfer import Scope, Transferred

MOST_NAMED = 5


def transfer(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A data folder, or postgres://user@host/database.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Where to; a folder is made.")],
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Only this namespace.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", "-p", metavar="NAME", help="Only this profile of the namespace.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Lose what the target's profiles have and the source's have not.")
    ] = False,
    source_keyring: Annotated[
        Path | None, typer.Option("--source-keyring", metavar="FILE", help="The source's master key.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Move everything to another folder or database.

    Goes on where it was interrupted, works while the source is in use, and ends with a checksum of both sides.
    """
    from ..transfer import Scope

    scope = Scope(namespace, profile)
    chosen = _settings(source, source_keyring), _settings(target, None)
    if chosen[0].store == chosen[1].store and _resolved(chosen[0].data) == _resolved(chosen[1].data):
        raise InvalidInput("Source and target are the same place.", field="target")
    start = time.monotonic()
    with meter("Profiles", 0, quiet=as_json) as shown:
        done = asyncio.run(_moved(*chosen, scope, replace, shown))
    reply = _reply(done, time.monotonic() - start)
    show(reply, as_json=as_json)
    return reply.exit


async def _moved(source: Settings, target: Settings, scope: Scope, replacing: bool, shown: Meter) -> Transferred:
    from .. import wiring
    from ..transfer import Transfer

    start = time.monotonic()

    def seen(tally: Tally) -> None:
        rate = tally.copied / max(time.monotonic() - start, 0.001)
        note = f" · {tally.copied:,} items copied, {rate:,.0f} a second, {tally.read:,} compared"
        shown.reached(tally.profiles, total=tally.of, note=note)

    given = wiring.source(source)
    try:
        taking = wiring.vault(target)
        try:
            return await Transfer(given, taking, scope, replacing=replacing, seen=seen).run()
        finally:
            await taking.close()
    finally:
        await given.close()


def _settings(place: str, keyring: Path | None) -> Settings:
    """As set up, but for what names another place; a folder's own keyring goes before one that is set for all."""
    from ..config import Settings

    chosen = Settings.read(data=place)
    own = None if chosen.data is None else chosen.data / "keyring"
    if keyring is None and own is not None and own.exists():
        keyring = own
    return changed(chosen, replica=None, keyring=keyring or chosen.keyring)


def _resolved(folder: Path | None) -> Path | None:
    return None if folder is None else folder.resolve()


def _reply(done: Transferred, seconds: float) -> Reply:
    per_second = round(done.copied / seconds) if seconds else 0
    held = (
        f"{count(done.messages, 'message')} and {count(done.memories, 'memory')} in {count(done.profiles, 'profile')}"
    )
    blocks: list[Block] = []
    if done.checksum is None:
        blocks.append("Source changed meanwhile: run again to catch up.")
        blocks += [Note(f"Behind: {_named(done.behind)}.")] if done.behind else []
    else:
        blocks += [f"Source and target hold the same: {held}.", f"sha256 {done.checksum}"]
    blocks.append(
        Note(f"{count(done.copied, 'item')} copied and {done.forgotten:,} forgotten in {seconds:.1f} s, "
             f"{per_second:,} a second.")
    )  # fmt: skip
    if done.only_in_target:
        blocks.append(Note(f"Only in the target, and left alone: {_named(done.only_in_target)}."))
    about = {"seconds": round(seconds, 3), "items_per_second": per_second}
    document = {name: getattr(done, name) for name in done.__dataclass_fields__} | about
    return Reply(document, tuple(blocks), exit=0 if done.checksum is not None else Conflict.exit)


def _named(profiles: tuple[str, ...]) -> str:
    more = len(profiles) - MOST_NAMED
    return ", ".join(profiles[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def add_to(app: typer.Typer) -> None:
    app.command("transfer")(transfer)
