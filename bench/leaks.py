"""Whether secrets reach agents: planted ones over every face, false alarms in clean texts, and the cost.

    python bench/leaks.py EVAL... [--code CHECKOUT...] [--canaries N] [--work DIR] [--json OUT]

EVAL are collections in BEIR layout. Canaries of all kinds are planted in their texts, and each is asked for
over MCP by stdin and HTTP, hooks, packs, and every endpoint with a key for an agent: by its words, by the
whole secret, and by its beginning. An answer that shows any part of a canary is a leak; a document that the
words of its secret alone find is one too. False alarms are passages of the clean texts that are touched,
for people to look at. The cost is that of a search for agents beside the same search for people, with and
without remembered texts, and of a filter by one of 20,000 tags.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any
from urllib.parse import quote

from common import SOURCE, median, percentile, read_collection, say, table, write_json  # isort: skip
from canaries import Canary, canaries, leaks, plant
from qmd.features.secrets import masker
from qmd.features.secrets.detection import find
from qmd.text import tokens
from qmd.text.query import parse

#: Characters of a passage, as hits show them, and of a note around a canary.
_PASSAGE, _NOTE = 300, 2_000
#: Queries whose time is taken, and notes with other tags for filters, 50 each.
_TIMED, _TAGGED = 60, 400
_LIMIT = 10
#: Answers that use models are asked for one canary of so many.
_SLOW = 5
_HEADERS = {"content-type": "application/json", "accept": "application/json"}
Ask = Callable[[str, dict[str, Any]], str]


def main() -> None:
    options = _options()
    collections = {folder.name: read_collection(folder) for folder in options.collections}
    notes = [each.text[:_NOTE] for collection in collections.values() for each in collection.documents[::7]]
    clean = {
        name: [each.markdown for each in collection.documents] for name, collection in collections.items()
    }
    clean |= {folder.name: [*_texts(folder)] for folder in options.code}
    rmtree(options.work, ignore_errors=True)
    planted = canaries(options.canaries)
    (options.work / "notes").mkdir(parents=True)
    files = plant(options.work / "notes", planted, [each for each in notes if not find(each)])
    (options.work / "tagged").mkdir()
    for number in range(_TAGGED):
        tags = ", ".join(f"topic-{number}-{each}" for each in range(50))
        (options.work / "tagged" / f"{number}.md").write_text(f"---\ntags: [{tags}]\n---\n# Note {number}\n")
    environ = _environ(options.work)
    _run(environ, "collection", "add", str(options.work / "notes"), "--formats", "markdown,transcript")
    _run(environ, "collection", "add", str(options.work / "tagged"))
    if not options.words_only:
        _run(environ, "embed")
    result = {
        "canaries": dict(Counter(canary.kind for canary in planted)),
        "faces": _faces(environ, planted, files),
        "false_alarms": _false_alarms(clean),
        "cost": _cost(environ, planted),
    }
    print(table(["face", "answers", "leaks"], [[*row.values()][:3] for row in result["faces"]]))
    rows = [[*row.values()][:5] for row in result["false_alarms"]]
    print(table(["texts", "passages", "touched", "share", "MB/s"], rows))
    print(table([*result["cost"][0]], [[*row.values()] for row in result["cost"]]))
    write_json(options.json, result)


def _faces(environ: dict[str, str], planted: Sequence[Canary], files: Sequence[Path]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def ask(face: str, asked: Iterator[tuple[str, str]]) -> None:
        """Add the number of answers, and the leaks: what was asked is no leak of itself."""
        answers, found = 0, list[str]()
        for question, answer in asked:
            answers += 1
            for canary in leaks(answer, planted):
                shown = [each for each in canary.needles if each in answer]
                if any(each not in question for each in shown):
                    found.append(f"{canary.kind}: {question[:80]}")
        rows.append({"face": face, "answers": answers, "leaks": len(found), "which": found[:20]})
        say(f"{face}: {answers} answers, {len(found)} leaks")

    with _stdio(environ) as send:
        ask("MCP, stdio", _over_mcp(send, planted, files))
    key = _run(environ, "keys", "add", "bench", "--agent").strip()
    owner = _run(environ, "keys", "add", "people").strip()
    with _server(environ) as port:
        ask("MCP, HTTP", _over_mcp(_http(port, owner, "/mcp"), planted[::5], files[::5]))
        ask("endpoints, key for an agent", _over_http(port, key, planted, files))
        ask("recall and pack, key of a person", _for_agents(port, owner, planted))
        ask("pages, key for an agent", _pages(port, key, files[::5]))
        ask("hooks, with a server", _hooks(environ, planted[::5]))
        rows.append(_confirmed(port, key, planted, files))
        everything = sum(
            bool(leaks(_post(port, owner, "/get", {"file": f"notes/{file.name}"}), [canary]))
            for canary, file in zip(planted, files, strict=True)
        )
        rows.append({"face": "get, key of a person (shows all)", "answers": len(files), "leaks": everything})
    ask("hooks, without a server", _hooks(environ, planted[::25]))
    ask("pack, command", _packs(environ, planted[::25]))
    return rows


def _questions(canary: Canary, number: int) -> Iterator[str]:
    yield f"note {number} backup server restored"
    yield f"{canary.kind} {canary.language} release"
    yield canary.needles[0][:60]
    yield f"{canary.needles[0][:6]}*"


def _over_mcp(send: Ask, planted: Sequence[Canary], files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for method in ("tools/list", "resources/list", "prompts/list", "resources/templates/list"):
        yield method, send(method, {})
    yield "status", send("tools/call", {"name": "status", "arguments": {}})

    def call(tool: str, **arguments: Any) -> tuple[str, str]:
        return json.dumps(arguments, ensure_ascii=False), send(
            "tools/call", {"name": tool, "arguments": arguments}
        )

    for number, (canary, file) in enumerate(zip(planted, files, strict=True)):
        questions = [*_questions(canary, number)]
        yield call("query", query=questions[number % len(questions)], limit=3)
        if number % _SLOW == 0:
            yield call("query", query=f"note {number} backup", pack=True, maxTokens=2_000)
        yield call("get", file=f"notes/{file.name}")
        yield call("get", file=f"notes/{file.name}:4", maxLines=3)
        yield call("get", file=f"notes/{file.name}", quote=f"{canary.needles[0][:12]} and more words of it")
        yield call("multi_get", pattern=f"notes/{file.name}")
        yield file.name, send("resources/read", {"uri": f"qmd://notes/{file.name}"})
    yield call("multi_get", pattern="notes/*.md")


def _over_http(
    port: int, key: str, planted: Sequence[Canary], files: Sequence[Path]
) -> Iterator[tuple[str, str]]:
    def post(path: str, **body: Any) -> tuple[str, str]:
        return path + json.dumps(body, ensure_ascii=False), _post(port, key, path, body)

    for number, (canary, file) in enumerate(zip(planted, files, strict=True)):
        name = f"notes/{file.name}"
        for question in _questions(canary, number):
            yield post("/search", query=question, limit=3, full=True)
        if number % _SLOW == 0:
            yield post("/query", query=f"note {number} backup", limit=3)
            yield post("/vsearch", query=f"note {number} backup", limit=3)
            yield post("/pack", query=f"note {number} backup", tokens=1_000)
        yield post("/recall", prompt=f"What does note {number} say about the backup server?", threshold=0.0)
        yield post("/get", file=name)
        yield post("/multi_get", pattern=name)
        beginning = canary.needles[0][:8]
        yield post(
            "/cite", text=f'It says "the release waits {beginning}" ({name}:3), and more ({name}#About).'
        )
        for path in ("links", "outline"):
            yield path, _get(port, key, f"/documents/{quote(name)}/{path}")
    for path in ("/status", "/fields", "/collections", "/collections/notes", "/contexts", "/health", "/"):
        yield path, _get(port, key, path)
    for field in ("machine", "note", "alias", "title", "tag"):
        yield field, _get(port, key, f"/fields/{field}")


def _for_agents(port: int, key: str, planted: Sequence[Canary]) -> Iterator[tuple[str, str]]:
    for number in range(0, len(planted), _SLOW):
        prompt = f"What does note {number} say about the backup server?"
        yield prompt, _post(port, key, "/recall", {"prompt": prompt, "threshold": 0.0})
        yield prompt, _post(port, key, "/pack", {"query": prompt, "tokens": 1_000})


def _pages(port: int, key: str, files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for file in files:
        yield file.name, _get(port, key, f"/read/notes/{quote(file.name)}")
        yield file.name, _get(port, key, f"/?q={quote(file.stem.replace('-', ' '))}")


def _hooks(environ: dict[str, str], planted: Sequence[Canary]) -> Iterator[tuple[str, str]]:
    for number in range(len(planted)):
        prompt = f"How is the backup server of note {number} restored every night before the release?"
        data = json.dumps({"session_id": str(number), "prompt": prompt})
        for event in ("session", "prompt"):
            yield prompt, _run(environ, "hook", "run", event, "--timeout", "30", stdin=data)


def _packs(environ: dict[str, str], planted: Sequence[Canary]) -> Iterator[tuple[str, str]]:
    for number, canary in enumerate(planted):
        goal = f"note {number} backup {canary.kind}"
        yield goal, _run(environ, "pack", goal, "--tokens", "2000")
        yield goal, _run(environ, "pack", goal, "--tokens", "2000", "--json")


def _confirmed(port: int, key: str, planted: Sequence[Canary], files: Sequence[Path]) -> dict[str, Any]:
    """Count the secrets whose words, or beginnings of them, find their document, or leave it out."""
    found: list[str] = []
    asked = 0
    for canary, file in zip(planted, files, strict=True):
        words = [word for needle in canary.needles[:1] for word in re.findall(r"[A-Za-z0-9]+", needle)]
        word = max(words, key=len, default="")
        if len(word) < 8 or not any(sign.isdigit() for sign in word):
            continue
        name = f"notes/{file.name}"
        text = json.loads(_post(port, key, "/get", {"file": name}))["document"]["text"]
        shown = [*tokens.terms(text), *tokens.terms(name)]
        for query in (word, f"{word[:7]}*", f'"{word}"'):
            if any(term.covered(shown) for term in parse(query).terms):
                continue  # the note shows a part of the word elsewhere
            asked += 2
            if name in _files(port, key, query):
                found.append(f"{canary.kind}: {query}")
            if name not in _files(port, key, f"backup -{query}") and "backup" in shown:
                found.append(f"{canary.kind}: -{query}")
    return {
        "face": "words of secrets, key for an agent",
        "answers": asked,
        "leaks": len(found),
        "which": found[:20],
    }


def _files(port: int, key: str, query: str) -> set[str]:
    answer = json.loads(_post(port, key, "/search", {"query": query, "limit": 1_000}))
    return {hit["file"] for hit in answer["results"]}


def _false_alarms(clean: dict[str, list[str]]) -> list[dict[str, Any]]:
    rows = []
    for name, texts in clean.items():
        passages = touched = 0
        seconds = 0.0
        which: list[str] = []
        for text in texts:
            start = time.process_time()
            found = find(text)
            seconds += time.process_time() - start
            passages += 1 + len(text) // _PASSAGE
            touched += len({secret.start // _PASSAGE for secret in found})
            for at, end, kind in found:
                line = text[max(0, at - 40) : end][:120].replace("\n", " ")
                which.append(f"{kind}: {line}")
        size = sum(map(len, texts)) / 1e6
        share = round(touched / max(1, passages), 5)
        speed = round(size / max(seconds, 1e-9), 1)
        rows.append(
            {"texts": name, "passages": passages, "touched": touched, "share": share, "MB/s": speed}
            | {"which": [*dict.fromkeys(which)][:200]}
        )
    return rows


def _cost(environ: dict[str, str], planted: Sequence[Canary]) -> list[dict[str, Any]]:
    """Return the processor time of searches for agents beyond that for people, in milliseconds."""
    import qmd

    rows = []
    with qmd.open_index(environ=environ) as index:
        agent = index.limited(agent=True)
        queries = [f"note {number} backup server {canary.kind}" for number, canary in enumerate(planted)]
        filters = [f"note tag:topic-{number}-7" for number in range(_TAGGED)]
        for row, kind, asked in (
            ("search", "search", queries),
            ("search, filter by tag", "search", filters),
            ("query", "query", queries),
        ):
            if kind == "query" and not index.status().has_vector_index:
                continue
            times: dict[str, list[float]] = {"people": [], "agents, warm": [], "agents, cold": []}
            for query in asked[:_TIMED]:
                request = qmd.SearchRequest(query, limit=_LIMIT)
                for seen in (index, agent):  # so that no answer of a model is new
                    seen.run(kind, request)
                for name, seen in (("people", index), ("agents, cold", agent), ("agents, warm", agent)):
                    if name == "agents, cold":
                        masker.masker_with.cache_clear()
                    start = time.process_time()
                    seen.run(kind, request)
                    times[name].append(1_000 * (time.process_time() - start))
            for name in ("agents, warm", "agents, cold"):
                more = [after - before for before, after in zip(times["people"], times[name], strict=True)]
                ratio = round(median(times[name]) / median(times["people"]), 2)
                rows.append(
                    {"search": row, "texts": name, "more ms, median": round(median(more), 2)}
                    | {"more ms, p95": round(percentile(more, 95), 2), "ratio": ratio}
                )
    return rows


def _texts(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size < 1_000_000:
            try:
                yield path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def _environ(work: Path) -> dict[str, str]:
    work = work.resolve()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QMD_", "XDG_"))}
    return kept | {
        "HOME": str(work / "home"),
        "QMD_INDEX_PATH": str(work / "index.sqlite"),
        "QMD_CONFIG_DIR": str(work / "config"),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(work / "cache")),
        "PYTHONPATH": str(SOURCE),
    }


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "qmd", *words]


def _run(environ: dict[str, str], *words: str, stdin: str = "") -> str:
    done = subprocess.run(
        _command(*words), input=stdin, capture_output=True, text=True, env=environ, check=False
    )
    if done.returncode:
        raise SystemExit(f"qmd {' '.join(words)}: {done.stderr}")
    return done.stdout


@contextmanager
def _stdio(environ: dict[str, str]) -> Iterator[Ask]:
    with subprocess.Popen(
        _command("mcp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def send(method: str, params: dict[str, Any]) -> str:
            print(
                json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
                file=stdin,
                flush=True,
            )
            return json.dumps(json.loads(stdout.readline()), ensure_ascii=False)

        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "b", "version": "1"},
        }
        send("initialize", about)
        yield send
        stdin.close()


@contextmanager
def _server(environ: dict[str, str]) -> Iterator[int]:
    with subprocess.Popen(
        _command("server", "--port", "0", "--no-watch"), stdout=subprocess.PIPE, text=True, env=environ
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = re.search(r":(\d+)", line)
        assert port, line
        try:
            yield int(port[1])
        finally:
            process.terminate()


def _message(method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def _http(port: int, key: str, path: str) -> Ask:
    return lambda method, params: _request(port, key, "POST", path, _message(method, params).encode())


def _post(port: int, key: str, path: str, body: dict[str, Any]) -> str:
    return _request(port, key, "POST", path, json.dumps(body).encode())


def _get(port: int, key: str, path: str) -> str:
    return _request(port, key, "GET", path, None)


def _request(port: int, key: str, method: str, path: str, body: bytes | None) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        headers = _HEADERS if body else {"accept": "*/*"}
        connection.request(method, path, body, headers | {"authorization": f"Bearer {key}"})
        text = connection.getresponse().read().decode("utf-8", "replace")
    finally:
        connection.close()
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("--code", nargs="*", default=[], type=Path)
    parser.add_argument("--canaries", type=int, default=500)
    parser.add_argument("--words-only", action="store_true", help="make no vectors")
    parser.add_argument("--work", type=Path, default=Path("bench-work/leaks"))
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
