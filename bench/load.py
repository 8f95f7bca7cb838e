"""The HTTP server under load, compared with tobi/qmd if its paths are given.

    python bench/load.py --vocabulary FOLDER... [--node NODE --peer QMD_JS] [--work DIR] [--json OUT]

Load: wrk with 16 connections for 60 seconds sends `POST /search` to our server and `POST /query` (a typed
lexical search, not reranked) to theirs, with an index of 38,000 small generated files and queries of one to
three words from these, each program in turns. Neither watches its folders or makes vectors. Ours is also
measured with two processes for searches. Meanwhile: how long a client waits for `/search` while 10,000 more
files are indexed, and while the server is idle. Warm: `qmd query` as a process, answered by the running
server and by itself.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from msgspec import Struct

from common import median, percentile, say, table, write_json
from processes import HOST, Program, alternating, compared, comparison, listening
from serving import found_queries, processor_seconds
from speed import SEED, generate_small_files

LIMIT = 10
CONNECTIONS = 16
#: Seconds in which a server must answer.
_PATIENCE = 120.0

#: Requests one query after another, and prints the figures as JSON.
_SCRIPT = """
local bodies = {}
for line in io.lines("%(bodies)s") do bodies[#bodies + 1] = line end
local at = 0
wrk.method, wrk.path, wrk.headers["Content-Type"] = "POST", "%(path)s", "application/json"
request = function()
  at = at %% #bodies + 1
  return wrk.format(nil, nil, nil, bodies[at])
end
done = function(summary, latency)
  local failed = summary.errors
  io.stderr:write(string.format(
    '{"requests": %%d, "seconds": %%f, "errors": %%d, "p50": %%f, "p99": %%f}\\n',
    summary.requests, summary.duration / 1e6,
    failed.connect + failed.read + failed.write + failed.status + failed.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""


class Side(Struct, frozen=True):
    """A program, its arguments for serving, and the form of its lexical search."""

    program: Program
    arguments: tuple[str, ...]
    path: str

    def body(self, query: str) -> bytes:
        """Return the body of a request."""
        if self.path == "/search":
            return json.dumps({"query": query, "limit": LIMIT}).encode()
        typed = [{"type": "lex", "query": query}]
        return json.dumps({"searches": typed, "limit": LIMIT, "rerank": False}).encode()


def main() -> None:
    options = _options()
    folder, more = options.work / "corpus", options.work / "more"
    serve = ("server", "--transport", "http", "--no-watch")
    forms = ((serve, "/search"), (("mcp", "--http"), "/query"))
    sides = [Side(program, *form) for program, form in zip(compared(options), forms, strict=False)]
    for used in (folder, more):
        shutil.rmtree(used, ignore_errors=True)
    say(f"making {options.files:,} files and {options.more:,} more")
    generate_small_files(folder, options.files, options.vocabulary)
    generate_small_files(more, options.more, options.vocabulary, SEED + 1)
    for side in sides:
        say(f"{side.program.name}: indexing")
        side.program.run("collection", "add", str(folder), "--name", "bench")
    mine = sides[0]
    workers = Program(f"{mine.program.name}, 2 workers", mine.program.command, mine.program.state)
    sides.append(Side(workers, (*serve, "--workers", "2"), "/search"))
    files = sorted(folder.rglob("*.md"))
    queries = found_queries(mine.program, files, options.queries)
    result: dict[str, Any] = {"documents": len(files), "connections": CONNECTIONS, "seconds": options.seconds}
    result["load"] = load(sides, queries, options)
    print(table(["", "a second", "p50 ms", "p99 ms", "errors"], _load_rows(result["load"])))
    result["meanwhile"] = meanwhile(mine, queries, more, options)
    result["meanwhile"]["files"] = options.more
    print("\n" + table(["/search, ms", "p50", "p95"], _wait_rows(result["meanwhile"])))
    result["warm"] = warm(mine, queries, files[: options.embedded], options)
    print("\n" + table(["qmd query", "seconds"], [[name, f"{s:.3f}"] for name, s in result["warm"].items()]))
    write_json(options.json, result)


def load(sides: Sequence[Side], queries: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """Measure the answers of each program's server under load, in turns."""
    found: dict[str, list[dict[str, Any]]] = {side.program.name: [] for side in sides}
    by_name = {side.program.name: side for side in sides}
    for program in alternating([side.program for side in sides], options.rounds):
        side = by_name[program.name]
        with serving(side) as (port, process):
            for query in queries:  # the first reading of a file is not measured
                ask(port, side, query)
            before = processor_seconds(process)
            found[program.name].append(pressed(side, port, queries, options))
            found[program.name][-1]["processor"] = processor_seconds(process) - before
        say(f"{program.name}: {found[program.name][-1]}")
    return {
        name: {
            "per_second": round(median([run["requests"] / run["seconds"] for run in runs]), 1),
            "per_processor_second": round(
                sum(run["requests"] for run in runs) / (sum(run["processor"] for run in runs) or 1), 1
            ),
            "p50": round(median([run["p50"] for run in runs]), 2),
            "p99": round(median([run["p99"] for run in runs]), 2),
            "errors": sum(run["errors"] for run in runs),
            "requests": sum(run["requests"] for run in runs),
        }
        for name, runs in found.items()
    }


def pressed(side: Side, port: int, queries: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """Run wrk once."""
    bodies, script = options.work / "bodies.txt", options.work / "wrk.lua"
    bodies.write_bytes(b"\n".join(side.body(query) for query in queries) + b"\n")
    script.write_text(_SCRIPT % {"bodies": bodies, "path": side.path}, encoding="utf-8")
    command = ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{options.seconds}s", "--timeout", "30s"]
    done = subprocess.run(
        [*command, "-s", str(script), f"http://{HOST}:{port}"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"wrk failed: {done.stderr or done.stdout}")
    figures: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return figures


def meanwhile(
    side: Side, queries: Sequence[str], more: Path, options: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """Measure the milliseconds that a client waits for `/search`, while idle and while files are indexed."""
    with serving(side) as (port, _):
        for query in queries:
            ask(port, side, query)
        idle = [1000 * ask(port, side, query) for _ in range(3) for query in queries]
        ended = threading.Event()
        body = json.dumps({"name": "more", "path": str(more)}).encode()

        def index() -> None:
            post(port, "/collections/add", body)
            ended.set()

        writer = threading.Thread(target=index)
        writer.start()
        busy: list[float] = []
        while not ended.is_set():
            busy += [1000 * ask(port, side, query) for query in queries[:20]]
        writer.join()
    side.program.run("collection", "remove", "more")
    found = {
        name: {"p50": round(median(taken), 2), "p95": round(percentile(taken, 0.95), 2), "calls": len(taken)}
        for name, taken in (("idle", idle), ("indexing", busy))
    }
    found["ratio"] = {key: round(found["indexing"][key] / found["idle"][key], 2) for key in ("p50", "p95")}
    return found


def warm(
    side: Side, queries: Sequence[str], files: Sequence[Path], options: argparse.Namespace
) -> dict[str, float]:
    """Measure `qmd query` as a process, in seconds: alone, and answered by a running server."""
    folder = options.work / "embedded"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(file, folder)
    program = Program(side.program.name, side.program.command, options.work / "warm")
    shutil.rmtree(program.state, ignore_errors=True)
    program.run("collection", "add", str(folder), "--name", "embedded")
    program.run("embed")
    times: dict[str, list[float]] = {"local": [], "server": []}
    with serving(Side(program, side.arguments, side.path)):
        program.run("query", queries[0], "--mode", "server")
        for query in queries[: options.runs]:
            for mode, taken in times.items():
                taken.append(program.run("query", query, "--mode", mode).wall)
    found = {mode: round(median(taken), 4) for mode, taken in times.items()}
    return found | {"ratio": round(found["local"] / found["server"], 2)}


def serving(side: Side) -> AbstractContextManager[tuple[int, subprocess.Popen[bytes]]]:
    """Run the server of a program; yield its port and its process."""
    return listening(side.program, *side.arguments)


def ask(port: int, side: Side, query: str) -> float:
    """Search once; return the seconds."""
    began = time.perf_counter()
    post(port, side.path, side.body(query))
    return time.perf_counter() - began


def post(port: int, path: str, body: bytes) -> None:
    """Send a request; raise `SystemExit` if it fails."""
    connection = http.client.HTTPConnection(HOST, port, timeout=_PATIENCE)
    try:
        connection.request("POST", path, body, {"content-type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {said[:500]!r}")
    finally:
        connection.close()


def _load_rows(found: dict[str, Any]) -> list[list[object]]:
    return [
        [name, *(each[key] for key in ("per_second", "p50", "p99", "errors"))] for name, each in found.items()
    ]


def _wait_rows(found: dict[str, Any]) -> list[list[object]]:
    return [[name, each["p50"], each["p95"]] for name, each in found.items() if isinstance(each, dict)]


def _options() -> argparse.Namespace:
    parser = comparison("The HTTP server under load, compared with tobi/qmd.", "load")
    parser.add_argument(
        "--more", type=int, default=10_000, help="number of files that are indexed meanwhile (10000)"
    )
    parser.add_argument(
        "--embedded", type=int, default=200, help="number of embedded files for `query` (200)"
    )
    parser.add_argument("--seconds", type=int, default=60, help="duration of the load (60)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--runs", type=int, default=15, help="number of `query` processes of each kind (15)")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("wrk is not installed")
    return options


if __name__ == "__main__":
    main()
