"""Several profiles of a server, queried together: the methods of AsyncAcross over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from holdfast.api.client.call import EXPLAINED, call, documented_by
from holdfast.api.client.request import quoted_segment
from holdfast.domain.json_codec import decode
from holdfast.domain.ports.holdfast import Places
from holdfast.domain.ports.profile.recall import ProfileRecall
from holdfast.domain.results import Answer

if TYPE_CHECKING:
    from holdfast.api.client.holdfast import RemoteHoldfast


class RemoteAcross(ProfileRecall):
    """Several profiles of a server, queried together."""

    def __init__(self, holdfast: RemoteHoldfast, namespace: str, profiles: Places) -> None:
        from holdfast.service.across import named_profiles

        self._holdfast = holdfast
        self.profiles = named_profiles(namespace, profiles)
        self._named = [{"namespace": each.namespace, "profile": each.profile} for each in self.profiles]
        self._path = f"/v1/namespaces/{quoted_segment(namespace)}"

    search = call(ProfileRecall.search, "POST", "/search", "hits", EXPLAINED)
    recall = call(ProfileRecall.recall, "POST", "/recall", fixed=EXPLAINED)
    context = call(ProfileRecall.context, "POST", "/context", fixed=EXPLAINED)

    @documented_by(ProfileRecall.recall_stream)
    async def recall_stream(self, query: str, **how: Any) -> AsyncIterator[str | Answer]:
        asked = {"query": query, "profiles": self._named, **EXPLAINED}
        asked |= {name: value for name, value in how.items() if value is not None}
        async for line in self._holdfast.lines(self._path + "/recall/stream", body=asked):
            if line.startswith("data:"):
                told = json.loads(line[5:])
                yield told["text"] if "text" in told else decode(Answer, told["answer"])

    async def request(self, method: str, path: str, body: dict[str, Any], *more: Any, **headers: Any) -> Any:
        return await self._holdfast.ask(method, self._path + path, {**body, "profiles": self._named}, *more, **headers)
