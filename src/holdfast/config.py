"""Settings: the only reader of the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path

from .errors import InvalidInput, shown

EMBEDDERS = ("arctic", "potion")
TOKEN_CHARS = 20


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field may be given to `Holdfast.open` or as HOLDFAST_<NAME>; an argument wins over the environment."""

    data: Path | None = None
    """The data folder; by default the platform's user-data folder."""
    keyring: Path | None = None
    """Where the master key is kept; by default in the data folder."""
    embedder: str = "arctic"
    """arctic (finds more) or potion (two hundred times cheaper)."""
    open_files: int = 128
    """How many profiles may be open at once; the least recently used is closed."""
    host: str = "127.0.0.1"
    """Where `holdfast serve` listens; only this machine can reach the default."""
    port: int = 8420
    admin_token: str | None = None
    """Preset for `holdfast serve`, at least 20 characters; without it the first start makes one."""

    @classmethod
    def read(cls, **given: object) -> Settings:
        known = {field.name for field in fields(cls)}
        for name in given:
            if name not in known:
                raise InvalidInput(f"There is no setting {name!r}; known are {', '.join(sorted(known))}.", field=name)
        found: dict[str, object] = {
            name: os.environ[f"HOLDFAST_{name.upper()}"] for name in known if os.environ.get(f"HOLDFAST_{name.upper()}")
        }
        found |= {name: value for name, value in given.items() if value is not None}
        return cls(
            data=_path(found.get("data")),
            keyring=_path(found.get("keyring")),
            embedder=_choice("embedder", found.get("embedder", "arctic"), EMBEDDERS),
            open_files=_count("open_files", found.get("open_files", 128)),
            host=str(found.get("host", "127.0.0.1")),
            port=_count("port", found.get("port", 8420), most=65_535),
            admin_token=_token(found.get("admin_token")),
        )


def _path(value: object) -> Path | None:
    return None if value is None else Path(str(value)).expanduser()


def _choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise InvalidInput(f"The setting {name} is {shown(value)}; use one of {', '.join(choices)}.", field=name)
    return str(value)


def _token(value: object) -> str | None:
    if value is not None and len(str(value)) < TOKEN_CHARS:
        raise InvalidInput(
            f"The setting admin_token has {len(str(value))} characters; give at least {TOKEN_CHARS}.",
            field="admin_token",
        )
    return None if value is None else str(value)


def _count(name: str, value: object, most: int = 1_000_000) -> int:
    try:
        count = int(str(value))
    except ValueError:
        count = 0
    if not 1 <= count <= most:
        raise InvalidInput(f"The setting {name} is {shown(value)}; give a whole number from 1 to {most}.", field=name)
    return count
