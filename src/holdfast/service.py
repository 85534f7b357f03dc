"""Holdfast, asynchronous: owns the vault, the models and the worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakValueDictionary

from . import moments, names, recall
from .access import Access
from .across import AsyncAcross, Places, placed
from .errors import NotFound
from .library import Rules
from .live import Live
from .ports import Embedder, Extractor, Rates, Reranker, Summariser, Vault
from .profile import LocalProfile
from .readers import Readers, sweep_scratch
from .recorder import Recorder
from .results import Namespace, ProfileInfo
from .retention import SETTING, Policy, policy
from .thinking import Thinking
from .topics import Topics
from .types import Json, Message
from .worker import Worker

if TYPE_CHECKING:
    from .remote import RemoteHoldfast


RULES_SECONDS, MOST_RULES = 5.0, 10_000
"""How long what was laid down for a profile is believed, and for how many."""


class AsyncHoldfast:
    """Memory for many profiles. Open one per process with `AsyncHoldfast.open`; close it, or use `async with`."""

    def __init__(
        self,
        vault: Vault,
        embedder: Embedder,
        extractor: Extractor,
        clock: Callable[[], datetime] = moments.now,
        reranker: Reranker | None = None,
        trace_days: float = 7,
        thinking: Thinking | None = None,
        summariser: Summariser | None = None,
        decay: float | None = None,
        documents: Rules = Rules(),
    ) -> None:
        self._vault = vault
        self._embedder = embedder
        self._extractor = extractor
        self._models = recall.Models(embedder, reranker, decay)
        self._clock = clock
        self._thinking = thinking
        self._recorder = Recorder(vault, clock, timedelta(days=trace_days))
        self._worker = Worker(vault, embedder, extractor, clock, thinking, self._recorder, self._laid_down)
        self._worker.summariser = thinking.summariser if thinking is not None else summariser
        self._documents = documents
        self._readers = Readers(vault, self._worker, documents, clock)
        self._worker.reading, self._worker.revisit = self._readers.notify, self._readers.revisit
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._closed = False
        self._rules: dict[tuple[str, str], tuple[float, dict[str, Json]]] = {}
        self._rules_changed = 0
        self._spaces: dict[str, Namespace] = {}
        """Namespaces by name and id, as last seen."""
        self.access = Access(vault.credentials, clock)
        self._live = Live(vault)
        vault.watch(self._live.changed, self._know_nothing)

    @classmethod
    async def open(cls, path: str | Path | None = None, *, reranker: Reranker | None = None, **settings: Any) -> Self:
        """Open a data folder, by default the user's; settings as in config.Settings, or models of your own."""
        from .wiring import wired  # late: wiring knows every backend and model, and this module must not

        parts = wired(path, **settings)
        opened = cls(
            parts.vault, parts.embedder, parts.extractor, reranker=reranker, trace_days=parts.trace_days,
            thinking=parts.thinking, summariser=parts.summariser, decay=parts.decay, documents=parts.documents,
        )  # fmt: skip
        try:
            return await opened.start()
        except BaseException:
            await parts.vault.close()
            raise

    @staticmethod
    def connect(url: str, token: str, *, timeout: float = 60.0) -> RemoteHoldfast:
        """A Holdfast that somebody serves at this address; everything works as if it were here."""
        from .remote import RemoteHoldfast  # late: nobody else needs an HTTP client

        return RemoteHoldfast(url, token, timeout=timeout)

    async def start(self) -> Self:
        """Begin to digest in the background; `open` and `async with` do it."""
        await asyncio.to_thread(sweep_scratch)
        await self._worker.start()
        return self

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._live.end()
            try:
                await self._readers.stop()
                await self._worker.stop()
                await self._recorder.stop()
                if self._thinking is not None:
                    await self._thinking.close()
            finally:
                await self._vault.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.close()

    def profile(self, namespace: str, profile: str) -> LocalProfile:
        """One profile's memory. It appears, with its namespace, at its first write; before, there is nothing in it."""
        return LocalProfile(self, names.namespace(namespace), names.profile(profile))

    def across(self, namespace: str, profiles: Places) -> AsyncAcross:
        """Several profiles to be asked at once, by name, or as pairs of namespace and name."""
        return AsyncAcross([self.profile(each.namespace, each.profile) for each in placed(namespace, profiles)])

    async def namespaces(self) -> list[Namespace]:
        return await self._vault.namespaces()

    async def namespace(self, name_or_id: str) -> Namespace:
        """One namespace; people paste its id where its name belongs, so both are known."""
        if name_or_id not in self._spaces:
            self._spaces = {name: found for found in await self._vault.namespaces() for name in (found.id, found.name)}
        if name_or_id in self._spaces:
            return self._spaces[name_or_id]
        raise NotFound(f"There is no namespace {name_or_id!r}.", field="namespace", fix="Create it first.")

    async def create_namespace(self, name: str) -> Namespace:
        made = await self._vault.create_namespace(names.namespace(name))
        await self.access.note("namespace.created", name)
        return made

    async def delete_namespace(self, name: str) -> None:
        """Delete a namespace and every profile in it, for good."""
        await self._vault.delete_namespace(names.namespace(name))
        self._know_nothing()
        await self.access.note("namespace.deleted", name)

    async def profiles(self, namespace: str) -> list[ProfileInfo]:
        return await self._vault.profiles(names.namespace(namespace))

    async def delete_profile(self, namespace: str, profile: str) -> bool:
        """Delete a profile for good and destroy its key; False when there was none."""
        who = (names.namespace(namespace), names.profile(profile))
        self._worker.forget(who)
        if any(each.name == profile for each in await self._vault.profiles(namespace)):
            # A hash, since a deleted profile's name goes too; and before, since nothing is written after the scrub.
            await self.access.note("profile.deleted", f"{namespace}/{names.fingerprint(profile)}")
        gone = await self._vault.delete(*who)
        self._forget_laid_down(who)
        self._recorder.drop(who)
        self.access.forget()
        self._live.changed(*who)
        return gone

    async def kind_of(self, content: str) -> str | None:
        """What kind of memory a statement is, as the extractor sees it; a fact when it sees none.

        None when a language model will say so as it is remembered.
        """
        if self._thinking is not None:
            return None
        at = self._clock()
        if isinstance(self._extractor, Topics) and (known := await self._extractor.topic(content, at)):
            return known.kind
        said = Message("classified", "classified", "user", content, at, timestamp=at)
        found = await self._extractor.extract([said], [])
        return max(found, key=lambda draft: draft.confidence).kind if found else "fact"

    @property
    def rates(self) -> Rates | None:
        """How often credentials ask, counted over every process that shares the vault; None when this one is alone."""
        return self._vault.rates

    @property
    def shared(self) -> bool:
        """Whether other processes may serve the same profiles."""
        return self._vault.shared

    @property
    def document_bytes(self) -> int:
        """How large a document may be."""
        return self._documents.bytes

    @property
    def ending(self) -> asyncio.Event:
        """Set when listeners are let go: the service stops."""
        return self._live.ending

    async def _laid_down(self, who: tuple[str, str]) -> dict[str, Json]:
        """What holds for a profile: what its namespace lays down, and over it what is its own. A moment old at most."""
        held = self._rules.get(who)
        if held is not None and held[0] > time.monotonic():
            return held[1]
        changes = self._rules_changed
        rules = await self._vault.settings(who[0])
        with suppress(NotFound):
            rules |= await (await self._vault.open(*who, create=False)).journal.settings()
        if changes == self._rules_changed:  # or what was read may be what was before
            if len(self._rules) >= MOST_RULES:
                self._rules.clear()
            self._rules[who] = (time.monotonic() + RULES_SECONDS, rules)
        return rules

    @property
    def _seen_everywhere(self) -> float:
        """Seconds after which no process goes by what was laid down before."""
        return RULES_SECONDS + 0.5 if self.shared else 0.0

    async def _policy(self, who: tuple[str, str]) -> Policy:
        return policy((await self._laid_down(who)).get(SETTING))

    def _forget_laid_down(self, who: tuple[str, str] | None = None) -> None:
        self._rules_changed += 1
        if who is None:
            self._rules.clear()
        self._rules.pop(who or ("", ""), None)

    async def set_namespace_retention(self, namespace: str, rules: Mapping[str, Json] | None) -> None:
        """Lay down what holds in every profile of a namespace that has no rules of its own."""
        policy(rules)
        await self._vault.lay_down(names.namespace(namespace), SETTING, None if rules is None else dict(rules))
        self._forget_laid_down()
        await self.access.note("namespace.retention", namespace)

    async def _settled(self, who: tuple[str, str], timeout: float | None) -> bool:
        """Wait until nothing of a profile waits to be read or digested; False when that takes longer."""
        start = time.monotonic()
        try:
            async with asyncio.timeout(timeout):
                await self._readers.idle(who)
        except TimeoutError:
            return False
        left = None if timeout is None else max(0.0, timeout - (time.monotonic() - start))
        return await self._worker.settled(who, left)

    def _know_nothing(self) -> None:
        """Look every token and namespace up again."""
        self._spaces.clear()
        self.access.forget()

    def _turn(self, who: tuple[str, str]) -> asyncio.Lock:
        """Writers of one profile take turns to decide what they supersede; without it they would only collide."""
        return self._turns.setdefault(who, asyncio.Lock())
