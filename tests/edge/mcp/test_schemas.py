"""The schemas of tools are in the subsets of JSON Schema that models and clients take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.agents import Agent

Schema = dict[str, Any]

#: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Schema. Some versions lack
#: `additionalProperties`: Gemini CLI sends schemas as `parametersJsonSchema`, which has it, others remove it.
GEMINI = frozenset(
    "type format title description nullable enum items properties required minimum maximum minItems maxItems "
    "minLength maxLength pattern default example anyOf propertyOrdering minProperties maxProperties "
    "additionalProperties".split()
)
#: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas, and `default`, which OpenAI
#: accepts (github.com/openai/openai-agents-python/issues/4390).
OPENAI = frozenset(
    "type description enum const anyOf properties required additionalProperties items pattern format minimum "
    "maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems default".split()
)
#: What a client reads that makes a class of a schema by the `type` of each property, as LlamaIndex does
#: (llama-index-integrations/tools/llama-index-tools-mcp).
TYPES = frozenset("string number integer boolean object array".split())
#: https://docs.anthropic.com/en/api/messages: names of tools, and of their properties.
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def parts(schema: Schema, at: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield a schema and all schemas in it, with their places."""
    yield at, schema
    for name, inner in schema.get("properties", {}).items():
        yield from parts(inner, f"{at}.{name}")
    if "items" in schema:
        yield from parts(schema["items"], f"{at}[]")
    for number, inner in enumerate(schema.get("anyOf", [])):
        yield from parts(inner, f"{at}|{number}")


def outside_gemini(schema: Schema) -> Iterator[str]:
    """Describe what a function declaration of Gemini may not have."""
    for at, part in parts(schema):
        yield from (f"{at}: {keyword}" for keyword in sorted(set(part) - GEMINI))
        if not isinstance(part.get("type"), str):
            yield f"{at}: no single type"
        if part.get("type") == "object" and at and not part.get("properties"):
            yield f"{at}: an object without properties"
        if part.get("type") == "array" and "items" not in part:
            yield f"{at}: an array without items"
        if "enum" in part and part["type"] != "string":
            yield f"{at}: an enumeration of other values than texts"
        if set(part.get("required", [])) - set(part.get("properties", {})):
            yield f"{at}: requires what is no property"


def outside_openai(schema: Schema) -> Iterator[str]:
    """Describe what keeps a schema from becoming strict, which makes all properties required."""
    for at, part in parts(schema):
        yield from (f"{at}: {keyword}" for keyword in sorted(set(part) - OPENAI))
        if part.get("type") == "object" and part.get("additionalProperties", False) is not False:
            yield f"{at}: an object with any properties"
        if part.get("type") == "object" and at and not part.get("properties"):
            yield f"{at}: an object without properties"
        if at.count(".") + at.count("[]") > 10:
            yield f"{at}: nested too deep"
    if schema.get("type") != "object" or "anyOf" in schema:
        yield "the root is no object"
    if sum(len(part.get("properties", {})) for _, part in parts(schema)) > 5_000:
        yield "too many properties"


def outside_old_clients(schema: Schema) -> Iterator[str]:
    for at, part in parts(schema):
        if part.get("type") not in TYPES:
            yield f"{at}: no type"
        yield from (f"{at}: {name}" for name in part.get("properties", {}) if not NAME.fullmatch(name))
        if (
            at
            and not at.endswith("[]")
            and "." not in at[1:]
            and "[" not in at
            and not part.get("description")
        ):
            yield f"{at}: no description"


SUBSETS: dict[str, Callable[[Schema], Iterator[str]]] = {
    "Gemini": outside_gemini,
    "OpenAI strict": outside_openai,
    "old clients": outside_old_clients,
}


@pytest.mark.parametrize("subset", SUBSETS)
def test_tools_take_arguments_in_the_subset(agent: Agent, subset: str) -> None:
    tools = agent.result("tools/list")["tools"]
    assert len(tools) == 6
    outside = [f"{tool['name']}{each}" for tool in tools for each in SUBSETS[subset](tool["inputSchema"])]
    assert outside == []


@pytest.mark.parametrize("subset", ["Gemini", "OpenAI strict"])
def test_checks_refuse_an_object_without_properties(subset: str) -> None:
    schema = {"type": "object", "properties": {"filter": {"type": "object"}}}
    assert ".filter: an object without properties" in [*SUBSETS[subset](schema)]


def test_results_declare_the_address_of_a_hit(agent: Agent) -> None:
    for tool in agent.result("tools/list")["tools"][:3]:
        declared = tool["outputSchema"]["properties"]["results"]["items"]["properties"]
        assert declared["address"] == {"type": "string"}


@pytest.mark.parametrize(
    ("tool", "plain", "packed"),
    [
        ("search", {"query": "kestrel", "limit": 3}, {"query": "kestrel", "limit": "3"}),
        ("search", {"query": "kestrel", "minScore": 0.1}, {"query": "kestrel", "minScore": " 0.1 "}),
        ("search", {"query": "kestrel"}, {"query": "\ufeffkestrel", "limit": "null", "author": None}),
        ("search", {"query": "kestrel", "maxTokens": 600}, {"query": "kestrel", "maxTokens": "600.0"}),
        (
            "query",
            {"query": "kestrel", "collections": ["work", "crowd"], "rerank": False},
            {"query": "kestrel", "collections": '["work", "crowd"]', "rerank": "false"},
        ),
        (
            "query",
            {"searches": [{"type": "lex", "query": "kestrel"}]},
            {"searches": '[{"type": "lex", "query": "kestrel"}]'},
        ),
        (
            "query",
            {"searches": [{"type": "lex", "query": "kestrel"}]},
            {"searches": ['{"type": "lex", "query": "kestrel"}']},
        ),
        (
            "search",
            {"query": "kestrel", "filter": {"field": "collection", "operator": "eq", "value": "work"}},
            {"query": "kestrel", "filter": '{"field": "collection", "operator": "eq", "value": "work"}'},
        ),
        (
            "search",
            {"query": "kestrel", "filter": {"field": "path", "operator": "prefix", "value": "rep"}},
            {"query": "kestrel", "filter": "path:rep"},
        ),
        ("get", {"file": "plan.md", "lineNumbers": True}, {"file": "\ufeffplan.md", "lineNumbers": "true"}),
        ("get", {"file": "plan.md", "maxLines": 2}, {"file": "plan.md", "maxLines": "2"}),
        ("multi_get", {"pattern": "plan.md", "maxBytes": 9}, {"pattern": "plan.md", "maxBytes": "9"}),
    ],
    ids=str,
)
def test_arguments_may_be_json_in_a_text(
    agent: Agent, tool: str, plain: dict[str, Any], packed: dict[str, Any]
) -> None:
    agent.call(tool, **plain)  # Later answers may say that they come from a cache.
    expected = agent.call(tool, **plain)
    assert "isError" not in expected
    assert agent.call(tool, **packed) == expected


def test_query_of_json_is_searched_as_a_text(agent: Agent) -> None:
    for query in ('["kestrel"]', "5", "null", '"kestrel"'):
        assert f'for "{query}"' in agent.text("search", query=query)


def test_message_may_begin_with_a_byte_order_mark(agent: Agent) -> None:
    agent.write(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":"bom","method":"ping"}\r\n')
    assert agent.receive() == {"jsonrpc": "2.0", "id": "bom", "result": {}}
