"""Turns a method of a port into a request to a server."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar, get_type_hints

from holdfast.api.client.request import header_value, quoted_segment
from holdfast.domain import arguments, credentials, graph, records, reports, results, types, usage, visibility
from holdfast.domain.errors import InvalidInput
from holdfast.domain.json_codec import decode
from holdfast.domain.records import JobPage, TracePage
from holdfast.domain.results import MessagePage, Page
from holdfast.domain.timestamps import iso_text, parse_moment

_TYPE_MODULES = (arguments, credentials, graph, records, reports, results, types, usage, visibility)
P = ParamSpec("P")
T = TypeVar("T")
EXPLAINED = MappingProxyType({"explain": True})
"""What a request for hits says, so that they have what hits of a local profile have."""
F = TypeVar("F", bound=Callable[..., object])


@functools.cache
def _result_type(method: Callable[..., object]) -> Any:
    """What a port's method returns. Ports import the types they name for type checkers only."""
    names = {name: value for module in _TYPE_MODULES for name, value in vars(module).items()}
    return get_type_hints(inspect.unwrap(method), localns=names)["return"]


def call(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
    verb: str,
    path: str,
    within: str | None = None,
    fixed: Mapping[str, Any] = MappingProxyType({}),
    **renamed: str,
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Derive a request from a port's method. Arguments that are not in the path go into the body or the query.

    `within` names the field of the response that is the result, `fixed` has what every request says, and `renamed` maps
    a parameter to its name in the API.
    """

    in_path = re.findall(r"\{(\w+)\}", path)

    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        passed = _arguments_given(inspect.signature(method), self, args, kwargs)
        given = {**fixed, **{renamed.get(name, name): value for name, value in passed.items()}}
        if given.get("as_of") is not None:  # a query string carries text, not numbers
            given["as_of"] = iso_text(parse_moment(given["as_of"], "as_of"))
        headers = {
            called: header_value(given.pop(name), name)
            for name, called in (("idempotency_key", "idempotency-key"), ("etag", "if-match"))
            if name in given
        }
        for name in in_path:
            if name not in given:
                raise InvalidInput(f"{name} is missing.", field=name)
        place = path.format_map({name: quoted_segment(given.pop(name), name) for name in in_path})
        in_body = verb in ("POST", "PATCH", "PUT")
        answer = await self.request(verb, place, given if in_body else None, None if in_body else given, **headers)
        result = _result_type(method)
        if result in (Page, TracePage, MessagePage, JobPage):
            answer = answer | {"items": answer[within]}
        elif within is not None:
            answer = answer[within]
        found: T = decode(result, answer)
        return found

    functools.update_wrapper(run, method)
    return run


def _arguments_given(signature: inspect.Signature, *everything: Any) -> dict[str, Any]:
    """The arguments that the caller gave, by name; the server applies the defaults."""
    profile, args, kwargs = everything
    bound = signature.bind(profile, *args, **kwargs).arguments
    bound.pop("self")
    more: dict[str, Any] = next((bound.pop(name) for name in ("narrowed", "given") if name in bound), {})
    return {name: value for name, value in bound.items() if value is not None} | more


def documented_by(method: Callable[..., object]) -> Callable[[F], F]:
    """Give a function the name, signature and docstring of the port's method; its type stays."""

    def documented(function: F) -> F:
        functools.update_wrapper(function, method)
        return function

    return documented
