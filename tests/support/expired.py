"""Credentials that were valid once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from holdfast.domain.credentials import Credential
from holdfast.service.credentials import Access


async def issue_expired(
    access: Access, kind: str, name: str, rights: Iterable[str], **more: Any
) -> tuple[Credential, str]:
    """Issued yesterday for an hour, so that no test waits for the end of it."""
    yesterday = access._clock() - timedelta(days=1)
    then = Access(access._held, lambda: yesterday)
    return await then.issue(kind, name, rights, expires_at=yesterday + timedelta(hours=1), **more)
