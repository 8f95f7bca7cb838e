"""`get`, `multi_get` and resources, with exact answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents import Agent, StartAgent
from tests.library import LIBRARY, MEETING, docid
from tests.users import User

MEETING_URI = "qmd://notes/meeting.md"
PLAN = LIBRARY["notes", "2025/plan.md"]


def resource(
    text: str, path: str = "notes/meeting.md", title: str = "Meeting", uri: str | None = None
) -> Any:
    return {
        "uri": uri or f"qmd://{path}",
        "name": path,
        "title": title,
        "mimeType": "text/markdown",
        "text": text,
    }


def embedded(*arguments: Any, **named: Any) -> Any:
    return {"type": "resource", "resource": resource(*arguments, **named)}


def lines(first: int, count: int) -> list[str]:
    return MEETING.split("\n")[first - 1 : first - 1 + count]


def numbered(first: int, count: int) -> str:
    return "\n".join(f"{first + number}: {line}" for number, line in enumerate(lines(first, count)))


def shown(agent: Agent, **arguments: Any) -> str:
    (block,) = agent.call("get", **arguments)["content"]
    text: str = block["resource"]["text"]
    return text


def test_get_and_multi_get_return_resources_with_indexed_at(agent: Agent) -> None:
    indexed_at = agent.call("status")["structuredContent"]["indexedAt"]
    assert agent.call("get", file="notes/meeting.md") == {
        "content": [embedded(MEETING)],
        "_meta": {"indexedAt": indexed_at},
    }
    assert agent.call("multi_get", pattern="meeting.md")["_meta"] == {"indexedAt": indexed_at}


def test_resource_fields_are_in_order(agent: Agent) -> None:
    (block,) = agent.call("get", file="notes/meeting.md")["content"]
    assert list(block["resource"]) == ["uri", "name", "title", "mimeType", "text"]


@pytest.mark.parametrize(
    "file",
    [
        "notes/meeting.md",
        "qmd://notes/meeting.md",
        "QMD://notes/meeting.md",
        "notes/2025/../meeting.md",
        docid("notes", "meeting.md"),
        docid("notes", "meeting.md")[1:],
        docid("notes", "meeting.md").upper(),
    ],
)
def test_get_accepts_every_kind_of_reference(agent: Agent, file: str) -> None:
    if ".." in file:
        # Parent segments are never resolved.
        agent.failure("get", file=file)
    else:
        assert shown(agent, file=file) == MEETING


def test_get_finds_a_file_whose_name_begins_with_a_space(agent: Agent) -> None:
    assert "Budget and travel." in shown(agent, file=" meeting.md")
    assert "Budget and travel." in shown(agent, file=" meeting.md:3")
    # Spaces around other names are ignored.
    assert shown(agent, file=" notes/meeting.md ") == MEETING


def test_get_accepts_a_path_on_disk(agent: Agent, reader: User) -> None:
    assert shown(agent, file=str(reader.home / "library" / "notes" / "meeting.md")) == MEETING


def test_get_puts_the_context_above_the_text(agent: Agent, seeing: Agent) -> None:
    assert shown(agent, file="plan.md") == f"<!-- Context: Notes of 2025 -->\n\n{PLAN}"
    joined = "Everything here\n\nPersonal notes\n\nNotes of 2025"
    assert shown(seeing, file="plan.md") == f"<!-- Context: {joined} -->\n\n{PLAN}"


def test_get_encodes_uris_by_segment(agent: Agent) -> None:
    (block,) = agent.call("get", file="notes/2025/ meeting.md")["content"]
    assert block["resource"]["uri"] == "qmd://notes/2025/%20meeting.md"
    assert block["resource"]["name"] == "notes/2025/ meeting.md"
    (block,) = agent.call("get", file="notes/odd #1?.md")["content"]
    assert block["resource"]["uri"] == "qmd://notes/odd%20%231%3F.md"


@pytest.mark.parametrize(
    "arguments",
    [
        {"file": "notes/meeting.md", "fromLine": 120, "maxLines": 20},
        {"file": "notes/meeting.md:120", "maxLines": 20},
        {"file": "notes/meeting.md:120:20"},
        {"file": "notes/meeting.md:120:20", "fromLine": 3, "maxLines": 4},
        {"file": "qmd://notes/meeting.md:120:20"},
        {"file": f"{docid('notes', 'meeting.md')}:120:20"},
    ],
    ids=str,
)
def test_get_returns_exactly_the_requested_lines(agent: Agent, arguments: dict[str, Any]) -> None:
    assert shown(agent, **arguments) == "\n".join(lines(120, 20))
    assert shown(agent, **arguments, lineNumbers=True) == numbered(120, 20)


def test_get_line_numbers_count_from_the_first_line_returned(agent: Agent) -> None:
    assert shown(agent, file="notes/meeting.md", lineNumbers=True) == numbered(1, 140)
    assert shown(agent, file="notes/meeting.md:139", lineNumbers=True) == "139: line 139\n140: the last line"


def test_multi_get_returns_errors_first_and_documents_in_order(agent: Agent) -> None:
    result = agent.call(
        "multi_get", pattern="report.md, notes/gone.md, notes/big.md, notes/meeting.md", maxLines=2
    )
    assert set(result.pop("_meta")) == {"indexedAt"}
    assert result == {
        "content": [
            {
                "type": "text",
                "text": "Errors:\nDocument not found: notes/gone.md\nFile too large: notes/big.md (skipped)",
            },
            embedded(
                "<!-- work/report.md - Report -->\n\n# Report\n\n\n[... truncated 1 more lines]",
                path="work/report.md",
                title="Report",
            ),
            {
                "type": "text",
                "text": "[SKIPPED: notes/big.md - File too large (15KB). "
                "Use 'get' with file=\"notes/big.md\" to retrieve.]",
            },
            embedded(
                "<!-- notes/meeting.md - Meeting -->\n\n# Meeting\nline 2\n\n[... truncated 138 more lines]"
            ),
        ]
    }


def test_multi_get_begins_texts_with_address_and_title_if_there_are_several(agent: Agent) -> None:
    asked = {"pattern": "notes/meeting.md:139, notes/2025/plan.md", "maxLines": 1, "lineNumbers": True}
    last, plan = (block["resource"]["text"] for block in agent.call("multi_get", **asked)["content"])
    assert last.startswith("<!-- notes/meeting.md:139 - Meeting -->\n\n139: line 139\n")
    assert plan.startswith(
        "<!-- notes/2025/plan.md - Plan -->\n\n<!-- Context: Notes of 2025 -->\n\n1: # Plan"
    )
    (block,) = agent.call("multi_get", pattern="notes/meeting.md", maxLines=1)["content"]
    assert block["resource"]["text"].startswith("# Meeting")


def test_multi_get_does_not_number_the_truncation_note(agent: Agent) -> None:
    (block,) = agent.call("multi_get", pattern="meeting.md:139:1, ", lineNumbers=True)["content"]
    assert block["resource"]["text"] == "139: line 139\n\n[... truncated 1 more lines]"


def test_multi_get_without_errors_has_no_error_text(agent: Agent) -> None:
    content = agent.call("multi_get", pattern="notes/2025/*.md")["content"]
    assert [each["resource"]["name"] for each in content] == ["notes/2025/ meeting.md", "notes/2025/plan.md"]


def test_multi_get_max_bytes_counts_bytes(agent: Agent) -> None:
    size = len(LIBRARY["notes", "数据库.md"].encode())
    (block,) = agent.call("multi_get", pattern="数据库.md", maxBytes=size)["content"]
    assert block["type"] == "resource"
    content = agent.call("multi_get", pattern="数据库.md", maxBytes=size - 1)["content"]
    assert [each["type"] for each in content] == ["text", "text"]
    assert "(1KB)" in content[1]["text"]


@pytest.mark.slow
def test_text_resources_setting_returns_documents_as_text(start: StartAgent, reader: User) -> None:
    agent = start(reader, QMD_MCP_TEXT_RESOURCES="1")
    agent.greet()
    assert agent.text("get", file="notes/meeting.md") == MEETING
    content = agent.call("multi_get", pattern="plan.md, report.md")["content"]
    assert [each["type"] for each in content] == ["text", "text"]


def test_resources_have_one_template_and_no_list(agent: Agent) -> None:
    assert agent.result("resources/list") == {"resources": []}
    (template,) = agent.result("resources/templates/list")["resourceTemplates"]
    assert template.pop("name")
    assert template.pop("description") == (
        "A markdown document from your QMD knowledge base. Use search tools to discover documents."
    )
    assert template == {
        "uriTemplate": "qmd://{+path}",
        "title": "QMD Document",
        "mimeType": "text/markdown",
    }


@pytest.mark.parametrize(
    "uri",
    ["qmd://notes/2025/plan.md", "qmd://notes%2F2025%2Fplan.md", "qmd://plan.md", "qmd://2025/pl%61n.md"],
)
def test_resource_has_line_numbers_and_its_context(agent: Agent, uri: str) -> None:
    text = (
        "<!-- Context: Notes of 2025 -->\n\n"
        "1: # Plan\n2: \n3: The kestrel budget.\n4: \n5: ## Travel\n6: \n7: Trains only."
    )
    assert agent.result("resources/read", uri=uri) == {
        "contents": [resource(text, path="notes/2025/plan.md", title="Plan")]
    }


@pytest.mark.parametrize("uri", ["qmd://notes/2025/%20meeting.md", "qmd://notes/2025/ meeting.md"])
def test_resource_uri_may_be_encoded_or_not(agent: Agent, uri: str) -> None:
    (found,) = agent.result("resources/read", uri=uri)["contents"]
    assert (found["name"], found["uri"]) == ("notes/2025/ meeting.md", "qmd://notes/2025/%20meeting.md")


def test_multi_get_returns_a_repeated_document_once(agent: Agent) -> None:
    content = agent.call("multi_get", pattern="plan.md, notes/2025/plan.md, report.md, **/plan.md")["content"]
    assert [block["resource"]["name"] for block in content] == ["notes/2025/plan.md", "work/report.md"]
    assert len(agent.call("multi_get", pattern="plan.md:1:1, plan.md:3:1")["content"]) == 2


def test_multi_get_limits_the_total_size(agent: Agent) -> None:
    content = agent.call("multi_get", pattern="crowd/*", maxBytes=300)["content"]
    *read, left_out = content
    texts = [block["resource"]["text"].partition(" -->\n\n")[2] for block in read]
    assert 100 < sum(map(len, texts)) <= 300
    first, *names = left_out["text"].splitlines()
    assert first.startswith("[LEFT OUT: the answer would be larger than maxBytes.")
    assert [block["resource"]["name"] for block in read] + names == [
        f"crowd/bird{number:02}.md" for number in range(30)
    ]


def test_missing_resource_is_a_protocol_error(agent: Agent) -> None:
    error = agent.error("resources/read", uri="qmd://notes/gone.md")
    assert error["code"] == -32002
    assert error["message"].startswith("Document not found: qmd://notes/gone.md")
    assert error["data"] == {"uri": "qmd://notes/gone.md"}


def test_every_uri_from_a_tool_is_readable(agent: Agent) -> None:
    for block in agent.call("multi_get", pattern="**", maxBytes=100_000)["content"]:
        given = block["resource"]
        (found,) = agent.result("resources/read", uri=given["uri"])["contents"]
        assert (found["uri"], found["name"]) == (given["uri"], given["name"])


def test_prompt_guide_names_every_tool(agent: Agent) -> None:
    (prompt,) = agent.result("prompts/list")["prompts"]
    assert prompt["name"] == "query"
    assert "arguments" not in prompt
    (message,) = agent.result("prompts/get", name="query")["messages"]
    assert (message["role"], message["content"]["type"]) == ("user", "text")
    guide = message["content"]["text"]
    headings = [line for line in guide.split("\n") if line.startswith("#")]
    assert headings == [
        "# QMD - Quick Markdown Search",
        "## Available Tools",
        "### 1. search (Fast keyword search)",
        "### 2. vsearch (Semantic search)",
        "### 3. query (Hybrid search - highest quality)",
        "### 4. get (Retrieve document)",
        "### 5. multi_get (Retrieve multiple documents)",
        "### 6. status (Index info)",
        "## Resources",
        "## Search Strategy",
        "## Tips",
    ]
    assert "resources/list" not in guide
    # The guide says so only if a model or store is remote.
    assert "leaves the machine" not in guide


@pytest.mark.slow
def test_hits_and_documents_have_anchors_of_source_files(newcomer: User, start: StartAgent) -> None:
    folder = newcomer.home / "papers"
    folder.mkdir()
    cells = [{"cell_type": "markdown", "source": text} for text in ("# Birds", "A heron.", "An ibis.")]
    (folder / "a.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    newcomer.ok("collection", "add", str(folder), "--formats", "notebook")
    agent = start(newcomer)
    agent.greet()
    found = agent.call("search", query="ibis")
    (hit,) = found["structuredContent"]["results"]
    assert hit["anchor"] == {"kind": "cell", "value": 3}
    assert "papers/a.ipynb:c3" in found["content"][0]["text"]
    (block,) = agent.call("get", file="papers/a.ipynb:c2-3")["content"]
    assert block["resource"]["anchor"] == {"kind": "cell", "value": 2}
    assert block["resource"]["text"] == "A heron.\n\nAn ibis."


def test_get_takes_lines_as_addresses_of_code_hosts_end(agent: Agent) -> None:
    for reference, first, count in (
        ("meeting.md#L2-L4", 2, 3),
        ("meeting.md#L3", 3, 1),
        ("meeting.md#L2-4", 2, 3),
    ):
        (block,) = agent.call("get", file=reference)["content"]
        assert block["resource"]["text"] == "\n".join(lines(first, count))
        several = agent.call("multi_get", pattern=f"{reference}, notes/gone.md")["content"]
        assert "\n".join(lines(first, count)) in several[1]["resource"]["text"]


def test_get_says_what_reads_several_documents(agent: Agent) -> None:
    for reference in ("notes", "qmd://notes", "notes/2025"):
        name = reference.removeprefix("qmd://")
        assert agent.failure("get", file=reference) == (
            f"Document not found: {reference} (multi-get takes {name}/**)"
        )
        assert len(agent.call("multi_get", pattern=f"{name}/**", maxLines=1)["content"]) > 1
    assert (
        agent.failure("multi_get", pattern="notes") == "Document not found: notes (multi-get takes notes/**)"
    )
    for reference in ("notes/*.md", "meeting.md, big.md"):
        told = agent.failure("get", file=reference)
        assert told.endswith("(multi-get takes patterns and lists)")
        assert len(agent.call("multi_get", pattern=reference, maxLines=1)["content"]) > 1
