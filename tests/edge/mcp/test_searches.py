"""`search`, `vsearch`, `query` and `status`: exact texts and structured content."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.agents import Agent
from tests.library import LIBRARY, docid
from tests.users import User

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
NO_VECTORS = "Vector index not found. Run 'qmd embed' first to create embeddings."


def stages(result: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    return {
        each["stage"]: (each["status"], each.get("reason")) for each in result["structuredContent"]["stages"]
    }


def test_search_returns_a_summary_and_structured_content(agent: Agent) -> None:
    result = agent.call("search", query="travel", limit=2)
    plan, last = docid("notes", "2025/plan.md"), docid("notes", "2025/ meeting.md")
    found = result["structuredContent"]["results"]
    percents = [round(each["score"] * 100) for each in found]
    assert result["content"] == [
        {
            "type": "text",
            "text": 'Found 2 results for "travel":\n\n'
            f"{found[0]['docid']} {percents[0]}% {found[0]['file']} - {found[0]['title']}\n"
            f"{found[1]['docid']} {percents[1]}% {found[1]['file']} - {found[1]['title']} (Plan > Travel)",
        },
        {
            "type": "text",
            "text": "To read on, give get an address (20 lines):"
            + "".join(f"\n\n{each['address']} - Notes of 2025\n{each['snippet']}" for each in found),
        },
    ]
    by_file = {each["file"]: each for each in found}
    assert by_file["notes/2025/plan.md"] == {
        "docid": plan,
        "file": "notes/2025/plan.md",
        "title": "Plan",
        "score": by_file["notes/2025/plan.md"]["score"],
        "context": "Notes of 2025",
        "line": 5,
        "section": "Plan > Travel",
        "snippet": by_file["notes/2025/plan.md"]["snippet"],
        "address": "notes/2025/plan.md:1:20",
    }
    assert by_file["notes/2025/ meeting.md"]["docid"] == last
    assert result["structuredContent"]["stages"] == [{"stage": "lexical", "status": "ran"}]
    assert "isError" not in result


def test_search_snippets_number_lines_as_in_the_file(agent: Agent) -> None:
    (hit,) = agent.call("search", query="travel trains")["structuredContent"]["results"][:1]
    lines = LIBRARY["notes", "2025/plan.md"].split("\n")
    shown = [line.partition(": ") for line in hit["snippet"].split("\n")]
    assert [text for _, _, text in shown] == [lines[int(number) - 1] for number, _, _ in shown]
    assert str(hit["line"]) in [number for number, _, _ in shown]


def test_search_scores_have_two_decimals_and_agree_with_the_summary(agent: Agent) -> None:
    result = agent.call("search", query="kestrel", limit=40)
    lines = result["content"][0]["text"].split("\n\n", 1)[1].split("\n")
    found = result["structuredContent"]["results"]
    assert len(lines) == len(found) == 32
    for line, each in zip(lines, found, strict=True):
        assert line.split(" ")[1] == f"{round(each['score'] * 100)}%"
        assert round(each["score"], 2) == each["score"]
        assert 0 <= each["score"] <= 1


@pytest.mark.parametrize("tool", ["search", "query"])
def test_search_filters_are_arguments_or_typed(agent: Agent, tool: str) -> None:
    found = agent.call(tool, query="kestrel")["structuredContent"]["results"]
    within = agent.call(tool, query="kestrel", after="2000", before="9999")
    assert within["structuredContent"]["results"] == found
    for arguments in (
        {"query": "kestrel", "before": "2000"},
        {"query": "kestrel", "author": "nobody"},
        {"query": "kestrel before:2000"},
    ):
        assert agent.call(tool, **arguments)["structuredContent"]["results"] == []
    refused = agent.call(tool, query="kestrel", before="nonsense")
    told = (
        "before must be a date, such as 2024, 2024-06, 2024-06-30, 7d, last-week, "
        "yesterday or 上周, not 'nonsense'"
    )
    assert refused == {"content": [{"type": "text", "text": told}], "isError": True}


def test_search_heading_has_singular_for_one_result(agent: Agent) -> None:
    assert agent.text("search", query="zebra").startswith('Found 1 result for "zebra":\n\n#')
    assert agent.text("search", query="nowhere") == 'No results found for "nowhere"'


def test_search_hit_without_a_context_has_null(agent: Agent) -> None:
    (hit,) = agent.call("search", query="zebra")["structuredContent"]["results"]
    assert hit["context"] is None
    assert hit["file"] == "notes/odd #1?.md"


def test_search_limit_defaults_to_ten_and_min_score_filters(agent: Agent) -> None:
    assert len(agent.call("search", query="kestrel")["structuredContent"]["results"]) == 10
    assert len(agent.call("search", query="kestrel", limit=3)["structuredContent"]["results"]) == 3
    assert agent.text("search", query="kestrel", minScore=1) == 'No results found for "kestrel"'


def test_vsearch_finds_by_meaning(seeing: Agent) -> None:
    result = seeing.call("vsearch", query="journeys by rail", limit=3, collection="notes")
    assert "notes/2025/plan.md" in [each["file"] for each in result["structuredContent"]["results"]]
    assert stages(result)["vector"] == ("ran", None)


def test_vsearch_leaves_out_what_is_about_something_else(seeing: Agent) -> None:
    default, lowest = (
        seeing.call("vsearch", query="xylophone", **given)["structuredContent"]["results"]
        for given in ({}, {"minScore": 0})
    )
    assert default == [each for each in lowest if each["score"] >= 0.3]
    assert len(default) < len(lowest)


def test_query_reports_the_stages(seeing: Agent) -> None:
    told = stages(seeing.call("query", query="which budget is there for travel"))
    assert [told[stage][0] for stage in ("lexical", "vector", "fuse", "rerank")] == ["ran"] * 4
    assert stages(seeing.call("query", query="budget", rerank=False))["rerank"] == (
        "skipped",
        "not asked for",
    )


def test_query_takes_searches_in_place_of_a_query(seeing: Agent) -> None:
    result = seeing.call(
        "query",
        searches=[{"type": "lex", "query": "zebra"}, {"type": "vec", "query": "an animal with stripes"}],
        intent="animals",
        candidateLimit=5,
        limit=1,
    )
    assert result["structuredContent"]["results"][0]["file"] == "notes/odd #1?.md"
    # The heading shows one query for all searches.
    assert result["content"][0]["text"].startswith('Found 1 result for "an animal with stripes":\n\n')
    assert stages(result)["expand"] == ("skipped", "searches were given")


def test_searches_return_indexed_at(seeing: Agent) -> None:
    for tool in ("search", "vsearch", "query"):
        moment = seeing.call(tool, query="kestrel", collection="work")["structuredContent"]["indexedAt"]
        assert MOMENT.fullmatch(moment)
        status = seeing.call("status")["structuredContent"]
        assert moment == {each["name"]: each["lastUpdated"] for each in status["collections"]}["work"]


def test_status_returns_a_text_and_structured_content(agent: Agent, reader: User) -> None:
    result = agent.call("status")
    root = reader.home / "library"
    told = result["structuredContent"]
    indexed_at = told.pop("indexedAt")
    assert MOMENT.fullmatch(indexed_at)
    assert result["content"] == [
        {
            "type": "text",
            "text": "QMD Index Status:\n"
            "  Total documents: 37\n"
            "  Needs embedding: 37\n"
            "  Vector index: no\n"
            "  Collections: 3\n"
            f"    - {root / 'notes'} (6 docs)\n"
            f"    - {root / 'work'} (1 docs)\n"
            f"    - {root / 'crowd'} (30 docs)\n"
            f"  Watching: off; indexed at {indexed_at}\n"
            "  Dates from: file 37",
        }
    ]
    moments = [each.pop("lastUpdated") for each in told["collections"]]
    assert all(MOMENT.fullmatch(moment) for moment in moments)
    assert told == {
        "totalDocuments": 37,
        "needsEmbedding": 37,
        "hasVectorIndex": False,
        "watching": "off",
        "collections": [
            {"name": name, "path": str(root / name), "pattern": "**/*.md", "documents": count}
            for name, count in (("notes", 6), ("work", 1), ("crowd", 30))
        ],
        "fields": [],
        "tags": [],
    }


def test_status_reports_vectors(seeing: Agent) -> None:
    told = seeing.call("status")
    assert "\n  Needs embedding: 0\n  Vector index: yes\n" in told["content"][0]["text"]
    assert told["structuredContent"]["hasVectorIndex"] is True
