"""Vectors that are replaced during a search."""

from __future__ import annotations

from pathlib import Path

import pytest

import qmd
from tests.conftest import Notes
from tests.model_server import Reply, as_json, embedding, serving


@pytest.mark.parametrize("kind", ["vsearch", "query"])
def test_search_restarts_if_its_vectors_are_replaced(
    tmp_path: Path, environ: dict[str, str], notes: Notes, kind: str
) -> None:
    folder = notes(
        {
            name: f"---\nauthor: {name[0]}\n---\n# Herons\n\nherons nest {name}"
            for name in ("ann.md", "bob.md")
        }
    )
    with serving() as server:
        first, second = (
            qmd.open_index(
                tmp_path / "index.sqlite",
                environ=environ | {"QMD_EMBED_MODEL": f"openai:{name}@{server.url}"},
            )
            for name in ("earlier", "later")
        )
        with first, second:
            first.add_collection(str(folder), "notes")
            first.embed()

            def replace_vectors() -> Reply:
                second.embed()
                return as_json({"data": [{"index": 0, "embedding": embedding("herons")}]})

            server.faults = [replace_vectors]
            asked = "herons author:b"
            options = {"rerank": False} if kind == "query" else {}
            # The vectors of the later model do not exist before its first search, so the earlier ones are
            # used.
            response = getattr(second, kind)(asked, expand=False, **options)
            assert server.faults == []
            assert response.query == asked
            assert [hit.path for hit in response.hits] == ["bob.md"]
            assert [each.status for each in response.stages if each.stage == "vector"] == ["ran"]
            assert first.status().needs_embedding == 2
