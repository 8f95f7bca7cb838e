"""Whether agents can answer from what an MCP client shows: the text of a result, or the structured content.

    python bench/mcp_faces.py [--tokens N] [--source SRC] [--json OUT]

20 questions about a small vault are given to `search`, `query`, and `query` as a pack, through `qmd mcp` over
stdio, as clients that show their model the text, the structured content, or an unknown part. A question is
answered if its answer is in that part: a number or a name, in the line after the words of the question. No
model is used. `--source` measures another version of qmd.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from common import SOURCE, say, table, write_json  # isort: skip  (puts src/ on the path)
from qmd.text import budget

#: The title of a note, a question by words of its fact, the fact, and the answer in it.
TASKS = tuple(
    tuple(line.split("|"))
    for line in """\
Ferry|winter departure pier|In winter the first departure from the pier is at 06:40.|06:40
Boiler|lighthouse boiler capacity|The capacity of the lighthouse boiler is 412 litres.|412 litres
Archive|archive key hangs|The archive key hangs behind the blue barometer.|blue barometer
Bakery|bakery sourdough closed|The bakery is closed for sourdough on Thursdays.|Thursdays
Harbour|harbour dues metre|The harbour dues are 17 crowns a metre.|17 crowns
Council|council quorum members|The council has a quorum with eleven members.|eleven
Generator|generator spare belt|The spare belt of the generator is type B-58.|B-58
School|school bell repaired|Ingrid Vik repaired the school bell.|Ingrid Vik
Water|water tank cleaned|The water tank was last cleaned by Nordvik AS.|Nordvik AS
Library|library late fee|The library takes a late fee of 3 crowns.|3 crowns
Radio|emergency radio channel|The emergency radio listens on channel 16.|channel 16
Festival|festival budget approved|The festival budget of 8,400 was approved.|8,400
Sheep|sheep fence voltage|The voltage of the sheep fence is 4.2 kV.|4.2 kV
Chapel|chapel organ builder|The builder of the chapel organ was J. Holm.|J. Holm
Post|parcel pickup hours|Hours of parcel pickup are 14 to 16.|14 to 16
Clinic|clinic vaccine fridge|The vaccine fridge of the clinic stays at 5 degrees.|5 degrees
Airstrip|airstrip length gravel|The gravel airstrip has a length of 640 m.|640 m
Well|old well depth|The depth of the old well is 23 m.|23 m
Fuel|diesel depot remaining|The diesel depot has 9,100 litres remaining.|9,100 litres
Museum|museum boat restored|The museum restored its boat in 1987.|1987""".splitlines()
)
#: Paragraphs around each fact, so that a passage is needed and not only the first lines of a note.
_REMARKS = (
    "Nothing else was decided on that day, and the weather stayed calm until the evening.",
    "Whoever reads this later should ask the people who were there, because much was said in passing.",
    "The minutes of the meeting were written by hand and copied the week after.",
    "There were several opinions, which are noted elsewhere and need not be repeated.",
)
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "search": ("search", {}),
    "query": ("query", {"rerank": False}),
    "pack": ("query", {"pack": True, "again": True, "rerank": False}),
}
#: The name of a client, and the part of a result that it shows; see docs/mcp.md.
CLIENTS = (
    ("gemini-cli-mcp-client", "text"),
    ("claude-code", "structure"),
    ("somebody", "text"),
    ("somebody", "structure"),
)


class Row(Struct, frozen=True):
    """How many questions were answered by a tool, and which share of the tokens asked for a model read."""

    tool: str
    client: str
    part: str
    answered: int
    questions: int
    of_tokens: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=300)
    parser.add_argument("--source", type=Path, default=SOURCE)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        environ = _environ(Path(home), options.source)
        _make_vault(Path(home), environ)
        rows = [*_measured(environ, options.tokens)]
    print(table([*to_builtins(rows[0])], [[*to_builtins(row).values()] for row in rows]))
    if options.json:
        write_json(options.json, {"setting": {"tokens": options.tokens}, "results": to_builtins(rows)})


def _environ(home: Path, source: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QMD", "XDG"))}
    return {**kept, "HOME": str(home), "PYTHONPATH": str(source), "QMD_WATCH": "0"}


def _make_vault(home: Path, environ: dict[str, str]) -> None:
    vault = home / "vault"
    vault.mkdir()
    remarks = "\n\n".join(_REMARKS)
    for title, _, fact, answer in TASKS:
        lines = fact.replace(answer, f"\n{answer}")
        (vault / f"{title.lower()}.md").write_text(
            f"# {title}\n\n{remarks}\n\n## Details\n\n{lines}\n\n{remarks}\n", encoding="utf-8"
        )
    command = [sys.executable, "-m", "qmd", "collection", "add", str(vault)]
    subprocess.run(command, env=environ, check=True, capture_output=True)


def _measured(environ: dict[str, str], tokens: int) -> Iterator[Row]:
    for client, part in CLIENTS:
        for name, (tool, more) in TOOLS.items():
            calls = [
                {"name": tool, "arguments": {"query": words, "maxTokens": tokens, **more}}
                for _, words, _, _ in TASKS
            ]
            shown = [_part(result, part) for result in _results(environ, client, calls)]
            answered = sum(answer in seen for (*_, answer), seen in zip(TASKS, shown, strict=True))
            used = sum(map(budget.count, shown)) / len(shown) / tokens
            say(f"{client} {part} {name}: {answered}")
            yield Row(name, client, part, answered, len(TASKS), round(used, 2))


def _part(result: dict[str, Any], part: str) -> str:
    if part == "text":
        return "\n".join(block["text"] for block in result["content"])
    return json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))


def _results(environ: dict[str, str], client: str, calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": client, "version": "1"},
    }
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *({"id": at, "method": "tools/call", "params": call} for at, call in enumerate(calls, 1)),
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in messages)
    done = subprocess.run(
        [sys.executable, "-m", "qmd", "mcp"],
        input=lines,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    answers = {each.get("id"): each for each in map(json.loads, done.stdout.splitlines())}
    for at in range(1, len(calls) + 1):
        yield answers[at]["result"]


if __name__ == "__main__":
    main()
