"""Fifty profiles with words that exist nowhere else, and thousands of random operations by credentials that may read
one or two of them: with foreign ids, bad ids, and questions across profiles without rights. Nobody is told a foreign
word, and what is forbidden is answered as if it were not there."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast, HoldfastError
from holdfast.domain.credentials import Grant
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.postgres import database

PROFILES = 50
NAMESPACES = ("north", "south")
CANARY = re.compile(r"canary[0-9a-f]{12}")
PLACES = ("name", "said", "kept", "key", "session", "mark", "note", "sister")


@dataclass(eq=False)
class Owner:
    """One profile, what is in it, and the credential that opens it."""

    namespace: str
    words: dict[str, str]
    ids: list[str] = field(default_factory=list)
    token: str = ""
    far: Any = None
    shares: list[Owner] = field(default_factory=list)
    """Whose profiles it was granted to read."""
    asked: set[str] = field(default_factory=set)
    """Foreign words that it asked about itself, and so may find in its own traces."""

    @property
    def name(self) -> str:
        return self.words["name"]

    @property
    def path(self) -> str:
        return f"/v1/namespaces/{self.namespace}/profiles/{self.name}"

    def may_see(self) -> set[str]:
        return {word for owner in (self, *self.shares) for word in owner.words.values()}


@dataclass
class Town:
    holdfast: AsyncHoldfast
    http: httpx.AsyncClient
    owners: list[Owner]
    done: Counter[str] = field(default_factory=Counter)


@asynccontextmanager
async def town(vault: Any, dice: random.Random) -> AsyncIterator[Town]:
    async with AsyncExitStack() as stack:
        holdfast = await stack.enter_async_context(AsyncHoldfast(vault, HashingEmbedder(), ScriptedExtractor()))
        url = await stack.enter_async_context(http_server(holdfast))
        owners = [
            Owner(NAMESPACES[n % 2], {place: f"canary{dice.getrandbits(48):012x}" for place in PLACES})
            for n in range(PROFILES)
        ]
        for owner in owners:
            owner.ids = await fill_profile(holdfast, owner)
        for n, owner in enumerate(owners):
            owner.shares = [owners[n - 1]] if n % 3 == 0 else []
            grants = [Grant(each.namespace, each.name, frozenset({"read"})) for each in owner.shares]
            place = {"namespace": owner.namespace, "profile": owner.name}
            rights = ["read", "write", "forget"]
            _, owner.token = await holdfast.access.issue("key", str(n), rights, **place, grants=grants)  # type: ignore[arg-type]
            owner.far = await stack.enter_async_context(AsyncHoldfast.connect(url, owner.token))
        yield Town(
            holdfast,
            await stack.enter_async_context(httpx.AsyncClient(base_url=url, trust_env=False, timeout=120)),
            owners,
        )


async def fill_profile(holdfast: AsyncHoldfast, owner: Owner) -> list[str]:
    words, profile = owner.words, holdfast.profile(owner.namespace, owner.name)
    said = {"role": "user", "content": f"My locker word is {words['said']}.", "metadata": {"mark": words["mark"]}}
    receipt = await profile.ingest([said], session_id=words["session"], wait=True)
    kept = await profile.remember(f"The locker code is {words['kept']}.", key=words["key"])
    note = await profile.remember(f"Locker opened with {words['note']}.", kind="note", key="/workspace/locker")
    kin = await profile.remember(f"The user's sister Marta works at `{words['sister']}`.")
    return [receipt.messages[0].id, kept.id, note.id, kin.id, receipt.job or ""]


Answer = tuple[str, str]
"""How it ended, and every word of it."""


async def over_rest(town: Town, owner: Owner, method: str, path: str, body: Any = None) -> Answer:
    headers = {"authorization": f"Bearer {owner.token}"}
    answer = await town.http.request(method, path, headers=headers, json=body)
    return str(answer.status_code), answer.text


async def in_python(ask: Callable[[], Any]) -> Answer:
    try:
        found = ask()
        if hasattr(found, "__anext__"):
            return "done", repr([piece async for piece in found])
        return "done", repr(await found)
    except HoldfastError as refused:
        return refused.code, f"{refused} {refused.field}"


class Turn:
    """One random operation of somebody about somebody else."""

    def __init__(self, town: Town, dice: random.Random) -> None:
        self.town, self.dice = town, dice
        self.me, self.other = dice.choice(town.owners), dice.choice(town.owners)
        self.sent = ""
        """What it said itself; an answer may repeat it, and its own traces may later."""

    def word(self, place: str | None = None) -> str:
        return self.other.words[place or self.dice.choice(PLACES)]

    def id(self) -> str:
        return self.dice.choice(
            [*self.other.ids, self.other.ids[0][::-1], "x", "0" * 32, "01" + "Z" * 24, "../x", "é", f"{self.me.name}/x"]
        )

    def narrowed(self) -> dict[str, Any]:
        return self.dice.choice(
            [{}, {"key": self.word("key")}, {"key_prefix": "canary"}, {"session_id": self.word("session")},
             {"filter": {"metadata.mark": self.word("mark")}}, {"filter": {"not": {"metadata.mark": "x"}}}]
        )  # fmt: skip

    def profiles(self) -> list[Any]:
        absent = {"namespace": self.dice.choice((*NAMESPACES, "nowhere")), "profile": f"nobody{self.dice.random()}"}
        named = {"namespace": self.other.namespace, "profile": self.other.name}
        mine = {"namespace": self.me.namespace, "profile": self.me.name}
        return self.dice.choice([[mine], [mine, named], [named], [mine, absent], [absent], [mine, named, absent]])

    async def run(self) -> None:
        act = self.dice.choice((self.rest, self.rest, self.far, self.local, self.across, self.forbidden))
        how, text = await act()
        self.town.done[f"{act.__name__} {how}"] += 1
        mine = set(CANARY.findall(self.sent))
        self.me.asked |= mine
        allowed = self.me.may_see() | (self.me.asked if "traces" in self.sent else mine)
        foreign = set(CANARY.findall(text)) - allowed
        assert not foreign, f"{self.me.name} was told {foreign} by {act.__name__}: {text[:2000]}"

    async def rest(self) -> Answer:
        """Its own profile over HTTP, with foreign words and ids."""
        path, id, query = self.me.path, quote(self.id(), safe=""), {"query": self.word(), **self.narrowed()}
        method, route, body = self.dice.choice(
            [("POST", "/search", query), ("POST", "/recall", query), ("POST", "/context", query),
             ("POST", "/memories/list", self.narrowed()), ("GET", f"/memories/{id}", None),
             ("GET", f"/memories/{id}/history", None), ("PATCH", f"/memories/{id}", {"content": "Mine now."}),
             ("GET", f"/memories/{id}?as_of=2100-01-01", None), ("DELETE", f"/memories/{id}?dry_run=true", None),
             ("GET", f"/messages?session_id={self.word('session')}", None), ("GET", "/sessions", None),
             ("GET", "/summary", None), ("GET", "/stats", None), ("GET", "/export", None), ("GET", "/traces", None),
             ("GET", f"/traces/{id}", None), ("GET", f"/jobs/{id}", None), ("GET", f"/documents/{id}", None),
             ("GET", "/notes", None), ("GET", "/notes/entering?directory=locker", None), ("GET", "/graph", None),
             ("GET", f"/graph?entity={self.word('sister')}", None), ("GET", "/entities", None),
             ("POST", "/forget", {"session_id": self.word("session"), "dry_run": True}),
             ("POST", "/forget", {"person": self.word("sister"), "dry_run": True})]
        )  # fmt: skip
        if "DELETE" in method or id in map(quote, self.me.ids):
            method, route, body = "GET", f"/memories/{id}", None
        self.sent = f"{route} {body}"
        return await over_rest(self.town, self.me, method, path + route, body)

    async def far(self) -> Answer:
        return await self.by(self.me.far.profile(self.me.namespace, self.me.name))

    async def local(self) -> Answer:
        return await self.by(self.town.holdfast.profile(self.me.namespace, self.me.name))

    async def by(self, profile: Any) -> Answer:
        """The same with Python: what a profile's methods tell of other profiles' words and ids."""
        id, query, narrowed = self.id(), self.word(), self.narrowed()
        session = self.word("session")
        self.sent = f"{id} {query} {narrowed} {session}"
        acts: list[Callable[[], Any]] = [
            lambda: profile.search(query, **narrowed), lambda: profile.recall(query, **narrowed),
            lambda: profile.context(query, **narrowed), lambda: profile.list(limit=100, **narrowed),
            lambda: profile.get(id), lambda: profile.history(id), lambda: profile.messages(session),
            lambda: profile.forget(id, dry_run=True), lambda: profile.forget_session(session, dry_run=True),
            lambda: profile.recall_stream(query), lambda: profile.trace(id), lambda: profile.job(id),
            lambda: profile.document(id), lambda: profile.summary(session), lambda: profile.exported(),
            lambda: profile.remember(f"Locker {self.dice.random()}"), lambda: profile.stats(),
        ]  # fmt: skip
        return await in_python(self.dice.choice(acts))

    async def across(self) -> Answer:
        """Several profiles, some of which it may not read or which are not there."""
        named, query = self.profiles(), self.word()
        verb = self.dice.choice(("search", "recall", "context"))
        path = f"/v1/namespaces/{self.dice.choice((self.me, self.other)).namespace}/{verb}"
        self.sent = query
        how, text = await over_rest(self.town, self.me, "POST", path, {"query": query, "profiles": named})
        readable = {(each.namespace, each.name) for each in (self.me, *self.me.shares)}
        assert (how == "200") == all((each["namespace"], each["profile"]) in readable for each in named), (how, text)
        assert how in ("200", "404"), text
        if how == "404":
            assert re.fullmatch(r"profiles\[\d\]", json.loads(text)["error"]["field"]), text
        return how, text

    async def forbidden(self) -> Answer:
        """A profile that it may not reach is answered, by every route, as one that is not there."""
        if self.other in (self.me, *self.me.shares):
            self.other = self.dice.choice([each for each in self.town.owners if each not in (self.me, *self.me.shares)])
        id, word = quote(self.id(), safe=""), self.word()
        method, route, body = self.dice.choice(
            [("POST", "/search", {"query": word}), ("POST", "/recall", {"query": word}),
             ("GET", f"/memories/{id}", None), ("POST", "/remember", {"content": "x"}),
             ("DELETE", f"/memories/{id}", None), ("GET", "/export", None),
             ("GET", "/traces", None), ("GET", "/notes", None), ("PUT", "/notes", {"path": "x", "text": "x"}),
             ("GET", "/access", None), ("DELETE", "", None), ("GET", "/graph", None), ("GET", "/documents", None)]
        )  # fmt: skip
        absent = f"/v1/namespaces/{self.other.namespace}/profiles/nobody{self.dice.random()}"
        nowhere = f"/v1/namespaces/nowhere/profiles/{self.other.name}"
        answers = [
            await over_rest(self.town, self.me, method, at + route, body) for at in (self.other.path, absent, nowhere)
        ]
        assert len(set(answers)) == 1, f"{method} {route} told them apart: {answers}"
        assert answers[0][0] == "403", answers
        return answers[0]


async def try_operations(vault: Any, operations: int, seed: int) -> Counter[str]:
    dice = random.Random(seed)
    async with town(vault, dice) as place:
        for _ in range(operations):
            await Turn(place, dice).run()
        for owner in place.owners:  # nobody changed anything of anybody else's
            profile = place.holdfast.profile(owner.namespace, owner.name)
            assert {item.id for item in [await profile.get(id) for id in owner.ids[:4]]} == set(owner.ids[:4])
        return place.done


async def test_a_few_hundred_random_operations_tell_no_foreign_word(tmp_path: Path) -> None:
    done = await try_operations(SqliteVault(tmp_path / "data"), 500, seed=7)
    assert sum(done.values()) == 500
    assert {how.split()[0] for how in done} == {"rest", "far", "local", "across", "forbidden"}
    assert done["across 200"] > 5
    assert done["across 404"] > 20


async def test_an_id_of_another_profile_is_answered_like_an_id_of_nothing(tmp_path: Path) -> None:
    async with town(SqliteVault(tmp_path / "data"), random.Random(3)) as place:
        me, other = place.owners[1], place.owners[4]
        for id in other.ids[:4]:
            nothing = id[::-1]
            for method, route in (("GET", "/memories/{}"), ("GET", "/memories/{}/history"), ("DELETE", "/memories/{}"),
                                  ("GET", "/traces/{}"), ("GET", "/jobs/{}"), ("GET", "/documents/{}")):  # fmt: skip
                found = [await over_rest(place, me, method, me.path + route.format(each)) for each in (id, nothing)]
                assert found[0][0] == found[1][0] == "404"
                assert found[0][1].replace(id, "x") == found[1][1].replace(nothing, "x")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["files", "database"])
async def test_ten_thousand_random_operations_tell_no_foreign_word(backend: str, tmp_path: Path) -> None:
    if backend == "files":
        done = await try_operations(SqliteVault(tmp_path / "data"), 10_000, seed=11)
    else:
        with database() as dsn:
            done = await try_operations(PostgresVault(dsn, connections=4), 2_000, seed=12)
    print(dict(sorted(done.items())))
    assert sum(done.values()) in (10_000, 2_000)
