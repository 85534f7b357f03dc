"""Settings → the parts of a Holdfast. The one file that knows every backend and every model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from .config import Settings
from .errors import InvalidInput, shown
from .models.local import ArcticEmbedder, PotionEmbedder
from .models.rules import RuleExtractor
from .ports import Embedder, Extractor, Vault
from .sqlite.vault import SqliteVault


@dataclass(frozen=True, slots=True)
class Wired:
    """The parts of a Holdfast."""

    vault: Vault
    embedder: Embedder
    extractor: Extractor
    trace_days: int


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
    folder = chosen.data or Path(platformdirs.user_data_dir("holdfast", appauthor=False))
    model = embedder if embedder is not None and not isinstance(embedder, str) else _embedder(chosen.embedder)
    vault = SqliteVault(folder, keyring=chosen.keyring, open_files=chosen.open_files)
    return Wired(vault, model, extractor or RuleExtractor(model), chosen.trace_days)


def _embedder(name: str) -> Embedder:
    return PotionEmbedder() if name == "potion" else ArcticEmbedder()
