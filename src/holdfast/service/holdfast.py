"""AsyncHoldfast: opens profiles and owns the runtime they share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from holdfast.documents.rules import DocumentRules
from holdfast.documents.scratch import sweep_scratch
from holdfast.domain import identifiers, timestamps
from holdfast.domain.errors import NotFound
from holdfast.domain.ports.holdfast import HoldfastPort, Places
from holdfast.domain.ports.llm_tasks import LlmTasks
from holdfast.domain.ports.models import Embedder, Extractor, Reranker, Summariser
from holdfast.domain.ports.storage import RateLimiter, Vault
from holdfast.domain.results import Namespace, ProfileInfo
from holdfast.domain.types import Json, Message
from holdfast.service.across import AsyncAcross, named_profiles
from holdfast.service.credentials import Access
from holdfast.service.profile.context import ProfileContext
from holdfast.service.profile.local import LocalProfile
from holdfast.service.quotas import Quotas
from holdfast.service.recorder import Recorder
from holdfast.service.runtime import Runtime
from holdfast.text.cache import clear_text_caches


def direct_call_error(cls: type, opening: str) -> TypeError:
    """The error for a class that was called with a path, or with nothing, instead of opened."""
    name = cls.__name__
    return TypeError(
        f"{name} is not made by calling the class. Call {opening} to open a data folder, or "
        f"{name}.connect(url, token) for a server."
    )


class AsyncHoldfast:
    """Memory for many profiles. Open one per process with `AsyncHoldfast.open`; close it, or use `async with`."""

    def __new__(cls, *parts: object, **named_parts: object) -> Self:
        if not named_parts and (not parts or isinstance(parts[0], str | Path)):
            raise direct_call_error(cls, 'await AsyncHoldfast.open("./data")')
        return super().__new__(cls)

    def __init__(
        self,
        vault: Vault,
        embedder: Embedder,
        extractor: Extractor,
        clock: Callable[[], datetime] = timestamps.now,
        reranker: Reranker | None = None,
        trace_days: float = 7,
        thinking: LlmTasks | None = None,
        summariser: Summariser | None = None,
        decay: float | None = None,
        documents: DocumentRules = DocumentRules(),
        quotas: Quotas = Quotas(),
    ) -> None:
        recorder = Recorder(vault, clock, timedelta(days=trace_days))
        self.runtime = Runtime(
            vault, embedder, extractor, clock, thinking, recorder, documents, quotas, reranker, decay
        )
        """The parts that all profiles share; for the service's own adapters and for tests."""
        self.runtime.worker.summariser = thinking.summariser if thinking is not None else summariser
        self._spaces: dict[str, Namespace] = {}
        """Cache of namespaces by name and by id."""
        self.access = Access(vault.credentials, clock)
        vault.watch(self.runtime.subscriptions.changed, self._invalidate)

    @classmethod
    async def open(cls, path: str | Path | None = None, *, reranker: Reranker | None = None, **settings: Any) -> Self:
        """Open a data folder, by default the user's. `settings`: fields of service.settings.Settings, or models."""
        from holdfast.service.wiring import (
            wire,  # imported late: wiring imports every backend and model, and this module must not
        )

        parts = wire(path, **settings)
        opened = cls(
            parts.vault, parts.embedder, parts.extractor, reranker=reranker, trace_days=parts.trace_days,
            thinking=parts.thinking, summariser=parts.summariser, decay=parts.decay, documents=parts.documents,
            quotas=parts.quotas,
        )  # fmt: skip
        try:
            return await opened.start()
        except BaseException:
            await parts.vault.close()
            raise

    @staticmethod
    def connect(url: str, token: str, *, timeout: float = 60.0) -> HoldfastPort:
        """Connect to a Holdfast server at this URL; it has the same methods as a local Holdfast."""
        from holdfast.service.wiring import connect_remote  # imported late: only this method needs an HTTP client

        return connect_remote(url, token, timeout=timeout)

    async def start(self) -> Self:
        """Start the background work; `open` and `async with` call this."""
        await asyncio.to_thread(sweep_scratch)
        await self.runtime.worker.start()
        return self

    async def close(self) -> None:
        await self.runtime.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.close()

    def profile(self, namespace: str, profile: str) -> LocalProfile:
        """Return one profile. Its first write creates it and its namespace; until then it is empty."""
        return LocalProfile(
            ProfileContext(
                self.runtime, identifiers.validate_namespace(namespace), identifiers.validate_profile(profile)
            )
        )

    def across(self, namespace: str, profiles: Places) -> AsyncAcross:
        """Return several profiles to query together, given by name or as pairs of namespace and name."""
        return AsyncAcross([self.profile(each.namespace, each.profile) for each in named_profiles(namespace, profiles)])

    async def namespaces(self) -> list[Namespace]:
        return await self.runtime.vault.namespaces()

    async def namespace(self, name_or_id: str) -> Namespace:
        """Return one namespace by name or id; users often paste the id where the name belongs."""
        if name_or_id not in self._spaces:
            self._spaces = {
                name: found for found in await self.runtime.vault.namespaces() for name in (found.id, found.name)
            }
        if name_or_id in self._spaces:
            return self._spaces[name_or_id]
        raise NotFound(
            f"There is no namespace {name_or_id!r}.",
            field="namespace",
            fix="Create it first, with create_namespace or POST /v1/namespaces.",
        )

    async def create_namespace(self, name: str) -> Namespace:
        made = await self.runtime.vault.create_namespace(identifiers.validate_namespace(name))
        await self.access.note("namespace.created", name)
        return made

    async def delete_namespace(self, name: str) -> None:
        """Delete a namespace and every profile in it, for good."""
        await self.runtime.vault.delete_namespace(identifiers.validate_namespace(name))
        self.runtime.recorder.drop(name)
        clear_text_caches()
        self._invalidate()
        await self.access.note("namespace.deleted", name)

    async def profiles(self, namespace: str) -> list[ProfileInfo]:
        return await self.runtime.vault.profiles(identifiers.validate_namespace(namespace))

    async def delete_profile(self, namespace: str, profile: str) -> bool:
        """Delete a profile for good and destroy its encryption key; False when there was none."""
        who = (identifiers.validate_namespace(namespace), identifiers.validate_profile(profile))
        self.runtime.worker.forget(who)
        if any(each.name == profile for each in await self.runtime.vault.profiles(namespace)):
            # A hash, since the name of a deleted profile must not remain; recorded before the deletion, which ends with
            # truncating the catalogue's write-ahead log.
            await self.access.note("profile.deleted", f"{namespace}/{identifiers.fingerprint(profile)}")
        gone = await self.runtime.vault.delete(*who)
        self.runtime.settings.invalidate(who)
        self.runtime.recorder.drop(*who)
        clear_text_caches()
        self.access.forget()
        self.runtime.subscriptions.changed(*who)
        return gone

    async def kind_of(self, content: str) -> str | None:
        """Return the kind of memory that a statement is, as the extractor classifies it; `fact` when it finds none.

        None when a language model is configured: it decides the kind when the statement is remembered.
        """
        from holdfast.ingest.topics import TopicExtractor

        if self.runtime.llm is not None:
            return None
        at = self.runtime.clock()
        if isinstance(self.runtime.extractor, TopicExtractor) and (
            known := await self.runtime.extractor.topic(content, at)
        ):
            return known.kind
        said = Message("classified", "classified", "user", content, at, timestamp=at)
        found = [draft for draft in await self.runtime.extractor.extract([said], []) if not draft.tentative]
        return max(found, key=lambda draft: draft.confidence).kind if found else "fact"

    @property
    def rates(self) -> RateLimiter | None:
        """The rate limiter shared by all processes that use the vault; None when no other process shares it."""
        return self.runtime.vault.rates

    @property
    def shared(self) -> bool:
        """Whether other processes may serve the same profiles."""
        return self.runtime.vault.shared

    @property
    def document_bytes(self) -> int:
        """The maximum size of a document in bytes."""
        return self.runtime.document_rules.bytes

    @property
    def ending(self) -> asyncio.Event:
        """Set when the service stops and event streams must end."""
        return self.runtime.subscriptions.ending

    async def set_namespace_retention(self, namespace: str, rules: Mapping[str, Json] | None) -> None:
        """Set the retention rules for every profile of a namespace that has no rules of its own; None removes them."""
        from holdfast.lifecycle.retention import SETTING, parse_policy

        parse_policy(rules)
        await self.runtime.vault.put_setting(
            identifiers.validate_namespace(namespace), SETTING, None if rules is None else dict(rules)
        )
        self.runtime.settings.invalidate()
        await self.access.note("namespace.retention", namespace)

    def _invalidate(self) -> None:
        """Clear the caches of tokens and namespaces."""
        self._spaces.clear()
        self.access.forget()
