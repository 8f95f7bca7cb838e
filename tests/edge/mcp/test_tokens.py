"""`maxTokens`, and what an answer costs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from qmd.text import budget
from tests.agents import Agent


def cost(result: dict[str, Any]) -> int:
    """Return the tokens of what a model reads: of the costlier part if the result has two."""
    if "structuredContent" not in result:
        return count(result)
    return max(budget.count(shown(result)), count(result["structuredContent"]))


def count(value: Any) -> int:
    return budget.count(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def shown(result: dict[str, Any]) -> str:
    """Return the text of a result as a client shows it that knows no structured content."""
    return "\n".join(block["text"] for block in result["content"])


@pytest.mark.parametrize("tokens", [250, 400, 1_500])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "kestrel", "limit": 40}),
        ("query", {"query": "kestrel", "limit": 40, "rerank": False}),
        ("get", {"file": "big.md", "lineNumbers": True}),
        ("get", {"file": "big.md", "links": True}),
        ("multi_get", {"pattern": "**", "maxBytes": 100_000}),
        ("multi_get", {"pattern": "crowd/*.md, nothing.md"}),
    ],
    ids=str,
)
def test_answer_stays_within_max_tokens(
    agent: Agent, tool: str, arguments: dict[str, Any], tokens: int
) -> None:
    whole = agent.call(tool, **arguments)
    result = agent.call(tool, **arguments, maxTokens=tokens)
    assert cost(result) <= tokens
    notes = [block["text"] for block in result["content"] if block["type"] == "text"]
    assert any(note.endswith(": raise maxTokens") for note in notes) == (cost(whole) > tokens)


def test_search_says_in_both_places_what_is_left_out(agent: Agent) -> None:
    result = agent.call("search", query="kestrel", limit=40, maxTokens=600)
    summary, addresses, note = (block["text"] for block in result["content"])
    found = result["structuredContent"]["results"]
    assert summary.startswith('Found 32 results for "kestrel":\n\n')
    assert len(summary.split("\n")) - 2 == len(addresses.split("\n\n")) - 1 == len(found) < 32
    assert note == result["structuredContent"]["note"]
    assert note.endswith(": raise maxTokens")


def test_vsearch_takes_max_tokens(agent: Agent) -> None:
    assert agent.failure("vsearch", query="x", maxTokens=0) == (
        "maxTokens: input should be greater than or equal to 1, not 0"
    )


def test_too_few_tokens_are_an_error_with_the_least_number(agent: Agent) -> None:
    told = agent.failure("get", file="big.md", maxTokens=3)
    assert told.startswith("maxTokens 3 is too little for this answer (raise it to ")
    least = int(told.rstrip(")").split()[-1])
    assert cost(agent.call("get", file="big.md", maxTokens=least)) <= least


def test_address_of_every_hit_can_be_given_to_get(agent: Agent) -> None:
    result = agent.call("search", query="kestrel OR budget zebra", limit=40)
    passages = result["content"][1]["text"]
    first, *blocks = passages.split("\n\n")
    assert first == "To read on, give get an address (20 lines):"
    for hit, block in zip(result["structuredContent"]["results"], blocks, strict=True):
        address, _, passage = block.partition("\n")
        assert address == hit["address"] + (f" - {hit['context']}" if hit["context"] else "")
        assert passage == hit["snippet"]
        (document,) = agent.call("get", file=hit["address"], lineNumbers=True)["content"]
        assert document["resource"]["name"] == hit["file"]
        assert passage.split("\n")[0] in document["resource"]["text"].split("\n")


@pytest.mark.parametrize("arguments", [{}, {"maxLines": 5}, {"fromLine": 100, "maxLines": 5}], ids=str)
def test_get_adds_less_than_300_bytes_to_the_text(agent: Agent, arguments: dict[str, Any]) -> None:
    result = agent.call("get", file="meeting.md", **arguments)
    assert "structuredContent" not in result
    text = result["content"][0]["resource"]["text"]
    sent = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
    assert len(sent.encode()) <= len(json.dumps(text, ensure_ascii=False).encode()) + 300
