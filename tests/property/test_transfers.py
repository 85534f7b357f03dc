"""Whatever was done to the source, a transfer makes the target the same, and a second one finds nothing to do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule

from holdfast.archive.transfer.vault import Transfer, TransferScope
from holdfast.domain.errors import Conflict
from holdfast.domain.ports.search import Probe
from holdfast.domain.types import Change
from holdfast.testing.conformance.samples import AT, MODEL, direction
from support.backend_agreement import Agreement, InDatabase
from support.example_counts import example_count


class Following(Agreement):
    """Only the source is changed; now and then a transfer follows."""

    def _apply(self, change: Change) -> bool:
        try:
            self._run(self.stores[0].apply(change))
        except Conflict:
            return False
        return True

    def _both(self, act: Any) -> Any:
        return self._run(act(self.stores[0]))

    def _same_proposals(self, probe: Probe) -> None: ...

    def everything_is_the_same(self) -> None: ...

    @rule()
    def move(self) -> None:
        first, second = (self._run(Transfer(*self.vaults, TransferScope(self.space)).run()) for _ in range(2))
        assert first.checksum == second.checksum is not None
        assert (second.copied, second.forgotten) == (0, 0)
        self.stores[1] = self._run(self.vaults[1].open(self.space, "p", create=False))
        ids = [item.ref for item in self.items]
        for read in (
            lambda store: store.get(ids),
            lambda store: store.messages(None),
            lambda store: store.scan(None, now=None, limit=99, superseded=True),
            lambda store: store.resting_on(ids),
        ):
            super()._both(read)
        for model in (MODEL, "other/m/8"):
            window = (AT - timedelta(days=1), AT + timedelta(seconds=7))
            super()._same_proposals(
                Probe(now=AT, words=("zebra", "東京"), vector=direction(0), model=model, keys=("k",), window=window)
            )

    def teardown(self) -> None:
        try:
            self.move()
        finally:
            super().teardown()


class FollowingInDatabase(Following, InDatabase): ...


def examples(count: int) -> settings:
    return settings(
        max_examples=example_count(count),
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


TestFollowing, TestFollowingInDatabase = Following.TestCase, FollowingInDatabase.TestCase
TestFollowing.settings, TestFollowingInDatabase.settings = examples(25), examples(8)
