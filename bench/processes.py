"""Programs that are run and measured as processes: wall time, processor time, peak memory."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from common import SOURCE

# A child inherits its parent's peak memory, so a small process starts each program and waits for it.
_LAUNCHER = """
import json, os, sys, time
quiet = os.open(os.devnull, os.O_RDWR)
began = time.perf_counter()
actions = [(os.POSIX_SPAWN_DUP2, quiet, fd) for fd in (0, 1)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - began
code = os.waitstatus_to_exitcode(status)
print(json.dumps([wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, code]))
"""
HOST = "127.0.0.1"
#: Seconds in which a server must listen.
_PATIENCE = 120.0
_KIB = 1 if sys.platform == "darwin" else 1024


class Cost(Struct, frozen=True):
    """The costs of a run: seconds, processor seconds, bytes of peak memory."""

    wall: float
    cpu: float
    memory: int


class Program(Struct, frozen=True):
    """A search program: its command, and a folder for its index and configuration."""

    name: str
    command: tuple[str, ...]
    state: Path
    #: The command that reads what has changed, and makes no vectors.
    update: str = "index"

    @property
    def environ(self) -> Mapping[str, str]:
        """Its environment variables: only its own settings and index."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("QMD_", "XDG_", "INDEX_"))
            and name not in ("CI", "PYTHONDONTWRITEBYTECODE")
        }
        return kept | {
            "XDG_CACHE_HOME": str(self.state / "cache"),
            "XDG_CONFIG_HOME": str(self.state / "config"),
            "PYTHONPATH": str(SOURCE),
            "NO_COLOR": "1",
        }

    def run(self, *arguments: str) -> Cost:
        """Run a command of the program to its end; raise `SystemExit` if it fails."""
        self.state.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, *self.command, *arguments],
            env=self.environ,
            cwd=self.state,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{self.name}: cannot be started: {done.stderr}")
        wall, cpu, memory, code = json.loads(done.stdout.splitlines()[-1])
        if code:
            raise SystemExit(f"{self.name} {' '.join(arguments)}: exit code {code}: {done.stderr[-2000:]}")
        return Cost(wall, cpu, memory * _KIB)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command of the program that keeps running, with pipes for stdin and stdout."""
        return subprocess.Popen(
            [*self.command, *arguments],
            env=self.environ,
            cwd=self.state,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def index_size(self) -> int:
        """Return the bytes of the index on disk."""
        return sum(path.stat().st_size for path in (self.state / "cache" / "qmd").glob("*.sqlite*"))


@contextmanager
def listening(program: Program, *arguments: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run a command of the program that serves; yield its port and its process once it listens."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port: int = free.getsockname()[1]
    process = program.start(*arguments, "--port", str(port))
    try:
        due = time.monotonic() + _PATIENCE
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > due:
                raise SystemExit(f"{program.name}: does not serve")
            time.sleep(0.05)
        yield port, process
    finally:
        process.terminate()
        process.communicate()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def comparison(description: str, work: str) -> argparse.ArgumentParser:
    """Return the options of benchmarks of servers: the corpus, the programs, and where results go."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--vocabulary", type=Path, nargs="+", required=True, help="collections whose words are used"
    )
    parser.add_argument("--files", type=int, default=38_000, help="number of generated files (38000)")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--ours", default="", help="the command that runs qmd (this source tree)")
    parser.add_argument("--node", type=Path, help="the Node that runs tobi/qmd")
    parser.add_argument("--peer", type=Path, help="tobi/qmd's dist/cli/qmd.js")
    parser.add_argument(
        "--work", type=lambda path: Path(path).resolve(), default=Path("bench-work", work).resolve()
    )
    parser.add_argument("--json", type=Path)
    return parser


def compared(options: argparse.Namespace) -> list[Program]:
    """Return the programs of `comparison`, each without an index: ours, and tobi/qmd if it is given."""
    if bool(options.node) != bool(options.peer):
        raise SystemExit("--node and --peer go together")
    programs = [ours(options.work / "ours", tuple(shlex.split(options.ours)))]
    if options.peer:
        programs.append(peer(options.node, options.peer, options.work / "peer"))
    for program in programs:
        shutil.rmtree(program.state, ignore_errors=True)
    return programs


def ours(state: Path, command: tuple[str, ...] = ()) -> Program:
    """Return this program, with the given command or that of its source tree."""
    return Program("qmd-python", command or (sys.executable, "-m", "qmd"), state)


def peer(node: Path, script: Path, state: Path) -> Program:
    """Return tobi/qmd, with its `dist/cli/qmd.js` and Node."""
    return Program("tobi/qmd", (str(node), str(script)), state, "update")


def alternating(programs: Sequence[Program], rounds: int) -> list[Program]:
    """Yield programs as A B, B A, A B, ..., so that neither always runs after the other."""
    order: list[Program] = []
    for number in range(rounds):
        order += programs if number % 2 == 0 else reversed(programs)
    return order
