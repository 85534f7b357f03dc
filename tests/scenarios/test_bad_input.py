"""Bad input gets a typed error that names the field and the limit or the value, and changes nothing."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import (
    AlreadyExists,
    AsyncHoldfast,
    Closed,
    Holdfast,
    HoldfastError,
    InvalidInput,
    NotFound,
    Profile,
    StorageError,
)
from holdfast.domain import filters
from holdfast.domain.arguments import Narrowed
from holdfast.domain.ports.profile.forget import ProfileForget
from holdfast.domain.ports.profile.memories import ProfileMemories
from holdfast.domain.ports.profile.recall import ProfileRecall
from holdfast.testing import HashingEmbedder, ScriptedExtractor

Act = Callable[[Profile], Any]
LONE = "half a pair: \ud83d"
SAID = {"role": "user", "content": "I moved to Lisbon."}


def open_memory(path: Path, **settings: Any) -> Holdfast:
    settings = {"embedder": HashingEmbedder(), "extractor": ScriptedExtractor()} | settings
    return Holdfast.open(path, **settings)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holdfast]:
    with open_memory(tmp_path_factory.mktemp("data")) as memory:
        alice = memory.profile("app", "alice")
        alice.ingest([SAID], session_id="s1")
        alice.remember("Prefers window seats", key="seat", metadata={"price": 10})
        alice.settle()
        yield memory


@pytest.fixture
def alice(memory: Holdfast) -> Profile:
    return memory.profile("app", "alice")


def stored_state(memory: Holdfast) -> tuple[Any, ...]:
    """Everything but the file's size: traces are written meanwhile."""
    alice = memory.profile("app", "alice")
    stats = replace(alice.stats(), bytes=0)
    return stats, alice.list().items, alice.messages(), memory.namespaces(), memory.profiles("app")


def assert_refused(
    memory: Holdfast, act: Callable[[], Any], error: type[HoldfastError], field: str, *said: str
) -> None:
    """The act raises exactly this, says so in words, and leaves everything as it was."""
    before = stored_state(memory)
    with pytest.raises(HoldfastError) as caught:
        act()
    assert type(caught.value) is error
    assert caught.value.field == field
    for words in said:
        assert words in str(caught.value)
    assert stored_state(memory) == before


def bad(name: str, act: Act, field: str, *said: str) -> Any:
    return pytest.param(act, field, said, id=name.replace(" ", "-"))


def ingest_case(name: str, message: Any, field: str, *said: str) -> Any:
    """The bad message stands second, so that a first one half-written would show."""
    good = {"role": "user", "content": "this must not be kept"}
    return bad(name, lambda alice: alice.ingest([good, message]), f"messages[1]{field}", *said)


def user(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": "hello"} | fields


def nested_list(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


MESSAGES = [
    bad("no list", lambda alice: alice.ingest("hello"), "messages", "'hello'"),  # type: ignore[arg-type]
    bad("one message bare", lambda alice: alice.ingest(SAID), "messages", "Lisbon"),  # type: ignore[arg-type]
    bad("nothing", lambda alice: alice.ingest(None), "messages", "None"),  # type: ignore[arg-type]
    bad("empty list", lambda alice: alice.ingest([]), "messages", "0 entries", "500"),
    bad("501 messages", lambda alice: alice.ingest([SAID] * 501), "messages", "501", "500"),
    ingest_case("a string", "hello", "", "'hello'"),
    ingest_case("unknown role", user(role="wizard"), ".role", "'wizard'", "assistant"),
    ingest_case("role of a wrong type", user(role=["user"]), ".role", "['user']"),
    ingest_case("no role", {"content": "hello"}, ".role", "None"),
    ingest_case("no content", {"role": "user"}, ".content", "missing", "list of parts"),
    ingest_case("content in bytes", user(content=b"hello"), ".content", "bytes"),
    ingest_case("long content", user(content="é" * 524_289), ".content", "1,048,578", "1,048,576", "document"),
    ingest_case("a part that is none", user(content=["hello", 7]), ".content[1]", "7", '"text"'),
    ingest_case("a part without type or text", user(content=[{"txt": "hello"}]), ".content[0]", "txt"),
    ingest_case("lone surrogate", user(content=LONE), ".content", "surrogate at character 13"),
    ingest_case("NUL", user(content="a\0b"), ".content", "NUL", "1"),
    ingest_case("unknown field", user(mood="good"), ".mood", "'mood'", "speaker"),
    ingest_case("long speaker", user(speaker="x" * 201), ".speaker", "201", "200"),
    ingest_case("speaker of a wrong type", user(speaker=7), ".speaker", "int", "7"),
    ingest_case("long agent", user(agent="x" * 201), ".agent", "201", "200"),
    ingest_case("timestamp in words", user(timestamp="last week"), ".timestamp", "'last week'", "ISO 8601"),
    ingest_case("timestamp that is no day", user(timestamp="2025-02-30"), ".timestamp", "2025-02-30"),
    ingest_case("timestamp true", user(timestamp=True), ".timestamp", "True"),
    ingest_case("timestamp NaN", user(timestamp=float("nan")), ".timestamp", "nan"),
    ingest_case("timestamp beyond time", user(timestamp=1e30), ".timestamp", "1e+30"),
    ingest_case("timestamp before time", user(timestamp="0001-01-01T00:00+14:00"), ".timestamp", "0001-01-01"),
    ingest_case("metadata list", user(metadata=[1]), ".metadata", "[1]"),
    ingest_case("metadata with numbers for names", user(metadata={1: 2}), ".metadata", "{1: 2}"),
    ingest_case("long metadata", user(metadata={"a": "x" * 16_384}), ".metadata", "16,393", "16,384"),
    ingest_case("metadata NaN", user(metadata={"a": float("nan")}), ".metadata", "not JSON"),
    ingest_case("metadata of objects", user(metadata={"a": datetime.now}), ".metadata", "not JSON"),
    ingest_case("metadata surrogate", user(metadata={"a": LONE}), ".metadata", "surrogate"),
    ingest_case("metadata NUL", user(metadata={"a": "\0"}), ".metadata", "NUL"),
    ingest_case(
        "metadata too deep", user(metadata={"a": nested_list(2000)}), ".metadata",
    ),
    bad("long session", lambda alice: alice.ingest([SAID], session_id="s" * 65), "session_id", "65", "64"),
    bad("empty session", lambda alice: alice.ingest([SAID], session_id=""), "session_id", "empty"),
    bad("session of a wrong type", lambda alice: alice.ingest([SAID], session_id=5), "session_id", "int"),  # type: ignore[arg-type]
    bad("surrogate session", lambda alice: alice.ingest([SAID], session_id=LONE), "session_id", "surrogate"),
    bad("long agent", lambda alice: alice.ingest([SAID], agent="a" * 201), "agent", "201", "200"),
    bad("NUL agent", lambda alice: alice.ingest([SAID], agent="a\0"), "agent", "NUL"),
]  # fmt: skip


def remember_case(name: str, field: str, *said: str, **given: Any) -> Any:
    return bad(f"{name}", lambda alice: alice.remember(**({"content": "x"} | given)), field, *said)


MEMORIES = [
    remember_case("no content", "content", "is missing", content=None),
    remember_case("content of a wrong type", "content", "dict", content={}),
    remember_case("long content", "content", "32,769", "32,768", content="x" * 32_769),
    remember_case("surrogate content", "content", "surrogate", content=LONE),
    remember_case("upper-case kind", "kind", "'Fact'", "64", kind="Fact"),
    remember_case("long kind", "kind", "64", kind="k" * 65),
    remember_case("kind of a wrong type", "kind", "3", kind=3),
    remember_case("long key", "key", "513", "512", key="k" * 513),
    remember_case("empty key", "key", "empty", key="  "),
    remember_case("key of a wrong type", "key", "int", "7", key=7),
    remember_case("NUL key", "key", "NUL", key="a\0b"),
    remember_case("surrogate key", "key", "surrogate", key=LONE),
    remember_case("unknown trust", "trust", "'god'", "document", trust="god"),
    remember_case("value that is no JSON", "value", "not JSON", value={1, 2}),
    remember_case("long value", "value", "262,146", "262,144", value="x" * 262_144),
    remember_case("NUL in a value", "value", "NUL", value={"a": "\0"}),
    remember_case("long metadata", "metadata", "16,384", metadata={"a": "x" * 16_384}),
    remember_case("long session", "session_id", "65", "64", session_id="s" * 65),
    remember_case("long agent", "agent", "201", "200", agent="a" * 201),
    remember_case("bad occurred_at", "occurred_at", "'soon'", occurred_at="soon"),
    remember_case("bad expires_at", "expires_at", "'never'", expires_at="never"),
    remember_case("ttl zero", "ttl", "0", "positive", ttl=0),
    remember_case("ttl below zero", "ttl", "positive", ttl=timedelta(seconds=-1)),
    remember_case("ttl in words", "ttl", "'1h'", ttl="1h"),
    remember_case("ttl true", "ttl", "True", ttl=True),
    remember_case("ttl and expires_at", "ttl", "not both", ttl=5, expires_at="2099-01-01"),
    *(
        remember_case(
            f"ttl {ttl!r}", "ttl", ttl=ttl,
        )
        for ttl in (float("nan"), float("inf"), 1e20, timedelta.max)
    ),
    remember_case(
        "value too deep", "value", value=nested_list(2000),
    ),
]  # fmt: skip


def search_case(name: str, filter: Any, field: str, *said: str) -> Any:
    return bad(f"filter {name}", lambda alice: alice.search("x", filter=filter), field, *said)


def nested_not(depth: int) -> dict[str, Any]:
    return {"not": nested_not(depth - 1)} if depth else {"kind": "fact"}


FILTERS = [
    search_case("that is a list", [], "filter", "[]"),
    search_case("with an unknown field", {"colour": "red"}, "filter", "'colour'", "metadata.<name>"),
    search_case("on bare metadata", {"metadata": 1}, "filter", "'metadata'"),
    search_case("with an empty path", {"metadata..a": 1}, "filter", "metadata..a"),
    search_case("with a quote in a path", {'metadata.a"b': 1}, "filter", "metadata.a"),
    search_case("with an unknown operator", {"kind": {"like": "f%"}}, "filter.kind", "'like'", "prefix"),
    search_case("with a number for a kind", {"kind": 5}, "filter.kind", "a string", "5"),
    search_case("with null for a key", {"key": None}, "filter.key", "a string", "None"),
    search_case("with a number as prefix", {"metadata.a": {"prefix": 5}}, "filter.metadata.a", "a string", "5"),
    search_case("ordering booleans", {"metadata.a": {"gt": True}}, "filter.metadata.a", "gt", "True"),
    search_case("ordering null", {"metadata.a": {"lte": None}}, "filter.metadata.a", "lte", "None"),
    search_case("with a list as operand", {"metadata.a": [1]}, "filter.metadata.a", "[1]"),
    search_case("in a string", {"kind": {"in": "fact"}}, "filter.kind", "a list", "'fact'"),
    search_case("nin a number", {"kind": {"nin": 1}}, "filter.kind", "a list", "1"),
    search_case("exists maybe", {"key": {"exists": "maybe"}}, "filter.key", "true or false", "'maybe'"),
    search_case("exists on an unknown field", {"colour": {"exists": True}}, "filter", "'colour'"),
    search_case("with NaN", {"metadata.a": float("nan")}, "filter.metadata.a", "nan"),
    search_case("with a number too big", {"metadata.a": 2**63}, "filter.metadata.a", str(2**63)),
    search_case("with a bad time", {"time": {"gte": "soon"}}, "filter.time", "'soon'"),
    search_case("with a prefix of a time", {"time": {"prefix": "2025"}}, "filter.time", "prefix"),
    search_case("with a surrogate", {"key": LONE}, "filter.key", "Unicode"),
    search_case("or nothing", {"or": []}, "filter.or", "'or'", "[]"),
    search_case("and an object", {"and": {"kind": "fact"}}, "filter.and", "'and'", "non-empty list"),
    search_case("not a list", {"not": [{"kind": "fact"}]}, "filter", "object"),
    search_case("nested too deep", nested_not(17), "filter", "16"),
    search_case("nested beyond Python's stack", nested_not(500), "filter", "16"),
    search_case("with too many comparisons", {"or": [{"kind": "fact"}] * 501}, "filter", "500"),
    search_case("in too long a list", {"metadata.a": {"in": [*range(2000)]}}, "filter"),
    search_case("in far too long a list", {"key": {"in": [str(n) for n in range(40_000)]}}, "filter"),
    search_case("with too many empty clauses", {"or": [{}] * 3000}, "filter"),
    search_case(
        "with an unknown field and nothing asked", {"colour": {}}, "filter", "'colour'",
    ),
    search_case(
        "with an unknown field in an empty list", {"colour": {"in": []}}, "filter", "'colour'",
    ),
    search_case(
        "with a surrogate in a path", {"metadata.\ud83d": 1}, "filter",
    ),
]  # fmt: skip

READS = [
    bad("empty query", lambda alice: alice.search(""), "query", "empty"),
    bad("long query", lambda alice: alice.search("x" * 1_048_577), "query", "1,048,577", "1,048,576"),
    bad("long query to recall", lambda alice: alice.recall("é" * 524_289), "query", "1,048,578", "1,048,576"),
    bad("long query to context", lambda alice: alice.context("x" * 1_048_577), "query", "1,048,577", "1,048,576"),
    bad("query of a wrong type", lambda alice: alice.search(5), "query", "int"),  # type: ignore[arg-type]
    bad("NUL query", lambda alice: alice.search("a\0"), "query", "NUL"),
    bad("surrogate query", lambda alice: alice.recall(LONE), "query", "surrogate"),
    bad("bad reference date", lambda alice: alice.search("x", reference_date="soon"), "reference_date", "'soon'"),
    bad("limit zero", lambda alice: alice.search("x", limit=0), "limit", "0", "1000"),
    bad("limit too high", lambda alice: alice.list(limit=1001), "limit", "1001", "1000"),
    bad("limit of text", lambda alice: alice.recall("x", limit="5"), "limit", "'5'"),  # type: ignore[arg-type]
    bad("limit true", lambda alice: alice.list(limit=True), "limit", "True"),
    bad("limit of messages", lambda alice: alice.messages(limit=100_001), "limit", "100001", "100000"),
    bad("few tokens", lambda alice: alice.context("x", tokens=19), "tokens", "19", "20"),
    bad("many tokens", lambda alice: alice.context("x", tokens=1_000_001), "tokens", "1000001", "1,000,000"),
    bad("tokens of text", lambda alice: alice.context("x", tokens="800"), "tokens", "'800'"),  # type: ignore[arg-type]
    bad("kind of a number", lambda alice: alice.list(kind=5), "kind", "5"),  # type: ignore[arg-type]
    bad("cursor in another script", lambda alice: alice.list(cursor="é"), "cursor", "'é'"),
    *(
        bad(f"cursor {cursor!r}", lambda alice, cursor=cursor: alice.list(cursor=cursor), "cursor")
        for cursor in (123, "", "!!!", "A" * 60)
    ),
    bad("since", lambda alice: alice.search("x", since="soon"), "since", "'soon'"),
    bad("until", lambda alice: alice.list(until="soon"), "until", "'soon'"),
    bad("key prefix", lambda alice: alice.list(key_prefix=5), "key_prefix", "5"),  # type: ignore[arg-type]
    bad("session to forget", lambda alice: alice.forget_session("s" * 65), "session_id", "65", "64"),
    bad("no session to forget", lambda alice: alice.forget_session(None), "session_id", "is missing"),  # type: ignore[arg-type]
    *(
        bad(f"{verb} {id!r}", lambda alice, verb=verb, id=id: getattr(alice, verb)(id), "id")
        for verb in ("get", "history", "forget")
        for id in (["a"], "\ud83d")
    ),
    *(
        bad(
            f"{verb} of session {id!r}", lambda alice, verb=verb, id=id: getattr(alice, verb)(id), "session_id",
        )
        for verb in ("messages", "summary")
        for id in (["a"], "\ud83d")
    ),
]  # fmt: skip


@pytest.mark.parametrize(("act", "field", "said"), [*MESSAGES, *MEMORIES, *FILTERS, *READS])
def test_it_is_refused_and_nothing_changes(
    memory: Holdfast, alice: Profile, act: Act, field: str, said: tuple[str, ...]
) -> None:
    assert_refused(memory, lambda: act(alice), InvalidInput, field, *said)


@pytest.mark.parametrize("verb", ["recall", "search", "context"])
def test_an_argument_that_no_call_takes_is_named_as_one(memory: Holdfast, alice: Profile, verb: str) -> None:
    said = ("'refdate' is not an argument of this call. Did you mean 'reference_date'?", "key_prefix, session_id")
    assert_refused(memory, lambda: getattr(alice, verb)("x", refdate="2020"), InvalidInput, "refdate", *said)


def test_a_proposed_argument_is_one_of_a_verb() -> None:
    verbs = (ProfileRecall.search, ProfileRecall.recall, ProfileRecall.context, ProfileMemories.list)
    more = (ProfileMemories.facets, ProfileForget.forget_where)
    taken = {name for verb in (*verbs, *more) for name in inspect.signature(verb).parameters}
    assert set(filters.OTHER_ARGUMENTS) - {"exclude_session"} <= taken
    assert set(filters.CONDITIONS) == set(Narrowed.__annotations__)


@pytest.mark.parametrize("verb", ["get", "history", "forget"])
def test_an_unknown_id_is_not_found(memory: Holdfast, alice: Profile, verb: str) -> None:
    assert_refused(memory, lambda: getattr(alice, verb)("01NOBODY"), NotFound, "id", "01NOBODY", "list (with a key")


@pytest.mark.parametrize("verb", ["get", "history", "forget", "pin", "mark", "revise", "split"])
def test_a_key_in_place_of_an_id_is_answered_with_the_id(memory: Holdfast, alice: Profile, verb: str) -> None:
    more: dict[str, Any] = {"revise": {"content": "x"}, "split": {"into": ["x", "y"]}}.get(verb, {})
    seat = alice.list(key="seat")[0].id
    assert_refused(
        memory, lambda: getattr(alice, verb)("seat", **more), NotFound, "id", f"'seat' is a key; give the id: {seat}."
    )


def test_forgetting_an_unknown_session_reports_nothing(alice: Profile) -> None:
    for dry_run in (True, False):
        gone = alice.forget_session("nonexistent", dry_run=dry_run)
        assert (gone.memories, gone.messages, gone.shortened, gone.places) == ((), (), (), {})
        assert not gone, "so that a program notices a name that nothing has"


def test_a_forget_that_forgot_something_is_true(memory: Holdfast) -> None:
    bea = memory.profile("test", "bea")
    kept = bea.remember("Keeps bees")
    assert not bea.forget_person("Zed")
    assert bea.forget(kept.id, dry_run=True)
    assert bea.forget(kept.id)


def test_a_folder_that_cannot_be_created_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file" / "data", Path("/proc/holdfast")):
        with pytest.raises(StorageError, match=r"cannot be created: .+\. Name a folder where one can be created\."):
            open_memory(path)


def test_a_bad_first_write_creates_neither_profile_nor_namespace(memory: Holdfast) -> None:
    bob = memory.profile("elsewhere", "bob")
    assert_refused(memory, lambda: bob.ingest([]), InvalidInput, "messages")
    assert_refused(memory, lambda: bob.remember("x", kind="?"), InvalidInput, "kind")


@pytest.mark.parametrize("name", ["", "Support", "-a", "a" * 33, "a b", "å", None, 7])
def test_a_bad_namespace_is_refused(memory: Holdfast, name: Any) -> None:
    assert_refused(memory, lambda: memory.profile(name, "alice"), InvalidInput, "namespace", repr(name)[:10], "32")
    assert_refused(memory, lambda: memory.create_namespace(name), InvalidInput, "namespace", repr(name)[:10], "32")


@pytest.mark.parametrize(
    ("name", "said"), [("", "empty"), ("é" * 101, "200"), (7, "int"), ("a\0", "NUL"), (LONE, "surrogate")]
)
def test_a_bad_profile_name_is_refused(memory: Holdfast, name: Any, said: str) -> None:
    assert_refused(memory, lambda: memory.profile("app", name), InvalidInput, "profile", said)
    assert_refused(memory, lambda: memory.delete_profile("app", name), InvalidInput, "profile", said)


def test_a_namespace_is_made_once_and_an_unknown_one_is_not_found(memory: Holdfast) -> None:
    assert_refused(memory, lambda: memory.create_namespace("app"), AlreadyExists, "name", "app")
    assert_refused(memory, lambda: memory.delete_namespace("nowhere"), NotFound, "namespace", "nowhere")
    assert_refused(memory, lambda: memory.profiles("nowhere"), NotFound, "namespace", "nowhere")
    assert memory.delete_profile("app", "nobody") is False


def test_deleting_a_profile_by_something_unhashable_is_refused(memory: Holdfast) -> None:
    assert_refused(memory, lambda: memory.delete_profile(["app"], "alice"), InvalidInput, "namespace")  # type: ignore[arg-type]


def test_a_backslash_is_no_nul(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        assert memory.profile("app", "a").remember("x", metadata={"a": "\\u0000"}).metadata == {"a": "\\u0000"}


@pytest.mark.parametrize(
    ("setting", "value"), [("colour", "red"), ("embedder", "bert"), ("open_files", 0), ("open_files", "many")]
)
def test_a_bad_setting_is_refused_before_the_folder_is_touched(tmp_path: Path, setting: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_memory(tmp_path / "data", **{setting: value})
    assert caught.value.field == setting
    assert str(value) in str(caught.value) or setting in str(caught.value)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("setting", ["embedder", "extractor"])
def test_something_that_is_no_model_is_refused(tmp_path: Path, setting: str) -> None:
    with pytest.raises(InvalidInput):
        open_memory(tmp_path / "data", **{setting: 123}).close()


CLOSED: list[Act] = [
    lambda alice: alice.ingest([SAID]),
    lambda alice: alice.remember("x"),
    lambda alice: alice.search("x"),
    lambda alice: alice.list(),
    lambda alice: alice.get("x"),
    lambda alice: alice.forget("x"),
    lambda alice: alice.stats(),
    lambda alice: alice.settle(),
]


def test_a_closed_holdfast_says_so(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        alice = memory.profile("app", "alice")
        alice.ingest([SAID])
    for act in (*CLOSED, lambda _: memory.namespaces(), lambda _: memory.delete_profile("app", "alice")):
        with pytest.raises(Closed):
            act(alice)
    memory.close()


async def test_a_closed_asynchronous_holdfast_says_so(tmp_path: Path) -> None:
    memory = await AsyncHoldfast.open(tmp_path, embedder=HashingEmbedder(), extractor=ScriptedExtractor())
    alice = memory.profile("app", "alice")
    await alice.ingest([SAID])
    await alice.settle()
    await memory.close()
    await memory.close()
    for work in (alice.stats(), alice.ingest([SAID]), alice.search("x"), memory.namespaces(), memory.profiles("app")):
        with pytest.raises(Closed):
            await asyncio.wait_for(work, 120)


@pytest.mark.parametrize("given", [(), ("./data",)])
def test_calling_the_class_says_what_to_call(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=r'^Holdfast .* Holdfast\.open\("\./data"\)'):
        Holdfast(*given)
    with pytest.raises(TypeError, match=r'^AsyncHoldfast .* await AsyncHoldfast\.open\("\./data"\)'):
        AsyncHoldfast(*given)


def test_a_setting_given_as_an_argument_is_named_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"^llm does not name a known provider\. Write provider:model") as wrong:
        Holdfast.open(tmp_path, llm="gpt-4")
    assert (wrong.value.field, str(wrong.value).count(wrong.value.fix or "")) == ("llm", 1)
    monkeypatch.setenv("HOLDFAST_LLM", "gpt-4")
    with pytest.raises(InvalidInput, match=r"^HOLDFAST_LLM does not name a known provider\."):
        Holdfast.open(tmp_path)


@pytest.mark.parametrize("verb", ["get", "forget", "history"])
def test_a_remote_call_without_an_id_says_so(verb: str) -> None:
    with Holdfast.connect("http://127.0.0.1:9", "token") as remote, pytest.raises(InvalidInput, match="id is missing"):
        getattr(remote.profile("app", "alice"), verb)(None)
