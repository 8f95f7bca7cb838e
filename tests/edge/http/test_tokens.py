"""`tokens`: the body of an answer stays within a number of tokens."""

from __future__ import annotations

from typing import Any

import pytest

from qmd.text import budget
from tests.clients import Client


@pytest.mark.parametrize("tokens", [200, 600])
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/search", {"query": "kestrel", "limit": 40, "facets": ["ext"]}),
        ("/search", {"query": "kestrel", "limit": 40, "full": True}),
        ("/query", {"query": "kestrel", "limit": 40, "rerank": False}),
        ("/get", {"file": "big.md"}),
        ("/multi_get", {"pattern": "crowd/*.md"}),
    ],
    ids=str,
)
def test_body_stays_within_tokens(client: Client, path: str, fields: dict[str, Any], tokens: int) -> None:
    answer = client.ask("POST", path, fields | {"tokens": tokens})
    assert answer.status == 200
    assert budget.count(answer.text) <= tokens
    assert answer.json["note"].endswith(": raise tokens")
    assert "note" not in client.ask("POST", path, fields | {"tokens": 1_000_000}).json


def test_too_few_tokens_are_refused_with_the_least_number(client: Client) -> None:
    told = client.ask("POST", "/get", {"file": "big.md", "tokens": 2}).detail(400)
    assert told.startswith("tokens 2 is too little for this answer (raise it to ")
