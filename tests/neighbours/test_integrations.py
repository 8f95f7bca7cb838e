"""The tools for llm, and the retrievers of docs/integrations.md."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.neighbours.conftest import ROOT
from tests.users import User
from tests.waiting import PATIENCE

PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def run(user: User, *command: str | Path) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        # Other plugins in the environment may need packages that are not installed.
        env=user.environ
        | {"LLM_USER_PATH": str(user.home / "llm"), "LLM_LOAD_PLUGINS": "qmd-python,llm-echo"},
        cwd=user.home,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def called(user: User, python: Path, tool: str, name: str, **arguments: Any) -> str:
    """Return the output of a tool. The model calls it and answers with the prompt."""
    prompt = json.dumps({"tool_calls": [{"name": name, "arguments": arguments}], "prompt": ""})
    printed = run(user, python.with_name("llm"), "-m", "echo", "-T", tool, "--no-log", prompt)
    decoder = json.JSONDecoder()
    _, end = decoder.raw_decode(printed)
    (result,) = decoder.raw_decode(printed[end:].lstrip())[0]["tool_results"]
    output: str = result["output"]
    return output


def test_llm_lists_the_tools_of_the_installed_package(python: Path, seer: User) -> None:
    tools = json.loads(run(seer, python.with_name("llm"), "tools", "--json"))
    (tool,) = [tool for tool in tools["tools"] if tool["plugin"] == "qmd"]
    assert tool["name"] == "qmd"
    assert tool["arguments"]["required"] == ["query"]
    (toolbox,) = tools["toolboxes"]
    assert [tool["name"] for tool in toolbox["tools"]] == ["Qmd_get", "Qmd_search"]


def test_llm_tool_searches_by_meaning_and_with_filters(python: Path, seer: User) -> None:
    found = json.loads(called(seer, python, "qmd", "qmd", query="数据丢了怎么恢复 path:ops/", limit=1))
    assert [hit["file"] for hit in found["results"]] == ["notes/ops/backup.md"]


@pytest.mark.parametrize(
    ("file", "start"),
    [
        ("notes/ops/backup.md#Restoring", "10: ## Restoring\n"),
        ("nothing.md", "Error: Document not found: nothing.md"),
    ],
)
def test_llm_toolbox_reads_documents(python: Path, seer: User, file: str, start: str) -> None:
    assert called(seer, python, "Qmd", "Qmd_get", file=file).startswith(start)


def test_llm_toolbox_takes_the_name_of_an_index(python: Path, seer: User) -> None:
    found = json.loads(called(seer, python, 'Qmd("empty")', "Qmd_search", query="backup"))
    assert found["results"] == []


def test_llm_plugin_imports_no_part_of_qmd_when_loaded(python: Path, seer: User) -> None:
    code = "import llm, sys; before = set(sys.modules); import qmd.llm_tools; print(*{*sys.modules} - before)"
    assert set(run(seer, python, "-c", code).split()) <= {"qmd", "qmd._version", "qmd.llm_tools"}


@pytest.mark.parametrize("recipe", RECIPES, ids=["langchain", "llama-index"])
def test_retrievers_of_the_integrations_page_find_passages(
    python: Path, seer: User, tmp_path: Path, recipe: str
) -> None:
    (tmp_path / "recipe.py").write_text(recipe, encoding="utf-8")
    warnings = "error::DeprecationWarning:__main__"
    printed = run(seer, python, "-W", warnings, tmp_path / "recipe.py").splitlines()
    # The number of passages depends on whether the reranker was ready in time.
    assert re.fullmatch(r"notes/ops/backup\.md \d+( \d\.\d\d)?", printed[0])
