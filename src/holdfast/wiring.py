"""Settings → the parts of a Holdfast. The one file that knows every backend and every model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .config import Settings
from .errors import Busy, InvalidInput, NotFound, shown
from .library import Rules
from .memory.store import MemoryStore
from .models.local import ArcticEmbedder, PotionEmbedder
from .models.rules import QuotingSummariser
from .ports import Embedder, Extractor, Keys, Store, Summariser, Vault, no_keys
from .sqlite.vault import SqliteVault
from .thinking import Thinking
from .types import Draft, Memory, Message

if TYPE_CHECKING:
    from .models.rules import RuleExtractor


@dataclass(frozen=True, slots=True)
class Wired:
    """The parts of a Holdfast."""

    vault: Vault
    embedder: Embedder
    extractor: Extractor
    trace_days: int
    summariser: Summariser
    decay: float | None
    thinking: Thinking | None = None
    documents: Rules = field(default_factory=Rules)


class _Rules:
    """The rules, loaded when there is something to read: whoever only looks does without."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @cached_property
    def _extractor(self) -> RuleExtractor:
        from .models.rules import RuleExtractor

        return RuleExtractor(self._embedder)

    @property
    def name(self) -> str:
        return self._extractor.name

    async def extract(
        self, messages: Sequence[Message], before: Sequence[Message], keys: Keys = no_keys
    ) -> list[Draft]:
        return await self._extractor.extract(messages, before, keys)

    async def topic(self, text: str, at: datetime) -> Draft | None:
        return await self._extractor.topic(text, at)

    async def finished(
        self, messages: Sequence[Message], before: Sequence[Message], tasks: Sequence[Memory | Draft]
    ) -> list[Draft]:
        return await self._extractor.finished(messages, before, tasks)


def wired(
    path: str | Path | None = None,
    *,
    embedder: Embedder | str | None = None,
    extractor: Extractor | None = None,
    **settings: Any,
) -> Wired:
    """A vault and the models to go with it. A model object may be given in place of its name."""
    for name, given, port in (("embedder", embedder, Embedder), ("extractor", extractor, Extractor)):
        if not (given is None or isinstance(given, port) or (name == "embedder" and isinstance(given, str))):
            raise InvalidInput(f"{name} is {shown(given)}; give a name or an object with its methods.", field=name)
    named = embedder if isinstance(embedder, str) else None
    chosen = Settings.read(**{"data": path, "embedder": named} | settings)
    model = embedder if embedder is not None and not isinstance(embedder, str) else _embedder(chosen)
    mind = _thinking(chosen)
    return Wired(
        vault(chosen),
        model,
        extractor or _Rules(model),
        chosen.trace_days,
        QuotingSummariser(),
        chosen.decay_days,
        mind,
        _reading(chosen),
    )


def vault(chosen: Settings) -> Vault:
    """The database that the settings name, or the data folder; originals of documents elsewhere if they say so."""
    outside = _originals(chosen)
    return outside(_vault(chosen), True)


def unwritten() -> Store:
    """What a profile holds before its first write."""
    return MemoryStore()


def _originals(chosen: Settings) -> Callable[[Vault, bool], Vault]:
    """Puts the originals of a vault's documents where the settings say; and whether to tidy up there."""
    if chosen.originals is None:
        return lambda vault, tidy: vault
    try:
        from .objects.bucket import Bucket
        from .objects.vault import OutsideVault
    except ImportError as absent:
        raise InvalidInput(
            f"The setting originals names a place, and what it takes to write there is missing: {absent}.",
            field="originals", fix="Run: pip install 'holdfast[s3]'",
        ) from absent  # fmt: skip
    bucket = Bucket(chosen.originals, chosen.originals_url)
    return lambda vault, tidy: cast(Vault, OutsideVault(vault, bucket, tidy=tidy))


def _vault(chosen: Settings) -> Vault:
    if chosen.store is None:
        return SqliteVault(chosen.folder, keyring=chosen.keyring, open_files=chosen.open_files)
    try:
        from .postgres.vault import PostgresVault
    except ImportError as absent:
        raise InvalidInput(
            f"The setting store names a PostgreSQL database, and its driver is not there: {absent}.", field="store",
            fix="Run: pip install 'holdfast[postgres]'",
        ) from absent  # fmt: skip
    return PostgresVault(
        chosen.store, chosen.connections, replica=chosen.replica, keyring=chosen.keyring, sealed=chosen.sealed
    )


def source(chosen: Settings) -> Vault:
    """The same, to read from. A data folder must be there; one that another process has open is read beside it."""
    if chosen.store is not None or chosen.data is None:
        return vault(chosen)
    if not (chosen.data / "catalogue.db").exists():
        raise NotFound(f"There is no data folder at {chosen.data}.", field="source")
    try:
        return vault(chosen)
    except Busy:
        beside = SqliteVault(chosen.data, keyring=chosen.keyring, open_files=chosen.open_files, reading=True)
        return _originals(chosen)(beside, False)


def _reading(chosen: Settings) -> Rules:
    again = timedelta(days=chosen.fetch_again) if chosen.fetch_again else None
    return Rules(chosen.fetch, chosen.fetch_allow, chosen.document_bytes, again)


def _embedder(chosen: Settings) -> Embedder:
    if ":" in chosen.embedder:
        from .models.llm.embeddings import embedder_named

        return embedder_named(chosen.embedder, chosen.embedder_key, chosen.embedder_url)
    return PotionEmbedder() if chosen.embedder == "potion" else ArcticEmbedder()


def _thinking(chosen: Settings) -> Thinking | None:
    """The tasks of the language model that the settings name; none of its code is loaded without one."""
    if chosen.llm is None:
        return None
    from .models.llm.analyst import ModelAnalyst
    from .models.llm.breaker import Breaker
    from .models.llm.calling import Steady
    from .models.llm.endpoint import endpoint
    from .models.llm.extractor import ModelExtractor
    from .models.llm.judge import ModelJudge
    from .models.llm.named import chat_at
    from .models.llm.summariser import ModelSummariser
    from .models.llm.synthesiser import ModelSynthesiser
    from .models.llm.tariff import tariff

    named = endpoint(chosen.llm, chosen.llm_key, chosen.llm_url)
    chat, breaker = chat_at(named), Breaker(named.name)
    slowly, at_once = Steady(chat, breaker=breaker), Steady(chat, breaker=breaker)  # who asks waits for no digestion
    extractor, filer = ModelExtractor(slowly, chosen.llm_seconds), ModelExtractor(at_once)
    summariser = ModelSummariser(slowly, QuotingSummariser(), chosen.llm_seconds)
    return Thinking(
        extractor, ModelJudge(slowly, chosen.llm_seconds), filer, summariser,
        ModelAnalyst(at_once), ModelSynthesiser(at_once),
        tariff(chosen.llm_price, chosen.llm_ceiling), chat.close,
    )  # fmt: skip
