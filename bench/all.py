"""Measure everything that the README and docs quote, from one commit; the most quoted first.

    python bench/all.py --eval EVAL [--data DATA] [--peer FOLDER] [--markdown FOLDER] [--only a,b] [--list]

A result is skipped if it is of the code that is there now, so an interrupted run goes on where it was. A row
whose data is missing is named and left out. Rows that measure time run alone, the others two at a time. The
output of each is in `--work`, and a row that fails leaves its earlier results as they were.

`EVAL` is a folder of collections in BEIR layout. `DATA` has a checkout `owner/name` of each repository that
a row names. `FOLDER` of `--peer` is where `npm i node@22 @tobilu/qmd@2.8.3` was run, and that of `--markdown`
has 58,000 Markdown files or more. Run it on a machine without other work.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from msgspec import Struct

from common import say, table
from report_state import RESULTS, load, outdated

_HERE = Path(__file__).resolve().parent
_ENGLISH = "{eval}/scifact {eval}/claude_docs"
_WORDS = f"--english {_ENGLISH} --cjk {{eval}}/tidb_docs_zh"
_PEER = "--node {node} --peer {qmd}"
#: By collection: each Nth question that `query` is asked, and the minutes of all, with one thread.
_QUALITY = {
    "scifact": (3, 15),
    "tidb_docs_zh": (10, 15),
    "tldr_zh2en": (10, 11),
    "claude_docs": (1, 4),
    "code_chunks": (2, 3),
    "xquad_zh2en": (10, 2),
    "qmd_own": (1, 0.5),
}
_SETS = {
    "locomo": "dial481/locomo-audit",
    "vault": "flowing-abyss/obsidian-hybrid-search",
    "gno": "gmickel/gno",
}
_LOCOMO, _VAULT = (f"{{data}}/{_SETS[name]}" for name in ("locomo", "vault"))
_SITES = {
    "jest": "{data}/jestjs/jest/website/versioned_docs/version-29.7:{data}/jestjs/jest/docs",
    "react_native": "{data}/facebook/react-native-website/website/versioned_docs/version-0.77"
    ":{data}/facebook/react-native-website/docs",
}
_HELP = "{data}/obsidianmd/obsidian-help"
_CALIBRATED = " ".join(f"{{eval}}/{name}" for name in _QUALITY)
#: Checkouts with files of many formats.
_FORMATS = " ".join(
    f"{{data}}/{name}"
    for name in (
        "py-pdf/sample-files",
        "jsvine/pdfplumber",
        "microsoft/markitdown",
        "IDPF/epub3-samples/epubs",
        "jupyter/nbconvert",
        "chaoss/grimoirelab-perceval",
        "sisimai/rb-sisimai/set-of-emails/maildir/bsd",
    )
)


class Row(Struct, frozen=True):
    """A command that measures: its words, an estimate of its minutes, and other results that it writes.

    A row that measures time runs alone. Others run beside each other if none uses an index of another.
    """

    command: str
    minutes: float
    timed: bool = False
    also: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()


#: What the README quotes comes first, in two parts, and then the rest in two: what measures no time, and what
#: does. The last rows take longest.
ROWS: dict[str, Row] = {
    **{
        f"quality-{name}": Row(
            f"quality.py {{eval}}/{name} --modes search,vsearch,query --every {every}",
            minutes,
            indexes=(name,),
        )
        for name, (every, minutes) in _QUALITY.items()
    },
    "peers-locomo": Row(f"peers.py locomo {_LOCOMO} --every 10", 6, indexes=("locomo",)),
    "packs": Row(
        f"packs.py locomo={_LOCOMO} vault={_VAULT} passages={{eval}}/passages_md --questions 100",
        6,
        indexes=("locomo", "vault", "passages_md"),
    ),
    "hooks": Row(
        f"hooks.py {_VAULT} {_LOCOMO} --languages {{data}}/languages --prompts 60",
        8,
        indexes=("locomo", "vault"),
    ),
    "install-size": Row("install_size.py", 0.5),
    "limits": Row(
        f"limits.py --eval {{eval}} --indexes {{work}} {_PEER}", 15, timed=True, also=("speed", "in-process")
    ),
    "http": Row(f"load.py --vocabulary {_ENGLISH} {_PEER}", 4, timed=True),
    "mcp": Row(f"serving.py --vocabulary {_ENGLISH} {_PEER}", 4, timed=True),
    **{
        f"peers-{name}": Row(f"peers.py {name} {{data}}/{_SETS[name]}", 2, indexes=(name,))
        for name in ("vault", "gno")
    },
    "peers-scifact": Row("peers.py scifact {eval}/scifact --every 3", 3, indexes=("scifact",)),
    "passages": Row("passages.py {eval}/passages_md", 3, indexes=("passages_md",)),
    "languages": Row("languages.py {data}/languages {data}/languages/far.json --every 4", 12),
    "ocr": Row("ocr.py {data}/languages", 20),
    "synonyms": Row("synonyms.py {data}/languages/x_en", 2),
    "sections": Row(f"sections.py {{eval}}/sections/rfc_en {{eval}}/sections/laws_de {_PEER}", 8),
    **{f"states-{name}": Row(f"states.py {name}={folders}", 6) for name, folders in _SITES.items()},
    "calibration": Row(
        f"calibration.py {_CALIBRATED} --questions 30 --jobs 1",
        10,
        indexes=(*_QUALITY,),
    ),
    "mcp-faces": Row("mcp_faces.py", 0.5),
    "pages": Row("pages.py {data}", 5),
    "links": Row(f"links.py {_HELP}/en {_HELP}/zh {{data}}/MicrosoftDocs/PowerShell-Docs", 1.5),
    "faults": Row("faults.py --rounds 40 --seconds 30", 6),
    "fuzz": Row("fuzz.py --minutes 0.5", 4),
    "fuzz-formats": Row(f"fuzz_formats.py {_FORMATS} --minutes 5", 5),
    **{
        f"web-{number}": Row(f"web.py --folder {{markdown}} --documents {number}", 3, timed=True)
        for number in (7_425, 38_000)
    },
    **{
        f"freshness-{number}": Row(
            f"freshness.py --corpus {{markdown}} --files {number} --idle 120", 4, timed=True
        )
        for number in (7_425, 38_000)
    },
    "embedding": Row("embedding.py --collection {eval}/claude_docs --chunks 300 --rounds 3", 3, timed=True),
    "formats": Row(f"formats.py {_FORMATS}", 6, timed=True),
    "leaks": Row(f"leaks.py {_CALIBRATED} --code {{root}}/src", 6, timed=True),
    "similar": Row(
        f"similar.py help-en={_HELP}/en help-zh={_HELP}/zh "
        "garden-en={data}/jackyzha0/jackyzha0.github.io/content --time {eval}/tldr_zh2en",
        5,
        timed=True,
    ),
    "scale": Row(f"scale.py --corpus {{markdown}} {_WORDS}", 15, timed=True),
    "growth": Row(f"growth.py {_WORDS}", 20, timed=True),
}


def main() -> None:
    options = _options()
    if options.list:
        print(_plan(options))
        return
    failed, waiting = [], []
    for name in options.only:
        if options.untimed and ROWS[name].timed:
            continue
        if _is_current(name, ROWS[name]) and not options.again:
            say(f"{name}: current")
        elif missing := _missing(_words(name, ROWS[name], options)):
            say(f"{name}: left out, needs {', '.join(missing)}")
            failed.append(name)
        else:
            waiting.append(name)
    running: dict[Future[int], str] = {}
    until = time.monotonic() + 60 * options.minutes
    with ThreadPoolExecutor(options.jobs) as pool:
        while waiting or running:
            while name := startable(waiting, [*running.values()], options.jobs):
                waiting.remove(name)
                if time.monotonic() + 60 * ROWS[name].minutes > until:
                    say(f"{name}: left out, takes {ROWS[name].minutes:g} minutes")
                    failed.append(name)
                    continue
                running[pool.submit(_measure, name, options)] = name
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(done)
                failed += [name] * bool(done.result())
    if failed:
        raise SystemExit(f"not measured: {', '.join(failed)}")


def startable(waiting: Sequence[str], running: Sequence[str], jobs: int) -> str:
    """Return the first row that can run now; "" if none can before a running one ends.

    No row starts before one ahead of it that measures time.
    """
    if len(running) >= jobs or any(ROWS[name].timed for name in running):
        return ""
    used = {index for name in running for index in ROWS[name].indexes}
    for name in waiting:
        if ROWS[name].timed:
            return "" if running else name
        if used.isdisjoint(ROWS[name].indexes):
            return name
    return ""


def _measure(name: str, options: argparse.Namespace) -> int:
    """Run the command of a row, and keep its results if it succeeds; return its status."""
    words = _words(name, ROWS[name], options)
    log, new = options.work / f"{name}.log", _new(name, options)
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    say(f"{time.strftime('%H:%M')} {name}: {' '.join(words)}")
    began = time.monotonic()
    # Beside each other, the threads of several models would wait for a processor.
    threads = {} if ROWS[name].timed or options.jobs == 1 else {"QMD_THREADS": "1"}
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=options.work,
            env=os.environ | threads,
            stdout=file,
            stderr=file,
            check=False,
        )
    if done.returncode:
        say("".join(log.read_text(encoding="utf-8").splitlines(keepends=True)[-5:]))
    else:
        for result in new.iterdir():
            shutil.move(result, RESULTS / result.name)
    say(f"{name}: {(time.monotonic() - began) / 60:.1f} minutes, status {done.returncode} ({log})")
    return done.returncode


def _is_current(name: str, row: Row) -> bool:
    """Tell whether all results of a row are of the code that is there now."""
    files = [RESULTS / f"{result}.json" for result in (name, *row.also)]
    return all(file.exists() for file in files) and not outdated(files)


def _words(name: str, row: Row, options: argparse.Namespace) -> list[str]:
    """Return the words of a command. A place that was not given stays in braces."""
    # The scripts keep their indexes in a folder of this name.
    places: dict[str, Any] = {"work": options.work / "bench-work", "root": _HERE.parent}
    places |= {"eval": options.eval, "data": options.data, "markdown": options.markdown}
    if options.peer:
        modules = options.peer / "node_modules"
        places |= {
            "node": modules / ".bin" / "node",
            "qmd": modules / "@tobilu" / "qmd" / "dist" / "cli" / "qmd.js",
        }
    given = {key: str(value.resolve()) for key, value in places.items() if value}
    script, *words = row.command.split()
    filled = [re.sub(r"\{(\w+)\}", lambda found: given.get(found[1], found[0]), word) for word in words]
    return [str(_HERE / script), *filled, "--json", str(_new(name, options) / f"{name}.json")]


def _new(name: str, options: argparse.Namespace) -> Path:
    """Return the folder of the results of a command that has not succeeded yet."""
    folder: Path = options.work / "new" / name
    return folder


def _missing(words: list[str]) -> list[str]:
    """Return the places of a command's data that were not given or do not exist."""
    parts = [part for word in words[1:-2] for part in re.split("[=:]", word) if "/" in part or "{" in part]
    return [part for part in parts if "{" in part or not Path(part).exists()]


def _plan(options: argparse.Namespace) -> str:
    """Return the table of the rows, with the minutes that they took last, or an estimate."""
    lines, total = [], 0.0
    for name in options.only:
        row = ROWS[name]
        took = load(f"{name}.json").get("machine", {}).get("minutes")
        missing = _missing(_words(name, row, options))
        current = _is_current(name, row) and not options.again
        state = "current" if current else f"needs {', '.join(missing)}" if missing else ""
        minutes = row.minutes if took is None else took
        total += 0 if current else minutes if row.timed else minutes / options.jobs
        beside = "alone" if row.timed else "in pairs" if options.jobs == 2 else f"{options.jobs} at a time"
        lines.append([name, f"{minutes:g}", "estimated" if took is None else "the last run", beside, state])
    heads = ["result", "minutes", "by", "runs", ""]
    return f"{table(heads, lines)}\n\n{total:.0f} minutes to run, with all data"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure everything that is quoted.")
    parser.add_argument("--eval", type=Path, help="folder of collections in BEIR layout")
    parser.add_argument("--data", type=Path, help="folder of checkouts owner/name")
    parser.add_argument("--markdown", type=Path, help="folder of many Markdown files")
    parser.add_argument("--peer", type=Path, help="folder where npm installed tobi/qmd")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[*ROWS], help=", ".join(ROWS))
    parser.add_argument("--untimed", action="store_true", help="only rows that measure no time")
    parser.add_argument("--jobs", type=int, default=2, help="rows at a time, if they measure no time (2)")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="start only rows that end within so many minutes"
    )
    parser.add_argument("--again", action="store_true", help="measure what is current too")
    parser.add_argument("--list", action="store_true", help="print the plan with its minutes")
    parser.add_argument("--work", type=Path, default=Path(), help="folder of bench-work with the indexes")
    options = parser.parse_args()
    if unknown := [name for name in options.only if name not in ROWS]:
        parser.error(f"no row {unknown[0]}; there are {', '.join(ROWS)}")
    options.work.joinpath("bench-work").mkdir(parents=True, exist_ok=True)
    options.work = options.work.resolve()
    return options


if __name__ == "__main__":
    main()
