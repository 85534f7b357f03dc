"""A method of a local profile as a request to a server."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, get_type_hints

from .moments import iso, moment
from .reading import read
from .records import TracePage
from .results import Page
from .sent import header, quoted

if TYPE_CHECKING:
    pass

P = ParamSpec("P")
T = TypeVar("T")


def call(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
    verb: str,
    path: str,
    within: str | None = None,
    **renamed: str,
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The local method as a request: what its path does not name goes into the body, or the query.

    `within` names the part of the answer that is the result; `renamed` says what the service calls a parameter.
    """
    signature = inspect.signature(method)
    result = get_type_hints(inspect.unwrap(method))["return"]

    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        given = {renamed.get(name, name): value for name, value in _given(signature, self, args, kwargs).items()}
        if given.get("as_of") is not None:  # in an address there are no numbers
            given["as_of"] = iso(moment(given["as_of"], "as_of"))
        headers = {
            called: header(given.pop(name), name)
            for name, called in (("idempotency_key", "idempotency-key"), ("etag", "if-match"))
            if name in given
        }
        place = path.format_map({name: quoted(given.pop(name)) for name in list(given) if f"{{{name}}}" in path})
        in_body = verb in ("POST", "PATCH", "PUT")
        answer = await self._ask(verb, place, given if in_body else None, None if in_body else given, **headers)
        if result in (Page, TracePage):
            answer = {"items": answer[within], "cursor": answer["cursor"]}
        elif within is not None:
            answer = answer[within]
        found: T = read(result, answer)
        return found

    functools.update_wrapper(run, method)
    return run


def _given(signature: inspect.Signature, *everything: Any) -> dict[str, Any]:
    """What the caller gave, by name; defaults are the server's business."""
    profile, args, kwargs = everything
    bound = signature.bind(profile, *args, **kwargs).arguments
    bound.pop("self")
    more: dict[str, Any] = next((bound.pop(name) for name in ("narrowed", "given") if name in bound), {})
    return {name: value for name, value in bound.items() if value is not None} | more
