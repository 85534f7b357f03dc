"""Parses HOLDFAST_LLM into an endpoint: the address of the model, its key and its API dialect.

    openai:gpt-…            anthropic:claude-…            openrouter:vendor/model            ollama:qwen3
    workers-ai:@cf/meta/…   with https://api.cloudflare.com/client/v4/accounts/{id}/ai/v1 as HOLDFAST_LLM_URL
    http(s)://host/v1#model any other server that implements OpenAI's chat completions

Errors do not quote what might be a key: people paste keys into the wrong setting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from holdfast.domain.errors import InvalidInput

Dialect = Literal["openai", "anthropic"]
CUSTOM_VENDOR = "custom"
"""The vendor name for a server that the setting gives by its address."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model on a server."""

    vendor: str
    model: str
    url: str
    """Including the version, without a trailing slash."""
    key: str | None = field(default=None, repr=False)
    dialect: Dialect = "openai"
    setting: str = "llm"
    """The setting that names this endpoint; errors ask the user to correct it."""

    @property
    def name(self) -> str:
        return f"{self.vendor}/{self.model}"


@dataclass(frozen=True, slots=True)
class _Vendor:
    url: str | None
    needs_key: bool = True
    dialect: Dialect = "openai"


VENDORS = {
    "openai": _Vendor("https://api.openai.com/v1"),
    "anthropic": _Vendor("https://api.anthropic.com/v1", dialect="anthropic"),
    "ollama": _Vendor("http://127.0.0.1:11434/v1", needs_key=False),
    "workers-ai": _Vendor(None),
    "openrouter": _Vendor("https://openrouter.ai/api/v1"),
}
_WORD = re.compile(r"[a-z]+(?:-[a-z]+){0,2}")
_MODEL = re.compile(r"[\w@.:/+-]{1,200}")


def parse_endpoint(spec: str, key: str | None = None, url: str | None = None, *, setting: str = "llm") -> Endpoint:
    """Parses the endpoint that a setting names. Raises InvalidInput, which explains what is wrong with it."""
    spec, key = spec.strip(), (key or "").strip() or None
    if key is not None and not re.fullmatch(r"[!-~]+", key):
        raise _setting_error(setting, "_KEY", "contains spaces or characters that no key has.", "Copy the key again.")
    if spec.lower().startswith(("http://", "https://")):
        return _custom_endpoint(spec, key, url, setting)
    name, colon, model = spec.partition(":")
    vendor = VENDORS.get(name)
    if vendor is None:
        shown = f" ({name!r})" if len(name) <= 20 and _WORD.fullmatch(name) and name != key else ""
        fix = f"Write provider:model with {', '.join(VENDORS)}, or http(s)://host/v1#model."
        raise _setting_error(setting, "", f"does not name a known provider{shown}.", fix)
    if not colon or not _MODEL.fullmatch(model) or model == key:
        raise _setting_error(setting, "", f"does not name a model of {name}.", f"Write {name}:model.")
    if vendor.url is None and url is None:
        fix = f"Set HOLDFAST_{setting.upper()}_URL to https://api.cloudflare.com/client/v4/accounts/YOUR-ACCOUNT/ai/v1."
        raise _setting_error(setting, "", f"is {name}, whose URL contains the id of your account.", fix)
    if vendor.needs_key and key is None:
        raise _setting_error(setting, "_KEY", f"is not set, but {name} needs a key.", "Give the provider's API key.")
    return Endpoint(
        name, model, _checked_address(url or vendor.url or "", setting, "_URL"), key, vendor.dialect, setting
    )


def _custom_endpoint(spec: str, key: str | None, url: str | None, setting: str) -> Endpoint:
    address, hash, model = spec.partition("#")
    if url is not None:
        raise _setting_error(setting, "_URL", f"is set, but HOLDFAST_{setting.upper()} is a URL too.", "Unset one.")
    if not hash or not _MODEL.fullmatch(model):
        raise _setting_error(setting, "", "is a URL without a model.", "Write http(s)://host/v1#model.")
    return Endpoint(CUSTOM_VENDOR, model, _checked_address(address, setting, ""), key, setting=setting)


def _checked_address(url: str, setting: str, part: str) -> str:
    fix = "Write it as https://host/v1."
    try:
        parts = urlsplit(url.strip())
        parts.port  # noqa: B018  (raises when it is none)
    except ValueError:
        raise _setting_error(setting, part, "is not a URL.", fix) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s\x00-\x1f]", url.strip()):
        raise _setting_error(setting, part, "is not a URL.", fix)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        fix = f"Give the key as HOLDFAST_{setting.upper()}_KEY, and the URL as https://host/v1."
        raise _setting_error(setting, part, "contains a user, a query or a fragment in its URL.", fix)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _setting_error(setting: str, part: str, what: str, fix: str) -> InvalidInput:
    return InvalidInput(f"HOLDFAST_{setting.upper()}{part} {what}", field=setting, fix=fix)
