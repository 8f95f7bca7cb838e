"""`embed`, `vsearch` and `query` with the real default models."""

from __future__ import annotations

import json

from tests.users import FILES, User


def test_embed_embeds_every_text_once(seer: User) -> None:
    assert seer.ok("embed") == "Nothing to embed: every text has its vectors.\n"
    state = json.loads(seer.ok("status", "--json"))
    assert state["needs_embedding"] == 0
    assert state["has_vector_index"] is True
    assert "chunks by multilingual-e5-small" in seer.ok("status")


def test_embed_reports_the_number_of_texts_and_chunks(user: User) -> None:
    user.ok("collection", "add", str(user.notes / "2026"), "--name", "few")
    assert user.ok("embed").startswith("Embedded 1 text (1 chunk) in ")
    assert user.ok("embed", "--force", "-c", "few").startswith("Embedded 1 text (1 chunk) in ")


def test_vsearch_finds_meaning_across_languages(seer: User) -> None:
    found = json.loads(seer.ok("vsearch", "how do I move a database safely", "--json", "-n", "3"))
    assert "qmd://notes/数据库 迁移.md" in [hit["file"] for hit in found]
    assert seer.ok("vector-search", "how do I move a database safely", "-n", "3", "--json") == seer.ok(
        "vsearch", "how do I move a database safely", "-n", "3", "--json"
    )
    assert len(json.loads(seer.ok("vsearch", "anything", "--all", "--min-score", "0", "--json"))) == len(
        FILES
    )


def test_query_explain_shows_lexical_and_vector_scores(seer: User) -> None:
    text = seer.ok("query", "going back to an earlier release", "--explain", "-n", "1")
    assert text.startswith("notes/deploy.md:")
    for part in ("lexical:original", "vector:original", "fused", "rerank", "blend", "Stages:"):
        assert part in text
    hit = json.loads(seer.ok("deep-search", "rollback", "--explain", "--json", "--ranking", "contract"))[0]
    assert hit["explain"]["ranking"] == "contract"


def test_query_reads_a_query_document_from_stdin(seer: User) -> None:
    document = "intent: operations\nlex: rollback\nvec: how do I undo a deployment\n"
    found = json.loads(seer.ok("query", "-", "--json", "-n", "1", input=document))
    assert found[0]["file"] == "qmd://notes/deploy.md"


def test_query_reports_a_model_that_misses_the_timeout(seer: User) -> None:
    found = seer.run("query", "rollback", "--timeout", "0.001", "--json")
    # The results that are ready by then are printed. There may be none.
    assert found.returncode == (0 if found.stdout else 1)
    assert "timed out: not ready within 0.001 s" in found.stderr
