"""A process that does maintenance and is killed at one of its writes or syncs.

python maintain.py backup|import|upgrade|transfer FOLDER TARGET AT
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from holdfast import Holdfast
from holdfast.archive.backup import create_backup
from holdfast.archive.transfer.vault import Transfer
from holdfast.service.settings import Settings
from holdfast.service.wiring import database_source, open_vault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.faulty_disk import FaultyDisk


async def transfer(folder: Path, target: Path) -> str | None:
    source, copy = database_source(Settings.read(data=folder)), open_vault(Settings.read(data=target))
    try:
        return (await Transfer(source, copy).run()).checksum
    finally:
        await source.close()
        await copy.close()


def maintain(operation: str, folder: Path, target: Path) -> str | None:
    """`target` is a new folder, or the archive to import."""
    match operation:
        case "backup":
            create_backup(folder, folder / "keyring", target, with_keys=True)
        case "transfer":
            return asyncio.run(transfer(folder, target))
        case "import" | "upgrade":
            with Holdfast.open(folder, embedder=HashingEmbedder(), extractor=ScriptedExtractor()) as memory:
                for namespace in memory.namespaces():
                    for profile in memory.profiles(namespace.name):
                        memory.profile(namespace.name, profile.name).stats()
                if operation == "import":
                    memory.profile("app", "imported").import_from(target)
    return None


def main(operation: str, folder: str, target: str, at: str) -> None:
    with FaultyDisk(int(at), "kill") as disk:
        maintain(operation, Path(folder), Path(target))
    print(disk.done)


if __name__ == "__main__":
    main(*sys.argv[1:])
