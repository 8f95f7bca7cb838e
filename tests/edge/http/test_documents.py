"""`/get` and `/multi_get`, with exact answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients import Client
from tests.library import docid

PLAN = {
    "uri": "qmd://notes/2025/plan.md",
    "name": "notes/2025/plan.md",
    "title": "Plan",
    "mimeType": "text/markdown",
    "text": "<!-- Context: Notes of 2025 -->\n\n# Plan\n\nThe kestrel budget.\n\n## Travel\n\nTrains only.\n",
}


@pytest.mark.parametrize(
    "file", ["notes/2025/plan.md", "plan.md", "qmd://notes/2025/plan.md", docid("notes", "2025/plan.md")]
)
def test_get_finds_a_document_by_each_of_its_names(client: Client, file: str) -> None:
    indexed_at = client.ok("GET", "/status")["indexed_at"]
    assert client.post("/get", file=file) == {"document": PLAN, "indexed_at": indexed_at, "content": None}


def test_get_selects_and_numbers_lines(client: Client) -> None:
    shown = client.post("/get", file="notes/meeting.md", from_line=120, max_lines=2, line_numbers=True)
    assert shown["document"]["text"] == "120: line 120\n121: line 121"
    assert client.post("/get", file="notes/meeting.md:138:1")["document"]["text"] == "line 138"


def test_get_encodes_addresses_by_segment(client: Client) -> None:
    uri = client.post("/get", file="odd #1?.md")["document"]["uri"]
    assert uri == "qmd://notes/odd%20%231%3F.md"


def test_multi_get_keeps_the_order_and_omits_large_texts(client: Client) -> None:
    found = client.post("/multi_get", pattern="plan.md, big.md, gone.md")
    assert found.pop("indexed_at") == client.ok("GET", "/status")["indexed_at"]
    assert found == {
        "results": [
            PLAN,
            {
                "type": "text",
                "text": "[SKIPPED: notes/big.md - File too large (15KB). "
                "Use 'qmd get' with file=\"notes/big.md\" to retrieve.]",
            },
        ],
        "errors": ["Document not found: gone.md"],
        "content": None,
    }


def test_multi_get_says_how_many_lines_are_truncated(client: Client) -> None:
    found = client.post("/multi_get", pattern="notes/meeting.md", max_lines=2, line_numbers=True)
    text = found["results"][0]["text"]
    assert text == "1: # Meeting\n2: line 2\n\n[...truncated 138 more lines]"


def test_multi_get_without_matches_is_not_found(client: Client) -> None:
    assert client.refused(404, "/multi_get", pattern="*.txt") == "No documents match: *.txt"


@pytest.mark.parametrize(
    ("path", "fields", "detail"),
    [
        ("/get", {}, "file is missing"),
        (
            "/get",
            {"file": "a", "fromLine": 1},
            "fromLine: unknown field (did you mean from_line?); known fields: "
            "file, from_line, max_lines, line_numbers, tokens, as_of",
        ),
        (
            "/get",
            {"file": "a", "from_line": 0},
            "from_line: input should be greater than or equal to 1, not 0",
        ),
        ("/multi_get", {"pattern": " "}, "the pattern is empty"),
        (
            "/multi_get",
            {"pattern": "a", "max_bytes": 0},
            "max_bytes: input should be greater than or equal to 1, not 0",
        ),
    ],
)
def test_get_and_multi_get_refuse_invalid_fields_by_name(
    client: Client, path: str, fields: dict[str, Any], detail: str
) -> None:
    assert client.refused(400, path, **fields) == detail


def test_multi_get_skips_a_document_one_byte_over_the_limit(client: Client) -> None:
    text = client.post("/multi_get", pattern="plan.md")["results"][0]["text"]
    size = len(text.removeprefix("<!-- Context: Notes of 2025 -->\n\n").encode())
    assert "text/markdown" in str(client.post("/multi_get", pattern="plan.md", max_bytes=size))
    assert "SKIPPED" in str(client.post("/multi_get", pattern="plan.md", max_bytes=size - 1))


def test_similar_takes_the_options_of_other_searches_in_its_address(client: Client) -> None:
    address = "/documents/notes/meeting.md/similar?limit=50"

    def found(more: str) -> list[dict[str, Any]]:
        return list(client.ok("GET", address + more)["results"])

    everything = [hit["file"] for hit in found("")]
    assert everything
    inside = [file for file in everything if not file.startswith("notes/2025/")]
    assert [hit["file"] for hit in found("&filter=-path:2025/&state=current&current=true")] == inside
    assert all("body" in hit and "explain" in hit for hit in found("&full=true&explain=true"))
    cut = client.ok("GET", address + "&full=true&fold=true&tokens=400&context_lines=0")
    assert "raise tokens" in cut["note"]
    refused = client.ask("GET", address + "&fold=maybe")
    assert refused.status == 400
    assert "fold" in refused.text
