"""Settings: the only reader of the environment and of the settings file.

Every hook of a coding agent loads this module, so it imports neither dataclasses nor platformdirs, which take longer to
load than the rest of a hook.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from holdfast.domain.errors import InvalidInput, quoted_value

EMBEDDERS = ("arctic", "potion")
SCHEMES = ("postgres", "postgresql")
TOKEN_CHARS = 20
RATE_LIMIT = "100/second"


class Settings(NamedTuple):
    """Each field may be an argument of `Holdfast.open`, a variable HOLDFAST_<NAME>, or in a TOML file.

    They win in this order. The argument `config` or HOLDFAST_CONFIG names the file.
    """

    data: Path | None = None
    """The data folder; by default the platform's user-data folder."""
    store: str | None = None
    """A database instead of the folder: postgres://user@host/name. Any number of processes may share it."""
    replica: str | None = None
    """A streaming replica of that database, for reads."""
    connections: int = 10
    """The maximum number of connections of a process to each of them."""
    profile_cache_bytes: int = 128 * 1024 * 1024
    """How much memory a process uses to hold profiles of the database that are in use; 0 holds none."""
    sealed: bool = False
    """Whether new profiles in the database are encrypted; profiles in a data folder always are."""
    keyring: Path | None = None
    """The file of the master key; by default in the data folder. Servers that share encrypted profiles share it."""
    cache: str | None = None
    """The folder of what can be computed again, such as local models as they are run; by default the platform's
    user-cache folder. `off` keeps nothing."""
    embedder: str = "arctic"
    """arctic (finds more), potion (two hundred times cheaper), or a provider's model with the number of its dimensions:
    openai:text-embedding-3-small/1536, ollama:nomic-embed-text/768, http://host/v1#model/768."""
    embedder_key: str | None = None
    """The embedding provider's API key; by default the provider's own variable, such as OPENAI_API_KEY."""
    embedder_url: str | None = None
    llm: str | None = None
    """A language model for digestion and answers: openai:…, anthropic:…, ollama:…, openrouter:…, workers-ai:…, or
    http://host/v1#model for any server that speaks OpenAI's protocol. Without one everything works offline."""
    llm_key: str | None = None
    """The model's API key; by default the provider's own variable, such as OPENAI_API_KEY or ANTHROPIC_API_KEY."""
    llm_url: str | None = None
    """Another base URL for the provider, such as a gateway's."""
    llm_price: str | None = None
    """The price of a million input and output tokens, as 0.15/0.60; for the usage report and a ceiling in money."""
    llm_ceiling: str | None = None
    """A profile's monthly limit: 2000000 tokens, or an amount of money such as 5. Beyond it, it works offline."""
    llm_seconds: float = 120.0
    """How many seconds digestion waits for one reply of the model."""
    open_files: int = 128
    """How many profiles may be open at once; the least recently used one is closed."""
    decay_days: float | None = None
    """When set, the half-life in days of the loss of rank with age; by default age does not change the rank."""
    trace_days: int = 7
    """How many days traces are kept; 0 keeps none."""
    fetch: bool = True
    """Whether documents may be fetched from URLs."""
    fetch_allow: tuple[str, ...] = ()
    """Non-public hosts and networks that may be fetched from: wiki.corp, *.corp, wiki.corp:8080, 10.1.0.0/16."""
    fetch_again: int = 0
    """After how many days a parsed page is fetched again; 0 means never."""
    document_bytes: int = 64 * 1024 * 1024
    """The maximum size of a document in bytes."""
    profile_quota: str | None = None
    """The most that one profile may hold: messages=100000, memories=50000, bytes=1GB. By default there is no limit."""
    namespace_quota: str | None = None
    """The most that all profiles of one namespace may hold together, in the same notation; also profiles=1000."""
    originals: str | None = None
    """Where originals of documents are stored instead of the profile's own storage: s3://bucket/prefix, or a folder."""
    originals_url: str | None = None
    """The URL of the bucket's server, unless it is AWS: https://minio.corp:9000. Credentials come from
    AWS_ACCESS_KEY_ID and the other variables that AWS's own tools read."""
    host: str = "127.0.0.1"
    """The address on which `holdfast serve` listens; the default can be reached from this machine only."""
    port: int = 8420
    admin_token: str | None = None
    """A preset admin token for `holdfast serve`, at least 20 characters; without it, the first start generates one."""
    rate_limit: str | None = RATE_LIMIT
    """The request rate of one credential, in the notation of the `limits` library; `none` for no limit. Admin tokens
    have no limit."""
    cors: tuple[str, ...] = ()
    """Origins whose pages may call the service (CORS); separated by commas in the environment, a list in the file."""

    @property
    def folder(self) -> Path:
        """The data folder: the configured one, or the user's default."""
        return _user_folder("data") if self.data is None else self.data

    @property
    def cache_folder(self) -> Path | None:
        """The folder of what can be computed again; None to keep nothing."""
        if self.cache is not None:
            return None if self.cache.lower() in ("off", "none") else Path(self.cache).expanduser()
        return _user_folder("cache")

    @classmethod
    def read(cls, *, config: object = None, **given: object) -> Settings:
        known = set(cls._fields)
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
        if given.get("data") is not None and given.get("store") is not None:
            raise _two_storages_error(f"data is {quoted_value(str(given['data']))}", "store", "data")
        found |= {name: value for name, value in given.items() if value is not None}
        _store_setting(found, given.get("data"))
        return cls(
            data=_path("data", found.get("data")),
            store=_address("store", found.get("store")),
            replica=_address("replica", found.get("replica")),
            connections=_count("connections", found.get("connections", 10), most=1_000),
            profile_cache_bytes=_count(
                "profile_cache_bytes", found.get("profile_cache_bytes", 128 * 1024 * 1024), least=0, most=2**40
            ),
            sealed=_boolean("sealed", found.get("sealed", False)),
            keyring=_path("keyring", found.get("keyring")),
            cache=_optional(found.get("cache")),
            **_models(found),
            open_files=_count("open_files", found.get("open_files", 128)),
            decay_days=_days(found.get("decay_days")),
            trace_days=_count("trace_days", found.get("trace_days", 7), least=0, most=36_500),
            fetch=_boolean("fetch", found.get("fetch", True)),
            fetch_allow=_list(found.get("fetch_allow", ())),
            fetch_again=_count("fetch_again", found.get("fetch_again", 0), least=0, most=36_500),
            document_bytes=_count("document_bytes", found.get("document_bytes", 64 * 1024 * 1024), most=1024**3),
            profile_quota=_optional(found.get("profile_quota")),
            namespace_quota=_optional(found.get("namespace_quota")),
            originals=_service_settings(found.get("originals")),
            originals_url=_web("originals_url", found.get("originals_url")),
            host=str(found.get("host", "127.0.0.1")),
            port=_count("port", found.get("port", 8420), most=65_535),
            admin_token=_token(found.get("admin_token")),
            rate_limit=_rate(found.get("rate_limit", RATE_LIMIT)),
            cors=_list(found.get("cors", ())),
        )


def _user_folder(use: Literal["data", "cache"]) -> Path:
    """The platform's folder for the user's data or cache; that of Linux without platformdirs."""
    if sys.platform == "linux":
        chosen = os.environ.get(f"XDG_{use.upper()}_HOME", "")
        usual = "~/.local/share" if use == "data" else "~/.cache"
        return Path(chosen if chosen.strip() else usual).expanduser() / "holdfast"
    import platformdirs

    user_folder = platformdirs.user_data_path if use == "data" else platformdirs.user_cache_path
    return user_folder("holdfast", appauthor=False)


def _models(found: dict[str, object]) -> dict[str, Any]:
    """The settings of models; API keys may come from the variables that providers' own tools read."""
    embedder, llm = str(found.get("embedder") or "arctic"), _optional(found.get("llm"))
    if ":" not in embedder:
        _choice("embedder", embedder, EMBEDDERS, "or a vendor's, such as openai:text-embedding-3-small")
    mine = {name: _optional(found.get(name)) for name in ("llm_key", "llm_url", "llm_price", "llm_ceiling")}
    mine["embedder_key"], mine["embedder_url"] = (
        _optional(found.get("embedder_key")),
        _optional(found.get("embedder_url")),
    )
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
            f"The setting decay_days is {quoted_value(value)}; give a number of days, or off.", field="decay_days"
        )
    return days


def _optional(value: object) -> str | None:
    return None if value is None or not str(value).strip() else str(value).strip()


def _seconds(value: object) -> float:
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 3600:
        raise InvalidInput(f"The setting llm_seconds is {quoted_value(value)}; give 1 to 3600.", field="llm_seconds")
    return seconds


def _from_file(path: object, known: set[str]) -> dict[str, object]:
    if not path:
        return {}
    import tomllib  # few have a settings file, and every hook of an agent would load it

    try:
        found = tomllib.loads(Path(str(path)).expanduser().read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as bad:
        reason = getattr(bad, "strerror", None) or bad
        raise InvalidInput(f"The settings file {str(path)!r} cannot be read: {reason}.", field="config") from bad
    _check_known(found, known, f"{path}: there is")
    if found.get("data") and found.get("store"):
        raise _two_storages_error(f"{path}: data is {quoted_value(str(found['data']))}", "store", "data")
    return found


def _check_known(given: Mapping[str, object], known: set[str], start: str) -> None:
    for name in given:
        if name not in known:
            raise InvalidInput(f"{start} no setting {name!r}; use one of {', '.join(sorted(known))}.", field=name)


def _path(name: str, value: object) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike) or not str(value):
        raise InvalidInput(f"{name} is {quoted_value(value)}; give a path, such as ./data.", field=name)
    return Path(str(value)).expanduser()


def _store_setting(found: dict[str, object], given: object) -> None:
    """Set `data` or `store` from the argument: a folder, sqlite:///folder, or a database URL; it overrides both."""
    if given is not None:
        scheme, address, rest = str(given).partition("://")
        if address and scheme != "sqlite":
            found["store"], found["data"] = given, None
        else:
            found["store"], found["data"] = None, rest if address else given


def refuse_hidden_store(data: str | None, config: object = None) -> None:
    """Raise if `data`, as a user gives it to a command, is a folder while a variable or the settings file names a
    database, which the folder would hide."""
    if data is None or ("://" in data and not data.startswith("sqlite://")):
        return
    file = config or os.environ.get("HOLDFAST_CONFIG")
    known = set(Settings._fields)
    for store, given in (
        ("HOLDFAST_STORE", os.environ.get("HOLDFAST_STORE")),
        (f"store in {file}", _from_file(file, known).get("store")),
    ):
        if given:
            raise _two_storages_error(f"--data is {quoted_value(data)}", store, "--data")


def _two_storages_error(data: str, store: str, folder_setting: str) -> InvalidInput:
    """The error for a folder and a database. It does not quote the database's URL, which may contain a password."""
    return InvalidInput(
        f"{data}, and {store} names a database; memories are in one of them.", field="data",
        fix=f"Remove {folder_setting} to use the database, or {store} to use the folder.",
    )  # fmt: skip


def _address(name: str, value: object) -> str | None:
    if value is None or not str(value):
        return None
    scheme, _, rest = str(value).partition("://")
    if scheme not in SCHEMES or not rest:  # the error does not quote the rest: it may contain a password
        raise InvalidInput(
            f"The setting {name} begins with {quoted_value(scheme)}; write it like postgres://user@host/database.",
            field=name,
        )
    return str(value)


def _service_settings(value: object) -> str | None:
    """The URL of a bucket, or the absolute path of a folder."""
    text = _optional(value)
    scheme, address, rest = (text or "").partition("://")
    if not address:
        return None if text is None else str(Path(text).expanduser().absolute())
    if scheme != "s3" or not rest.strip("/"):
        raise InvalidInput(
            f"The setting originals is {quoted_value(text)}; write it like s3://bucket/prefix, or give a folder.",
            field="originals",
        )
    return text


def _web(name: str, value: object) -> str | None:
    text = _optional(value)
    if text is not None and not text.startswith(("http://", "https://")):
        raise InvalidInput(f"The setting {name} is {quoted_value(text)}; write it like https://host:port.", field=name)
    return text


def _boolean(name: str, value: object) -> bool:
    if str(value).lower() in ("1", "true", "yes", "on"):
        return True
    if str(value).lower() in ("0", "false", "no", "off", ""):
        return False
    raise InvalidInput(f"The setting {name} is {quoted_value(value)}; use true or false.", field=name)


def _choice(name: str, value: object, choices: tuple[str, ...], more: str = "") -> str:
    if value not in choices:
        known = f"{', '.join(choices)}{more and ', '}{more}"
        raise InvalidInput(f"The setting {name} is {quoted_value(value)}; use one of {known}.", field=name)
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


def _list(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    return tuple(str(part).strip() for part in parts if str(part).strip())


def _count(name: str, value: object, *, least: int = 1, most: int = 1_000_000) -> int:
    try:
        count = int(str(value))
    except ValueError:
        count = least - 1
    if not least <= count <= most:
        raise InvalidInput(
            f"The setting {name} is {quoted_value(value)}; give a whole number from {least} to {most}.", field=name
        )
    return count
