"""The instructions that the work of qmd takes, counted by valgrind: the same on a busy machine.

    python bench/instructions.py [--qmd QMD...]        the rows in millions; with several, ratios to the first
    python bench/instructions.py --budget [--write]    compare with instructions.json; --write sets it
    python bench/instructions.py --growth [KIND...]    what a text twice as long costs, and a longer query

The documents are generated (`instruction_texts.py`). Commands are counted with their child processes. Calls
of an open index and of a server are counted as the difference between many calls and few, so without the
start.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import distributions
from itertools import pairwise
from pathlib import Path

from instruction_texts import KINDS, SEED, Writer, edit, queries, write, write_documents

HERE = Path(__file__).resolve().parent
#: The numbers of the rows, and what they were counted with.
BUDGET = HERE / "instructions.json"
#: A row may take this much more than its number. If it takes less than its number by `LESS`, that is lowered.
MORE, LESS = 0.015, 0.03
#: What a text twice as long may cost, and a query of twice the words.
MOST_GROWTH = 2.2
SIZES = (250_000, 500_000, 1_000_000)
#: A query has at most 10,000 characters, which are about 1,000 words.
WORDS = (10, 100, 1_000)
#: A document or a query for which a command takes little more than its start.
_LEAST = 1_000
#: Packages in which much of the instructions are.
_PACKAGES = ("anyio", "apsw", "msgspec", "numpy", "PyStemmer", "starlette", "uvicorn")
_VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_COUNT = re.compile(r"I +refs: +([\d,]+)")
#: The command, which reads files itself: in valgrind its child processes would take longer than they may, and
#: those that it ends are not counted.
_ALONE = (
    "import sys; from qmd.sources import reading; reading._MOST = 1; reading._is_apart = lambda *_: False; "
    "from qmd.__main__ import main; sys.argv[0] = 'qmd'; sys.exit(main())"
)
#: Seconds in which a server must listen.
_PATIENCE = 120.0


class Home:
    """The home of somebody who has documents: a folder, its index, and commands of a `qmd` in it."""

    def __init__(self, qmd: Path, folder: Path) -> None:
        self._python = qmd.parent / "python"
        self._qmd = qmd
        self.folder = folder
        #: Nothing of the user's own, so that the same work is done everywhere.
        self._environ = {
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "PATH": os.environ["PATH"],
            "PYTHONHASHSEED": "0",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }

    def run(self, *arguments: str) -> None:
        """Run a command of `qmd` without counting."""
        self._done(self._start([self._python, self._qmd, *arguments]), arguments)

    def command(self, *arguments: str) -> float:
        """Return the millions of instructions of a command of `qmd`, with those of its child processes."""
        return self._counted([self._qmd, *arguments])

    def alone(self, *arguments: str) -> float:
        """Return the same of a command that reads files in its own process."""
        return self._counted(["-c", _ALONE, *arguments])

    def calls(self, name: str, times: int, *words: str) -> float:
        """Return the millions of instructions of so many calls of an open index, after the first ones."""
        few, many = (
            self._counted([HERE / "instruction_programs.py", name, str(count), *words])
            for count in (0, times)
        )
        return many - few

    def requests(self, times: int, path: str, bodies: Sequence[dict[str, object]]) -> float:
        """Return the millions of instructions of so many requests to a server, after the first ones."""
        counts = [self._served(len(bodies) + count, path, bodies) for count in (0, times)]
        return counts[1] - counts[0]

    def _served(self, times: int, path: str, bodies: Sequence[dict[str, object]]) -> float:
        with self._valgrind([self._qmd, "server", "--transport", "http", "--port", "0", "--no-watch"]) as (
            process,
            logs,
        ):
            connection = http.client.HTTPConnection("127.0.0.1", _port(process), timeout=_PATIENCE)
            for number in range(times):
                body = json.dumps(bodies[number % len(bodies)])
                connection.request("POST", path, body, {"content-type": "application/json"})
                answer = connection.getresponse()
                if answer.status != 200 or not json.loads(answer.read()).get("results"):
                    raise SystemExit(f"{path} {body}: {answer.status}")
            connection.close()
            process.send_signal(signal.SIGTERM)
            self._done(process, ("server",))
            return _sum(logs)

    def _counted(self, words: Sequence[str | Path]) -> float:
        with self._valgrind(words) as (process, logs):
            self._done(process, words)
            return _sum(logs)

    @contextmanager
    def _valgrind(self, words: Sequence[str | Path]) -> Iterator[tuple[subprocess.Popen[str], Path]]:
        """Start a program in valgrind; yield it, and the folder of its logs, one for each process."""
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as logs:
            options = ["--trace-children=yes", f"--log-file={logs}/%p"]
            with self._start([*_VALGRIND, *options, self._python, *words]) as process:
                try:
                    yield process, Path(logs)
                finally:
                    if process.poll() is None:
                        process.kill()

    def _start(self, words: Sequence[str | Path]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            words,
            env=self._environ,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )

    @staticmethod
    def _done(process: subprocess.Popen[str], words: Sequence[str | Path]) -> None:
        output, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"{' '.join(map(str, words))[:300]}: {process.returncode}\n{output[-2000:]}")


def _port(process: subprocess.Popen[str]) -> int:
    """Return the port of a server once it says where it listens."""
    assert process.stdout is not None
    for line in process.stdout:
        if match := re.search(r"http://127\.0\.0\.1:(\d+)", line):
            return int(match[1])
    raise SystemExit("the server does not serve")


def _sum(logs: Path) -> float:
    """Return the millions of instructions of the processes that wrote logs."""
    counts = [_COUNT.findall(log.read_text(encoding="utf-8", errors="replace")) for log in logs.iterdir()]
    return sum(int(each[-1].replace(",", "")) for each in counts if each) / 1e6


def _edited(home: Home) -> float:
    for file in sorted((home.folder / "n").rglob("*.md"))[::18]:
        edit(file)
    return home.command("index")


_QUERIES = queries(5, 2)
#: Each row: its name, and what is counted in a home whose documents are indexed.
ROWS: Mapping[str, Callable[[Home], float]] = {
    "first index": lambda home: home.command("collection", "add", "n", "--name", "n"),
    "8 documents edited": _edited,
    "no change": lambda home: home.command("index"),
    "search": lambda home: home.command("search", _QUERIES[0]),
    "search, Chinese": lambda home: home.command("search", "只形 外平"),
    "get": lambda home: home.command("get", "n/manuals/1.md"),
    "qmd --help": lambda home: home.command("--help"),
    "20 searches of an open index": lambda home: home.calls("search", 20, *_QUERIES),
    "20 searches over HTTP": lambda home: home.requests(
        20, "/search", [{"query": query, "limit": 10} for query in _QUERIES]
    ),
    "10 notes saved, one by one, with a watcher": lambda home: home.calls("save", 10),
    "50 outlines": lambda home: home.calls("outline", 50),
    "a pack without vectors": lambda home: home.command("pack", _QUERIES[0], "--no-rerank"),
    "50 completions on the page": lambda home: home.calls("completion", 50),
}
#: Rows of which the index is not made before.
_UNINDEXED = ("first index", "qmd --help")


def row(qmd: Path, name: str, work: Path) -> float:
    """Count a row in a home of its own; not a number if that fails."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        home = Home(qmd, Path(folder))
        write_documents(home.folder / "n")
        if name not in _UNINDEXED:
            home.run("collection", "add", "n", "--name", "n")
        began = time.monotonic()
        try:
            count = ROWS[name](home)
        except SystemExit as error:  # an older version may not have it
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            return math.nan
        print(f"{name:44} {count:10,.1f}   {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        return count


def rows(qmd: Path, names: Sequence[str], jobs: int) -> dict[str, float]:
    """Count rows, several at a time."""
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(jobs) as pool:
        return dict(zip(names, pool.map(lambda name: row(qmd, name, Path(work)), names), strict=True))


def growth(qmd: Path, kind: str, work: Path) -> list[str]:
    """Count the work with a text of each size, print it, and return what grows faster than it should."""
    made: dict[str, list[float]] = {}
    for size in (_LEAST, *SIZES):
        with tempfile.TemporaryDirectory(dir=work) as folder:
            home = Home(qmd, Path(folder))
            write(home.folder / "n" / "0.md", KINDS[kind](Writer(SEED), size))
            commands = {
                "indexing": ("collection", "add", "n", "--name", "n"),
                "search": ("search", "只形" if kind == "Chinese" else "peling"),
                "get": ("get", "n/0.md"),
                "outline": ("outline", "n/0.md"),
            }
            for name, words in commands.items():
                made.setdefault(name, []).append(home.alone(*words))
    return [fault for name, counts in made.items() for fault in _growing(f"{kind}, {name}", counts, SIZES)]


def query_growth(qmd: Path, work: Path) -> list[str]:
    """The same with queries of more and more words."""
    faults: list[str] = []
    with tempfile.TemporaryDirectory(dir=work) as folder:
        home = Home(qmd, Path(folder))
        write_documents(home.folder / "n")
        home.run("collection", "add", "n", "--name", "n")
        kinds: Mapping[str, Callable[[int], str]] = {
            "query": lambda count: queries(1, count)[0],
            "query, one word repeated": lambda count: " ".join(["peling"] * count),
            "query, an unknown word repeated": lambda count: " ".join(["zyzzyva"] * count),
            "query, words in Chinese": lambda count: " ".join((["只形", "外平"] * count)[:count]),
        }
        for name, text in kinds.items():
            counts = [home.command("search", text(count)) for count in (1, *WORDS)]
            faults += _growing(name, counts, WORDS)
    return faults


def _growing(name: str, counts: Sequence[float], sizes: Sequence[int]) -> list[str]:
    """Print the counts of work of the least size and of greater ones; return it if it grows too fast.

    What the least size costs is not counted. Less than what starting costs does not matter.
    """
    least, *more = counts
    floor = least / 20
    factors = [
        (max(after - least, floor) / max(before - least, floor)) ** (1 / math.log2(size / smaller))
        for (before, after), (smaller, size) in zip(pairwise(more), pairwise(sizes), strict=True)
    ]
    columns = [*(f"{each:10,.1f}" for each in counts), *(f"{each:.2f}" for each in factors)]
    line = f"{name:34} {'  '.join(columns)}"
    print(line, flush=True)
    return [line] if max(factors) > MOST_GROWTH else []


def environment() -> dict[str, str]:
    """Return what counts depend on beside the code: with another of these they are not compared."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "compiler": platform.python_compiler(),
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
    }


def packages() -> dict[str, str]:
    """Return the versions of packages that are counted, too."""
    return {each.name: each.version for each in distributions() if each.name in _PACKAGES}


def compared(budget: Mapping[str, float], counts: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """Print the rows beside their numbers; return those that are too dear or have none, and cheaper ones."""
    above, below = list[str](), list[str]()
    for name in {**budget, **counts}:
        if name not in counts or name not in budget:
            above.append(name)
            print(f"{name:44} only in {'the table' if name in budget else 'the code'}")
            continue
        ratio = counts[name] / budget[name]
        print(f"{name:44} {budget[name]:10,.1f} {counts[name]:10,.1f}   {ratio:.3f}")
        if not ratio <= 1 + MORE:  # also if it could not be counted
            above.append(name)
        if ratio < 1 - LESS:
            below.append(name)
    return above, below


def check(qmd: Path, jobs: int) -> int:
    """Compare the rows with their numbers; return the exit code."""
    table = json.loads(BUDGET.read_text(encoding="utf-8"))
    if others := _differences(table["environment"], environment()):
        print(f"Not compared, because {BUDGET.name} was counted with another environment: {others}.")
        return 0
    budget: dict[str, float] = table["rows"]
    counts = rows(qmd, [*ROWS], jobs)
    # What waits for other processes can vary; the lower of two counts is what it takes.
    dear = [name for name, count in counts.items() if count > budget.get(name, math.inf) * (1 + MORE)]
    again = rows(qmd, dear, jobs) if dear else {}
    counts |= {name: min(counts[name], count) for name, count in again.items()}
    above, below = compared(budget, counts)
    if below:
        print(f"\nCheaper than the table says. Lower the numbers ('--budget --write'): {'; '.join(below)}.")
    if above:
        print(f"\nDearer than the table says by more than {MORE:.1%}: {'; '.join(above)}.")
        if others := _differences(table["packages"], packages()):
            print(f"The table was counted with other packages: {others}.")
        print("'--budget --write' sets the numbers; say in the commit's body what users get for higher ones.")
    return 1 if above else 0


def write_budget(qmd: Path, jobs: int) -> None:
    """Set the numbers of the table."""
    counts = rows(qmd, [*ROWS], jobs)
    if any(map(math.isnan, counts.values())):
        raise SystemExit("not all rows could be counted")
    table = {
        "environment": environment(),
        "packages": packages(),
        "rows": {name: round(count, 1) for name, count in counts.items()},
    }
    BUDGET.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    for name, count in counts.items():
        print(f"{name:44} {count:10,.1f}")


def _differences(table: Mapping[str, str], here: Mapping[str, str]) -> str:
    return "; ".join(
        f"{name} {there} in the table, {here.get(name)} here"
        for name, there in table.items()
        if here.get(name) != there
    )


def _compile(qmd: Path) -> None:
    """Compile the modules of qmd, so that no command that is counted does."""
    code = (
        "import compileall, pathlib, qmd; compileall.compile_dir(pathlib.Path(qmd.__file__).parent, quiet=2)"
    )
    subprocess.run([qmd.parent / "python", "-c", code], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--qmd", type=Path, nargs="+", default=[Path(sys.executable).parent / "qmd"])
    parser.add_argument("--only", nargs="+", choices=ROWS, metavar="ROW", default=[*ROWS])
    parser.add_argument("--budget", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--growth", nargs="*", choices=(*KINDS, "queries"), metavar="KIND")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    qmds = [qmd.absolute() for qmd in options.qmd]
    if shutil.which("valgrind") is None:
        print("Instructions are not counted, because valgrind is missing.")
        return 0 if options.budget else 1
    began = time.monotonic()
    for qmd in qmds:
        _compile(qmd)
    if options.budget and options.write:
        write_budget(qmds[0], options.jobs)
    elif options.budget:
        code = check(qmds[0], options.jobs)
        print(f"{time.monotonic() - began:.0f} s")
        return code
    elif options.growth is not None:
        kinds = options.growth or [*KINDS, "queries"]
        with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(options.jobs) as pool:
            found = pool.map(
                lambda kind: (
                    query_growth(qmds[0], Path(work))
                    if kind == "queries"
                    else growth(qmds[0], kind, Path(work))
                ),
                kinds,
            )
            faults = [fault for each in found for fault in each]
        print(f"\nGrow by more than {MOST_GROWTH} when doubled:" if faults else "\nNothing grows too fast.")
        print(*faults, sep="\n")
        return 1 if faults else 0
    else:
        counts = [rows(qmd, options.only, options.jobs) for qmd in qmds]
        for name in options.only:
            first = counts[0][name]
            others = [f"{each[name]:10,.1f} ({each[name] / first:.3f})" for each in counts[1:]]
            print(f"{name:44} {first:10,.1f}  {'  '.join(others)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
