"""`/search`, `/vsearch` and `/query`, with exact answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients import Client, Server
from tests.library import docid
from tests.users import User

KNOWN = (
    "query, limit, offset, min_score, collection, author, after, before, tag, path, ext, lang, where, state, "
    "current, filter, collections, scores, explain, full, passages, in_order, context_lines, facets, recent, "
    "half_life, sort, fold, marks, tokens"
)
NO_VECTORS = "Vector index not found. Run 'qmd embed' first to create embeddings."


def test_search_returns_hits_and_a_text(client: Client) -> None:
    found = client.post("/search", query="budget")
    assert set(found) == {"results", "content", "stages", "indexed_at"}
    assert found["stages"] == [{"stage": "lexical", "status": "ran"}]
    assert found["indexed_at"].endswith("Z")
    plan, travel = sorted(found["results"], key=lambda hit: str(hit["file"]), reverse=True)
    assert plan == {
        "docid": docid("notes", "2025/plan.md"),
        "file": "notes/2025/plan.md",
        "title": "Plan",
        "score": plan["score"],
        "context": "Notes of 2025",
        "snippet": "1: # Plan\n2: \n3: The kestrel budget.\n4: \n5: ## Travel\n6: \n7: Trains only.",
        "address": "notes/2025/plan.md:1:20",
        "line": 3,
        "section": "Plan",
    }
    assert 0 < plan["score"] <= 1
    assert round(plan["score"], 2) == plan["score"]
    lines = [
        f"{hit['docid']} {round(hit['score'] * 100)}% {hit['file']} - {hit['title']}"
        for hit in found["results"]
    ]
    assert found["content"] == 'Found 2 results for "budget"\n\n' + "\n\n".join(lines)
    assert travel["title"] == "Last year"


def test_search_without_results_succeeds(client: Client) -> None:
    found = client.post("/search", query="xylophone")
    assert (found["results"], found["content"]) == ([], 'No results found for "xylophone"')


@pytest.mark.parametrize("path", ["/search", "/query"])
def test_search_filters_can_be_fields_or_typed(client: Client, path: str) -> None:
    found = client.post(path, query="kestrel", limit=1000)["results"]
    assert client.post(path, query="kestrel", limit=1000, after="2000", before="9999")["results"] == found
    assert client.post(path, query="kestrel after:2000", limit=1000)["results"] == found
    assert client.post(path, query="kestrel", before="2000")["results"] == []
    assert client.post(path, query="kestrel", author="nobody")["results"] == []
    assert client.post(path, query="kestrel author:nobody")["results"] == []
    told = client.refused(400, path, query="kestrel", after="nonsense")
    assert (
        told == "after must be a date, such as 2024, 2024-06, 2024-06-30, 7d, last-week, "
        "yesterday or 上周, not 'nonsense'"
    )
    assert client.refused(400, path, query="kestrel after:nonsense").startswith(told)
    assert client.refused(400, path, query="kestrel", author=" ") == "author is empty"


def test_search_in_an_unknown_collection_lists_the_known_ones(client: Client) -> None:
    for path in ("/search", "/query"):
        told = client.refused(404, path, query="a", collection="nots")
        assert told.startswith("Collection not found: nots (did you mean 'notes'?")
        assert "known collections: notes, work, crowd" in told


def test_search_applies_limit_and_min_score(client: Client) -> None:
    assert len(client.post("/search", query="kestrel", limit=3)["results"]) == 3
    assert len(client.post("/search", query="kestrel")["results"]) == 10
    assert len(client.post("/search", query="kestrel", limit=1000)["results"]) == 32
    assert client.post("/search", query="kestrel", min_score=1)["results"] == []


def test_vsearch_needs_vectors(client: Client) -> None:
    assert client.refused(503, "/vsearch", query="birds") == NO_VECTORS


def test_query_has_explanations_only_on_request(seeing: Client) -> None:
    assert "explain" not in seeing.post("/query", query="kestrel")["results"][0]
    assert seeing.post("/query", query="kestrel", explain=True)["results"][0]["explain"]["fused"]


def test_query_takes_searches_collections_and_intent(seeing: Client) -> None:
    found = seeing.post(
        "/query",
        searches=[{"type": "lex", "query": "kestrel"}, {"type": "vec", "query": "how much money is there"}],
        collections=["notes", "work"],
        intent="travel",
        candidate_limit=5,
        rerank=False,
    )
    assert {hit["file"].split("/")[0] for hit in found["results"]} <= {"notes", "work"}
    stages = {stage["stage"]: stage["status"] for stage in found["stages"]}
    assert stages["rerank"] == "skipped"


def test_all_searches_take_the_options_of_the_command_line(seeing: Client) -> None:
    for path in ("/search", "/vsearch", "/query"):
        options: dict[str, Any] = {"collections": ["notes", "work"], "explain": True, "full": True}
        options |= {"scores": "raw", "path": ["2025/"]}
        options |= {} if path == "/search" else {"timeout": 5, "expand": False}
        options |= {"ranking": "contract"} if path == "/query" else {}
        (hit, *others) = seeing.post(path, query="kestrel budget", **options)["results"]
        assert hit["file"] == "notes/2025/plan.md"
        assert all(each["file"].split("/")[1] == "2025" for each in others)
        assert hit["body"].startswith("# Plan\n")
        assert hit["explain"]
        assert seeing.post(path, query="kestrel", tag=["none"])["results"] == []
        assert seeing.post(path, query="kestrel", where=["ext=none"])["results"] == []
    assert client_refuses(seeing, tag=[" "]) == "tag is empty"
    assert client_refuses(seeing, where=["=x"]).startswith("wrong filter: '=x'")


def client_refuses(client: Client, **options: Any) -> str:
    return client.refused(400, "/search", query="kestrel", **options)


def test_search_treats_null_as_not_given(client: Client) -> None:
    fields: dict[str, Any] = {"query": "zebra", "collection": None}
    assert client.ok("POST", "/search", fields) == client.post("/search", query="zebra")


#: What HTTP says otherwise than MCP: tests/edge/mcp/test_tools.py has all forms of errors.
@pytest.mark.parametrize(
    ("path", "fields", "detail"),
    [
        ("/search", {"query": "  "}, "the query is empty"),
        ("/search", {"query": "a" * 10_001}, "query: string should have at most 10000 characters"),
        ("/search", {"query": "a", "limit": "3"}, 'limit: input should be a valid integer, not "3"'),
        ("/search", {"query": "a", "min_score": "1"}, 'min_score: input should be a valid number, not "1"'),
        (
            "/search",
            {"query": "a", "minScore": 0},
            f"minScore: unknown field (did you mean min_score?); known fields: {KNOWN}",
        ),
        (
            "/search",
            {"query": "a", "top_k": 3},
            f"top_k: unknown field (did you mean limit?); known fields: {KNOWN}",
        ),
        ("/search", {"query": "a", "rerank": False}, f"rerank: unknown field; known fields: {KNOWN}"),
        ("/search", {"query": "a", "half_life": 0}, "half_life: input should be greater than 0, not 0"),
        (
            "/query",
            {"query": "a", "timeout": 601},
            "timeout: input should be less than or equal to 600, not 601",
        ),
        (
            "/query",
            {"query": "a", "ranking": "x"},
            "ranking: input should be 'contract' or 'tuned', not \"x\"",
        ),
    ],
)
def test_searches_refuse_invalid_fields_by_name(
    client: Client, path: str, fields: dict[str, Any], detail: str
) -> None:
    assert client.refused(400, path, **fields) == detail


def test_integer_field_accepts_a_number_without_a_fraction(client: Client) -> None:
    answer = client.ask("POST", "/search", body=b'{"query": "kestrel", "limit": 2.0, "min_score": 0}')
    assert len(answer.json["results"]) == 2


def test_search_results_can_be_sorted_folded_and_weighted_by_date(client: Client) -> None:
    plain = client.post("/search", query="budget")
    assert client.post("/search", query="budget", recent=False, fold=False, sort="relevance") == plain
    for options in ({"sort": "date"}, {"recent": True}, {"half_life": 30}, {"fold": True}):
        found = client.post("/search", query="budget", **options)
        assert {hit["file"] for hit in found["results"]} == {hit["file"] for hit in plain["results"]}
        assert all("also" not in hit and "pinned" not in hit for hit in found["results"])


@pytest.mark.slow
def test_pin_of_the_command_line_applies_immediately(owner: User, server: Server) -> None:
    owner.ok("collection", "add", str(owner.home / "folder"), "--name", "folder")
    owner.ok("pin", "words", "sub/c.md")
    first, second, *_ = (found := server.post("/search", query="words"))["results"]
    assert (first["file"], first["pinned"], first["score"]) == ("folder/sub/c.md", True, 1)
    assert "pinned" not in second
    assert found["content"].split("\n\n")[1].endswith(" [pinned]")
    assert found["stages"][-1]["reason"] == "documents for this query: 1 pinned, 0 marked"
    assert "pinned" not in server.post("/search", query="words", marks=False)["results"][0]
    # The server applies the same pins to searches of the command line.
    assert owner.ok("search", "words", "--mode", "server", "--csv") == owner.ok(
        "search", "words", "--mode", "local", "--csv"
    )


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("kestrel NOT budget", ["NOT is a word here: -budget leaves out the documents that have it"]),
        (
            "kestrel AND budget AND trains",
            ["AND is a word here: write the words alone, and documents with all of them come first"],
        ),
        (
            "kestrel OR budget",
            ["OR is a word here: write the words alone, and documents with any of them are found"],
        ),
        (
            "/ke.*l/",
            [
                "/ke.*l/ is text here: word* finds words that begin so, "
                "and quotes find words that stand together"
            ],
        ),
        ("KESTREL AND BUDGET", []),
        ("kestrel and not budget /usr/bin/", []),
        ('"kestrel AND budget"', []),
    ],
)
def test_searches_say_once_what_to_write_for_operators_of_others(
    client: Client, query: str, advice: list[str]
) -> None:
    for path in ("/search", "/query"):
        stages = client.post(path, query=query)["stages"]
        assert [each["reason"] for each in stages if each["stage"] == "operators"] == advice
    assert not any(each["stage"] == "operators" for each in client.post("/pack", query="kestrel")["stages"])


def test_pages_of_results_say_how_many_there_are_and_how_to_go_on(client: Client) -> None:
    first = client.post("/search", query="budget", limit=1)
    assert (first["total"], first["next_offset"]) == (2, 1)
    second = client.post("/search", query="budget", limit=1, offset=first["next_offset"])
    assert second["total"] == 2 and "next_offset" not in second
    both = client.post("/search", query="budget")["results"]
    assert [*first["results"], *second["results"]] == both
    past = client.post("/search", query="budget", offset=2)
    assert (
        past["results"] == []
        and {"stage": "offset", "status": "skipped"}.items() <= past["stages"][-1].items()
    )
    assert client.refused(400, "/search", query="budget", offset=-1).startswith("offset: ")
    assert {hit["file"] for hit in client.post("/search", query="budget", ext=["md", ".txt"])["results"]} == {
        hit["file"] for hit in both
    }
