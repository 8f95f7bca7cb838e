"""Commands inside a clone that contains Python modules, which no process of qmd may run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.files import NOTEBOOK
from tests.repositories import Repository, needs_git
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
            text = f"# Note {number}\n\nThe heron number {number} stands in the water.\n"
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


def _ways(folder: Path, program: str, port: int) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Return ways to have `git pull` run a program: settings of the clone, and files in its `.git`."""
    ext, http = f"ext::{program}", f"http://127.0.0.1:{port}/origin"
    attributes = {"info/attributes": "* filter=x\n"}
    upload = {"remote.origin.uploadpack": program}
    included = {"evil": f'[remote "origin"]\n\tuploadpack = {program}\n'}
    hook = f"#!/bin/sh\nexec {program}\n"
    return {
        "uploadpack": (upload, {}),
        "smudge": ({"filter.x.smudge": program}, attributes),
        "clean": ({"filter.x.clean": program}, attributes),
        "process": ({"filter.x.process": program, "filter.x.required": "true"}, attributes),
        "sshCommand": ({"core.sshCommand": program, "remote.origin.url": "ssh://a@example.org/b"}, {}),
        "gitProxy": ({"core.gitProxy": program, "remote.origin.url": "git://example.org/b"}, {}),
        "helper": ({"credential.helper": f"!{program}", "remote.origin.url": http}, {}),
        "helper of a host": (
            {f"credential.http://127.0.0.1:{port}.helper": f"!{program}", "remote.origin.url": http},
            {},
        ),
        "askPass": ({"core.askPass": program, "remote.origin.url": http}, {}),
        "include": ({"include.path": "evil"}, included),
        "includeIf": ({f"includeIf.gitdir:{folder}/.path": "evil"}, included),
        "worktree": (
            {"extensions.worktreeConfig": "true"},
            {"config.worktree": f'[remote "origin"]\n\tuploadpack = {program}\n'},
        ),
        "ext": ({"remote.origin.url": ext, "protocol.ext.allow": "always"}, {}),
        "vcs": (
            {"remote.origin.vcs": "ext", "remote.origin.url": program, "protocol.ext.allow": "always"},
            {},
        ),
        "branch": ({"branch.main.remote": ext, "protocol.ext.allow": "always"}, {}),
        "insteadOf": ({f"url.{ext} .insteadOf": str(folder.parent), "protocol.ext.allow": "always"}, {}),
        "fsmonitor": ({"core.fsmonitor": program}, {}),
        "gpg": ({"gpg.program": program, "merge.verifySignatures": "true"}, {}),
        "hooksPath": ({"core.hooksPath": str(folder / ".git" / "h")}, {"h/post-merge": hook}),
        "hook": ({}, {"hooks/post-merge": hook}),
        "transaction": ({}, {"hooks/reference-transaction": hook}),
        "lfs": ({"filter.lfs.process": program}, {"info/attributes": "* filter=lfs\n"}),
        "alternates": ({"core.alternateRefsCommand": program}, {}),
        "submodule": ({"submodule.a.update": f"!{program}", "submodule.recurse": "true"}, {}),
        "remotes": ({"branch.main.remote": "evil"}, {"remotes/evil": f"URL: {ext}\nPull: main\n"}),
    }


@contextmanager
def closing_server(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Run a server on a free port of the loopback, and yield the port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


class _Asking(BaseHTTPRequestHandler):
    """Asks for a password, so that git asks the programs that have them."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@needs_git
def test_git_pull_runs_no_program_that_a_clone_names(user: User) -> None:
    origin = Repository(user.home / "origin")
    origin.commit("2024-01-01T10:00:00Z", "One", {"one.md": "# One\n"})
    marker, program = user.home / "ran", user.home / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    with closing_server(_Asking) as port:
        ways = _ways(user.home / "clone", str(program), port)
        for number, name in enumerate(ways):
            clone = user.home / f"clone{number}"
            origin.git("clone", "-q", str(origin.folder), str(clone))
            for setting, value in _ways(clone, str(program), port)[name][0].items():
                origin.git("-C", str(clone), "config", setting, value)
            for path, text in ways[name][1].items():
                (clone / ".git" / path).parent.mkdir(exist_ok=True)
                (clone / ".git" / path).write_text(text, encoding="utf-8")
                (clone / ".git" / path).chmod(0o755)
            user.ok("collection", "add", str(clone), "--name", name)
        origin.commit("2024-01-02T10:00:00Z", "Two", {"two.md": "# Two\n", "one.md": "# One, changed\n"})
        refused, pulled = [], []
        for name in ways:
            done = user.call("update", name, "--no-embed", "--pull")
            assert not marker.exists(), (name, done)
            (pulled if done.returncode == 0 else refused).append(name)
            assert done.returncode == 0 or "git pull failed" in done.stderr
        assert {"hook", "transaction"} <= set(pulled)  # they are not run
        real = []
        for number, name in enumerate(ways):
            command = ["git", "-C", str(user.home / f"clone{number}"), "pull", "--ff-only"]
            subprocess.run(command, env=user.environ, capture_output=True, check=False, timeout=60)
            real += [name] * marker.exists()
            marker.unlink(missing_ok=True)
    assert len({*real} & {*refused}) > 12, real


@needs_git
def test_git_pull_refuses_with_the_name_of_the_setting(user: User) -> None:
    origin = Repository(user.home / "origin")
    origin.commit("2024-01-01T10:00:00Z", "One", {"one.md": "# One\n"})
    origin.git("clone", "-q", str(origin.folder), str(user.home / "clone"))
    user.ok("collection", "add", str(user.home / "clone"))
    origin.git("-C", str(user.home / "clone"), "config", "core.sshCommand", "ssh -i key")
    done = user.call("update", "--no-embed", "--pull")
    assert (done.returncode, done.stdout) == (1, "clone: 1 unchanged\n")
    assert "its .git/config sets core.sshcommand, which may run a program" in done.stderr
    origin.git("-C", str(user.home / "clone"), "config", "--unset", "core.sshCommand")
    assert user.call("update", "--no-embed", "--pull").returncode == 0


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
