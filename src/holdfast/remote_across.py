"""Several profiles of a server, asked together: what AsyncAcross does, over HTTP."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator
from typing import Any

from .across import AsyncAcross, Places, placed
from .reading import read
from .remote import RemoteHoldfast
from .remote_call import call
from .results import Answer
from .sent import quoted


class RemoteAcross:
    """Several profiles of a server, to be asked together."""

    def __init__(self, holdfast: RemoteHoldfast, namespace: str, profiles: Places) -> None:
        self._holdfast = holdfast
        self.profiles = placed(namespace, profiles)
        self._named = [{"namespace": each.namespace, "profile": each.profile} for each in self.profiles]
        self._path = f"/v1/namespaces/{quoted(namespace)}"

    search = call(AsyncAcross.search, "POST", "/search", "hits")
    recall = call(AsyncAcross.recall, "POST", "/recall")
    context = call(AsyncAcross.context, "POST", "/context")

    @functools.wraps(AsyncAcross.recall_stream)
    async def recall_stream(self, query: str, **how: Any) -> AsyncIterator[str | Answer]:
        asked = {"query": query, "profiles": self._named}
        asked |= {name: value for name, value in how.items() if value is not None}
        async for line in self._holdfast.lines(self._path + "/recall/stream", body=asked):
            if line.startswith("data:"):
                told = json.loads(line[5:])
                yield told["text"] if "text" in told else read(Answer, told["answer"])

    async def _ask(self, method: str, path: str, body: dict[str, Any], *more: Any, **headers: Any) -> Any:
        return await self._holdfast.ask(method, self._path + path, {**body, "profiles": self._named}, *more, **headers)
