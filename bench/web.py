"""The web page in a real browser: from a key to the list, from a link to a document, and what is sent.

Processor time of the server is measured without a browser, because it is comparable on a busy machine.

    python bench/web.py --folder DOCS --documents 38000 --json bench/results/web.json

`--folder` has Markdown files. If there are fewer than `--documents`, copies are made, each with a line of its
own. `--chromium` is the browser; it is driven by Playwright. Nothing is embedded and watched meanwhile.

`--gno` is a command that runs gno (gmickel/gno), for example `bun run gno/src/index.ts`. Its page searches
when Enter is pressed, and is measured from there to the first frame with results, over the same documents
and without models, so by words.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from urllib.request import urlopen

from common import percentile, write_json

if TYPE_CHECKING:
    from playwright.sync_api import Browser

QUERIES = (
    "extract archive",
    "git commit",
    "list running processes",
    "backup",
    "压缩 文件",
    "network interface",
)
#: Seconds to wait for results.
_PATIENCE = 60.0
#: Records, for every key, when the list was next changed and painted.
_WATCH = """
window.keys = []; window.shift = 0;
addEventListener('keydown', () => { window.pressed = performance.now(); }, true);
new PerformanceObserver((list) => { 
  for (const each of list.getEntries()) if (!each.hadRecentInput) window.shift += each.value; })
  .observe({ type: 'layout-shift', buffered: true });
addEventListener('DOMContentLoaded', () => {
  new MutationObserver((changes) => {
    const list = changes.some((change) => [...change.addedNodes].some(
      (node) => node.id === 'list' || node.id === 'view'));
    if (!list || !window.pressed) return;
    const since = window.pressed; window.pressed = 0;
    requestAnimationFrame(() => window.keys.push(performance.now() - since));
  }).observe(document.getElementById('main'), { childList: true, subtree: true });
});
"""
_SENT = """() => {
  const entries = ['navigation', 'resource'].flatMap((type) => performance.getEntriesByType(type));
  return { requests: entries.length, bytes: entries.reduce((sum, each) => sum + each.transferSize, 0) };
}"""

_OPENED = """[
  performance.getEntriesByName('first-contentful-paint')[0].startTime,
  performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd,
]"""


def corpus(source: Path, documents: int, folder: Path) -> int:
    """Write the documents of the benchmark; return their number."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(source.rglob("*.md"))]
    if not texts:
        sys.exit(f"no Markdown files in {source}")
    for number in range(documents):
        place = folder / f"{number // 1000:03}"
        place.mkdir(exist_ok=True)
        text = texts[number % len(texts)]
        again = f"\n\nCopy {number}.\n" if number >= len(texts) else ""
        (place / f"{number}.md").write_text(text + again, encoding="utf-8")
    long = "\n\n".join(texts)
    paragraphs = re.sub(r"\n{3,}", "\n\n", long)[:100_000]
    (folder / "long.md").write_text(f"# A long document\n\n{paragraphs}\n", encoding="utf-8")
    return documents + 1


@contextmanager
def served(home: Path, folder: Path) -> Iterator[tuple[str, int, float]]:
    """Index a folder and serve it.

    Yield the address of the page, the process, and the seconds of indexing.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("QMD_", "XDG_"))}
    environ |= {name: str(home / name) for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    qmd = [sys.executable, "-m", "qmd"]
    began = time.perf_counter()
    subprocess.run(
        [*qmd, "collection", "add", str(folder), "--name", "docs"], env=environ, check=True, stdout=2
    )
    seconds = time.perf_counter() - began
    server = subprocess.Popen(
        [*qmd, "server", "--transport", "http", "--port", "0", "--no-watch"],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1], server.pid, seconds
    finally:
        server.terminate()
        server.wait()


def processor_time(url: str, pid: int) -> dict[str, Any]:
    """Return the milliseconds of processor time of requests, without a browser."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    stat = Path(f"/proc/{pid}/stat")

    def seconds() -> float:
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def took(*addresses: str) -> float:
        before = seconds()
        for address in addresses:
            connection.request("GET", address)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, address
        return round(1000 * (seconds() - before) / len(addresses), 1)

    keys = [
        f"/?{urlencode({'q': query[:length], 'mode': 'words', 'live': 1, 'part': 'list'})}"
        for query in QUERIES
        for length in range(1, len(query) + 1)
    ]
    took(*keys)
    long = "/read/docs/long.md"
    return {
        "key": took(*keys, *keys, *keys),
        "first_page": took(*["/"] * 20),
        "document_of_100_kB": {
            "first": took(long),
            "again": took(*[long] * 20),
            "other_queries": took(*(f"{long}?q=word{number}" for number in range(20))),
        },
    }


def opened(browser: Browser, url: str, path: str) -> dict[str, dict[str, float]]:
    """Return the milliseconds until a page is painted and until it is complete, medians of ten times.

    On a first visit, a new profile of the browser loads the style sheet and the module too. After another
    page they are there, as when somebody opens a result.
    """
    times: dict[str, list[tuple[float, float]]] = {"first_visit": [], "after_another_page": []}
    used = browser.new_page()
    used.goto(f"{url}/help")
    for number in range(11):
        for kind, page in (("first_visit", browser.new_page()), ("after_another_page", used)):
            page.goto(f"{url}{path}?q=word{number}")
            while not page.evaluate("performance.getEntriesByName('first-contentful-paint').length"):
                page.wait_for_timeout(20)
            times[kind].append(page.evaluate(_OPENED))
            if page is not used:
                page.close()
    used.close()
    return {
        kind: {
            "first_painted": round(statistics.median(painted for painted, _ in each[1:]), 1),
            "complete": round(statistics.median(complete for _, complete in each[1:]), 1),
        }
        for kind, each in times.items()
    }


@contextmanager
def browsing(chromium: str) -> Iterator[Browser]:
    """Run Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


def typed(browser: Browser, url: str) -> tuple[list[float], dict[str, int], float]:
    """Type the queries.

    Return the milliseconds from each key to the list, what is sent before results, and the layout shift.
    """
    keys: list[float] = []
    shifts: list[float] = []
    for number, query in enumerate((QUERIES[0], *QUERIES)):  # the first time warms up
        page = browser.new_page()
        page.add_init_script(_WATCH)
        # By words only, because the model is not measured.
        page.goto(f"{url}/?mode=words")
        sent = page.evaluate(_SENT)
        for character in query:
            if character.isascii():
                before, due = page.evaluate("window.keys.length"), time.monotonic() + _PATIENCE
                page.keyboard.press("Space" if character == " " else character)
                if character != " ":
                    # The security policy of the page refuses `wait_for_function`.
                    while page.evaluate("window.keys.length") == before and time.monotonic() < due:
                        page.wait_for_timeout(5)
            else:
                page.keyboard.insert_text(character)
                page.wait_for_timeout(100)
        if number:
            keys += page.evaluate("window.keys")
        shifts.append(page.evaluate("window.shift"))
        page.close()
    return keys, sent, max(shifts)


def measure(url: str, chromium: str) -> dict[str, Any]:
    with browsing(chromium) as browser:
        keys, sent, shift = typed(browser, url)
        small = opened(browser, url, "/help")
        documents = opened(browser, url, "/read/docs/long.md")
    return {
        "key_to_list_ms": {
            "keys": len(keys),
            "p50": round(percentile(keys, 0.5), 1),
            "p95": round(percentile(keys, 0.95), 1),
        },
        "page_without_a_document_ms": small,
        "document_of_100_kB_ms": documents,
        "sent_before_results": sent,
        "layout_shift": round(shift, 4),
    }


#: Records when Enter was pressed, and when results are first painted after it.
_WATCH_GNO = """
addEventListener('keydown', (event) => {
  if (event.key === 'Enter') window.pressed = performance.now();
}, true);
new MutationObserver(() => {
  const texts = [...document.querySelectorAll('p')].map((paragraph) => paragraph.textContent);
  if (!window.pressed || !texts.some((text) => /^\\d+ results?$/.test(text))) return;
  const since = window.pressed; window.pressed = 0;
  requestAnimationFrame(() => { window.took = performance.now() - since; });
}).observe(document, { childList: true, subtree: true, characterData: true });
"""


@contextmanager
def gno_served(command: Sequence[str], home: Path, folder: Path) -> Iterator[tuple[str, float]]:
    """Index a folder with gno and serve it. Yield the address of the page, and the seconds of indexing."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("GNO_", "XDG_"))}
    environ |= {"HOME": str(home), "GNO_OFFLINE": "1", "NODE_LLAMA_CPP_SKIP_DOWNLOAD": "true"}
    gno = [*command, "--offline", "--yes"]
    subprocess.run([*gno, "init", str(folder), "--name", "docs"], env=environ, check=True, stdout=2)
    began = time.perf_counter()
    subprocess.run([*gno, "update"], env=environ, check=True, stdout=2)
    seconds = time.perf_counter() - began
    server = subprocess.Popen([*gno, "serve", "--port", "3777"], env=environ, stdout=subprocess.DEVNULL)
    url = "http://127.0.0.1:3777"
    try:
        while server.poll() is None:
            with suppress(OSError):
                urlopen(f"{url}/search").close()
                break
            time.sleep(0.2)
        yield url, seconds
    finally:
        server.terminate()
        server.wait()


def measure_gno(url: str, chromium: str) -> dict[str, Any]:
    times: list[float] = []
    with browsing(chromium) as browser:
        page = browser.new_page()
        page.add_init_script(_WATCH_GNO)
        page.goto(f"{url}/search")
        page.wait_for_load_state("networkidle")
        sent = page.evaluate(_SENT)
        box = page.get_by_placeholder("Search your documents")
        for query in (QUERIES[0], *QUERIES):  # the first time warms up
            page.evaluate("window.took = 0")
            box.fill(query)
            box.press("Enter")
            due = time.monotonic() + _PATIENCE
            while not page.evaluate("window.took") and time.monotonic() < due:
                page.wait_for_timeout(20)
            times.append(page.evaluate("window.took") or math.inf)
    found = [each for each in times[1:] if each < math.inf]
    return {
        "enter_to_list_ms": {"p50": round(statistics.median(found), 1), "max": round(max(found), 1)},
        "queries": len(times) - 1,
        "queries_with_results": len(found),
        "sent_before_results": sent,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=38_000)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    parser.add_argument("--gno", type=shlex.split, help="the command that runs gno")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.chromium is None:
        sys.exit("no Chromium: see scripts/browser.sh")
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        folder = home / "docs"
        folder.mkdir()
        documents = corpus(options.folder, options.documents, folder)
        with served(home, folder) as (url, pid, seconds):
            result = {
                "index_seconds": round(seconds, 1),
                "documents": documents,
                "processor_ms": processor_time(url, pid),
                **measure(url, options.chromium),
                "load_average": os.getloadavg()[0],
            }
        if options.gno:
            (home / "gno").mkdir()
            with gno_served(options.gno, home / "gno", folder) as (url, seconds):
                result["gno"] = {"index_seconds": round(seconds, 1), **measure_gno(url, options.chromium)}
    print(json.dumps(result, indent=2, ensure_ascii=False))
    write_json(options.json, result)


if __name__ == "__main__":
    main()
