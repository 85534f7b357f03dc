"""Errors of the protocol itself, in words that name the fault: lines that are no message, and malformed requests.

The SDK answers neither in a way that a client can act on: over stdio it drops a line that it cannot parse, so that the
client waits for ever, and a malformed request gets "Invalid request parameters" for every fault.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from pydantic import ValidationError

from holdfast.api.validation_errors import validation_message
from holdfast.domain.errors import InvalidInput, quoted_value

UNNAMED_FAULT = "Invalid request parameters"
"""What the SDK says of a request before `initialize`."""


async def name_fault(ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
    """Middleware of the server: reword the SDK's errors about a request."""
    try:
        return await call_next(ctx)
    except ValidationError as wrong:
        said, field = validation_message(wrong.errors(include_url=False))
        raise _bad_request(f"{ctx.method}: {said}", field) from None
    except MCPError as wrong:
        if wrong.error.message != UNNAMED_FAULT:
            raise
        said = f"{ctx.method} came before initialize; send initialize first, then notifications/initialized."
        raise _bad_request(said, "method") from None


def _bad_request(said: str, field: str | None) -> MCPError:
    return MCPError(INVALID_PARAMS, said, {"code": InvalidInput.code, "field": field})


class AnsweringStream:
    """The messages that arrive over stdio. A line that is none is answered here and passed to nobody."""

    def __init__(self, incoming: Any, outgoing: Any) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    @property
    def last_context(self) -> Any:
        """The context of the message's sender, which the SDK restores for its handler."""
        return self._incoming.last_context

    async def receive(self) -> Any:
        return await self._message(self._incoming.receive)

    async def _message(self, read: Callable[[], Awaitable[Any]]) -> Any:
        while isinstance(item := await read(), Exception):
            refused = line_error(item)
            if refused is not None:
                await self._outgoing.send(SessionMessage(refused))
        return item

    async def aclose(self) -> None:
        await self._incoming.aclose()

    def __aiter__(self) -> AnsweringStream:
        return self

    async def __anext__(self) -> Any:
        return await self._message(self._incoming.__anext__)

    async def __aenter__(self) -> AnsweringStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def line_error(wrong: Exception) -> types.JSONRPCError | None:
    """Pure: the response to a line that is no message; None for an empty line, which needs none."""
    errors = wrong.errors(include_url=False) if isinstance(wrong, ValidationError) else []
    if not errors or errors[0]["type"] == "json_invalid":
        if errors and not str(errors[0]["input"]).strip():
            return None
        why = errors[0]["ctx"]["error"] if errors else wrong
        return _response(None, PARSE_ERROR, f"The line is not JSON: {why}. Send one JSON-RPC message in each line.")
    sent = next((each["input"] for each in errors if each["type"] == "missing"), None)
    if not isinstance(sent, dict):
        return _response(None, INVALID_REQUEST, _shape_fault(errors[0]["input"]))
    asked = sent.get("id") if "result" not in sent and "error" not in sent else None
    id = asked if isinstance(asked, str | int) and not isinstance(asked, bool) else None
    return _response(id, INVALID_REQUEST, _field_fault(sent))


def _response(id: str | int | None, code: int, said: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=id, error=types.ErrorData(code=code, message=said))


def _shape_fault(sent: Any) -> str:
    if isinstance(sent, list):
        return "The line is a list; batches are not supported. Send one JSON-RPC object in each line."
    return f"The line is {quoted_value(sent)}; send one JSON-RPC object in each line."


def _field_fault(sent: dict[str, Any]) -> str:
    """What is wrong with an object that is no JSON-RPC message."""
    if sent.get("jsonrpc") != "2.0":
        return _wanted(sent, "jsonrpc", "'2.0'")
    if "result" not in sent and "error" not in sent and not isinstance(sent.get("method"), str):
        return _wanted(sent, "method", "the name of a method, such as 'tools/call'")
    if not isinstance(sent.get("params", {}), dict):
        return _wanted(sent, "params", "an object")
    return f"The message is neither a request nor a response: {quoted_value(sent)}."


def _wanted(sent: dict[str, Any], field: str, wanted: str) -> str:
    is_what = f"is {quoted_value(sent[field])}" if field in sent else "is missing"
    return f"{field} {is_what}; give {wanted}."
