"""The command that copies everything from one folder or database to another."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.output.progress import Interrupted, ProgressMeter, progress_meter, spinner
from holdfast.cli.output.render import Block, CommandResult, Remark, print_result
from holdfast.cli.output.views import count
from holdfast.cli.parameters import Argument, Commands, Option
from holdfast.domain.errors import Conflict, InvalidInput

if TYPE_CHECKING:
    from holdfast.archive.transfer.profile import TransferProgress
    from holdfast.archive.transfer.vault import TransferResult, TransferScope
    from holdfast.service.settings import Settings

MAX_NAMED_PROFILES = 5
"""How many profiles a report names. Chosen by hand; not measured."""


def transfer(
    source: Annotated[str, Argument(metavar="SOURCE", help="A data folder, or postgres://user@host/database.")],
    target: Annotated[str, Argument(metavar="TARGET", help="The same; a missing folder is created.")],
    namespace: Annotated[str | None, Option("--namespace", "-n", metavar="NAME", help="Only this namespace.")] = None,
    profile: Annotated[
        str | None, Option("--profile", "-p", metavar="NAME", help="Only this profile of the namespace.")
    ] = None,
    replace: Annotated[bool, Option("--replace", help="Delete from the target what the source does not have.")] = False,
    source_keyring: Annotated[
        Path | None, Option("--source-keyring", metavar="FILE", help="The source's master key.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Copy everything to another folder or database.

    An interrupted transfer continues at the next run. The source may be in use. At the end both checksums are compared.
    """
    from holdfast.archive.transfer.vault import TransferScope

    scope = TransferScope(namespace, profile)
    chosen = _location_settings(source, source_keyring), _location_settings(target, None)
    if chosen[0].store == chosen[1].store and _resolved_path(chosen[0].data) == _resolved_path(chosen[1].data):
        raise InvalidInput("Source and target are the same place.", field="target")
    start = time.monotonic()
    try:
        with spinner("holdfast transfer"), progress_meter("Profiles", 0) as progress:
            done = asyncio.run(_run_transfer(*chosen, scope, replace, progress))
    except KeyboardInterrupt:
        raise Interrupted("Interrupted. What was copied stays; run the same command again to copy the rest.") from None
    reply = _transfer_result(done, time.monotonic() - start)
    print_result(reply, as_json=as_json)
    return reply.exit


async def _run_transfer(
    source: Settings, target: Settings, scope: TransferScope, replacing: bool, progress: ProgressMeter
) -> TransferResult:
    from holdfast.archive.transfer.vault import Transfer
    from holdfast.service import wiring

    start = time.monotonic()

    def seen(tally: TransferProgress) -> None:
        rate = tally.copied / max(time.monotonic() - start, 0.001)
        note = f" · {tally.copied:,} items copied, {rate:,.0f} per second, {tally.read:,} compared"
        progress.update(tally.profiles, total=tally.of, note=note)

    given = wiring.database_source(source)
    try:
        taking = wiring.open_vault(target)
        try:
            return await Transfer(given, taking, scope, replacing=replacing, seen=seen).run()
        finally:
            await taking.close()
    finally:
        await given.close()


def _location_settings(location: str, keyring: Path | None) -> Settings:
    """The settings for one side. A keyring in the folder itself comes before the configured one."""
    from holdfast.service.settings import Settings

    chosen = Settings.read(data=location)
    own = None if chosen.data is None else chosen.data / "keyring"
    if keyring is None and own is not None and own.exists():
        keyring = own
    return chosen._replace(replica=None, keyring=keyring or chosen.keyring)


def _resolved_path(folder: Path | None) -> Path | None:
    return None if folder is None else folder.resolve()


def _transfer_result(done: TransferResult, seconds: float) -> CommandResult:
    per_second = round(done.copied / seconds) if seconds else 0
    items = (
        f"{count(done.messages, 'message')} and {count(done.memories, 'memory')} in {count(done.profiles, 'profile')}"
    )
    blocks: list[Block] = []
    if done.checksum is None:
        blocks.append("The source changed during the transfer. Run it again to catch up.")
        blocks += [Remark(f"Not up to date in the target: {_profile_names(done.behind)}.")] if done.behind else []
    else:
        blocks += [f"Source and target have the same content: {items}.", f"sha256 {done.checksum}"]
    blocks.append(
        Remark(f"{count(done.copied, 'item')} copied and {done.forgotten:,} forgotten in {seconds:.1f} s, "
             f"{per_second:,} per second.")
    )  # fmt: skip
    if done.only_in_target:
        blocks.append(Remark(f"Only in the target, not changed: {_profile_names(done.only_in_target)}."))
    rates = {"seconds": round(seconds, 3), "items_per_second": per_second}
    document = {name: getattr(done, name) for name in done.__dataclass_fields__} | rates
    return CommandResult(document, tuple(blocks), exit=0 if done.checksum is not None else Conflict.exit)


def _profile_names(profiles: tuple[str, ...]) -> str:
    more = len(profiles) - MAX_NAMED_PROFILES
    return ", ".join(profiles[:MAX_NAMED_PROFILES]) + (f" and {more:,} more" if more > 0 else "")


def add_to(app: Commands) -> None:
    app.add_function("transfer", transfer)
