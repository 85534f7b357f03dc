"""The same shapes on the other backend."""

from __future__ import annotations

from urllib.parse import urlencode

from psycopg.conninfo import conninfo_to_dict

from holdfast import Holdfast, Notes
from holdfast.integrations.langgraph_store import HoldfastStore
from holdfast.testing import HashingEmbedder
from support.postgres import database


def test_notes_files_and_items_work_in_a_database() -> None:
    from holdfast.integrations.anthropic_memory import HoldfastMemoryTool

    with (
        database() as dsn,
        Holdfast.open(store=f"postgres:///?{urlencode(conninfo_to_dict(dsn))}", embedder=HashingEmbedder()) as memory,
    ):
        ana = memory.profile("app", "ana")
        notes = Notes(ana)
        for path in ("src", "src/a b% ", "src/é/_x", "srcs/c", "Src/d"):
            notes.write(path, f"about {path}")
        assert [note.path for note in notes.list("src")] == [
            f"/workspace/{path}" for path in ("src", "src/a b% ", "src/é/_x")
        ]
        notes.move("src", "lib")
        notes.write("src", "anew")
        assert notes.remove("src") == 1
        assert [note.path for note in notes.search("about", under="lib/é")] == ["/workspace/lib/é/_x"]
        assert [note.version for note in notes.history("lib")] == [2, 1]
        tool = HoldfastMemoryTool(ana)
        tool.call({"command": "create", "path": "/memories/d/f", "file_text": ""})
        tool.call({"command": "insert", "path": "/memories/d/f", "insert_line": 0, "insert_text": "one"})
        tool.call({"command": "rename", "old_path": "/memories/d/f", "new_path": "/memories/g"})
        assert str(tool.call({"command": "view", "path": "/memories"})).split("\n")[2:] == [
            "4K\t/memories/d/", "4B\t/memories/g"
        ]  # fmt: skip
        store = HoldfastStore(ana)
        store.put(("a", "x/y"), "k ", {"n": 1})
        store.put(("a",), "k", {"n": 2}, ttl=5)
        assert [item.key for item in store.search(("a",), filter={"n": {"$gt": 1}})] == ["k"]
        assert store.list_namespaces() == [("a",), ("a", "x/y")]
        assert store.search(("a", "x/y"), query="n")[0].value == {"n": 1}
