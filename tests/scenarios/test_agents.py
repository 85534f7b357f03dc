"""Several agents on one profile: what each writes is its own, and each reads what its rule says, by every verb."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from holdfast import (
    AlreadyExists,
    AsyncHoldfast,
    Forbidden,
    HoldfastError,
    InvalidInput,
    NotFound,
    acting,
)
from holdfast.domain.ports.documents import DocumentStore
from holdfast.domain.ports.models import Turn
from holdfast.domain.ports.storage import Journal, Store
from holdfast.domain.types import Draft
from holdfast.storage.postgres.vault import PostgresVault
from holdfast.storage.sqlite.vault import SqliteVault
from holdfast.storage.views.agent_documents import AgentDocumentStore
from holdfast.storage.views.agent_journal import AgentJournal
from holdfast.storage.views.agent_store import AgentStore
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server
from support.postgres import database

TOKEN = "a-token-of-these-tests"
CANARY = re.compile(r"canary\w*", re.I)
READS = {"documents", "document", "original", "kinds", "kind", "messages"}
WRITES = ("forget", "import", "drop", "apply", "redigest", "set_", "ingest", "remember", "add", "register", "revise")
TELLS_WHERE = {"namespace", "name", "as_agent"}


class Joining:
    name = "joining/1"

    async def summarise(self, turns: Sequence[Turn]) -> str:
        return " ".join(turn.text for turn in turns)


@pytest.fixture(params=["here", "far", "database"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        if request.param == "database":
            vault: Any = PostgresVault(stack.enter_context(database()), connections=4)
        else:
            vault = SqliteVault(tmp_path / "data")
        drawn = {"canarysaid": [Draft("fact", "canarydrawn is the locker word", sources=())]}
        extractor = ScriptedExtractor(
            {f"The locker word is {word}.": [*drafts] for word, drafts in drawn.items()}  # type: ignore[arg-type]
        )
        holdfast = await stack.enter_async_context(
            AsyncHoldfast(vault, HashingEmbedder(), extractor, summariser=Joining())
        )
        found: Any = holdfast
        if request.param == "far":
            await holdfast.access.admin(TOKEN)
            url = await stack.enter_async_context(http_server(holdfast))
            found = await stack.enter_async_context(AsyncHoldfast.connect(url, TOKEN))
        found.tour = holdfast.runtime.worker.tour
        yield found


async def hidden_items(memory: Any) -> dict[str, Any]:
    """What the sales agent has written into a profile that others use as well: what must not be told of it."""
    whole = memory.profile("app", "ada")
    await whole.ingest([{"role": "user", "content": "My own word is plainly mine."}], session_id="own", wait=True)
    sales = whole.as_agent("sales")
    receipt = await sales.ingest(
        [{"role": "user", "content": "The locker word is canarysaid.", "metadata": {"mark": "canarymark"}}],
        session_id="canarysession", wait=True,
    )  # fmt: skip
    kept = await sales.remember(
        "The locker code is canarykept", kind="canary-kind", key="canarykey", value={"a": "canaryvalue"}
    )
    newer = await sales.remember("The locker code is canarynewer", kind="canary-kind", key="canarykey")
    read = await sales.add(b"The locker key is canarydocument, in a text.", name="canaryname", wait=True)
    await sales.remember("Ada's sister Canarysister works at Canarycompany.")
    await whole.set_summaries({"cadence": "every 2 turns", "of": "turn"})
    for each in ("one", "two"):
        await sales.remember(f"turn canaryturn{each}", kind="turn")
    await memory.tour()
    with acting(agent="sales"):
        await sales.search("canaryquestion about the locker")
    await whole.summary()  # keeps the page of the whole profile
    trace = next(iter(await sales.traces(limit=1)))
    return {
        "ids": [kept.ref, newer.id, receipt.messages[0].id, receipt.job, read.id, trace.id],
        "session": "canarysession",
        "job": receipt.job,
    }


def arguments(method: Any, known: dict[str, Any], here: Path) -> list[dict[str, Any]]:
    """Several ways to call a verb, each of which would tell something if it told what is hidden."""
    needed = [
        parameter.name
        for parameter in inspect.signature(method).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    ways: dict[str, list[Any]] = {
        "query": ["Which locker word, code and key?", "locker", "turn"],
        "messages": [[{"role": "user", "content": "Good morning."}]],
        "schema": [{}],
        "to": [1],
        "rules": [None],
        "cadence": ["off"],
        "source": [b"A text of its own."],
        "path": [str(here / "archive.jsonl")],
        "kind": ["canary-kind", "turn"],
        "session_id": [known["session"]],
        "entity": ["Ada", "user"],
        "start": ["Ada"],
        "end": ["user"],
        "into": ["Ada"],
        "others": [["Bob"]],
    }
    first = ways.get(needed[0], known["ids"]) if needed else [None]
    calls = [
        {name: (each if n == 0 else ways.get(name, known["ids"])[0]) for n, name in enumerate(needed)} for each in first
    ]
    given = inspect.signature(method).parameters
    if "limit" in given:
        calls[0]["limit"] = 500
    if "heartbeat" in given:
        calls = [{"after": 0, "heartbeat": 0.05}]
    if "session_id" in given and "session_id" not in needed:
        calls += [{**calls[0], "session_id": known["session"]}]
    return calls


async def answer_text(profile: Any, name: str, call: dict[str, Any]) -> str:
    method = getattr(profile, name)
    said = []
    try:
        found = method(**call)
        if inspect.isasyncgen(found) or hasattr(found, "__anext__"):
            async for piece in found:
                if piece is None:
                    break
                said.append(repr(piece))
        else:
            said.append(repr(await found if inspect.isawaitable(found) else found))
    except HoldfastError as refused:
        said.append(str(refused))
    words = set(CANARY.findall(repr(call)))
    return " ".join(word for word in CANARY.findall(" ".join(said)) if word not in words)


def verbs(profile: Any) -> list[str]:
    names = [name for name in dir(profile) if not name.startswith("_") and name not in TELLS_WHERE]
    return [name for name in names if callable(getattr(profile, name))]


async def test_no_verb_tells_an_agent_what_another_wrote(
    memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a profile can do, now or later, is tried with what would find, name or open the hidden things."""
    monkeypatch.setattr("holdfast.api.rest.routes.journal.HEARTBEAT_SECONDS", 0.05)
    known = await hidden_items(memory)
    support = memory.profile("app", "ada").as_agent("support", reads="own")
    assert len(await support.search("What is my own word?")) >= 1
    names = verbs(support)
    assert {"search", "recall", "context", "list", "get", "history", "messages", "events", "traces"} <= set(names)
    reads = {name for name in names if name in READS or not name.startswith(WRITES)}
    for name in sorted(names, key=lambda each: each not in reads):
        for call in arguments(getattr(support, name), known, tmp_path):
            assert await answer_text(support, name, call) == "", (name, call)
    left = await memory.profile("app", "ada").as_agent("sales").list(limit=100)
    assert "canarynewer" in repr(left.items)  # what it could not see it could not forget


async def test_what_is_hidden_from_one_is_seen_by_those_who_may(memory: Any) -> None:
    known = await hidden_items(memory)
    ada = memory.profile("app", "ada")
    for view in (ada, ada.as_agent("sales", reads="own"), ada.as_agent("boss", reads=["sales"]), ada.as_agent("any")):
        assert "canarynewer" in repr(await view.search("locker code"))
        assert "canarysaid" in repr(await view.messages())
        assert (await view.get(known["ids"][0])).content == "The locker code is canarykept"
        assert [each.name for each in await view.documents()] == ["canaryname"]
        assert any("canaryturn" in each.content for each in await view.list(kind="summary"))
    for view in (ada.as_agent("support", reads="own"), ada.as_agent("support", reads=["billing"])):
        assert [message.content for message in await view.messages()] == ["My own word is plainly mine."]
        assert [session.id for session in await view.sessions()] == ["own"]
        stats = await view.stats()
        assert (stats.messages, stats.sessions, stats.memories, stats.kinds) == (1, 1, 0, {})
        assert [hit.content for hit in await view.search("my word")] == ["My own word is plainly mine."]
        assert (await view.traces(limit=50)).items[0].operation == "search"
        with pytest.raises(NotFound):
            await view.get(known["ids"][0])


async def test_what_an_agent_writes_is_its_own_whatever_it_says(memory: Any) -> None:
    support = memory.profile("app", "ada").as_agent("support", reads="own")
    kept = await support.remember("Ada likes rye.", agent="sales")
    assert kept.agent == "support"
    plain = await memory.profile("app", "ada").remember("Ada likes salt.")
    assert (await support.revise(plain.id, content="Ada likes no salt.")).agent == "support"
    await support.ingest([{"role": "user", "content": "Hello", "agent": "sales"}], agent="sales", wait=True)
    whole = memory.profile("app", "ada")
    assert {message.agent for message in await whole.messages()} == {"support"}
    assert {memory.agent for memory in await whole.list()} == {"support"}
    assert (await whole.get(kept.id)).agent == "support"
    trace = next(iter(await whole.traces(limit=1)))
    assert trace.caller.agent in (None, "support")


async def test_a_key_that_a_hidden_memory_has_is_refused_and_stays(memory: Any) -> None:
    ada = memory.profile("app", "ada")
    await ada.as_agent("sales").remember("The plan is gold.", key="plan")
    await ada.as_agent("sales").remember("Ada likes tea.")
    support = ada.as_agent("support", reads="own")
    with pytest.raises(AlreadyExists) as refused:
        await support.remember("The plan is silver.", key="plan")
    assert "gold" not in str(refused.value)
    with pytest.raises(AlreadyExists):
        await support.remember("Ada likes tea.")
    assert [each.content for each in await ada.list(key="plan")] == ["The plan is gold."]
    await ada.as_agent("support").remember("The plan is silver.", key="plan")
    assert [each.content for each in await ada.list(key="plan")] == ["The plan is silver."]


async def test_what_an_agent_forgets_does_not_live_on_in_a_hidden_summary(memory: Any) -> None:
    ada = memory.profile("app", "ada")
    await ada.set_summaries({"cadence": "every 2 turns", "of": "turn"})
    for agent, word in (("sales", "granite"), ("support", "basalt")):
        await ada.as_agent(agent).remember(f"The stone is {word}.", kind="turn")
    await memory.tour()
    assert "basalt" in repr(await ada.list(kind="summary"))
    support = ada.as_agent("support", reads="own")
    assert list(await support.list(kind="summary")) == []
    (mine,) = await support.list(kind="turn")
    await support.forget(mine.id)
    assert "basalt" not in repr(await ada.list(limit=100))


async def test_a_view_may_be_narrowed_and_never_widened(memory: Any) -> None:
    ada = memory.profile("app", "ada")
    await ada.as_agent("sales").remember("The plan is gold.")
    if hasattr(ada, "_sight"):  # a server is asked by its credential, and each view is made from that
        view = ada.as_agent("support", reads="own").as_agent("support", reads="all")
        assert list(await view.list()) == []
        view = ada.as_agent("support", reads=["sales"]).as_agent("support", reads=["sales", "billing"])
        assert view.profile_context.visibility.reads == ("sales",)
    with pytest.raises(InvalidInput):
        ada.as_agent("support", reads="nothing")
    with pytest.raises(InvalidInput):
        ada.as_agent("")


async def test_an_archive_is_of_the_whole_profile_or_none(memory: Any, tmp_path: Path) -> None:
    ada = memory.profile("app", "ada")
    await ada.remember("The plan is gold.")
    with pytest.raises(Forbidden):
        await ada.as_agent("support", reads="own").export_to(tmp_path / "a.jsonl")
    assert (await ada.as_agent("support").export_to(tmp_path / "a.jsonl")).memories == 1


@pytest.mark.parametrize(
    ("port", "view"), [(Store, AgentStore), (Journal, AgentJournal), (DocumentStore, AgentDocumentStore)]
)
def test_a_view_has_every_method_of_its_port_itself(port: type, view: type) -> None:
    wanted = {name for name in vars(port) if not name.startswith("_")}
    assert wanted <= set(vars(view))


async def test_a_question_may_be_about_what_one_agent_told_and_when(memory: Any) -> None:
    ada = memory.profile("app", "ada")
    for agent, day, content in (
        ("sales", "2026-11-15", "I can offer you 15 percent off the yearly plan."),
        ("sales", "2026-11-01", "The yearly plan includes two licences."),
        ("support", "2026-11-15", "Please restart the router."),
    ):
        said = {"role": "assistant", "content": content, "timestamp": f"{day}T10:00:00Z"}
        await ada.ingest([said], session_id=f"{agent}-{day}", agent=agent, wait=True)
    now = "2026-11-16T09:00:00Z"
    answer = await ada.recall("What did the sales agent tell her yesterday?", reference_date=now)
    assert answer.answer == "I can offer you 15 percent off the yearly plan."
    assert all("router" not in hit.content for hit in answer.hits)
    hits = await ada.search("What did the support agent tell her?", reference_date=now)
    assert [hit.content for hit in hits] == ["Please restart the router."]
    others = await ada.search("What did the billing agent say of the yearly plan?", reference_date=now)
    assert sum("yearly plan" in hit.content for hit in others) == 2
    blind = ada.as_agent("support", reads="own")
    assert all("percent" not in hit.content for hit in await blind.search("What did the sales agent tell her?"))
    trace = next(iter(await ada.as_agent("support").traces(limit=1)))
    assert "agents" not in trace.details
