"""Settings: the only reader of the environment and of the settings file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .errors import InvalidInput, shown

EMBEDDERS = ("arctic", "potion")
SCHEMES = ("postgres", "postgresql")
TOKEN_CHARS = 20
RATE_LIMIT = "100/second"


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field may be given to `Holdfast.open`, as HOLDFAST_<NAME>, or in a TOML file; they win in this order.

    The file is the one that the argument `config` or HOLDFAST_CONFIG names.
    """

    data: Path | None = None
    """The data folder; by default the platform's user-data folder."""
    store: str | None = None
    """A database in place of the folder: postgres://user@host/name. Any number of processes may share it."""
    replica: str | None = None
    """A streaming replica of that database, for reads."""
    connections: int = 10
    """How many connections a process has to each of them at most."""
    sealed: bool = False
    """Whether new profiles in the database are encrypted there; a data folder always is."""
    keyring: Path | None = None
    """Where the master key is kept; by default in the data folder. Servers that share sealed profiles share it."""
    embedder: str = "arctic"
    """arctic (finds more), potion (two hundred times cheaper), or a provider's: openai:text-embedding-3-small/1536,
    ollama:nomic-embed-text/768, http://host/v1#model/768; the number is how many dimensions its vectors have."""
    embedder_key: str | None = None
    """A provider's key for embeddings; by default the one it has for the language model, or in its own variable."""
    embedder_url: str | None = None
    llm: str | None = None
    """A language model for digestion and answers: openai:…, anthropic:…, ollama:…, openrouter:…, workers-ai:…, or
    http://host/v1#model for any server that speaks OpenAI's protocol. Without one everything works offline."""
    llm_key: str | None = None
    """Its key; by default what OPENAI_API_KEY, ANTHROPIC_API_KEY and so on say."""
    llm_url: str | None = None
    """Another address of the provider, such as a gateway's."""
    llm_price: str | None = None
    """What a million tokens cost, read and written, as 0.15/0.60; for the usage report and a ceiling in money."""
    llm_ceiling: str | None = None
    """What a profile may use in a month: 2000000 tokens, or an amount of money such as 5. Beyond it: offline."""
    llm_seconds: float = 120.0
    """How long digestion waits for one answer of the model."""
    open_files: int = 128
    """How many profiles may be open at once; the least recently used is closed."""
    decay_days: float | None = None
    """When set, what is this many days old has lost half of what age takes from its rank; by default nothing fades."""
    trace_days: int = 7
    """How long traces are kept; 0 keeps none."""
    fetch: bool = True
    """Whether documents may be fetched from addresses."""
    fetch_allow: tuple[str, ...] = ()
    """Hosts and networks to fetch from though they are not public: wiki.corp, *.corp, wiki.corp:8080, 10.1.0.0/16."""
    fetch_again: int = 0
    """After how many days a page that was read is fetched anew; 0 never does."""
    document_bytes: int = 64 * 1024 * 1024
    """How large a document may be."""
    originals: str | None = None
    """Where documents' originals are kept besides the profile's own storage: s3://bucket/prefix, or a folder."""
    originals_url: str | None = None
    """The server of that bucket, unless it is AWS's: https://minio.corp:9000. AWS_ACCESS_KEY_ID and the like are read
    as AWS's own tools do."""
    host: str = "127.0.0.1"
    """Where `holdfast serve` listens; only this machine can reach the default."""
    port: int = 8420
    admin_token: str | None = None
    """Preset for `holdfast serve`, at least 20 characters; without it the first start makes one."""
    rate_limit: str | None = RATE_LIMIT
    """What one credential may ask, as `limits` writes it; `none` for no limit. Admin tokens have none."""
    cors: tuple[str, ...] = ()
    """Origins whose pages may call the service; with commas in the environment, as a list in the file."""

    @property
    def folder(self) -> Path:
        """The data folder: the given one, or the user's."""
        if self.data is not None:
            return self.data
        import platformdirs

        return Path(platformdirs.user_data_dir("holdfast", appauthor=False))

    @classmethod
    def read(cls, *, config: object = None, **given: object) -> Settings:
        known = {field.name for field in fields(cls)}
        found = _from_file(config or os.environ.get("HOLDFAST_CONFIG"), known)
        for name in known:
            value = os.environ.get(f"HOLDFAST_{name.upper()}")
            if value == "" and name == "admin_token":
                raise InvalidInput(
                    "HOLDFAST_ADMIN_TOKEN is set and empty.", field=name, fix="Give a token or unset it."
                )
            if value:
                found[name] = value
        _check_known(given, known, "There is")
        found |= {name: value for name, value in given.items() if value is not None}
        _placed(found, given.get("data"))
        return cls(
            data=_path(found.get("data")),
            store=_address("store", found.get("store")),
            replica=_address("replica", found.get("replica")),
            connections=_count("connections", found.get("connections", 10), most=1_000),
            sealed=_truth("sealed", found.get("sealed", False)),
            keyring=_path(found.get("keyring")),
            **_models(found),
            open_files=_count("open_files", found.get("open_files", 128)),
            decay_days=_days(found.get("decay_days")),
            trace_days=_count("trace_days", found.get("trace_days", 7), least=0, most=36_500),
            fetch=_truth("fetch", found.get("fetch", True)),
            fetch_allow=_listed(found.get("fetch_allow", ())),
            fetch_again=_count("fetch_again", found.get("fetch_again", 0), least=0, most=36_500),
            document_bytes=_count("document_bytes", found.get("document_bytes", 64 * 1024 * 1024), most=1024**3),
            originals=_outside(found.get("originals")),
            originals_url=_web("originals_url", found.get("originals_url")),
            host=str(found.get("host", "127.0.0.1")),
            port=_count("port", found.get("port", 8420), most=65_535),
            admin_token=_token(found.get("admin_token")),
            rate_limit=_rate(found.get("rate_limit", RATE_LIMIT)),
            cors=_listed(found.get("cors", ())),
        )


def _models(found: dict[str, object]) -> dict[str, Any]:
    """What the settings say of models; keys may come from the variables that providers' own tools read."""
    embedder, llm = str(found.get("embedder") or "arctic"), _maybe(found.get("llm"))
    if ":" not in embedder:
        _choice("embedder", embedder, EMBEDDERS, "or a vendor's, such as openai:text-embedding-3-small")
    mine = {name: _maybe(found.get(name)) for name in ("llm_key", "llm_url", "llm_price", "llm_ceiling")}
    mine["embedder_key"], mine["embedder_url"] = _maybe(found.get("embedder_key")), _maybe(found.get("embedder_url"))
    for setting, spec in (("llm", llm), ("embedder", embedder)):
        vendor = (spec or "").partition(":")[0]
        variable = f"{vendor.upper().replace('-', '_')}_API_KEY"
        mine[f"{setting}_key"] = mine[f"{setting}_key"] or (os.environ.get(variable) or None if vendor else None)
    return {**mine, "embedder": embedder, "llm": llm, "llm_seconds": _seconds(found.get("llm_seconds", 120.0))}


def _days(value: object) -> float | None:
    if value is None or str(value).lower() in ("", "none", "off"):
        return None
    try:
        days = float(str(value))
    except ValueError:
        days = 0.0
    if not 0 < days <= 36_500:
        raise InvalidInput(
            f"The setting decay_days is {shown(value)}; give a number of days, or off.", field="decay_days"
        )
    return days


def _maybe(value: object) -> str | None:
    return None if value is None or not str(value).strip() else str(value).strip()


def _seconds(value: object) -> float:
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 3600:
        raise InvalidInput(f"The setting llm_seconds is {shown(value)}; give 1 to 3600.", field="llm_seconds")
    return seconds


def _from_file(path: object, known: set[str]) -> dict[str, object]:
    if not path:
        return {}
    try:
        found = tomllib.loads(Path(str(path)).expanduser().read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as bad:
        raise InvalidInput(f"The settings file {str(path)!r} cannot be read: {bad}.", field="config") from bad
    _check_known(found, known, f"{path}: there is")
    return found


def _check_known(given: Mapping[str, object], known: set[str], start: str) -> None:
    for name in given:
        if name not in known:
            raise InvalidInput(f"{start} no setting {name!r}; known are {', '.join(sorted(known))}.", field=name)


def _path(value: object) -> Path | None:
    return None if value is None else Path(str(value)).expanduser()


def _placed(found: dict[str, object], given: object) -> None:
    """A data folder may be given as sqlite:///folder, and a database in its place; an argument wins over settings."""
    if given is not None:
        scheme, address, rest = str(given).partition("://")
        if address and scheme != "sqlite":
            found["store"], found["data"] = given, None
        else:
            found["store"], found["data"] = None, rest if address else given


def _address(name: str, value: object) -> str | None:
    if value is None or not str(value):
        return None
    scheme, _, rest = str(value).partition("://")
    if scheme not in SCHEMES or not rest:  # the rest may have a password in it
        raise InvalidInput(
            f"The setting {name} begins with {shown(scheme)}; write it like postgres://user@host/database.", field=name
        )
    return str(value)


def _outside(value: object) -> str | None:
    """A bucket's address, or a folder's path."""
    text = _maybe(value)
    scheme, address, rest = (text or "").partition("://")
    if not address:
        return None if text is None else str(Path(text).expanduser().absolute())
    if scheme != "s3" or not rest.strip("/"):
        raise InvalidInput(
            f"The setting originals is {shown(text)}; write it like s3://bucket/prefix, or give a folder.",
            field="originals",
        )
    return text


def _web(name: str, value: object) -> str | None:
    text = _maybe(value)
    if text is not None and not text.startswith(("http://", "https://")):
        raise InvalidInput(f"The setting {name} is {shown(text)}; write it like https://host:port.", field=name)
    return text


def _truth(name: str, value: object) -> bool:
    if str(value).lower() in ("1", "true", "yes", "on"):
        return True
    if str(value).lower() in ("0", "false", "no", "off", ""):
        return False
    raise InvalidInput(f"The setting {name} is {shown(value)}; use true or false.", field=name)


def _choice(name: str, value: object, choices: tuple[str, ...], more: str = "") -> str:
    if value not in choices:
        known = f"{', '.join(choices)}{more and ', '}{more}"
        raise InvalidInput(f"The setting {name} is {shown(value)}; use one of {known}.", field=name)
    return str(value)


def _token(value: object) -> str | None:
    if value is not None and len(str(value)) < TOKEN_CHARS:
        raise InvalidInput(
            f"The setting admin_token has {len(str(value))} characters; give at least {TOKEN_CHARS}.",
            field="admin_token",
        )
    return None if value is None else str(value)


def _rate(value: object) -> str | None:
    return None if value is None or str(value).lower() in ("none", "off") else str(value)


def _listed(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    return tuple(str(part).strip() for part in parts if str(part).strip())


def _count(name: str, value: object, *, least: int = 1, most: int = 1_000_000) -> int:
    try:
        count = int(str(value))
    except ValueError:
        count = least - 1
    if not least <= count <= most:
        raise InvalidInput(
            f"The setting {name} is {shown(value)}; give a whole number from {least} to {most}.", field=name
        )
    return count
