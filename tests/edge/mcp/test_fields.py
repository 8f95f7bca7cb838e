"""Filters, fields, links and sections over MCP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.agents import Agent, StartAgent, agents
from tests.library import add_vault
from tests.users import MakeUser, User

DRAFT = {"field": "status", "operator": "eq", "value": "draft"}
SECTION = "### Restoring\n\nRestore the kestrel from the tape.\n"


@pytest.fixture(scope="module")
def vault(make_user: MakeUser) -> Iterator[Agent]:
    with agents() as start:
        agent = start(add_vault(make_user("mcp-vault")))
        agent.greet()
        yield agent


def files(result: Any) -> list[str]:
    return [hit["file"] for hit in result["structuredContent"]["results"]]


@pytest.mark.parametrize("tool", ["search", "query"])
def test_searches_take_a_filter(vault: Agent, tool: str) -> None:
    found = vault.call(tool, query="kestrel", filter=DRAFT)
    assert sorted(files(found)) == ["notes/ops/run.md", "notes/plan.md"]
    not_work = {"operator": "not", "operands": [{"field": "tag", "operator": "eq", "value": "work"}]}
    assert files(vault.call(tool, query="kestrel", filter=not_work)) == ["work/report.md"]
    for typed in ("[status:draft]", "status=draft", "status:draft -path:work/"):
        assert files(vault.call(tool, query="kestrel", filter=typed)) == files(found), typed
    assert files(vault.call(tool, query="kestrel", filter="-tag:work")) == ["work/report.md"]
    assert files(vault.call(tool, query="kestrel", filter=None)) == files(vault.call(tool, query="kestrel"))


@pytest.mark.parametrize("tool", ["search", "vsearch", "query"])
def test_searches_refuse_an_invalid_filter_in_one_line(vault: Agent, tool: str) -> None:
    wrong = {"operator": "and", "operands": [DRAFT, DRAFT | {"operator": "contain"}]}
    told = vault.failure(tool, query="kestrel", filter=wrong)
    assert told.startswith('filter.operands[1].operator: unknown: "contain" (did you mean')
    assert "\n" not in told
    assert vault.failure(tool, query="x", filter="draft").startswith("filter: no filter: 'draft' (write ")
    assert vault.failure(tool, query="x", filter="after:soon").startswith("after must be a date")
    assert vault.failure(tool, query="x", filter=5).startswith("filter: must be an object, not 5")
    assert vault.failure(tool, query="x", filter="[word:x] " * 300).startswith("filter: more than 256")
    assert vault.failure(tool, query="x", filter=DRAFT | {"value": "x" * 100_000}) == (
        "filter: longer than 100,000 characters"
    )


def test_search_hits_name_their_section(vault: Agent) -> None:
    result = vault.call("search", query="tape")
    (hit,) = result["structuredContent"]["results"]
    assert hit["section"] == "Operations > Backups > Restoring"
    summary, _ = result["content"]
    assert summary["text"].endswith(
        "notes/ops/run.md - Operations (Operations > Backups > Restoring) [draft]"
    )


def test_get_takes_the_address_of_a_section(vault: Agent) -> None:
    (block,) = vault.call("get", file="notes/ops/run.md#Backups#Restoring")["content"]
    assert block["resource"]["text"] == SECTION
    (resource,) = vault.result("resources/read", uri="qmd://notes/ops/run.md#Restoring")["contents"]
    assert resource["text"].startswith("11: ### Restoring")


def test_get_lists_links_and_backlinks_only_on_request(vault: Agent) -> None:
    plain = vault.call("get", file="plan.md", maxLines=1)
    result = vault.call("get", file="plan.md", maxLines=1, links=True)
    document, links, backlinks = result["content"]
    assert plain == {"content": [document], "_meta": result["_meta"]}
    assert "structuredContent" not in result
    assert links["text"].split("\n") == [
        "Links:",
        "line 9: Budget -> notes/Budget.md",
        "line 9: ops/run.md -> notes/ops/run.md",
        "line 9: Missing -> nothing",
    ]
    assert backlinks["text"].split("\n") == ["Backlinks:", "notes/Budget.md:9: plan#Plan"]


def test_get_lists_twenty_links_and_counts_the_others(vault: Agent) -> None:
    _, links = vault.call("get", file="hub.md", links=True)["content"]
    assert (len(links["text"].split("\n")), links["text"].endswith("\nand 10 more")) == (22, True)
    *_, backlinks = vault.call("get", file="links/00.md", links=True)["content"]
    assert (len(backlinks["text"].split("\n")), backlinks["text"].endswith("\nand 10 more")) == (22, True)


@pytest.mark.parametrize(
    ("file", "quote", "told", "shown"),
    [
        (
            "run.md",
            "Restore the kestrel from",
            "quoted exactly: notes/ops/run.md:13",
            "Restore the kestrel from the tape.",
        ),
        (
            "run.md",
            "Every  night",
            "quoted with other spaces or typography: notes/ops/run.md:9",
            "Every night.",
        ),
        (
            "run.md:9",
            "from the tape",
            "it stands at notes/ops/run.md:13",
            "Restore the kestrel from the tape.",
        ),
        (
            "run.md",
            "Restore a kestrel from the tape",
            "not quoted exactly; the nearest words are at notes/ops/run.md:13: "
            "Restore [-a-] {+the+} kestrel from the tape",
            "Restore the kestrel from the tape.",
        ),
        ("run.md", "Herons are tall birds", "nothing in the document is similar", None),
    ],
)
def test_get_tells_where_a_quotation_stands(
    vault: Agent, file: str, quote: str, told: str, shown: str | None
) -> None:
    first, *rest = vault.call("get", file=file, quote=quote)["content"]
    assert first["text"] == told
    assert [block["resource"]["text"] for block in rest] == ([] if shown is None else [shown])


def test_status_lists_the_top_fields_and_tags(vault: Agent) -> None:
    result = vault.call("status")
    told = result["structuredContent"]
    assert told["fields"] == [
        "status 4: draft 2, published 1, secret 1",
        "priority 2: 1 1, 2 1",
    ]
    assert told["tags"] == ["work 2", "work/planning 1"]
    (block,) = result["content"]
    assert block["text"].endswith(
        "\n  Top fields:\n    - status 4: draft 2, published 1, secret 1\n    - priority 2: 1 1, 2 1"
        "\n  Top tags: work 2, work/planning 1\n  Dates from: text 4, file 31"
    )


@pytest.mark.slow
@pytest.mark.parametrize("word", ["field", "数据库", "😀"])
def test_status_summarizes_fields_briefly(start: StartAgent, newcomer: User, word: str) -> None:
    folder = newcomer.home / "many"
    folder.mkdir()
    for number in range(40):
        fields = "".join(f"{word * 9}{key}: {word * 40}{number}\n" for key in range(40))
        text = f"---\n{fields}tags: [{word}{number}, {word * 10}{number % 3}]\n---\n# Note {number}\n"
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
    newcomer.ok("collection", "add", str(folder), "--name", "many")
    agent = start(newcomer)
    agent.greet()
    told = agent.call("status")["structuredContent"]
    assert told["fields"]
    assert told["tags"]
    # The encoding o200k_base makes fewer than 300 tokens of random letters, ideographs and symbols of this
    # size.
    assert sum(len(entry.encode()) + 2 for entry in (*told["fields"], *told["tags"])) <= 470


def test_status_says_if_folders_are_watched(vault: Agent) -> None:
    result = vault.call("status")
    told = result["structuredContent"]
    # Servers of tests do not watch unless the test enables it.
    assert told["watching"] == "off"
    assert f"\n  Watching: off; indexed at {told['indexedAt']}\n" in result["content"][0]["text"]


@pytest.mark.slow
def test_status_of_an_empty_index_has_no_fields(start: StartAgent, newcomer: User) -> None:
    agent = start(newcomer)
    agent.greet()
    told = agent.call("status")["structuredContent"]
    assert (told["fields"], told["tags"]) == ([], [])


@pytest.mark.slow
def test_status_and_search_print_document_data_on_one_line(start: StartAgent, newcomer: User) -> None:
    folder = newcomer.home / "odd"
    folder.mkdir()
    (folder / "a.md").write_text('---\n"x\\ny": "v\\nw"\n---\n# A\n\n# B\u202e\n\nzebra\n', encoding="utf-8")
    newcomer.ok("collection", "add", str(folder), "--name", "odd")
    agent = start(newcomer)
    agent.greet()
    assert "\n" not in "".join(agent.call("status")["structuredContent"]["fields"])
    assert agent.text("search", query="zebra").count("\n") == 2
