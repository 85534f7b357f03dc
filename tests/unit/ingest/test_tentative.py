"""A tentative draft becomes a memory only if it ends one."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast.domain.types import Draft, Message
from holdfast.ingest.reconcile.change import KnownMemories, memory_from_draft, reconcile

NOW = datetime(2026, 5, 4, tzinfo=UTC)
SAID = {
    id: Message(id, "s", "user", text, NOW, None, NOW)
    for id, text in (("m0", "we sell beef and spinach pies"), ("m1", "no more spinach for us"))
}
SLIGHT = Draft("fact", "The user asks: no more spinach for them.", ("m1",), tentative=True)


def test_by_itself_it_is_left_out() -> None:
    change = reconcile([SLIGHT], KnownMemories(), SAID, now=NOW, extractor="rules")
    assert change.memories == ()
    assert change.sources == ()


def test_it_is_kept_with_what_it_ends() -> None:
    old = memory_from_draft(Draft("fact", "The user sells spinach pies.", ("m0",)), SAID, now=NOW, extractor="rules")
    mark = memory_from_draft(SLIGHT, SAID, now=NOW, extractor="rules").fingerprint
    change = reconcile([SLIGHT], KnownMemories(outdated={mark: old}), SAID, now=NOW, extractor="rules")
    assert [memory.content for memory in change.memories] == [SLIGHT.content]
    assert [each.old for each in change.supersede] == [old.ref]
