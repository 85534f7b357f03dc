"""How a model is called: a few calls at once, tried again while there is time, not at all while it is down.

Tried again are timeouts, broken connections, 408, 409, 429 and 5xx (`wire.Unanswered`): after a wait that doubles and
is never shorter than the provider asks for. No call takes longer than its seconds. A server gets two thirds of them,
and never less than `PATIENCE`, before a silent attempt is given up for the next; so calls with few seconds have one
silent attempt. Only a call that gave the server `PATIENCE` counts as a failure when its time is up: those who wait
one second for an answer say nothing about a server that needs two.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from ... import spending
from ...errors import ModelError, ModelUnavailable
from .breaker import Breaker
from .chat import Ask, Chat, Reply, Usage
from .wire import Unanswered

T = TypeVar("T")
PATIENCE = 20.0
_SHARE = 2 / 3


@dataclass(frozen=True, slots=True)
class Manners:
    """How persistent callers are."""

    at_once: int = 4
    tries: int = 4
    patience: float = PATIENCE
    first_wait: float = 0.5
    longest_wait: float = 8.0

    def wait(self, tried: int) -> float:
        """Before the next attempt: doubling, with jitter, so that those who failed together do not return together."""
        return min(self.first_wait * 2.0 ** (tried - 1), self.longest_wait) * random.uniform(0.5, 1.0)


class Line:
    """The calls to one server: who may call now, and what is known of the server."""

    def __init__(self, name: str, manners: Manners | None = None, breaker: Breaker | None = None) -> None:
        self.name = name
        self.manners = manners or Manners()
        self.breaker = breaker or Breaker(name)
        self.slots = asyncio.Semaphore(self.manners.at_once)

    @asynccontextmanager
    async def call(self, seconds: float) -> AsyncIterator[Call]:
        """One call, attempts and waits included; what comes of it is told to the breaker."""
        trying = self.breaker.enter()
        call = Call(self, seconds)
        try:
            yield call
        except ModelUnavailable:
            if call.telling:
                self.breaker.failed(trying=trying)
            else:
                self.breaker.left(trying=trying)
            raise
        except ModelError:
            self.breaker.answered()  # it refused this request, so it is up
            raise
        except BaseException:
            self.breaker.left(trying=trying)
            raise
        self.breaker.answered()

    async def tried(self, seconds: float, once: Callable[[float], Awaitable[tuple[T, Usage]]]) -> T:
        """What `once` (given its seconds) returns, at the first attempt that succeeds."""
        async with self.call(seconds) as call:
            while True:
                try:
                    async with call.slot():
                        async with call.silence(call.allowed):
                            found, usage = await once(call.allowed)
                        await call.note(usage)
                        return found
                except Unanswered as error:
                    await call.wait(error)


class Call:
    """One call: how long it may still take, how often it was tried, who pays."""

    def __init__(self, line: Line, seconds: float) -> None:
        self._line = line
        self._seconds = seconds
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._tried = 0
        self._account = spending.current()
        self.telling = False
        """Whether what went wrong says something about the server."""

    @property
    def left(self) -> float:
        return max(self._deadline - asyncio.get_running_loop().time(), 0.001)

    @property
    def allowed(self) -> float:
        """How long the server may stay silent in this attempt."""
        if self._tried > 1:
            return self.left
        return min(self.left, max(self._seconds * _SHARE, self._line.manners.patience))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """One of the places, for one attempt; the account is asked first whether it may pay."""
        self.telling = False
        if self._account is not None:
            await self._account.check()
        try:
            async with asyncio.timeout(self.left):
                await self._line.slots.acquire()
        except TimeoutError:
            raise ModelUnavailable(f"Too many calls to {self._line.name} are under way.") from None
        try:
            self._tried += 1
            self.telling = True
            yield
        finally:
            self._line.slots.release()

    @asynccontextmanager
    async def silence(self, seconds: float) -> AsyncIterator[None]:
        """The server may take so long to say something."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise Unanswered(f"{self._line.name} did not answer in time.", silent=True) from None

    async def note(self, usage: Usage | None) -> None:
        if usage and self._account is not None:
            await self._account.note(usage)

    async def wait(self, error: Unanswered, *, begun: bool = False) -> None:
        """Until the next attempt; raises the error when there is none: no time, no tries, or half an answer is out."""
        await self.note(error.usage)
        manners = self._line.manners
        self.telling = not error.silent or self._seconds >= manners.patience
        wait = max(manners.wait(self._tried), error.after or 0.0)
        if begun or self._tried >= manners.tries or wait >= self.left:
            raise error
        await asyncio.sleep(wait)


class Steady:
    """A chat that is called with manners; every attempt is on the account of `spending`."""

    def __init__(self, chat: Chat, manners: Manners | None = None, breaker: Breaker | None = None) -> None:
        self._chat = chat
        self.line = Line(chat.name, manners, breaker)

    @property
    def name(self) -> str:
        return self._chat.name

    async def reply(self, ask: Ask) -> Reply:
        async def once(seconds: float) -> tuple[Reply, Usage]:
            reply = await self._chat.reply(replace(ask, seconds=seconds))
            return reply, reply.usage

        return await self.line.tried(ask.seconds, once)

    async def stream(self, ask: Ask) -> AsyncGenerator[str | Reply, None]:
        """Tried again as long as nothing has come; once something has, a failure is the reader's to see.

        The reply is told when the call is over, so that readers who stop there leave nothing open.
        """
        reply: Reply | None = None
        async with self.line.call(ask.seconds) as call:
            while reply is None:
                begun = False
                try:
                    async with call.slot(), aclosing(self._chat.stream(replace(ask, seconds=call.allowed))) as pieces:
                        while reply is None:
                            async with call.silence(call.left if begun else call.allowed):
                                piece = await anext(pieces, None)
                            begun = True
                            if piece is None:
                                raise ModelError(f"{self.name} ended its stream without a reply.")
                            if isinstance(piece, Reply):
                                await call.note(piece.usage)
                                reply = piece
                            else:
                                yield piece
                except Unanswered as error:
                    await call.wait(error, begun=begun)
        yield reply

    async def close(self) -> None:
        await self._chat.close()
