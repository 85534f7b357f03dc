"""Builds the parts of a Holdfast from settings. The only module that imports every backend and every model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from holdfast.documents.rules import DocumentRules
from holdfast.domain.errors import Busy, InvalidInput, NotFound, install_fix, quoted_value
from holdfast.domain.ports.holdfast import HoldfastPort
from holdfast.domain.ports.llm_tasks import LlmTasks
from holdfast.domain.ports.models import Embedder, Extractor, Summariser
from holdfast.domain.ports.storage import Store, TopicKeyLoader, Vault, load_no_topic_keys
from holdfast.domain.types import Draft, Memory, Message
from holdfast.service.quotas import Quotas, parse_quota
from holdfast.service.settings import Settings

if TYPE_CHECKING:
    from holdfast.models.rules import RuleExtractor


_USED_LATER = (
    "graph.queries", "ingest.digest", "ingest.messages", "ingest.remember", "lifecycle.forget",
    "lifecycle.profile_page", "lifecycle.retention", "lifecycle.summaries", "models.rules.extractor",
    "recall.answer.offline", "recall.answer.synthesis", "recall.parts", "recall.search_trace",
    "storage.sqlite.apply", "storage.sqlite.search", "storage.sqlite.vault", "text.redaction.examples",
    "text.redaction.numbers", "text.redaction.secret_words", "text.redaction.text_formats",
)  # fmt: skip
"""Modules that are imported where they are used, since a single command needs few of them."""


@dataclass(frozen=True, slots=True)
class WiredParts:
    """The parts of a Holdfast, as the settings choose them."""

    vault: Vault
    embedder: Embedder
    extractor: Extractor
    trace_days: int
    summariser: Summariser
    decay: float | None
    thinking: LlmTasks | None = None
    documents: DocumentRules = field(default_factory=DocumentRules)
    quotas: Quotas = field(default_factory=Quotas)


class _DocumentRules:
    """The rule extractor, loaded at its first use, so that a process that only reads memories does not load it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @cached_property
    def _extractor(self) -> RuleExtractor:
        from holdfast.models.rules import RuleExtractor

        return RuleExtractor(self._embedder)

    @property
    def name(self) -> str:
        return self._extractor.name

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: TopicKeyLoader = load_no_topic_keys
    ) -> list[Draft]:
        return await self._extractor.extract(messages, before, keys)

    async def topic(self, text: str, at: datetime) -> Draft | None:
        return await self._extractor.topic(text, at)

    async def finished(
        self, messages: Sequence[Message], before: Sequence[Message], tasks: Sequence[Memory | Draft]
    ) -> list[Draft]:
        return await self._extractor.finished(messages, before, tasks)


def wire(
    path: str | Path | None = None,
    *,
    embedder: Embedder | str | None = None,
    extractor: Extractor | None = None,
    **settings: Any,
) -> WiredParts:
    """Build a vault and its models from the settings. A model object may be given instead of its name."""
    from holdfast.models.rules import QuotingSummariser

    for name, given, port in (("embedder", embedder, Embedder), ("extractor", extractor, Extractor)):
        if not (given is None or isinstance(given, port) or (name == "embedder" and isinstance(given, str))):
            raise InvalidInput(
                f"{name} is {quoted_value(given)}; give a name or an object with its methods.", field=name
            )
    named = embedder if isinstance(embedder, str) else None
    chosen = Settings.read(**{"data": path, "embedder": named} | settings)
    model = embedder if embedder is not None and not isinstance(embedder, str) else _embedder(chosen)
    with _errors_by_argument("llm", settings):
        mind = _llm_tasks(chosen)
    return WiredParts(
        open_vault(chosen),
        model,
        extractor or _DocumentRules(model),
        chosen.trace_days,
        QuotingSummariser(),
        chosen.decay_days,
        mind,
        _document_rules(chosen),
        Quotas(
            parse_quota(chosen.profile_quota, "profile_quota"), parse_quota(chosen.namespace_quota, "namespace_quota")
        ),
    )


@contextmanager
def _errors_by_argument(setting: str, given: Mapping[str, Any]) -> Iterator[None]:
    """Name the argument in an error about a setting that was given as one, where the error names its variable."""
    try:
        yield
    except InvalidInput as wrong:
        variable = f"HOLDFAST_{setting.upper()} "
        if given.get(setting) is None or not str(wrong).startswith(variable):
            raise
        what = str(wrong).removeprefix(variable).removesuffix(f" {wrong.fix}")
        raise InvalidInput(f"{setting} {what}", field=wrong.field, fix=wrong.fix) from None


def open_vault(chosen: Settings) -> Vault:
    """Open the configured database or data folder; the setting `originals` may place originals elsewhere."""
    outside = _originals(chosen)
    return outside(_vault(chosen), True)


def empty_store() -> Store:
    """The empty store that stands for a profile before its first write."""
    from holdfast.storage.in_memory.store import MemoryStore

    return MemoryStore()


def _originals(chosen: Settings) -> Callable[[Vault, bool], Vault]:
    """A function (vault, tidy) that stores the originals of a vault's documents where the settings say; `tidy` enables
    the cleanup there."""
    if chosen.originals is None:
        return lambda vault, tidy: vault
    try:
        from holdfast.storage.blobs.bucket import Bucket
        from holdfast.storage.blobs.vault import BlobBackedVault
    except ImportError as absent:
        raise InvalidInput(
            f"The setting originals needs a package that is not installed: {absent}.",
            field="originals", fix=install_fix("s3"),
        ) from absent  # fmt: skip
    bucket = Bucket(chosen.originals, chosen.originals_url)
    return lambda vault, tidy: cast(Vault, BlobBackedVault(vault, bucket, tidy=tidy))


def _vault(chosen: Settings) -> Vault:
    from holdfast.storage.sqlite.vault import SqliteVault

    if chosen.store is None:
        return SqliteVault(chosen.folder, keyring=chosen.keyring, open_files=chosen.open_files)
    try:
        from holdfast.storage.postgres.vault import PostgresVault
    except ImportError as absent:
        raise InvalidInput(
            f"The setting store is a PostgreSQL database, but its driver is not installed: {absent}.", field="store",
            fix=install_fix("postgres"),
        ) from absent  # fmt: skip
    return PostgresVault(
        chosen.store, chosen.connections, replica=chosen.replica, keyring=chosen.keyring, sealed=chosen.sealed,
        cache_bytes=chosen.profile_cache_bytes,
    )  # fmt: skip


def database_source(chosen: Settings) -> Vault:
    """Open the configured vault as the source of a copy. A data folder must exist; if another process has it open, it
    is opened read-only."""
    from holdfast.storage.sqlite.vault import SqliteVault

    if chosen.store is not None or chosen.data is None:
        return open_vault(chosen)
    if not (chosen.data / "catalogue.db").exists():
        raise NotFound(f"There is no data folder at {chosen.data}.", field="source")
    try:
        return open_vault(chosen)
    except Busy:
        beside = SqliteVault(chosen.data, keyring=chosen.keyring, open_files=chosen.open_files, reading=True)
        return _originals(chosen)(beside, False)


def _document_rules(chosen: Settings) -> DocumentRules:
    again = timedelta(days=chosen.fetch_again) if chosen.fetch_again else None
    return DocumentRules(chosen.fetch, chosen.fetch_allow, chosen.document_bytes, again)


def _embedder(chosen: Settings) -> Embedder:
    from holdfast.models.local import ArcticEmbedder, PotionEmbedder
    from holdfast.models.network_cache import networks

    if ":" in chosen.embedder:
        from holdfast.models.llm.embeddings import embedder_from_setting

        return embedder_from_setting(chosen.embedder, chosen.embedder_key, chosen.embedder_url)
    if chosen.embedder == "potion":
        return PotionEmbedder()
    networks.folder = chosen.cache_folder
    return ArcticEmbedder()


def _llm_tasks(chosen: Settings) -> LlmTasks | None:
    """The tasks of the configured language model; without one, None, and no code of it is loaded."""
    from holdfast.models.rules import QuotingSummariser

    if chosen.llm is None:
        return None
    from holdfast.models.llm.circuit_breaker import CircuitBreaker
    from holdfast.models.llm.endpoint import parse_endpoint
    from holdfast.models.llm.factory import chat_client
    from holdfast.models.llm.pricing import parse_tariff
    from holdfast.models.llm.retry import RetryingChat
    from holdfast.models.llm.tasks.analyst import ModelAnalyst
    from holdfast.models.llm.tasks.extractor import ModelExtractor
    from holdfast.models.llm.tasks.judge import ModelJudge
    from holdfast.models.llm.tasks.summariser import ModelSummariser
    from holdfast.models.llm.tasks.synthesiser import ModelSynthesiser

    named = parse_endpoint(chosen.llm, chosen.llm_key, chosen.llm_url)
    chat, breaker = chat_client(named), CircuitBreaker(named.name)
    slowly, at_once = (
        RetryingChat(chat, breaker=breaker),
        RetryingChat(chat, breaker=breaker),
    )  # separate, so that a caller's request does not wait for digestion
    extractor, filer = ModelExtractor(slowly, chosen.llm_seconds), ModelExtractor(at_once)
    summariser = ModelSummariser(slowly, QuotingSummariser(), chosen.llm_seconds)
    return LlmTasks(
        extractor, ModelJudge(slowly, chosen.llm_seconds), filer, summariser,
        ModelAnalyst(at_once), ModelSynthesiser(at_once),
        parse_tariff(chosen.llm_price, chosen.llm_ceiling), chat.close,
    )  # fmt: skip


def load_modules() -> None:
    """Import what the first write, search and answer would import: a server has the time when it starts."""
    for name in _USED_LATER:
        import_module(f".{name}", "holdfast")


def connect_remote(url: str, token: str, *, timeout: float) -> HoldfastPort:
    """A Holdfast whose calls go to the server at this URL."""
    from holdfast.api.client.holdfast import RemoteHoldfast

    return RemoteHoldfast(url, token, timeout=timeout)
