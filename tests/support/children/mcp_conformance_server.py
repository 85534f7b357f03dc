"""A server with everything in it that the official conformance suite asks for, to be served by Holdfast's own stack.

python everything.py PORT FOLDER prints one line with the path of its endpoint, then serves until it is ended; with
`ours` as a third argument, Holdfast's own tools in place of the suite's.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ToolsListChanged

from holdfast import AsyncHoldfast
from holdfast.api.rest.app import app_of
from holdfast.testing import HashingEmbedder

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
AUDIO = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
PNG = types.ImageContent(type="image", data=IMAGE, mime_type="image/png")
BUS = InMemorySubscriptionBus()
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
ADDRESS = {"$anchor": "addressDef", "type": "object",
           "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}  # fmt: skip
RICH = {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "$defs": {"address": ADDRESS},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                   "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                   "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": False,
}  # fmt: skip

Result = types.CallToolResult | types.InputRequiredResult
Act = Callable[[Any, types.CallToolRequestParams], Awaitable[Any]]
TOOLS: dict[str, tuple[Act, dict[str, Any]]] = {}


def tool(schema: dict[str, Any] = NOTHING, name: str | None = None) -> Callable[[Act], Act]:
    def known(act: Act) -> Act:
        TOOLS[name or f"test_{act.__name__}"] = (act, schema)
        return act

    return known


def one(field: str) -> dict[str, Any]:
    return {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}


def text(said: str) -> types.TextContent:
    return types.TextContent(type="text", text=said)


def resource_block(uri: str, kind: str, said: str) -> types.EmbeddedResource:
    held = types.TextResourceContents(uri=uri, mime_type=kind, text=said)
    return types.EmbeddedResource(type="resource", resource=held)


@tool()
async def simple_text(_: Any, __: Any) -> Any:
    return [text("This is a simple text response for testing.")]


@tool()
async def image_content(_: Any, __: Any) -> Any:
    return [PNG]


@tool()
async def audio_content(_: Any, __: Any) -> Any:
    return [types.AudioContent(type="audio", data=AUDIO, mime_type="audio/wav")]


@tool()
async def embedded_resource(_: Any, __: Any) -> Any:
    return [resource_block("test://embedded-resource", "text/plain", "This is an embedded resource content.")]


@tool()
async def multiple_content_types(_: Any, __: Any) -> Any:
    data = json.dumps({"test": "data", "value": 123})
    mixed = resource_block("test://mixed-content-resource", "application/json", data)
    return [text("Multiple content types test:"), PNG, mixed]


@tool()
async def tool_with_logging(ctx: Any, _: Any) -> Any:
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", line, related_request_id=ctx.request_id)
        await asyncio.sleep(0.05)
    return [text("Logged.")]


TOOLS["test_logging_tool"] = TOOLS["test_tool_with_logging"]


@tool()
async def tool_with_progress(ctx: Any, _: Any) -> Any:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await asyncio.sleep(0.05)
    return [text("Progressed.")]


@tool()
async def error_handling(_: Any, __: Any) -> Any:
    return types.CallToolResult(content=[text("This tool intentionally returns an error for testing")], is_error=True)


@tool(one("prompt"))
async def sampling(ctx: Any, params: types.CallToolRequestParams) -> Any:
    asked = types.SamplingMessage(role="user", content=text((params.arguments or {})["prompt"]))
    told = await ctx.session.create_message([asked], max_tokens=100, related_request_id=ctx.request_id)
    return [text(f"LLM response: {told.content.text}")]


async def elicit(ctx: Any, message: str, properties: dict[str, Any], required: list[str] | None = None) -> Any:
    schema = {"type": "object", "properties": properties, "required": required or []}
    told = await ctx.session.elicit(message, schema, related_request_id=ctx.request_id)
    return [text(f"Elicitation completed: action={told.action}, content={json.dumps(told.content)}")]


@tool(one("message"))
async def elicitation(ctx: Any, params: types.CallToolRequestParams) -> Any:
    fields = {name: {"type": "string", "description": f"User's {name}"} for name in ("username", "email")}
    return await elicit(ctx, (params.arguments or {})["message"], fields, list(fields))


@tool()
async def elicitation_sep1034_defaults(ctx: Any, _: Any) -> Any:
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicit(ctx, "Please review", fields)


@tool()
async def elicitation_sep1330_enums(ctx: Any, _: Any) -> Any:
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
    names = ["Option One", "Option Two", "Option Three"]
    fields = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await elicit(ctx, "Please choose", fields)


@tool()
async def reconnection(ctx: Any, _: Any) -> Any:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    await asyncio.sleep(0.1)
    return [text("Reconnection test completed")]


@tool()
async def missing_capability(ctx: Any, _: Any) -> Any:
    if not ctx.session.check_client_capability(types.ClientCapabilities(sampling=types.SamplingCapability())):
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Sampling is needed", {"requiredCapabilities": {"sampling": {}}}
        )
    return [text("The client can sample.")]


@tool()
async def trigger_tool_change(_: Any, __: Any) -> Any:
    await BUS.publish(ToolsListChanged())
    return [text("Told.")]


@tool()
async def trigger_prompt_change(_: Any, __: Any) -> Any:
    await BUS.publish(PromptsListChanged())
    return [text("Told.")]


@tool(
    {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}, "required": ["region"]}
)
async def custom_headers(_: Any, params: types.CallToolRequestParams) -> Any:
    return [text(f"Region: {(params.arguments or {}).get('region')}")]


@tool(RICH, "json_schema_2020_12_tool")
async def rich(_: Any, __: Any) -> Any:
    return [text("A rich schema.")]


def form(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(question: str) -> types.CreateMessageRequest:
    asked = types.SamplingMessage(role="user", content=text(question))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[asked], max_tokens=100))


ROOTS = types.ListRootsRequest()


def input_required(state: str | None = None, **requests: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def given_inputs(params: Any, *names: str) -> list[Any] | None:
    """The responses by these names; None while one is missing or is no answer."""
    held = params.input_responses or {}
    found = [held.get(name) for name in names]
    if any(each is None or (isinstance(each, types.ElicitResult) and not each.content) for each in found):
        return None
    return found


@tool()
async def input_required_result_elicitation(_: Any, params: Any) -> Any:
    found = given_inputs(params, "user_name")
    if found is None or not isinstance(found[0], types.ElicitResult):
        return input_required(user_name=form("What is your name?", "name"))
    return [text(f"Hello, {found[0].content['name']}!")]


TOOLS["test_streaming_elicitation"] = TOOLS["test_input_required_result_elicitation"]


@tool()
async def input_required_result_sampling(_: Any, params: Any) -> Any:
    found = given_inputs(params, "capital_question")
    if found is None:
        return input_required(capital_question=sample("What is the capital of France?"))
    return [text(f"It is {found[0].content.text}")]


@tool()
async def input_required_result_list_roots(_: Any, params: Any) -> Any:
    found = given_inputs(params, "client_roots")
    return (
        input_required(client_roots=ROOTS)
        if found is None
        else [text(f"Roots: {[str(r.uri) for r in found[0].roots]}")]
    )


@tool()
async def input_required_result_request_state(_: Any, params: Any) -> Any:
    if given_inputs(params, "confirm") is None or params.request_state != "confirming":
        return input_required("confirming", confirm=form("Please confirm", "ok", "boolean"))
    return [text("state-ok")]


TOOLS["test_input_required_result_tampered_state"] = TOOLS["test_input_required_result_request_state"]


@tool()
async def input_required_result_multiple_inputs(_: Any, params: Any) -> Any:
    if given_inputs(params, "user_name", "greeting", "client_roots") is None:
        name = form("What is your name?", "name")
        return input_required("several", user_name=name, greeting=sample("Generate a greeting"), client_roots=ROOTS)
    return [text("All inputs are here.")]


@tool()
async def input_required_result_multi_round(_: Any, params: Any) -> Any:
    if params.request_state == "second" and given_inputs(params, "step2") is not None:
        return [text("Both steps are done.")]
    if params.request_state == "first" and given_inputs(params, "step1") is not None:
        return input_required("second", step2=form("Step 2: What is your favorite color?", "color"))
    return input_required("first", step1=form("Step 1: What is your name?", "name"))


@tool()
async def input_required_result_capabilities(ctx: Any, params: Any) -> Any:
    able = ctx.session.client_params.capabilities if ctx.session.client_params else types.ClientCapabilities()
    wanted: dict[str, Any] = {}
    if able.sampling is not None:
        wanted["question"] = sample("What is the capital of France?")
    if able.elicitation is not None:
        wanted["user_name"] = form("What is your name?", "name")
    return (
        input_required(**wanted) if wanted and not given_inputs(params, *wanted) else [text("Nothing more is needed.")]
    )


async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[types.Tool(name=name, description=name, input_schema=schema) for name, (_, schema) in TOOLS.items()]
    )


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool {params.name}")
    told = await TOOLS[params.name][0](ctx, params)
    return types.CallToolResult(content=told) if isinstance(told, list) else told


PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (), "test_prompt_with_arguments": ("arg1", "arg2"), "test_prompt_with_image": (),
    "test_prompt_with_embedded_resource": ("resourceUri",), "test_input_required_result_prompt": (),
}  # fmt: skip


async def list_prompts(_: Any, __: Any) -> types.ListPromptsResult:
    def arguments(names: tuple[str, ...]) -> list[types.PromptArgument]:
        return [types.PromptArgument(name=name, description=name, required=True) for name in names]

    return types.ListPromptsResult(
        prompts=[types.Prompt(name=name, description=name, arguments=arguments(own)) for name, own in PROMPTS.items()]
    )


async def get_prompt(_: Any, params: types.GetPromptRequestParams) -> Any:
    held = params.arguments or {}
    said: list[Any]
    match params.name:
        case "test_simple_prompt":
            said = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            said = [text(f"Prompt with arguments: arg1='{held['arg1']}', arg2='{held['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            resource = resource_block(held["resourceUri"], "text/plain", "Embedded resource content for testing.")
            said = [resource, text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            said = [PNG, text("Please analyze the image above.")]
        case "test_input_required_result_prompt":
            found = given_inputs(params, "user_context")
            if found is None:
                return input_required(user_context=form("What context should the prompt use?", "context"))
            said = [text(f"Use this context: {found[0].content['context']}")]
        case _:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt {params.name}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=each) for each in said])


RESOURCES = {"test://static-text": "text/plain", "test://static-binary": "image/png",
             "test://watched-resource": "text/plain"}  # fmt: skip


async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(uri=uri, name=uri, description=uri, mime_type=kind) for uri, kind in RESOURCES.items()
        ]
    )


async def list_templates(_: Any, __: Any) -> types.ListResourceTemplatesResult:
    made = types.ResourceTemplate(uri_template="test://template/{id}/data", name="t", mime_type="application/json")
    return types.ListResourceTemplatesResult(resource_templates=[made])


async def read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    held: Any
    if uri == "test://static-binary":
        held = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=IMAGE)
    elif uri in RESOURCES:
        said = "This is the content of the static text resource."
        held = types.TextResourceContents(uri=uri, mime_type="text/plain", text=said)
    elif uri.startswith("test://template/") and uri.endswith("/data"):
        id = uri.split("/")[3]
        data = json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})
        held = types.TextResourceContents(uri=uri, mime_type="application/json", text=data)
    else:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[held])


async def nothing(_: Any, __: Any) -> types.EmptyResult:
    return types.EmptyResult()


async def complete(_: Any, __: Any) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["paris", "park"], total=2, has_more=False))


def conformance_server() -> Server[Any]:
    made: Server[Any] = Server(
        "everything", version="1", on_list_tools=list_tools, on_call_tool=call_tool, on_list_prompts=list_prompts,
        on_get_prompt=get_prompt, on_list_resources=list_resources, on_list_resource_templates=list_templates,
        on_read_resource=read_resource, on_subscribe_resource=nothing, on_unsubscribe_resource=nothing,
        on_set_logging_level=nothing, on_completion=complete, on_subscriptions_listen=ListenHandler(BUS),
    )  # fmt: skip
    made.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="everything"))
    return made


async def main(port: int, folder: Path, ours: bool) -> None:
    async with await AsyncHoldfast.open(folder, embedder=HashingEmbedder()) as holdfast:
        _, secret = await holdfast.access.issue(
            "url", "suite", ["read", "write", "forget"], namespace="team", profile="alice"
        )
        app = app_of(holdfast)
        if not ours:
            app.state.mcp.server, app.state.mcp.at_once = conformance_server(), False
        print(f"/s/{secret}/mcp", flush=True)
        await uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", lifespan="off")).serve()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] == ["ours"]))
