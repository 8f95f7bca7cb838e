"""Commands inside a clone that contains Python modules, which no process of qmd may run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.files import NOTEBOOK
from tests.users import User
from tests.waiting import until

pytestmark = pytest.mark.slow

#: Modules that every process of qmd imports, and some that Python imports when it starts processes.
MODULES = (
    "qmd/__init__",
    "apsw",
    "msgspec",
    "multiprocessing",
    "subprocess",
    "pickle",
    "socket",
    "json",
    "numpy",
)


class Clone:
    """A user in a folder of notes with modules. Each module that runs writes its name into a file."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.folder = user.home / "clone"
        self.markers = user.home / "markers"
        self.markers.mkdir()
        # A script as an installer writes it. Python then looks for modules in the script's folder, not in the
        # working folder.
        self.script = user.home / "qmd"
        self.script.write_text("from qmd.__main__ import main\nraise SystemExit(main())\n", encoding="utf-8")
        for module in MODULES:
            file = self.folder / f"{module}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            marker = str(self.markers / module.partition("/")[0])
            file.write_text(f"open({marker!r}, 'w').close()\nraise SystemExit(3)\n", encoding="utf-8")
        for number in range(80):  # more than a scan reads in its own process
            text = f"# Note {number}\n\nThe heron number {number} stands in the water.\n" + "Water. " * 40
            (self.folder / f"{number}.md").write_text(text, encoding="utf-8")
        (self.folder / "book.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")

    def qmd(self, *args: str) -> list[str]:
        return [sys.executable, str(self.script), *args]

    def run(self, *args: str, **environ: str) -> str:
        return self.command(self.qmd(*args), **environ)

    def command(self, words: list[str], **environ: str) -> str:
        environ = {**self.user.environ, **environ}
        done = subprocess.run(
            words, cwd=self.folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        assert self.executed == []
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def is_current(self, word: str) -> bool:
        """Return whether a search finds the word and every text has vectors."""
        state = json.loads(self.user.ok("status", "--json"))
        return state["needs_embedding"] == 0 and word in self.user.ok("search", word, "--json")

    @property
    def executed(self) -> list[str]:
        """The modules of the clone that ran, by name."""
        return sorted(marker.name for marker in self.markers.iterdir())


@pytest.fixture
def clone(user: User) -> Iterator[Clone]:
    clone = Clone(user)
    yield clone
    for name in ("server", "mcp"):
        user.run(name, "stop")


def indexed(clone: Clone) -> Clone:
    clone.run("collection", "add", ".", "--name", "notes")
    return clone


def test_reading_formats_runs_no_module_of_the_clone(clone: Clone) -> None:
    assert " new\n" in clone.run("collection", "add", ".", "--formats", "all")


@pytest.mark.models
def test_workers_run_no_module_of_the_clone(clone: Clone) -> None:
    assert "Embedded 80 texts" in indexed(clone).run("embed", "--workers", "2", "-q")


@pytest.mark.parametrize("command", [("server",), ("mcp", "--http"), ("open",)], ids=lambda words: words[0])
def test_servers_in_the_background_run_no_module_of_the_clone(clone: Clone, command: tuple[str, ...]) -> None:
    daemon = [] if command == ("open",) else ["--daemon"]
    # The browser does nothing.
    out = indexed(clone).run(*command, *daemon, "--port", "0", BROWSER="true")
    assert re.search(r"127\.0\.0\.1:\d+", out)
    assert clone.executed == []


@pytest.mark.models
@pytest.mark.parametrize(
    "command", [("watch",), ("mcp",), ("server", "--port", "0")], ids=lambda words: words[0]
)
def test_watchers_run_no_module_of_the_clone(clone: Clone, command: tuple[str, ...]) -> None:
    indexed(clone)
    for note in clone.folder.glob("*.md"):
        note.write_text(note.read_text(encoding="utf-8") + "\nA quetzal.\n", encoding="utf-8")
    with subprocess.Popen(
        clone.qmd(*command),
        cwd=clone.folder,
        env={**clone.user.environ, "QMD_WATCH": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            until(
                lambda: clone.executed or clone.is_current("quetzal"),
                alive=lambda: process.poll() is None,
            )
        finally:
            process.kill()
    assert clone.executed == []


def test_installed_service_runs_no_module_of_the_clone(clone: Clone) -> None:
    plan = clone.run("watch", "--install", "--dry-run")
    (line,) = re.findall(r"^ExecStart=(.*)$", plan, re.MULTILINE)
    *words, last = shlex.split(line)
    assert last == "watch"
    assert clone.command([*words, "--help"]).startswith("Usage: qmd")


def test_mcp_install_settings_run_no_module_of_the_clone(clone: Clone) -> None:
    environ = {"CLAUDE_CONFIG_DIR": str(clone.user.home)}
    clone.run("mcp", "install", "--client", "claude", **environ)
    settings = json.loads((clone.user.home / ".claude.json").read_text(encoding="utf-8"))
    server = settings["mcpServers"]["qmd"]
    assert clone.command([server["command"], *server["args"], "--help"]).startswith("Usage: qmd mcp")
    assert "Removed" in clone.run(
        "mcp", "uninstall", "--client", "claude", CLAUDE_CONFIG_DIR=str(clone.user.home)
    )
