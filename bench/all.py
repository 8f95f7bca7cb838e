"""Measure everything that the README and docs quote, from one commit; the most quoted first.

    python bench/all.py --eval EVAL [--data DATA] [--peer FOLDER] [--markdown FOLDER] [--only a,b] [--list]

A result is skipped if it is of the code that is there now, so an interrupted run goes on where it was. A row
whose data is missing is named and left out. Rows can be run alone, with `--only`; those that read indexes of
others say so. `EVAL` is a folder of collections in BEIR layout. `DATA` has a checkout `owner/name` of each
repository that a row names. `FOLDER` of `--peer` is where `npm i node@22 @tobilu/qmd@2.8.3` was run.
`--markdown` is a folder of 58,000 Markdown files or more. Run it on a machine without other work.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from common import say, table
from report_state import RESULTS, load, outdated

_HERE = Path(__file__).resolve().parent
_ENGLISH = "{eval}/scifact {eval}/claude_docs"
_WORDS = f"--english {_ENGLISH} --cjk {{eval}}/tidb_docs_zh"
_PEER = "--node {node} --peer {qmd}"
#: Each Nth question that `query` is asked, by collection.
_EVERY = {
    "claude_docs": 1,
    "scifact": 3,
    "code_chunks": 2,
    "tidb_docs_zh": 10,
    "tldr_zh2en": 10,
    "qmd_own": 1,
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
_CALIBRATED = " ".join(f"{{eval}}/{name}" for name in (*_EVERY, "xquad_zh2en"))


class Row(Struct, frozen=True):
    """A command that measures: its words, an estimate of its minutes, and other results that it writes."""

    command: str
    minutes: float
    also: tuple[str, ...] = ()


ROWS: dict[str, Row] = {
    "install-size": Row("install_size.py", 2),
    "peers-locomo": Row(f"peers.py locomo {_LOCOMO} --every 10", 8),
    "packs": Row(
        f"packs.py locomo={_LOCOMO} vault={_VAULT} passages={{eval}}/passages_md --questions 100", 8
    ),
    "hooks": Row(f"hooks.py {_VAULT} {_LOCOMO} --prompts 60", 4),
    **{
        f"quality-{name}": Row(
            f"quality.py {{eval}}/{name} --modes search,vsearch,query --every {every}", minutes
        )
        for (name, every), minutes in zip(_EVERY.items(), (2, 7, 3, 4, 7, 0.5), strict=True)
    },
    # Reads the indexes that quality-* left.
    "limits": Row(f"limits.py --eval {{eval}} --indexes {{work}} {_PEER}", 20, ("speed",)),
    "http": Row(f"load.py --vocabulary {_ENGLISH} {_PEER}", 6),
    "mcp": Row(f"serving.py --vocabulary {_ENGLISH} {_PEER}", 6),
    # Reads the index that quality-tldr_zh2en left.
    "in-process": Row(
        "speed.py --in-process-only --collection {eval}/tldr_zh2en --index {work}/tldr_zh2en/index.sqlite", 4
    ),
    **{f"peers-{name}": Row(f"peers.py {name} {{data}}/{_SETS[name]}", 3) for name in ("vault", "gno")},
    "peers-scifact": Row("peers.py scifact {eval}/scifact --every 3", 7),
    "mcp-faces": Row("mcp_faces.py", 1),
    "passages": Row("passages.py {eval}/passages_md", 4),
    "sections": Row(f"sections.py {{eval}}/sections/rfc_en {{eval}}/sections/laws_de {_PEER}", 8),
    **{
        f"web-{number}": Row(f"web.py --folder {{markdown}} --documents {number}", 3)
        for number in (7_425, 38_000)
    },
    **{
        f"freshness-{number}": Row(f"freshness.py --corpus {{markdown}} --files {number} --idle 120", 4)
        for number in (7_425, 38_000)
    },
    **{f"states-{name}": Row(f"states.py {name}={folders}", 6) for name, folders in _SITES.items()},
    "leaks": Row(f"leaks.py {_CALIBRATED} --code {{root}}/src", 6),
    "faults": Row("faults.py --rounds 40 --seconds 30", 6),
    "fuzz": Row("fuzz.py --minutes 0.5", 4),
    "embedding": Row("embedding.py --collection {eval}/claude_docs", 2),
    "similar": Row(
        f"similar.py help-en={_HELP}/en help-zh={_HELP}/zh "
        "garden-en={data}/jackyzha0/jackyzha0.github.io/content --time {eval}/tldr_zh2en",
        5,
    ),
    "calibration": Row(
        f"calibration.py {_CALIBRATED} --questions 30 --jobs 2 --plot {{results}}/calibration.svg", 10
    ),
    "pages": Row("pages.py {data}", 6),
    "formats": Row("formats.py {data}", 6),
    "fuzz-formats": Row("fuzz_formats.py {data} --minutes 5", 5),
    "links": Row(f"links.py {_HELP}/en {_HELP}/zh {{data}}/MicrosoftDocs/PowerShell-Docs", 1),
    "scale": Row(f"scale.py --corpus {{markdown}} {_WORDS} --plot {{results}}/scale.svg", 15),
    "growth": Row(f"growth.py {_WORDS} --plot {{results}}/growth.svg", 20),
}


def main() -> None:
    options = _options()
    rows = {name: ROWS[name] for name in options.only}
    if options.list:
        print(_plan(rows, options))
        return
    failed = []
    for name, row in rows.items():
        words = _words(name, row, options)
        if _is_current(name, row) and not options.again:
            say(f"{name}: current")
        elif missing := _missing(words):
            say(f"{name}: left out, needs {', '.join(missing)}")
            failed.append(name)
        else:
            say(f"{name}: {' '.join(words)}")
            began = time.monotonic()
            done = subprocess.run([sys.executable, *words], cwd=options.work, stdout=sys.stderr, check=False)
            say(f"{name}: {(time.monotonic() - began) / 60:.1f} minutes, status {done.returncode}")
            failed += [name] * bool(done.returncode)
    if failed:
        raise SystemExit(f"not measured: {', '.join(failed)}")


def _is_current(name: str, row: Row) -> bool:
    """Tell whether all results of a row are of the code that is there now."""
    files = [RESULTS / f"{result}.json" for result in (name, *row.also)]
    return all(file.exists() for file in files) and not outdated(files)


def _words(name: str, row: Row, options: argparse.Namespace) -> list[str]:
    """Return the words of a command. A place that was not given stays in braces."""
    # The scripts keep their indexes in a folder of this name.
    places: dict[str, Any] = {"work": options.work / "bench-work", "results": RESULTS, "root": _HERE.parent}
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
    return [str(_HERE / script), *filled, "--json", str(RESULTS / f"{name}.json")]


def _missing(words: list[str]) -> list[str]:
    """Return the places of a command's data that were not given or do not exist."""
    parts = [part for word in words[1:-2] for part in re.split("[=:]", word) if "/" in part or "{" in part]
    return [part for part in parts if "{" in part or not (Path(part).exists() or part.endswith(".svg"))]


def _plan(rows: dict[str, Row], options: argparse.Namespace) -> str:
    """Return the table of the rows, with the minutes that they took last, or an estimate."""
    lines, total = [], 0.0
    for name, row in rows.items():
        took = load(f"{name}.json").get("machine", {}).get("minutes")
        missing = _missing(_words(name, row, options))
        current = _is_current(name, row) and not options.again
        state = "current" if current else f"needs {', '.join(missing)}" if missing else ""
        minutes = row.minutes if took is None else took
        total += 0 if current else minutes
        lines.append([name, f"{minutes:g}", "estimated" if took is None else "the last run", state])
    return f"{table(['result', 'minutes', 'by', ''], lines)}\n\n{total:.0f} minutes to run, with all data"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure everything that is quoted.")
    parser.add_argument("--eval", type=Path, help="folder of collections in BEIR layout")
    parser.add_argument("--data", type=Path, help="folder of checkouts owner/name")
    parser.add_argument("--markdown", type=Path, help="folder of many Markdown files")
    parser.add_argument("--peer", type=Path, help="folder where npm installed tobi/qmd")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[*ROWS], help=", ".join(ROWS))
    parser.add_argument("--again", action="store_true", help="measure what is current too")
    parser.add_argument("--list", action="store_true", help="print the plan with its minutes")
    parser.add_argument("--work", type=Path, default=Path(), help="folder of bench-work with the indexes")
    options = parser.parse_args()
    if unknown := [name for name in options.only if name not in ROWS]:
        parser.error(f"no row {unknown[0]}; there are {', '.join(ROWS)}")
    options.work.mkdir(parents=True, exist_ok=True)
    options.work = options.work.resolve()
    return options


if __name__ == "__main__":
    main()
