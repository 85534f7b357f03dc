"""Reads the items that the cache of items holds, and the memories that rest on messages."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from holdfast.domain.identifiers import is_message_id
from holdfast.storage import rows
from holdfast.storage.item_cache import ItemMaker, MemoryMaker
from holdfast.storage.sqlite.connection import SOURCES, memory_numbers, query

RestingMemories = dict[str, list[tuple[int, MemoryMaker]]]
"""Message → the memories that rest on it, each with its row number."""


def load_items_and_resting(db: apsw.Connection, ids: Sequence[str]) -> tuple[dict[str, ItemMaker], RestingMemories]:
    """The items, and what rests on the messages among them: whoever reads several asks for that next."""
    found = _load_items(db, ids)
    messages = [id for id in found if is_message_id(id)] if len(ids) > 1 else []
    return found, load_resting(db, messages) if messages else {}


def _load_items(db: apsw.Connection, ids: Sequence[str]) -> dict[str, ItemMaker]:
    """Reference → item; a plain id is looked up among messages, then among current memories, then everywhere."""
    listed = (rows.compact_json(list(ids)),)
    within = "IN (SELECT value FROM json_each(?))"
    memories = f"SELECT {rows.MEMORY}, {SOURCES} FROM memory WHERE"
    found: dict[str, ItemMaker] = {}
    for row in db.execute(f"SELECT {rows.MESSAGE}, {rows.STATE} FROM message WHERE id {within}", listed):
        found[row[0]] = rows.message_maker(row)
    others = [id for id in ids if id not in found and not is_message_id(id)]
    if others:
        listed = (rows.compact_json(others),)
        for row in db.execute(f"{memories} id {within} AND superseded_by IS NULL", listed):
            found[row[0]] = rows.memory_maker(row)
    if any(id not in found for id in others):
        for row in db.execute(f"{memories} ref {within}", listed):
            found[rows.memory(row).ref] = rows.memory_maker(row)
    for id, n in memory_numbers(db, [id for id in others if id not in found]).items():
        for row in query(db, f"{memories} n = ?", (n,)):
            found[id] = rows.memory_maker(row)
    return found


def load_resting(db: apsw.Connection, messages: Sequence[str]) -> RestingMemories:
    """Message → the memories that rest on it, each with its row number."""
    statement = (
        f"SELECT {rows.MEMORY}, {SOURCES}, n FROM memory WHERE n IN "
        "(SELECT memory FROM source WHERE message IN (SELECT value FROM json_each(?)))"
    )
    found: RestingMemories = {id: [] for id in messages}
    for *row, n in query(db, statement, (rows.compact_json(list(messages)),)):
        make = rows.memory_maker(tuple(row))
        for source in make().sources:
            if source in found:
                found[source].append((n, make))
    return found
