"""Time until changed files are found, costs of watching, and searches meanwhile.

    python bench/freshness.py --corpus FOLDER [--files 7425] [--idle 600] [--saves 40] [--json OUT]

`qmd server` serves and watches a corpus of `--files` files. If the folder has fewer, copies with another
first line are added. Files are saved in a second, small collection, which is embedded, until a search finds
their only word and until `vsearch` finds them. Then the watcher is idle, and its processor time and writes
are read from /proc. Finally, searches run while 5,000 files change and everything is embedded.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import SOURCE, percentile, say, table, write_json
from qmd import open_index

CHANGES = 5_000
#: Seconds of searches while idle, and while texts are embedded after the burst.
QUIET, AFTER = 20.0, 20.0
PATIENCE = 600.0
TOPICS = [
    "sailing boats",
    "bread ovens",
    "mountain railways",
    "garden frogs",
    "steel bridges",
    "violin strings",
]


class Serving:
    """A server of its own index, which watches two collections."""

    def __init__(self, work: Path, corpus: Path) -> None:
        self.corpus, self.live = corpus, work / "live"
        self.live.mkdir(parents=True, exist_ok=True)
        (self.live / "first.md").write_text("# First\n\nThe first note.\n", encoding="utf-8")
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("QMD_")},
            "XDG_CONFIG_HOME": str(work / "config"),
            "XDG_CACHE_HOME": str(work / "cache"),
            "PYTHONPATH": str(SOURCE),
        }
        self.config = work / "config" / "qmd" / "index.yml"
        self.config.parent.mkdir(parents=True)
        self.configure(embed_corpus=False)
        self._run("index")
        self._run("embed", "-c", "live")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "qmd", "server", "--transport", "http", "--port", "0"],
            env=self.environ,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]
        self.index = open_index(environ=self.environ)
        until(self.is_current)

    def configure(self, *, embed_corpus: bool) -> None:
        mode = "auto" if embed_corpus else "manual"
        self.config.write_text(
            f"collections:\n  corpus:\n    path: {self.corpus}\n    embed: {mode}\n"
            f"  live:\n    path: {self.live}\n",
            encoding="utf-8",
        )

    def is_current(self) -> bool:
        watcher = self.index.status().watcher
        return watcher is not None and watcher.current and len(watcher.collections) == 2

    def is_idle(self) -> bool:
        watcher = self.index.status().watcher
        return watcher is not None and watcher.current and watcher.embedding == "idle"

    def search(self, kind: str, query: str) -> tuple[list[str], float]:
        """Return the found files, and the milliseconds of the search."""
        body = json.dumps({"query": query}).encode()
        request = urllib.request.Request(f"{self.url}/{kind}", body, {"content-type": "application/json"})
        started = time.perf_counter()
        with urllib.request.urlopen(request) as answer:
            found = json.load(answer)
        return [hit["file"] for hit in found["results"]], 1000 * (time.perf_counter() - started)

    def close(self) -> None:
        self.index.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def _run(self, *args: str) -> None:
        subprocess.run([sys.executable, "-m", "qmd", "-q", *args], env=self.environ, check=True)


def until(condition: Callable[[], object], pause: float = 0.02) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("waited too long")
        time.sleep(pause)


def copy_corpus(source: Path, target: Path, count: int) -> None:
    """Fill a folder with `count` files, 500 in each subfolder."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(source.rglob("*.md"))]
    for number in range(count):
        file = target / f"{number // 500}" / f"{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        again = f"Copy {number // len(texts)}.\n\n" if number >= len(texts) else ""
        file.write_text(again + texts[number % len(texts)], encoding="utf-8")


def save_to_word(serving: Serving, saves: int) -> list[float]:
    """Return the milliseconds from saving a file until a search finds its only word, for each save."""
    times = []
    for number in range(saves):
        word = f"word{secrets.token_hex(6)}"
        (serving.live / f"note {number % 10}.md").write_text(f"# Note\n\n{word}\n", encoding="utf-8")
        started = time.perf_counter()
        until(lambda word=word: serving.search("search", word)[0], 0.005)
        times.append(1000 * (time.perf_counter() - started))
        time.sleep(0.3)
    return times


def save_to_meaning(serving: Serving, saves: int) -> list[float]:
    """Return the milliseconds from saving a file until `vsearch` finds it, for each save."""
    times = []
    for number in range(saves):
        name = f"meaning {secrets.token_hex(4)}.md"
        topic = TOPICS[number % len(TOPICS)]
        text = f"# {topic.title()}\n\nThis is a note of {secrets.token_hex(4)} about {topic}.\n"
        (serving.live / name).write_text(text, encoding="utf-8")
        started = time.perf_counter()
        until(lambda name=name, topic=topic: f"live/{name}" in serving.search("vsearch", topic)[0], 0.05)
        times.append(1000 * (time.perf_counter() - started))
    return times


def cost(pid: int) -> tuple[float, int]:
    """Return the processor seconds of a process and its children so far, and the bytes it wrote to disk."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    seconds = sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    io = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return seconds, int(io["write_bytes"])


def idle(serving: Serving, seconds: float) -> dict[str, float]:
    """Return the costs of the idle server."""
    until(serving.is_idle)
    time.sleep(10)
    before, written = cost(serving.process.pid)
    time.sleep(seconds)
    after, more = cost(serving.process.pid)
    share = 100 * (after - before) / seconds
    return {"seconds": seconds, "percent_of_a_core": round(share, 3), "bytes_written": more - written}


def searches(serving: Serving, words: list[str], stop: Callable[[], bool]) -> list[float]:
    """Search for words, four at a time a second, and return the milliseconds of each search."""
    chance, times = random.Random(1), []
    while not stop():
        times.append(serving.search("search", " ".join(chance.sample(words, 2)))[1])
        time.sleep(0.02)
    return times


def burst(serving: Serving, words: list[str]) -> dict[str, Any]:
    """Measure searches while idle, and while many files change and are embedded."""
    end = time.monotonic() + QUIET
    searches(serving, words, lambda: time.monotonic() > end - QUIET / 2)
    quiet = searches(serving, words, lambda: time.monotonic() > end)
    files = sorted(serving.corpus.rglob("*.md"))[:CHANGES]
    done = threading.Event()
    indexed: list[float] = []

    def change() -> None:
        started = time.monotonic()
        for file in files:
            with file.open("a", encoding="utf-8") as stream:
                stream.write("\nburstword\n")
        serving.configure(embed_corpus=True)
        last = files[-1].relative_to(serving.corpus)
        until(lambda: self_found(serving, str(last)), 0.5)
        until(serving.is_current, 0.5)
        indexed.append(time.monotonic() - started)
        time.sleep(AFTER)
        done.set()

    threading.Thread(target=change, daemon=True).start()
    busy = searches(serving, words, done.is_set)
    return {
        "changes": len(files),
        "seconds_to_index": round(indexed[0], 1),
        "quiet_ms": summary(quiet),
        "busy_ms": summary(busy),
        "p95_ratio": round(percentile(busy, 0.95) / percentile(quiet, 0.95), 2),
    }


def self_found(serving: Serving, path: str) -> bool:
    """Return whether a search finds a changed file by its new word."""
    hits = serving.index.search("burstword", collections=["corpus"], limit=CHANGES + 1).hits
    return any(hit.path == path for hit in hits)


def common_words(corpus: Path) -> list[str]:
    """Return words that many files have, without the most frequent ones."""
    counts = Counter(
        word
        for file in sorted(corpus.rglob("*.md"))[:2_000]
        for word in set(re.findall(r"[a-z]{4,}", file.read_text(encoding="utf-8").lower()))
    )
    return [word for word, _ in counts.most_common(400)][100:]


def summary(times: list[float]) -> dict[str, float]:
    p50, p95 = (round(percentile(times, share), 1) for share in (0.5, 0.95))
    return {"count": len(times), "p50": p50, "p95": p95, "max": round(max(times), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--files", type=int, default=7_425)
    parser.add_argument("--saves", type=int, default=40)
    parser.add_argument("--idle", type=float, default=600.0)
    parser.add_argument("--work", type=Path, default=Path("/tmp/qmd-freshness"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    work = options.work / secrets.token_hex(4)
    corpus = work / "corpus"
    copy_corpus(options.corpus, corpus, options.files)
    say(f"{options.files:,} files in {corpus}")
    words = common_words(corpus)
    serving = Serving(work, corpus)
    try:
        result: dict[str, Any] = {"files": options.files}
        watcher = serving.index.status().watcher
        result["watches"] = 0 if watcher is None else watcher.folders
        result["word_ms"] = summary(save_to_word(serving, options.saves))
        say(f"by word: {result['word_ms']}")
        result["meaning_ms"] = summary(save_to_meaning(serving, max(5, options.saves // 4)))
        say(f"by meaning: {result['meaning_ms']}")
        result["idle"] = idle(serving, options.idle)
        say(f"idle: {result['idle']}")
        result["burst"] = burst(serving, words)
    finally:
        serving.close()
    rows = [
        ["save to word", result["word_ms"]["p50"], result["word_ms"]["p95"]],
        ["save to meaning", result["meaning_ms"]["p50"], result["meaning_ms"]["p95"]],
        ["search, quiet", result["burst"]["quiet_ms"]["p50"], result["burst"]["quiet_ms"]["p95"]],
        ["search, burst", result["burst"]["busy_ms"]["p50"], result["burst"]["busy_ms"]["p95"]],
    ]
    print(table(["", "p50 ms", "p95 ms"], rows))
    write_json(options.json, result)


if __name__ == "__main__":
    main()
