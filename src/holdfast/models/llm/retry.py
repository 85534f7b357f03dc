"""Calls models with a limit of concurrent calls, retries and a circuit breaker.

Timeouts, broken connections, 408, 409, 429 and 5xx (`http.Unanswered`) are retried, after a wait that doubles and is
never shorter than the provider asks for. No call takes longer than its seconds. An attempt without any answer is
abandoned after two thirds of them, but never before `PATIENCE_SECONDS`; so calls with few seconds have one such
attempt. A timeout counts as a failure of the server only when the call gave it `PATIENCE_SECONDS`: a caller that waits
one second proves nothing about a server that needs two.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from holdfast.domain import usage as spending
from holdfast.domain.errors import ModelError, ModelUnavailable
from holdfast.models.llm.chat import Chat, ChatReply, ChatRequest, Usage
from holdfast.models.llm.circuit_breaker import CircuitBreaker
from holdfast.models.llm.http import Unanswered

T = TypeVar("T")
PATIENCE_SECONDS = 20.0
_FIRST_ATTEMPT_SHARE = 2 / 3
"""Both chosen by hand; not measured."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How many calls run concurrently, how often each is tried, and how long to wait. Chosen by hand; not measured."""

    at_once: int = 4
    tries: int = 4
    patience: float = PATIENCE_SECONDS
    first_wait: float = 0.5
    longest_wait: float = 8.0

    def wait(self, tried: int) -> float:
        """Seconds before the next attempt: doubling, with jitter, so that calls do not all retry at the same time."""
        return min(self.first_wait * 2.0 ** (tried - 1), self.longest_wait) * random.uniform(0.5, 1.0)


class RetryingCaller:
    """Calls one server: limits concurrent calls, retries, and reports outcomes to the circuit breaker."""

    def __init__(self, name: str, manners: RetryPolicy | None = None, breaker: CircuitBreaker | None = None) -> None:
        self.name = name
        self.policy = manners or RetryPolicy()
        self.breaker = breaker or CircuitBreaker(name)
        self.slots = asyncio.Semaphore(self.policy.at_once)

    @asynccontextmanager
    async def call(self, seconds: float) -> AsyncIterator[ModelCall]:
        """One call with its attempts and waits; reports its outcome to the breaker."""
        trying = self.breaker.enter()
        call = ModelCall(self, seconds)
        try:
            yield call
        except ModelUnavailable:
            if call.shows_failure:
                self.breaker.failed(trying=trying)
            else:
                self.breaker.left(trying=trying)
            raise
        except ModelError:
            self.breaker.answered()  # it rejected this request, so it is up
            raise
        except BaseException:
            self.breaker.left(trying=trying)
            raise
        self.breaker.answered()

    async def run(self, seconds: float, attempt: Callable[[float], Awaitable[tuple[T, Usage]]]) -> T:
        """Calls `attempt` (with its seconds) until it succeeds; returns its result."""
        async with self.call(seconds) as call:
            while True:
                try:
                    async with call.slot():
                        async with call.time_limit(call.answer_within):
                            result, usage = await attempt(call.answer_within)
                        await call.charge(usage)
                        return result
                except Unanswered as error:
                    await call.wait(error)


class ModelCall:
    """One call: its deadline, its attempts so far, and the account that is charged."""

    def __init__(self, caller: RetryingCaller, seconds: float) -> None:
        self._caller = caller
        self._seconds = seconds
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._tried = 0
        self._account = spending.current_account()
        self.shows_failure = False
        """Whether an error of this call shows that the server fails."""

    @property
    def seconds_left(self) -> float:
        return max(self._deadline - asyncio.get_running_loop().time(), 0.001)

    @property
    def answer_within(self) -> float:
        """How long the server may take to begin its answer in this attempt."""
        if self._tried > 1:
            return self.seconds_left
        return min(self.seconds_left, max(self._seconds * _FIRST_ATTEMPT_SHARE, self._caller.policy.patience))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Holds one of the concurrent slots for one attempt; first checks that the account has budget left."""
        self.shows_failure = False
        if self._account is not None:
            await self._account.check()
        try:
            async with asyncio.timeout(self.seconds_left):
                await self._caller.slots.acquire()
        except TimeoutError:
            raise ModelUnavailable(f"Too many calls to {self._caller.name} are under way.") from None
        try:
            self._tried += 1
            self.shows_failure = True
            yield
        finally:
            self._caller.slots.release()

    @asynccontextmanager
    async def time_limit(self, seconds: float) -> AsyncIterator[None]:
        """Limits the time until the server sends something."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise Unanswered(f"{self._caller.name} did not answer in time.", silent=True) from None

    async def charge(self, usage: Usage | None) -> None:
        if usage and self._account is not None:
            await self._account.note(usage)

    async def wait(self, error: Unanswered, *, begun: bool = False) -> None:
        """Waits before the next attempt; raises the error when none is allowed: no time or tries
        left, or the answer has begun."""
        await self.charge(error.usage)
        policy = self._caller.policy
        self.shows_failure = not error.silent or self._seconds >= policy.patience
        wait = max(policy.wait(self._tried), error.after or 0.0)
        if begun or self._tried >= policy.tries or wait >= self.seconds_left:
            raise error
        await asyncio.sleep(wait)


class RetryingChat:
    """A chat whose calls are limited and retried; every attempt is charged to the current account (domain/usage.py)."""

    def __init__(self, chat: Chat, manners: RetryPolicy | None = None, breaker: CircuitBreaker | None = None) -> None:
        self._chat = chat
        self.line = RetryingCaller(chat.name, manners, breaker)

    @property
    def name(self) -> str:
        return self._chat.name

    async def reply(self, ask: ChatRequest) -> ChatReply:
        async def attempt(seconds: float) -> tuple[ChatReply, Usage]:
            reply = await self._chat.reply(replace(ask, seconds=seconds))
            return reply, reply.usage

        return await self.line.run(ask.seconds, attempt)

    async def stream(self, ask: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        """Retries until the first piece has arrived; after that, a failure is raised.

        The reply is yielded when the call is over, so that readers who stop there leave nothing open.
        """
        reply: ChatReply | None = None
        async with self.line.call(ask.seconds) as call:
            while reply is None:
                begun = False
                try:
                    async with (
                        call.slot(),
                        aclosing(self._chat.stream(replace(ask, seconds=call.answer_within))) as pieces,
                    ):
                        while reply is None:
                            async with call.time_limit(call.seconds_left if begun else call.answer_within):
                                piece = await anext(pieces, None)
                            begun = True
                            if piece is None:
                                raise ModelError(f"{self.name} ended its stream without a reply.")
                            if isinstance(piece, ChatReply):
                                await call.charge(piece.usage)
                                reply = piece
                            else:
                                yield piece
                except Unanswered as error:
                    await call.wait(error, begun=begun)
        yield reply

    async def close(self) -> None:
        await self._chat.close()
