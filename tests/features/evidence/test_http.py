"""`/cite`, with exact answers."""

from __future__ import annotations

from tests.clients import Client

TEXT = '"The kestrel budget." (plan.md:5) and "Trains always" (plan.md:7)'


def test_cite_says_what_became_of_each_citation(client: Client) -> None:
    found = client.post("/cite", text=TEXT)
    first, second = found["checks"]
    assert (found["failed"], found["uncited"], "fixed" in found) == (2, 0, False)
    assert found["content"] == (
        "2 citations\n1: plan.md:5 moved: it stands at notes/2025/plan.md:3\n"
        "1: plan.md:7 changed: not quoted exactly; the nearest words are at notes/2025/plan.md:7"
    )
    assert first == {
        "line": 1,
        "column": 24,
        "citation": "plan.md:5",
        "standing": "moved",
        "message": "it stands at notes/2025/plan.md:3",
        "quote": "The kestrel budget.",
        "file": "notes/2025/plan.md",
        "address": "notes/2025/plan.md:3",
        "first_line": 3,
        "last_line": 3,
        "text": "The kestrel budget",
        "difference": "",
        "candidates": [],
        "start": 23,
        "end": 32,
        "replacement": "plan.md:3",
    }
    assert second["difference"] == "Trains [-always-] {+only+}"


def test_cite_rewrites_moved_citations_on_request(client: Client) -> None:
    assert client.post("/cite", text=TEXT, fix=True)["fixed"] == TEXT.replace("plan.md:5", "plan.md:3")


def test_cite_refuses_a_text_that_is_too_long(client: Client) -> None:
    assert "citations" in client.refused(400, "/cite", text="plan.md:1 " * 6_000)
