"""Costs of a tool call over MCP, compared with tobi/qmd if its paths are given.

    python bench/serving.py --vocabulary FOLDER... [--node NODE --peer QMD_JS] [--work DIR] [--json OUT]

The index has 38,000 small generated files, and the queries are one to three words from these. Overhead: the
same search in process, over stdio and over HTTP, in turns; `over` is the median additional time of a call.
Load: `search` over HTTP with one client, then with four, each program in turns; ratios are ours to theirs, of
medians. Every query runs once before it is measured.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from common import median, percentile, say, table, write_json
from processes import HOST, Program, alternating, compared, comparison, listening
from speed import SEED, generate_small_files, neighbours

LIMIT = 10
CLIENTS = 4
MEASURES = ("p50", "p95", "calls_per_second", "cpu_ms_per_call")
#: A revision that both programs speak without a handshake.
MODERN = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
#: Seconds in which a server must answer.
_PATIENCE = 60.0

Ask = Callable[[str], float]


class Caller(Struct, frozen=True):
    """How to call a program's lexical search: the tool, its arguments for a query, and options to serve."""

    tool: str
    arguments: Callable[[str], dict[str, Any]]
    options: tuple[str, ...] = ()

    def message(self, query: str, meta: dict[str, Any] | None = None) -> bytes:
        """Return a request as a line."""
        params = {"name": self.tool, "arguments": self.arguments(query)} | ({"_meta": meta} if meta else {})
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return json.dumps(request).encode() + b"\n"


OURS = Caller("search", lambda query: {"query": query, "limit": LIMIT}, ("--no-watch",))
#: Typed and without reranking, so that neither program needs a model.
PEER = Caller(
    "query", lambda query: {"searches": [{"type": "lex", "query": query}], "limit": LIMIT, "rerank": False}
)


class Site(Struct, frozen=True):
    """A program that serves over HTTP."""

    process: subprocess.Popen[bytes]
    port: int
    caller: Caller

    @contextmanager
    def client(self, revision: str = MODERN) -> Iterator[Ask]:
        """A client with a connection of its own. Each call returns its seconds."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=_PATIENCE)
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": revision,
        }
        meta = _META if revision == MODERN else None
        if meta:
            headers |= {"mcp-method": "tools/call", "mcp-name": self.caller.tool}

        def ask(query: str) -> float:
            body = self.caller.message(query, meta)
            began = time.perf_counter()
            connection.request("POST", "/mcp", body, headers)
            answer = connection.getresponse().read()
            took = time.perf_counter() - began
            _check(answer)
            return took

        try:
            yield ask
        finally:
            connection.close()


class Load(Struct):
    """The figures of a program: seconds of each call, calls a second, processor seconds a call."""

    calls: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        return {
            "p50": round(1000 * median(self.calls), 2),
            "p95": round(1000 * percentile(self.calls, 0.95), 2),
            "calls_per_second": round(median(self.rates), 1),
            "cpu_ms_per_call": round(1000 * median(self.cpu), 2),
            "calls": len(self.calls),
        }


def main() -> None:
    options = _options()
    folder = options.work / "corpus"
    sides = [*zip(compared(options), (OURS, PEER), strict=False)]
    shutil.rmtree(folder, ignore_errors=True)
    say(f"making {options.files:,} files")
    generate_small_files(folder, options.files, options.vocabulary)
    files = sorted(folder.rglob("*.md"))
    for program, _ in sides:
        say(f"{program.name}: indexing")
        program.run("collection", "add", str(folder), "--name", "bench")
    mine = sides[0][0]
    queries = found_queries(mine, files, options.queries)
    result: dict[str, Any] = {"documents": len(files), "queries": len(queries), "clients": CLIENTS}
    result["overhead"] = overhead(mine, queries, options.rounds)
    print(table(["milliseconds", "p50", "p95", "over"], _overhead_rows(result["overhead"])))
    result["load"] = load(sides, queries, options.rounds)
    print("\n" + table(["", *MEASURES], _load_rows(result["load"])))
    write_json(options.json, result)


def found_queries(program: Program, files: Sequence[Path], count: int) -> list[str]:
    """Return queries of words in the files that have results. Queries of only function words have none."""
    import qmd

    with qmd.open_index(environ=program.environ) as index:
        queries = dict.fromkeys(neighbours(files, random.Random(SEED), count))
        return [query for query in queries if index.search(query, limit=LIMIT).hits]


def overhead(program: Program, queries: Sequence[str], rounds: int) -> dict[str, Any]:
    """Measure a search in process and over each transport, in milliseconds; `over` is the difference."""
    import qmd

    with ExitStack() as stack:
        index = stack.enter_context(qmd.open_index(environ=program.environ))
        site = stack.enter_context(serving(program, OURS))
        ways: dict[str, Ask] = {
            "in process": lambda query: _timed(lambda: index.search(query, limit=LIMIT)),
            "stdio": stack.enter_context(stdio(program)),
            "HTTP": stack.enter_context(site.client("2025-06-18")),
            f"HTTP, {MODERN}": stack.enter_context(site.client()),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(rounds + 1):
            for name in list(ways) if turn % 2 else reversed(ways):
                taken = [1000 * ways[name](query) for query in queries]
                if turn:  # the first call is not measured
                    times[name] += taken
    inside = times["in process"]
    return {
        name: {
            "p50": round(median(taken), 2),
            "p95": round(percentile(taken, 0.95), 2),
            "over": round(median([call - own for call, own in zip(taken, inside, strict=True)]), 2),
            "calls": len(taken),
        }
        for name, taken in times.items()
    }


def load(
    sides: Sequence[tuple[Program, Caller]], queries: Sequence[str], rounds: int
) -> dict[str, dict[str, Any]]:
    """Measure search over HTTP with one client, then with four, with each program in turns."""
    with ExitStack() as stack:
        sites = {program.name: stack.enter_context(serving(program, caller)) for program, caller in sides}
        done = {name: Load() for name in sites}
        for site in sites.values():
            with site.client() as ask:
                for query in queries:
                    ask(query)
        for program in alternating([program for program, _ in sides], rounds):
            site, found = sites[program.name], done[program.name]
            with site.client() as ask:
                before = processor_seconds(site.process)
                found.calls += [ask(query) for query in queries]
                found.cpu.append((processor_seconds(site.process) - before) / len(queries))
            found.rates.append(rate(site, queries))
            say(f"{program.name}: {found.summary()}")
    summaries = {name: each.summary() for name, each in done.items()}
    if len(summaries) == 2:
        mine, theirs = summaries.values()
        summaries["ratio"] = {
            key: round(mine[key] / theirs[key], 3) if theirs[key] else None for key in MEASURES
        }
    return summaries


def rate(site: Site, queries: Sequence[str]) -> float:
    """Return the calls a second of four clients, each with its share of the queries, twice."""

    def work(part: Sequence[str]) -> None:
        with site.client() as ask:
            for query in itertools.chain(part, part):
                ask(query)

    parts = [queries[number::CLIENTS] for number in range(CLIENTS)]
    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(work, parts))
    return 2 * len(queries) / (time.perf_counter() - began)


@contextmanager
def serving(program: Program, caller: Caller) -> Iterator[Site]:
    """Run the HTTP server of a program."""
    with listening(program, "mcp", "--http", "--host", HOST, *caller.options) as (port, process):
        yield Site(process, port, caller)


@contextmanager
def stdio(program: Program) -> Iterator[Ask]:
    """Run our program over stdio; yield a client after the handshake."""
    with _started(program, "mcp", *OURS.options) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        send, receive = process.stdin, process.stdout
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        messages = (
            {"id": 0, "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
        )
        for message in messages:
            send.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        send.flush()
        receive.readline()

        def ask(query: str) -> float:
            line = OURS.message(query)
            began = time.perf_counter()
            send.write(line)
            send.flush()
            answer = receive.readline()
            took = time.perf_counter() - began
            _check(answer)
            return took

        yield ask


@contextmanager
def _started(program: Program, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = program.start(*arguments)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def _check(answer: bytes) -> None:
    message = json.loads(answer)
    if "result" not in message or message["result"].get("isError"):
        raise SystemExit(f"a call failed: {answer[:500]!r}")


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the processor seconds of a process and those that it has started, or 0 without /proc."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # a process that has ended meanwhile
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
            if str(process.pid) in (path.parent.name, fields[1]):
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _overhead_rows(found: dict[str, Any]) -> list[list[object]]:
    return [[name, *(f"{each[key]:.2f}" for key in ("p50", "p95", "over"))] for name, each in found.items()]


def _load_rows(found: dict[str, Any]) -> list[list[object]]:
    return [[name, *(each[key] for key in MEASURES)] for name, each in found.items()]


def _options() -> argparse.Namespace:
    parser = comparison("Costs of calls over MCP, compared with tobi/qmd.", "serving")
    parser.add_argument("--rounds", type=int, default=4)
    return parser.parse_args()


if __name__ == "__main__":
    main()
