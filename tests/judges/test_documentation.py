"""docs/mcp.md agrees with the server."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qmd.cli.server import MCP_PORT
from qmd.features.agents import skill
from qmd.server.access import MCP
from tests.agents import INITIALIZE
from tests.judges.calls import ROOT, Judges
from tests.users import User
from tests.waiting import PATIENCE

PAGE = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
URL = f"http://127.0.0.1:{MCP_PORT}{MCP}"
#: The server lists its tools and runs one search with two results.
REQUESTS: list[dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": INITIALIZE},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {"id": 3, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "performance"}}},
]


def answers(user: User) -> dict[int, Any]:
    """Return the results of REQUESTS by id."""
    lines = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in REQUESTS)
    done = subprocess.run(
        [sys.executable, "-m", "qmd", "mcp"],
        input=lines,
        capture_output=True,
        encoding="utf-8",
        env=user.environ,
        check=True,
        timeout=PATIENCE,
    )
    return {message["id"]: message["result"] for message in map(json.loads, done.stdout.splitlines())}


def count(judges: Judges, *values: object) -> list[int]:
    """Return the number of tokens (o200k_base) of each text, or of other values as compact JSON."""
    texts = [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        for value in values
    ]
    return [number for number, _ in judges.tokens(texts)]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def variables(folder: Path) -> set[str]:
    """Return the environment variables that the sources in a folder name."""
    sources = [file.read_text(encoding="utf-8") for file in folder.rglob("*.py")]
    return {name for source in sources for name in re.findall(r"QMD_[A-Z_]+", source)}


def servers(value: object) -> Iterator[dict[str, Any]]:
    """Yield the servers in the settings of agents, at any depth."""
    if isinstance(value, dict):
        if "command" in value or "url" in value:
            yield value
        for each in value.values():
            yield from servers(each)


def test_mcp_page_states_the_tokens_of_each_tool(judges: Judges, seer: User) -> None:
    tools = answers(seer)[2]["tools"]
    all_of_them, *each = count(judges, tools, *tools)
    measured = {f"`{tool['name']}`": number for tool, number in zip(tools, each, strict=True)}
    rows = re.findall(r"^\| (`\w+`|all) \|.*\| ([\d,]+) \|$", PAGE, re.MULTILINE)
    told = {name: int(number.replace(",", "")) for name, number in rows}
    assert told == measured | {"all": all_of_them}


def test_tools_stay_within_their_token_budget(judges: Judges, seer: User) -> None:
    assert count(judges, answers(seer)[2]["tools"])[0] <= 1_950


def test_instructions_stay_within_their_token_budget(judges: Judges, seer: User) -> None:
    assert count(judges, answers(seer)[1]["instructions"])[0] < 240


def test_skill_stays_within_its_token_budget(judges: Judges) -> None:
    assert count(judges, skill.text())[0] <= 1_100


def test_mcp_page_states_the_tokens_of_a_result(judges: Judges, seer: User) -> None:
    found = answers(seer)[3]
    structured = found["structuredContent"]
    texts = "".join(block["text"] for block in found["content"])
    results = len(structured["results"])
    assert results > 5
    claims = re.search(r"about (\d+) tokens\s+a\s+result.*?about\s+(\d+)\s+in its", PAGE, re.DOTALL)
    assert claims
    measured = count(judges, texts, structured)
    for claim, number in zip(claims.groups(), measured, strict=True):
        assert int(claim) / 2 <= number / results <= 2 * int(claim)


def test_mcp_page_describes_every_argument(judges: Judges, seer: User) -> None:
    for tool in answers(seer)[2]["tools"]:
        for argument in tool["inputSchema"]["properties"]:
            assert re.search(rf"^\| .*`{argument}`.* \|", PAGE, re.MULTILINE), argument


def test_mcp_page_settings_name_the_server() -> None:
    named = [server for block in blocks("json") for server in servers(json.loads(block))]
    assert len(named) >= 7
    for server in named:
        command = server.get("command", [])
        words = command if isinstance(command, list) else [command, *server["args"]]
        assert words in ([], ["qmd", "mcp"], ["npx", "-y", "mcp-remote", URL])
        assert server.get("url", URL) == URL


def test_mcp_page_commands_can_be_parsed(seer: User) -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    typed = [line.partition("qmd -- ")[2] or line for line in lines if re.search(r"^qmd | -- qmd ", line)]
    assert len(typed) >= 3
    for line in typed:
        done = seer.invoke(*shlex.split(line)[1:], "--help")
        assert done.exit_code == 0, line


def test_mcp_page_names_the_variables_of_the_server() -> None:
    told = set(re.findall(r"QMD_[A-Z_]+", PAGE))
    assert variables(ROOT / "src" / "qmd" / "mcp") <= told <= variables(ROOT / "src" / "qmd")
