"""What the service refuses, it refuses in words: which field, what it takes, which method, which parameters."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from holdfast import AsyncHoldfast
from holdfast.api.rest.routes.archive import IN_MEMORY
from holdfast.api.validation_errors import validation_message
from holdfast.domain.errors import NotFound
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.http_server import http_server

TOKEN = "a-token-of-these-tests"
PLACE = "/v1/namespaces/app/profiles/ana"
CONTRACT = "/client/v4/accounts/any/agent-memory/namespaces/app/profiles/ana"


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    made = await AsyncHoldfast.open(tmp_path / "data", embedder=HashingEmbedder(), extractor=ScriptedExtractor())
    async with made as memory:
        await memory.access.admin(TOKEN)
        await memory.create_namespace("app")
        await memory.profile("app", "ana").remember("Prefers window seats")
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with http_server(memory) as url, httpx.AsyncClient(base_url=url, headers=headers, timeout=120) as client:
            yield client


@pytest.mark.parametrize(
    ("path", "body", "field", "said"),
    [
        ("search", {}, "query", "query is missing."),
        ("remember", {}, "content", "content is missing."),
        ("remember", {"content": "x", "ttl": -1}, "ttl", "give a positive number of seconds, at most 100 years."),
        ("search", {"query": True}, "query", "query is true; give text."),
        ("search", {"query": "x", "kind": 5}, "kind", "kind is 5; give text or a list."),
        ("search", {"query": "x", "limit": 0}, "limit", "limit is 0; give 1 or more."),
        ("recall", {"question": "x"}, "question", "question is not a known field; use one of "),
        ("search", {"query": "x", "quary": 1}, "quary", "quary is not a known field; use one of "),
        ("search", {"query": "x", "quary": 1}, "quary", " Did you mean 'query'?"),
        ("search", {"query": "x", "limt": 1}, "limt", " Did you mean 'limit'?"),
        ("recall", {"question": "x"}, "question", " Did you mean 'query'?"),
        ("remember", {"text": "x"}, "text", " Did you mean 'content'?"),
        (
            "forget",
            {"id": "x"},
            "id",
            "Give the id of a memory or message as 'source', or DELETE memories/{id}.",
        ),
        ("recall", {"query": "x", "thinking_level": "hard"}, "thinking_level", "'low', 'medium' or 'high'"),
        ("ingest", {"messages": [{"role": "user"}]}, "messages[0].content", "messages[0].content is missing."),
        ("ingest", {"messages": [{"role": "user", "content": "x"}, 7]}, "messages[1]", "is 7; give an object"),
        ("ingest", {"messages": "x"}, "messages", "messages is 'x'; give a list."),
        ("memories/revise", {"change": [], "dry_run": "no"}, None, "give "),
    ],
)
async def test_a_field_is_named_as_everywhere(
    http: httpx.AsyncClient, path: str, body: Any, field: str | None, said: str
) -> None:
    answer = await http.post(f"{PLACE}/{path}", json=body)
    told = answer.json()["error"]
    assert (answer.status_code, told["code"]) == (400, "invalid_input")
    assert said in told["message"]
    assert field is None or told["field"] == field


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"type": "string_too_short", "ctx": {"min_length": 1}}, "name must have at least 1 character."),
        ({"type": "string_too_long", "ctx": {"max_length": 64}}, "name must have at most 64 characters."),
        ({"type": "too_short", "ctx": {"min_length": 1}}, "name must have at least 1 entry."),
    ],
)
def test_one_is_told_in_the_singular(wrong: dict[str, Any], said: str) -> None:
    assert validation_message([{**wrong, "loc": ("name",)}]) == (said, "name")


async def test_an_unknown_field_comes_with_those_that_are_known(http: httpx.AsyncClient) -> None:
    told = (await http.post(PLACE + "/search", json={"query": "x", "quary": 1})).json()["error"]["message"]
    assert all(name in told for name in ("query", "limit", "key_prefix", "as_of"))


async def test_a_body_that_nobody_can_read_says_why(http: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/json"}
    bad = await http.post(PLACE + "/search", content=b'{"query": "\xff"}', headers=headers)
    assert (bad.status_code, bad.json()["error"]["code"]) == (400, "invalid_input")
    assert "UTF-8" in bad.json()["error"]["message"]
    deep = await http.post(PLACE + "/search", content=b"[" * 200_000, headers=headers)
    assert (deep.status_code, deep.json()["error"]["code"]) == (400, "invalid_input")


async def test_a_path_says_which_methods_it_takes(http: httpx.AsyncClient) -> None:
    answer = await http.get(PLACE + "/search")
    told = answer.json()["error"]
    assert (answer.status_code, told["code"], told["fix"]) == (405, "no_such_method", "Use POST.")
    assert answer.headers["allow"] == "POST"
    assert (await http.post(PLACE + "/retention")).headers["allow"] == "GET, PUT"
    assert (await http.post("/favicon.ico")).json()["error"]["code"] == "no_such_method"


async def test_who_asks_for_memories_the_usual_way_learns_ours(http: httpx.AsyncClient) -> None:
    told = (await http.get(PLACE + "/memories")).json()["error"]
    assert told["code"] == "no_such_path"
    assert told["fix"].startswith("To write a memory: POST remember. To list memories: POST memories/list.")
    assert "GET memories/{id}" in told["fix"]
    assert (await http.post(PLACE + "/memories", json={"content": "x"})).json()["error"]["fix"] == told["fix"]
    told = (await http.get(PLACE + "/memories/list")).json()["error"]
    assert (told["code"], told["fix"]) == ("not_found", "If you meant the route, use POST list.")


async def test_a_message_does_not_repeat_what_to_do(http: httpx.AsyncClient) -> None:
    for path, headers in (("/stats", {"authorization": ""}), ("/memories/nope", {}), ("/memories/list", {})):
        answer = await http.get(PLACE + path, headers=headers)
        told = answer.json()["error"]
        assert told["fix"], told
        assert told["fix"] not in told["message"]
        assert not told["message"].endswith(" ")
    unknown = (await http.get(CONTRACT + "/memories/nope")).json()["errors"][0]["message"]
    assert "show the ids of memories" in unknown, "the contract has one field for both"


async def test_a_python_program_is_told_what_to_do_too(http: httpx.AsyncClient) -> None:
    async with AsyncHoldfast.connect(str(http.base_url), TOKEN) as remote:
        with pytest.raises(NotFound, match=r"There is no memory .*'nope'.* Give an id; ") as wrong:
            await remote.profile("app", "ana").get("nope")
    assert wrong.value.fix
    assert str(wrong.value).count(wrong.value.fix) == 1


async def test_an_unknown_path_leads_to_the_list_of_paths(http: httpx.AsyncClient) -> None:
    for path in ("/v1/memories", PLACE + "/memories", "/s/guessed/api/nothing"):
        told = (await http.get(path)).json()["error"]
        assert (told["code"], told["fix"].endswith("The page /docs lists every path.")) == ("no_such_path", True)


async def test_an_unknown_parameter_is_refused_with_those_that_are_known(http: httpx.AsyncClient) -> None:
    assert (await http.get(PLACE + "/notes/entering", params={"directory": "/workspace"})).status_code == 200
    wrong = await http.get(PLACE + "/notes/entering", params={"path": "/workspace"})
    told = wrong.json()["error"]
    assert (wrong.status_code, told["field"]) == (400, "path")
    assert "directory, tokens, root" in told["message"]
    assert "takes none" in (await http.get(PLACE + "/stats", params={"x": 1})).json()["error"]["message"]


async def test_the_contract_takes_what_its_clients_send(http: httpx.AsyncClient) -> None:
    answer = await http.get(CONTRACT + "/memories", params={"page": 1, "perPage": 5})
    assert answer.status_code == 200
    long = [{"role": "user", "content": "x" * 32_769}]
    for messages in (long, [{"role": "user", "content": " "}], [{"role": "developer", "content": "x"}]):
        refused = await http.post(CONTRACT + "/ingest", json={"messages": messages})
        assert refused.status_code == 400
        assert refused.json()["errors"][0]["source"]["pointer"].startswith("/messages/0/")


async def test_only_who_may_read_is_told_that_a_key_was_given_in_place_of_an_id(http: httpx.AsyncClient) -> None:
    kept = (await http.post(PLACE + "/remember", json={"content": "Likes tea", "key": "drink"})).json()
    for rights in (["read", "forget"], ["forget"]):
        issued = await http.post("/v1/credentials", json={"kind": "key", "name": "k", "rights": rights})
        headers = {"authorization": f"Bearer {issued.json()['token']}"}
        answer = await http.delete(PLACE + "/memories/drink", headers=headers)
        assert answer.status_code == 404
        assert (kept["id"] in answer.text, "is a key" in answer.text) == ("read" in rights,) * 2


async def test_a_long_query_is_refused_by_the_contract_only(http: httpx.AsyncClient) -> None:
    asked = {"query": "Where do I live? " + "x" * 1_008}
    refused = await http.post(CONTRACT + "/recall", json=asked)
    assert (refused.status_code, refused.json()["errors"][0]["source"]["pointer"]) == (400, "/query")
    assert "1,025 bytes" in refused.json()["errors"][0]["message"]
    for verb in ("search", "recall", "context"):
        assert (await http.post(f"{PLACE}/{verb}", json=asked)).status_code == 200, verb


async def test_a_file_that_is_no_export_says_what_would_be(http: httpx.AsyncClient) -> None:
    answer = await http.post(PLACE + "/import", content=b'[{"role": "user", "content": "I moved."}]')
    told = answer.json()["error"]
    assert answer.status_code == 400
    assert told["message"].startswith("The body is neither an archive")
    assert "mem0" in told["message"]
    assert "ingest" in told["fix"]
    large = await http.post(PLACE + "/import", content=b'[{"role": "user"}]' + b" " * (IN_MEMORY + 1))
    assert large.json()["error"]["message"].startswith("The body is neither an archive"), "not a descriptor's number"


async def test_the_api_can_be_read_without_any_script(http: httpx.AsyncClient) -> None:
    answer = await http.get("/docs", headers={"authorization": ""})
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    document = (await http.get("/openapi.json")).json()
    assert all(f"<code>{path}</code>" in answer.text for path in document["paths"])
    used = {tag for methods in document["paths"].values() for each in methods.values() for tag in each["tags"]}
    assert [tag["name"] for tag in document["tags"] if tag["name"] not in used or not tag["description"]] == []
    headings = re.findall(r"<h2 id=[^>]*>([^<]+)</h2>", answer.text)
    assert headings == [tag["name"] for tag in document["tags"]]
    assert "key_prefix" in answer.text
    assert "<script" not in answer.text
    assert "http://" not in answer.text
    assert "https://" not in answer.text


async def test_every_type_of_the_api_is_defined(http: httpx.AsyncClient) -> None:
    text = (await http.get("/openapi.json")).text
    schemas = json.loads(text)["components"]["schemas"]
    assert set(re.findall(r'"#/components/schemas/(\w+)"', text)) == set(schemas)
    for name, fields in (
        ("MessageBody", {"role", "content", "speaker", "name", "agent", "timestamp", "metadata"}),
        ("DocumentForm", {"file", "name", "metadata"}),
        ("NewDocument", {"text", "url", "name", "metadata"}),
    ):
        assert {field for field, each in schemas[name]["properties"].items() if each["description"]} == fields
    assert schemas["IngestBody"]["properties"]["messages"]["items"] == {"$ref": "#/components/schemas/MessageBody"}
    page = (await http.get("/docs")).text
    links, places = set(re.findall(r'href="#([^"]+)"', page)), set(re.findall(r' id="([^"]+)"', page))
    assert {"object-Written", "object-Memory", "object-MessageBody"} <= links <= places


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "profiles/ana/recall", {"query": "seats"}),
        ("POST", "profiles/ana/search", {"query": "seats"}),
        ("POST", "profiles/ana/context", {"query": "seats"}),
        ("GET", "profiles/ana/messages", None),
        ("GET", "profiles/ana/stats", None),
        ("POST", "profiles/ana/remember", {"content": "Prefers aisle seats"}),
        ("POST", "search", {"query": "seats", "profiles": ["ana"]}),
    ],
)
async def test_a_misspelt_namespace_is_told_with_the_nearest(
    http: httpx.AsyncClient, method: str, path: str, body: Any
) -> None:
    answer = await http.request(method, f"/v1/namespaces/aap/{path}", json=body)
    told = answer.json()["error"]
    assert (answer.status_code, told["field"]) == (404, "namespace")
    assert told["message"] == "There is no namespace 'aap'. Did you mean 'app'?"
    assert [each["name"] for each in (await http.get("/v1/namespaces")).json()["namespaces"]] == ["app"]


async def test_a_caller_learns_no_name_that_it_may_not_read(http: httpx.AsyncClient) -> None:
    issued = await http.post(
        "/v1/credentials", json={"kind": "key", "name": "other", "rights": ["read"], "namespace": "apps"}
    )
    headers = {"authorization": f"Bearer {issued.json()['token']}"}
    answer = await http.get("/v1/namespaces/apps/profiles/ana/stats", headers=headers)
    assert answer.status_code == 404
    assert "'app'" not in answer.text


async def test_a_python_program_reads_an_unwritten_namespace_as_empty_with_and_without_a_server(
    http: httpx.AsyncClient, tmp_path: Path
) -> None:
    async def readings(memory: Any) -> list[Any]:
        new = memory.profile("new", "ana")
        answers = [(await new.recall("seats")).answer, (await new.context("seats")).text, await new.search("seats")]
        across = await memory.across("new", ["ana", "bob"]).search("seats")
        return [*answers, across, list((await new.list()).items), (await new.stats()).messages]

    local = await AsyncHoldfast.open(tmp_path / "other", embedder=HashingEmbedder(), extractor=ScriptedExtractor())
    async with local as embedded, AsyncHoldfast.connect(str(http.base_url), TOKEN) as remote:
        assert await readings(remote) == await readings(embedded) == ["", "", [], [], [], 0]
        for memory in (remote, embedded):
            await memory.profile("new", "ana").remember("Prefers aisle seats")
            assert [each.content for each in await memory.profile("new", "ana").search("seats")]
