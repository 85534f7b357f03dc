"""The wire to language models over real sockets: both dialects, every fault, waits, limits, money and secrets."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, ClassVar

import numpy as np
import pytest

from holdfast.domain import usage as spending
from holdfast.domain.errors import ModelError, ModelUnavailable
from holdfast.domain.ports.models import Embedder
from holdfast.models.llm.chat import Chat, ChatReply, ChatRequest, Usage
from holdfast.models.llm.circuit_breaker import CircuitBreaker
from holdfast.models.llm.embeddings import RemoteEmbedder
from holdfast.models.llm.endpoint import parse_endpoint
from holdfast.models.llm.factory import chat_client
from holdfast.models.llm.retry import RetryingChat, RetryPolicy
from holdfast.models.llm.tasks.parse_answer import ask_for_json
from holdfast.testing import Asked, Fault, ModelServer
from holdfast.testing.llm_faults import HOSTILE_ANSWERS
from support.loop_clock import LoopClock
from support.waiting import until

KEY = "T0pS3cret-0123"
SPECS = {"openai": "openai:gpt-test", "anthropic": "anthropic:claude-test", "custom": ""}
DIALECTS = ("openai", "anthropic")
QUICK = RetryPolicy(first_wait=0.01, patience=1.0)
SCHEMA = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "string"}}},
    "required": ["items"],
    "additionalProperties": False,
}
ASK = ChatRequest(
    "extract.full", "Read what was said. " * 10, "Ana lives in Lisbon.", SCHEMA, tokens=300, seconds=120.0
)
GOOD = '{"items": ["Ana lives in Lisbon", "Ana has a dog called Rex"]}'
Script = Callable[[Asked], Any]


def items(value: Any) -> list[str]:
    if not isinstance(value, dict) or set(value) != {"items"} or not isinstance(value["items"], list):
        raise ValueError("items is not a list of texts")
    if not all(isinstance(each, str) for each in value["items"]):
        raise ValueError("items is not a list of texts")
    return value["items"]


@asynccontextmanager
async def chat_with(
    script: Script, dialect: str = "openai", **settings: Any
) -> AsyncIterator[tuple[ModelServer, Chat]]:
    """A server with this script and the bare chat at it."""
    async with ModelServer(script, **settings) as server:
        spec = SPECS[dialect]
        chat = chat_client(parse_endpoint(spec, KEY, server.url) if spec else parse_endpoint(f"{server.url}#test"))
        try:
            yield server, chat
        finally:
            await chat.close()


def in_turn(*said: Any) -> Script:
    """Says one after the other, and the last one for ever."""
    waiting = list(said)
    return lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0]


def timed_out_of(said: Script, clock: LoopClock, seconds: float) -> Script:
    """The same, but as soon as a request that gets no answer has come, so much time has passed."""

    def script(asked: Asked) -> Any:
        answer = said(asked)
        if answer is Fault.SLOW:
            clock.advance(seconds)
        return answer

    return script


async def pieces_of(chat: Chat, ask: ChatRequest = ASK) -> tuple[list[str], ChatReply]:
    async with aclosing(chat.stream(ask)) as stream:
        *pieces, reply = [piece async for piece in stream]
    assert isinstance(reply, ChatReply)
    assert all(isinstance(piece, str) for piece in pieces)
    return [str(piece) for piece in pieces], reply


async def ask_chat(chat: Chat, ask: ChatRequest, stream: bool) -> ChatReply:
    return (await pieces_of(chat, ask))[1] if stream else await chat.reply(ask)


@pytest.mark.parametrize("dialect", SPECS)
async def test_an_answer_comes_whole_with_what_it_cost(dialect: str) -> None:
    async with chat_with(lambda _: GOOD, dialect) as (server, chat):
        first, second = await chat.reply(ASK), await chat.reply(ASK)
        assert first.text == second.text == GOOD
        assert (first.whole, first.refused) == (True, False)
        tokens = (len(ASK.system) + len(ASK.user)) // 4
        assert first.usage == Usage(chat.name, ASK.task, input=tokens, output=len(GOOD) // 4, cached=0)
        assert second.usage == replace(first.usage, cached=len(ASK.system) // 4)
        assert len(server.seen) == 2


@pytest.mark.parametrize("dialect", SPECS)
async def test_an_answer_comes_in_pieces_and_whole_at_last(dialect: str) -> None:
    async with chat_with(lambda _: GOOD, dialect) as (server, chat):
        pieces, reply = await pieces_of(chat)
        assert len(pieces) > 2
        assert "".join(pieces) == reply.text == GOOD
        assert reply.usage.input > 0
        assert reply.usage.output == len(GOOD) // 4
        assert server.seen[0].body["stream"] is True


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_text_of_every_script_survives_the_stream(dialect: str) -> None:
    said = "Zażółć gęślą jaźń – 日本語 🦭 \r\n\r\n data: [DONE] \u2028 \x85 end " * 40
    async with chat_with(lambda _: said, dialect) as (_, chat):
        pieces, reply = await pieces_of(chat)
        assert "".join(pieces) == reply.text == said


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_cut_answer_and_a_refusal_are_marked(dialect: str, stream: bool) -> None:
    async with chat_with(in_turn(Fault.TRUNCATED, Fault.REFUSAL), dialect) as (_, chat):
        cut, refused = await ask_chat(chat, ASK, stream), await ask_chat(chat, ASK, stream)
        assert (cut.whole, cut.refused) == (False, False)
        assert (refused.whole, refused.refused) == (True, True)


PASSING = [
    Fault.HANG_UP, Fault.GONE, Fault.STATUS_429, Fault.STATUS_500, Fault.STATUS_503, Fault.STATUS_529, Fault.SLOW,
    Fault.MID_STREAM,
]  # fmt: skip
BEGUN = (Fault.HANG_UP, Fault.MID_STREAM)
LASTING = {
    Fault.STATUS_401: (ModelUnavailable, "HOLDFAST_LLM_KEY"),
    Fault.STATUS_404: (ModelUnavailable, "HOLDFAST_LLM"),
    Fault.REDIRECT: (ModelUnavailable, "HOLDFAST_LLM_URL"),
    Fault.UNREADABLE: (ModelError, "cannot be read"),
}
IN_THE_TEXT = [Fault.TRUNCATED, Fault.EMPTY, Fault.NOT_JSON, Fault.WRONG_SHAPE, Fault.HOSTILE]


@pytest.mark.parametrize(
    ("fault", "stream"), [(fault, stream) for fault in PASSING for stream in {False, fault not in BEGUN}]
)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_fault_that_passes_is_waited_out(dialect: str, fault: Fault, stream: bool) -> None:
    script = timed_out_of(in_turn(fault, GOOD), LoopClock(), 401)  # more than two thirds, for the first attempt
    async with chat_with(script, dialect) as (server, chat):
        reply = await ask_chat(RetryingChat(chat, QUICK), replace(ASK, seconds=600), stream)
        assert reply.text == GOOD
        assert len(server.seen) == 2


@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_fault_that_stays_ends_as_unavailable_in_time(dialect: str, fault: Fault) -> None:
    async with chat_with(lambda _: fault, dialect) as (server, chat):
        with pytest.raises(ModelUnavailable) as raised:
            await RetryingChat(chat, QUICK).reply(replace(ASK, seconds=1.5))
        assert KEY not in str(raised.value)
        assert len(server.seen) <= QUICK.tries


@pytest.mark.parametrize("fault", [*PASSING, *LASTING])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_no_fault_of_a_stream_passes_for_an_answer(dialect: str, fault: Fault) -> None:
    async with chat_with(lambda _: fault, dialect) as (_, chat):
        with pytest.raises(ModelError) as raised:
            await pieces_of(RetryingChat(chat, QUICK), replace(ASK, seconds=1.5))
        assert KEY not in str(raised.value)


@pytest.mark.parametrize("fault", LASTING)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_fault_that_waiting_cannot_mend_is_told_at_once(dialect: str, fault: Fault) -> None:
    kind, words = LASTING[fault]
    async with chat_with(lambda _: fault, dialect) as (server, chat):
        with pytest.raises(kind) as raised:
            await RetryingChat(chat, QUICK).reply(ASK)
        assert words in str(raised.value)
        assert isinstance(raised.value, ModelUnavailable) == (kind is ModelUnavailable)
        assert len(server.seen) == 1


@pytest.mark.parametrize("fault", IN_THE_TEXT)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_bad_answer_is_repaired_once(dialect: str, fault: Fault) -> None:
    async with chat_with(in_turn(fault, GOOD), dialect) as (server, chat):
        assert await ask_for_json(RetryingChat(chat, QUICK), ASK, items) == [
            "Ana lives in Lisbon",
            "Ana has a dog called Rex",
        ]
        first, second = (seen.body["messages"][-1]["content"] for seen in server.seen)
        assert first == ASK.user
        assert second.startswith(ASK.user)
        assert "cannot be used" in second
        assert len(second) < len(ASK.user) + 6_000


@pytest.mark.parametrize("fault", IN_THE_TEXT)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_second_bad_answer_is_an_error(dialect: str, fault: Fault) -> None:
    async with chat_with(lambda _: fault, dialect) as (server, chat):
        with pytest.raises(ModelError, match="twice") as raised:
            await ask_for_json(RetryingChat(chat, QUICK), ASK, items)
        assert not isinstance(raised.value, ModelUnavailable)
        assert len(str(raised.value)) < 1_000
        assert len(server.seen) == 2


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_no_hostile_answer_is_believed(dialect: str) -> None:
    async with chat_with(lambda _: Fault.HOSTILE, dialect) as (server, chat):
        for _ in range(len(HOSTILE_ANSWERS) // 2):
            with pytest.raises(ModelError, match="twice"):
                await ask_for_json(RetryingChat(chat, QUICK), ASK, items)
        assert len(server.seen) == len(HOSTILE_ANSWERS)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_refusal_is_not_argued_with(dialect: str) -> None:
    async with chat_with(lambda _: Fault.REFUSAL, dialect) as (server, chat):
        with pytest.raises(ModelError, match="declined"):
            await ask_for_json(RetryingChat(chat, QUICK), ASK, items)
        assert len(server.seen) == 1


async def test_a_cut_answer_whose_json_is_whole_is_taken() -> None:
    class Cut:
        name = "test/cut"

        async def reply(self, ask: ChatRequest) -> ChatReply:
            return ChatReply(GOOD + " " * 500, Usage(self.name, ask.task), whole=False)

    assert len(await ask_for_json(Cut(), ASK, items)) == 2  # type: ignore[arg-type]


async def test_the_repair_has_what_is_left_of_the_time() -> None:
    class Late:
        name = "test/late"
        seconds: ClassVar[list[float]] = []

        async def reply(self, ask: ChatRequest) -> ChatReply:
            self.seconds.append(ask.seconds)
            await asyncio.sleep(0.5)
            return ChatReply("no JSON", Usage(self.name, ask.task))

    with pytest.raises(ModelError):
        await ask_for_json(Late(), replace(ASK, seconds=100.0), items)  # type: ignore[arg-type]
    first, second = Late.seconds
    assert first == 100.0
    assert 0 < second <= 99.5


async def test_a_parameter_that_the_model_refuses_is_left_out_from_then_on() -> None:
    async with chat_with(lambda _: Fault.STATUS_400) as (server, chat):
        await chat.reply(ASK)
        await chat.reply(ASK)
        await pieces_of(chat)
        assert ["temperature" in seen.body for seen in server.seen] == [True, False, False, False]
    async with chat_with(lambda _: Fault.STATUS_400) as (server, chat):
        await pieces_of(chat)
        assert ["temperature" in seen.body for seen in server.seen] == [True, False]


async def test_calls_under_way_together_learn_together_what_the_model_refuses() -> None:
    async with chat_with(lambda _: Fault.STATUS_400) as (server, chat):
        replies = await asyncio.gather(*(chat.reply(ASK) for _ in range(6)))
        assert len(replies) == 6
        assert "temperature" not in server.seen[-1].body


async def test_a_server_that_cannot_stream_is_understood() -> None:
    whole = b'{"choices": [{"message": {"content": "all at once"}, "finish_reason": "stop"}]}'
    async with chat_answered_by(b"application/json", whole) as chat:
        assert await pieces_of(chat) == (["all at once"], ChatReply("all at once", Usage("custom/m", ASK.task)))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_events_may_end_their_lines_as_they_like(end: str) -> None:
    delta = ['data: {"choices": [{"delta":', 'data: {"content": "a"}}]}']
    lines = [": hello", "event: x", *delta, "", "data: [DONE]", "", ""]
    async with chat_answered_by(b"text/event-stream", end.join(lines).encode()) as chat:
        assert await pieces_of(chat) == (["a"], ChatReply("a", Usage("custom/m", ASK.task)))


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"null", b"[]", b"7", b'{"choices": 7}', b'{"choices": [7]}', b'{"choices": [{"message": 7}]}',
     b'{"choices": [{"message": {"content": 7}}]}', b'{"choices": [{"message": {"content": ["a"]}}]}', b"<html>",
     b'{"choices": [{"message": {"content": "\\ud800"}}]}', b"[" * 5_000, b"\xff\xfe"],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_bodies_of_any_shape_are_errors_of_the_model(body: bytes, stream: bool) -> None:
    async with chat_answered_by(b"application/json", body) as chat:
        with pytest.raises(ModelError, match="cannot be read"):
            await ask_chat(chat, ASK, stream)
    async with chat_answered_by(b"text/event-stream", b"data: " + body + b"\n\n") as chat:
        with pytest.raises(ModelError):
            await ask_chat(chat, ASK, True)


async def test_a_compressed_answer_is_not_unpacked() -> None:
    async with chat_answered_by(b"application/json\r\ncontent-encoding: gzip", b"\x1f\x8b") as chat:
        with pytest.raises(ModelError, match="compressed"):
            await chat.reply(ASK)


async def test_an_endless_line_is_not_kept() -> None:
    async with chat_answered_by(b"text/event-stream", b"data: " + b"A" * 2_000_000) as chat:
        with pytest.raises(ModelError, match="line"):
            await pieces_of(chat)


@asynccontextmanager
async def chat_answered_by(kind: bytes, body: bytes) -> AsyncIterator[Chat]:
    """A chat at a server that answers every request with this body."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
        writer.write(head % (kind, len(body)) + body)
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    chat = chat_client(parse_endpoint(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1#m"))
    async with server:
        yield chat
        await chat.close()


async def test_openai_counts_the_tokens_of_an_answer_by_another_name() -> None:
    async with chat_with(lambda _: GOOD, "openai") as (server, chat):
        await chat.reply(ASK)
        assert server.seen[0].body["max_completion_tokens"] == ASK.tokens
        assert "max_tokens" not in server.seen[0].body
    async with chat_with(lambda _: GOOD, "custom") as (server, chat):
        await chat.reply(ASK)
        assert server.seen[0].body["max_tokens"] == ASK.tokens
        assert "authorization" not in server.seen[0].headers


async def test_retry_after_in_seconds_is_waited_for() -> None:
    async with chat_with(in_turn(Fault.STATUS_429, GOOD), retry_after="1") as (_, chat):
        began = time.perf_counter()
        await RetryingChat(chat, QUICK).reply(ASK)
        assert time.perf_counter() - began >= 1.0


async def test_retry_after_as_a_date_is_waited_for() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    async with chat_with(in_turn(Fault.STATUS_429, GOOD), retry_after=date) as (server, chat):
        clock = LoopClock()
        began = clock.time()
        call = asyncio.create_task(RetryingChat(chat, QUICK).reply(replace(ASK, seconds=7200)))
        await until(lambda: bool(server.seen))
        while not call.done():
            assert len(server.seen) == 1 or clock.time() - began > 3400
            clock.advance(100)
            await asyncio.sleep(0.01)
        assert (await call).text == GOOD


async def test_a_wait_longer_than_the_call_may_take_is_not_begun() -> None:
    """Begun, it would end after the time limit of a test."""
    async with chat_with(lambda _: Fault.STATUS_429, retry_after="3600") as (server, chat):
        with pytest.raises(ModelUnavailable, match="429"):
            await RetryingChat(chat, QUICK).reply(replace(ASK, seconds=3000))
        assert len(server.seen) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_no_call_takes_longer_than_its_seconds(stream: bool) -> None:
    async with chat_with(lambda _: Fault.SLOW) as (_, chat):
        began = time.perf_counter()
        with pytest.raises(ModelUnavailable, match="in time"):
            await ask_chat(RetryingChat(chat), replace(ASK, seconds=0.4), stream)
        assert time.perf_counter() - began > 0.35


async def test_a_stream_that_trickles_ends_with_its_seconds() -> None:
    async with chat_with(lambda _: GOOD * 500, pace=0.05) as (_, chat):
        clock = LoopClock()
        async with aclosing(RetryingChat(chat, QUICK).stream(ASK)) as stream:
            assert isinstance(await anext(stream), str)
            clock.advance(ASK.seconds)
            with pytest.raises(ModelUnavailable, match="in time"):
                [piece async for piece in stream]


@pytest.mark.parametrize("fault", BEGUN)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_stream_that_has_begun_is_not_begun_again(dialect: str, fault: Fault) -> None:
    async with chat_with(in_turn(fault, GOOD), dialect) as (server, chat):
        got = await until_it_breaks(RetryingChat(chat, QUICK), ASK)
        assert got
        assert not any(isinstance(piece, ChatReply) for piece in got)
        assert len(server.seen) == 1


async def until_it_breaks(chat: Chat, ask: ChatRequest) -> list[str | ChatReply]:
    got: list[str | ChatReply] = []
    async with aclosing(chat.stream(ask)) as stream:
        try:
            async for piece in stream:
                got.append(piece)
        except ModelUnavailable:
            return got
    raise AssertionError("it did not break")


async def test_at_most_four_calls_are_under_way_at_once() -> None:
    async def slowly(_: Asked) -> str:
        await until(lambda: len(server.seen) >= 4)
        await asyncio.sleep(0.1)  # a fifth would come by then
        return GOOD

    async with chat_with(slowly) as (server, chat):
        steady = RetryingChat(chat, QUICK)
        replies = await asyncio.gather(*(steady.reply(ASK) for _ in range(10)))
        assert len(replies) == 10
        assert server.at_once == 4


async def test_waiting_for_a_place_counts_as_waiting() -> None:
    async with chat_with(lambda _: Fault.SLOW) as (server, chat):
        steady = RetryingChat(chat, RetryPolicy(at_once=1))
        busy = asyncio.create_task(steady.reply(ASK))
        await until(lambda: len(server.seen) == 1)
        with pytest.raises(ModelUnavailable, match="Too many calls"):
            await steady.reply(replace(ASK, seconds=0.2))
        busy.cancel()
        with pytest.raises(asyncio.CancelledError):
            await busy


async def test_a_server_that_is_down_is_left_alone_and_asked_again_later() -> None:
    async with chat_with(lambda _: Fault.STATUS_503) as (server, chat):
        now = 0.0
        steady = RetryingChat(chat, RetryPolicy(tries=1), CircuitBreaker(chat.name, rest=0.2, clock=lambda: now))
        for _ in range(5):
            with pytest.raises(ModelUnavailable, match="503"):
                await steady.reply(ASK)
        with pytest.raises(ModelUnavailable, match="is paused"):
            await steady.reply(ASK)
        with pytest.raises(ModelUnavailable, match="is paused"):
            await pieces_of(steady)
        assert len(server.seen) == 5
        server.script = lambda _: GOOD
        now = 0.25
        assert (await steady.reply(ASK)).text == GOOD
        assert not steady.line.breaker.open


async def test_a_refused_request_does_not_open_the_breaker() -> None:
    async with chat_with(lambda _: Fault.UNREADABLE) as (server, chat):
        steady = RetryingChat(chat, RetryPolicy(tries=1))
        for _ in range(8):
            with pytest.raises(ModelError):
                await steady.reply(ASK)
        assert not steady.line.breaker.open
        assert len(server.seen) == 8


async def test_callers_in_a_hurry_do_not_open_the_breaker() -> None:
    async with chat_with(lambda _: Fault.SLOW) as (_, chat):
        steady = RetryingChat(chat)
        for _ in range(6):
            with pytest.raises(ModelUnavailable):
                await steady.reply(replace(ASK, seconds=0.05))
        assert not steady.line.breaker.open
        patient = RetryingChat(chat, replace(QUICK, patience=0.05))
        for _ in range(6):
            with pytest.raises(ModelUnavailable):
                await patient.reply(replace(ASK, seconds=0.06))
        assert patient.line.breaker.open


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_cancelled_call_hangs_up_and_frees_its_place(stream: bool) -> None:
    async with chat_with(lambda _: Fault.SLOW) as (server, chat):
        steady = RetryingChat(chat, replace(QUICK, at_once=1))
        call = asyncio.create_task(ask_chat(steady, ASK, stream))
        await until(lambda: len(server.seen) == 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: server.left == 1)
        server.script = lambda _: GOOD
        assert (await steady.reply(ASK)).text == GOOD


async def test_a_stream_left_early_hangs_up_and_frees_its_place() -> None:
    async with chat_with(lambda _: GOOD * 100, pace=0.02) as (server, chat):
        steady = RetryingChat(chat, replace(QUICK, at_once=1))
        async with aclosing(steady.stream(ASK)) as stream:
            async for _ in stream:
                break
        await until(lambda: server.left == 1)
        server.script = lambda _: GOOD
        assert (await steady.reply(ASK)).text == GOOD


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_after_hundreds_of_faults_at_once_everything_is_as_before(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.models.llm.retry._FIRST_ATTEMPT_SHARE", 0.2)  # no answer: wait for a second attempt
    faults = [fault for fault in Fault if fault is not Fault.STATUS_400]
    said = iter(faults[n % len(faults)] if n % 3 else GOOD for n in range(10_000))
    async with chat_with(lambda _: next(said), dialect) as (server, chat):
        manners = RetryPolicy(at_once=32, first_wait=0.001, patience=0.05)
        steady = RetryingChat(chat, manners, CircuitBreaker(chat.name, after=10_000))
        tasks = asyncio.all_tasks()
        ask = replace(ASK, seconds=5)
        calls = [ask_for_json(steady, ask, items) if n % 2 else pieces_of(steady, ask) for n in range(400)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert not [each for each in done if isinstance(each, Exception) and not isinstance(each, ModelError)]
        assert any(isinstance(each, list) for each in done)
        await until(lambda: len(server._connections) <= 20 + 1)
        assert {task for task in asyncio.all_tasks() - tasks if task not in server._connections} == set()
        server.script = lambda _: GOOD
        assert len(await asyncio.gather(*(steady.reply(ASK) for _ in range(32)))) == 32


async def test_a_reader_who_stops_at_the_reply_leaves_nothing_open() -> None:
    async with chat_with(lambda _: GOOD) as (_, chat):
        steady = RetryingChat(chat, replace(QUICK, at_once=1), CircuitBreaker(chat.name, after=1, rest=0))
        steady.line.breaker.failed(trying=False)
        assert steady.line.breaker.open
        stream = steady.stream(ASK)
        async for piece in stream:
            if isinstance(piece, ChatReply):
                break
        assert not steady.line.breaker.open
        assert not steady.line.slots.locked()
        await stream.aclose()


class Purse:
    """An account with a ceiling, in calls."""

    def __init__(self, ceiling: int = 100) -> None:
        self.ceiling = ceiling
        self.noted: list[Usage] = []

    async def check(self) -> None:
        if len(self.noted) >= self.ceiling:
            raise ModelUnavailable("The month's ceiling is reached.")

    async def note(self, usage: Usage) -> None:
        self.noted.append(usage)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_every_attempt_that_cost_something_is_on_the_account(dialect: str) -> None:
    purse = Purse()
    async with chat_with(in_turn(Fault.STATUS_500, Fault.WRONG_SHAPE, GOOD), dialect) as (server, chat):
        with spending.charged_to(purse):
            await ask_for_json(RetryingChat(chat, QUICK), ASK, items)
            await pieces_of(RetryingChat(chat, QUICK))
        await RetryingChat(chat, QUICK).reply(ASK)
        assert len(server.seen) == 5
        assert [(usage.model, usage.task) for usage in purse.noted] == [(chat.name, ASK.task)] * 3
        assert all(usage.input > 0 and usage.output > 0 for usage in purse.noted)


async def test_a_stream_that_broke_off_is_paid_as_far_as_it_was_counted() -> None:
    purse = Purse()
    async with chat_with(lambda _: Fault.MID_STREAM, "anthropic") as (_, chat):
        with spending.charged_to(purse), pytest.raises(ModelUnavailable):
            await pieces_of(RetryingChat(chat, replace(QUICK, tries=1)))
    assert [usage.input for usage in purse.noted] == [(len(ASK.system) + len(ASK.user)) // 4]


async def test_nothing_is_asked_once_the_ceiling_is_reached() -> None:
    purse = Purse(ceiling=2)
    async with chat_with(lambda _: GOOD) as (server, chat):
        steady = RetryingChat(chat, QUICK)
        with spending.charged_to(purse):
            await steady.reply(ASK)
            await steady.reply(ASK)
            for _ in range(6):
                with pytest.raises(ModelUnavailable, match="ceiling"):
                    await steady.reply(ASK)
            with pytest.raises(ModelUnavailable, match="ceiling"):
                await pieces_of(steady)
        assert len(server.seen) == 2
        assert not steady.line.breaker.open
        await steady.reply(ASK)


async def test_accounts_of_concurrent_calls_are_kept_apart() -> None:
    async def paid(purse: Purse, times: int) -> None:
        with spending.charged_to(purse):
            for _ in range(times):
                await steady.reply(ASK)

    async with chat_with(lambda _: GOOD) as (_, chat):
        steady = RetryingChat(chat, QUICK)
        one, two = Purse(), Purse()
        await asyncio.gather(paid(one, 3), paid(two, 5))
    assert (len(one.noted), len(two.noted)) == (3, 5)


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_key_is_in_no_error_and_no_log(dialect: str, fault: Fault, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with chat_with(timed_out_of(lambda _: fault, LoopClock(), ASK.seconds), dialect) as (server, chat):
        seen = []
        for call in (chat.reply(ASK), pieces_of(chat)):
            try:
                await call
            except ModelError as error:
                each: BaseException | None = error
                while each is not None:
                    seen.append(f"{each!r} {each} {vars(each)}")
                    each = each.__cause__ or each.__context__
        sent = server.seen[0].headers
        assert KEY in (sent.get("x-api-key"), sent.get("authorization", "").removeprefix("Bearer "))
    assert KEY not in "".join(seen)
    assert KEY not in caplog.text
    assert KEY not in repr(chat)


async def test_an_answer_larger_than_the_limit_is_not_read() -> None:
    async with chat_with(lambda _: "A" * (17 * 1024 * 1024)) as (_, chat):
        with pytest.raises(ModelError, match="16 MB"):
            await chat.reply(ASK)


async def test_a_redirect_is_not_followed() -> None:
    async with chat_with(lambda _: Fault.REDIRECT) as (server, chat):
        with pytest.raises(ModelUnavailable, match="redirects"):
            await chat.reply(ASK)
        assert [seen.path for seen in server.seen] == ["/v1/chat/completions"]


@asynccontextmanager
async def remote_embedder(script: Script, dimensions: int = 64) -> AsyncIterator[tuple[ModelServer, RemoteEmbedder]]:
    async with ModelServer(script) as server:
        embedder = RemoteEmbedder(parse_endpoint(f"{server.url}#any", KEY, setting="embedder"), dimensions, QUICK)
        try:
            yield server, embedder
        finally:
            await embedder.close()


async def test_vectors_come_in_the_order_asked_in_batches_and_of_length_one() -> None:
    async with remote_embedder(lambda _: "") as (server, embedder):
        assert isinstance(embedder, Embedder)
        assert embedder.model == "custom/any/64"
        texts = [f"text {n}" for n in range(150)]
        vectors = await embedder.embed(texts)
        assert [len(seen.body["input"]) for seen in server.seen] == [64, 64, 22]
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
        assert all(vector.dtype == np.float32 and vector.shape == (64,) for vector in vectors)
        assert np.array_equal(vectors[77], await embedder.embed_query("text 77"))
        assert not np.array_equal(vectors[0], vectors[1])
        assert await embedder.embed([]) == []


@pytest.mark.parametrize("fault", [Fault.HANG_UP, Fault.GONE, Fault.STATUS_429, Fault.STATUS_500, Fault.STATUS_503])
async def test_vectors_are_asked_for_again_when_a_fault_passes(fault: Fault) -> None:
    async with remote_embedder(in_turn(fault, "")) as (server, embedder):
        assert len(await embedder.embed(["a"])) == 1
        assert len(server.seen) == 2


async def test_vectors_of_another_length_are_refused_and_paid_for() -> None:
    purse = Purse()
    async with remote_embedder(lambda _: Fault.WRONG_DIMENSION) as (server, embedder):
        with spending.charged_to(purse), pytest.raises(ModelError, match="63 numbers; 64") as raised:
            await embedder.embed(["a", "b"])
        assert "HOLDFAST_EMBEDDER" in str(raised.value)
        assert len(server.seen) == 1
    assert [(usage.task, usage.input) for usage in purse.noted] == [("embed", 2)]


@pytest.mark.parametrize(
    "data",
    [
        None, {}, [], [{"index": 0, "embedding": [0.0, 0.0]}], [{"index": 1, "embedding": [1.0, 0.0]}],
        [{"index": 0, "embedding": [1e308, 1e308]}], [{"index": 0, "embedding": ["1", "x"]}],
        [{"index": 0, "embedding": "ab"}], [{"index": 0, "embedding": [[1], [2]]}],
        [{"index": 0, "embedding": [1, None]}], [{"index": 0, "embedding": [1, 0]}] * 2, "data", [None],
    ],
)  # fmt: skip
def test_what_is_no_vector_is_refused(data: Any) -> None:
    embedder = RemoteEmbedder(parse_endpoint("http://127.0.0.1:1/v1#any"), 2)
    for answer in ({"data": data}, data):
        with pytest.raises(ModelError, match="cannot be read"):
            embedder._vectors(answer, 1)


async def test_models_get_the_words_that_they_were_trained_with() -> None:
    async with ModelServer(lambda _: "", dimensions=8) as server:
        embedder = RemoteEmbedder(parse_endpoint("ollama:nomic-embed-text:v1.5", url=server.url), 8)
        await embedder.embed(["a"])
        await embedder.embed_query("a")
        await embedder.close()
        assert [seen.body["input"] for seen in server.seen] == [["search_document: a"], ["search_query: a"]]


def shape_of(module: str, name: str) -> Any:
    """A published request type; a parameter that it does not name is an error."""
    import importlib

    from pydantic import ConfigDict, TypeAdapter, with_config

    kind = getattr(importlib.import_module(module), name)
    return TypeAdapter(with_config(ConfigDict(extra="forbid"))(kind))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["json", "text"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_requests_are_as_the_published_types_say(dialect: str, schema: Any, stream: bool) -> None:
    async with chat_with(lambda _: GOOD, dialect) as (server, chat):
        await ask_chat(chat, replace(ASK, schema=schema), stream)
        [seen] = server.seen
    names = {"openai": ("openai.types.chat.completion_create_params", "CompletionCreateParams"),
             "anthropic": ("anthropic.types.message_create_params", "MessageCreateParams")}  # fmt: skip
    module, name = names[dialect]
    published = shape_of(module, f"{name}{'Streaming' if stream else 'NonStreaming'}")
    published.validate_python(seen.body)
    with pytest.raises(ValueError):
        published.validate_python(seen.body | {"unheard_of": 1})
    if dialect == "anthropic":
        assert seen.headers["anthropic-version"] == "2023-06-01"
        assert seen.body["system"][0]["cache_control"] == {"type": "ephemeral"}
        assert ("output_config" in seen.body) == (schema is not None)
    else:
        assert ("response_format" in seen.body) == (schema is not None)
        assert seen.body.get("response_format", {}).get("json_schema", {}).get("strict") is (True if schema else None)


async def test_requests_for_vectors_are_as_the_published_type_says() -> None:
    async with ModelServer(lambda _: "") as server:
        embedder = RemoteEmbedder(parse_endpoint("openai:text-embedding-3-small", KEY, server.url), 256)
        assert (await embedder.embed(["a", ""]))[1].shape == (256,)
        await embedder.close()
        [seen] = server.seen
    shape_of("openai.types.embedding_create_params", "EmbeddingCreateParams").validate_python(seen.body)
    assert seen.body == {"model": "text-embedding-3-small", "input": ["a", " "], "dimensions": 256}


@pytest.mark.parametrize("ends", [GOOD, Fault.TRUNCATED, Fault.REFUSAL, Fault.STATUS_404])
async def test_openais_own_client_understands_the_model_server(ends: Any) -> None:
    from openai import AsyncOpenAI, NotFoundError

    async with ModelServer(lambda _: ends) as server:
        client = AsyncOpenAI(api_key=KEY, base_url=server.url, max_retries=0, _strict_response_validation=True)
        messages: Any = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
        told: Any = {"model": "gpt-test", "messages": messages}
        async with client:
            if ends is Fault.STATUS_404:
                with pytest.raises(NotFoundError):
                    await client.chat.completions.create(**told)
                return
            whole = (await client.chat.completions.create(**told)).choices[0]
            stream = await client.chat.completions.create(**told, stream=True, stream_options={"include_usage": True})
            chunks = [chunk async for chunk in stream]
            vectors = await client.embeddings.create(model="m", input=["a", "b"], encoding_format="float")
    assert sorted(each.index for each in vectors.data) == [0, 1]
    assert whole.finish_reason == ("length" if ends is Fault.TRUNCATED else "stop")
    said = whole.message.refusal if ends is Fault.REFUSAL else whole.message.content
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join((each.refusal if ends is Fault.REFUSAL else each.content) or "" for each in deltas) == said
    assert chunks[-1].usage is not None


@pytest.mark.parametrize("ends", [GOOD, Fault.TRUNCATED, Fault.REFUSAL, Fault.STATUS_529])
async def test_anthropics_own_client_understands_the_model_server(ends: Any) -> None:
    from anthropic import APIStatusError, AsyncAnthropic

    async with ModelServer(lambda _: ends) as server:
        address = server.url.removesuffix("/v1")
        client = AsyncAnthropic(api_key=KEY, base_url=address, max_retries=0, _strict_response_validation=True)
        told: Any = {"model": "claude-test", "max_tokens": 9, "messages": [{"role": "user", "content": "u"}]}
        told["system"] = [{"type": "text", "text": "s"}]
        async with client:
            if ends is Fault.STATUS_529:
                with pytest.raises(APIStatusError, match="overloaded"):
                    await client.messages.create(**told)
                return
            whole = await client.messages.create(**told)
            async with client.messages.stream(**told) as stream:
                text = "".join([piece async for piece in stream.text_stream])
                streamed = await stream.get_final_message()
    assert whole.stop_reason == streamed.stop_reason
    assert whole.stop_reason == {Fault.TRUNCATED: "max_tokens", Fault.REFUSAL: "refusal"}.get(ends, "end_turn")
    assert [block.text for block in whole.content if block.type == "text"] == [text]
    assert whole.usage.output_tokens == streamed.usage.output_tokens
