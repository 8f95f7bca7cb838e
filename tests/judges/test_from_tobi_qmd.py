"""docs/from-tobi-qmd.md agrees with tobi/qmd 2.8.3 and qmd: both run each command on it."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from msgspec import Struct

from qmd.cli.commands import OLDER, names
from tests.clients import Client
from tests.judges.calls import ROOT, SCRIPT, Judges
from tests.judges.cases import CASES, FILES, REQUESTS, Answer
from tests.users import MakeUser, User
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "from-tobi-qmd.md").read_text(encoding="utf-8")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Duel(Struct):
    """Both programs, each with a home folder and the same files."""

    node: Path
    peer: Path
    user: User
    other: User

    def ask(self, line: str) -> tuple[Answer, Answer]:
        ours = self.user.call(*shlex.split(line), cwd=self.user.home / "lib")
        command = [self.node, self.peer / "node_modules/@tobilu/qmd/dist/cli/qmd.js", *shlex.split(line)]
        peer = subprocess.run(
            command,
            cwd=self.other.home / "lib",
            env=self.other.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=PATIENCE,
        )
        return Answer(peer.returncode, peer.stdout + peer.stderr), Answer(
            ours.returncode, ours.stdout + ours.stderr
        )

    @contextmanager
    def serving(self) -> Iterator[tuple[Client, Client]]:
        """Serve both indexes over HTTP; return clients of the peer and of qmd."""
        program = self.peer / "node_modules/@tobilu/qmd/dist/cli/qmd.js"
        commands = ([self.node, program], [sys.executable, "-m", "qmd"])
        ports = free_port(), free_port()
        running = [
            subprocess.Popen(
                [*command, "mcp", "--http", "--port", str(port)],
                cwd=user.home,  # a folder without a project
                env={**user.environ, "PWD": str(user.home)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command, user, port in zip(commands, (self.other, self.user), ports, strict=True)
        ]
        try:
            for port, process in zip(ports, running, strict=True):
                until(lambda port=port: listens(port), alive=lambda process=process: process.poll() is None)
            yield Client(ports[0]), Client(ports[1])
        finally:
            for process in running:
                process.terminate()
                process.wait()


@pytest.fixture(scope="module")
def duel(make_user: MakeUser, judges: Judges, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with FileLock(tmp_path_factory.getbasetemp().parent / "peer.lock"):
        done = subprocess.run(["sh", SCRIPT, "peer"], capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        message = f"tobi/qmd cannot be installed: {' '.join(done.stderr.split())}"
        if os.environ.get("QMD_JUDGES") == "required":
            pytest.fail(message)
        pytest.skip(message[:300])
    users = make_user("duel-ours"), make_user("duel-peer")
    for user in users:
        for path, text in FILES.items():
            file = user.home / "lib" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        # tobi/qmd uses this variable as the current folder.
        user.environ |= {"NO_COLOR": "1", "PWD": str(user.home / "lib")}
    (node,) = judges.folder.glob("node_modules/node-*/bin/node")
    yield Duel(node, Path(done.stdout.strip()), *users)


@pytest.fixture(scope="module")
def answers(duel: Duel) -> list[tuple[Answer, Answer]]:
    """The answers of both programs to all cases."""
    return [duel.ask(case.line) for case in CASES]


def spans(text: str) -> list[str]:
    """Return the commands that a text names, without placeholders."""
    known = {*names(), *OLDER, "skills"}
    found = []
    for span in re.findall(r"`([^`\n]+)`", text):
        words = span.removeprefix("qmd ").split()
        if words and words[0] in known:
            found.append(" ".join(word for word in words if not word.isupper()))
    return found


def test_migration_page_commands_are_run_with_both_programs() -> None:
    compared = PAGE[PAGE.index("## The same") : PAGE.index("## Over HTTP")]
    compared = compared.replace("`collection` (`", "`collection` (").replace("`context` (`", "`context` (")
    # A command that is new in qmd has no counterpart.
    lines = [line for line in compared.splitlines() if not line.startswith("| | ")]
    run = [case.line for case in CASES]
    missing = [name for name in spans("\n".join(lines)) if not any(_runs(line, name) for line in run)]
    assert not missing
    for case in CASES:
        assert case.said in PAGE, case.said


def _runs(line: str, name: str) -> bool:
    words = [word for word in line.split() if word != "--index" and word != "work"]
    wanted = name.split()
    return words[: len(wanted)] == wanted or set(wanted) <= set(words)


def test_both_programs_answer_as_the_migration_page_says(answers: list[tuple[Answer, Answer]]) -> None:
    wrong = []
    for case, given in zip(CASES, answers, strict=True):
        for title, expected, answer in zip(("tobi/qmd", "here"), (case.peer, case.ours), given, strict=True):
            if answer.code != expected.code or not re.search(
                expected.pattern, answer.pattern.strip("\n") + "\n"
            ):
                wrong.append((case.line, title, expected, Answer(answer.code, answer.pattern[:300])))
    assert not wrong, "\n".join(map(str, wrong))


def test_both_servers_answer_as_the_migration_page_says(
    duel: Duel, answers: list[tuple[Answer, Answer]]
) -> None:
    wrong = []
    with duel.serving() as servers:
        for request in REQUESTS:
            assert request.said in PAGE, request.said
            for client, expected in zip(servers, (request.peer, request.ours), strict=True):
                answer = client.ask(request.method, request.path, request.fields)
                if answer.status != expected.code or not re.search(expected.pattern, answer.text):
                    wrong.append((request.path, request.fields, expected, answer.status, answer.text[:300]))
    assert not wrong, "\n".join(map(str, wrong))


def test_migrate_reads_an_index_of_tobi_qmd(duel: Duel, answers: list[tuple[Answer, Answer]]) -> None:
    home = duel.other.home
    index, config = home / "cache" / "qmd" / "index.sqlite", home / "config" / "qmd" / "index.yml"
    before = index.read_bytes(), config.read_bytes()
    target = duel.user.home / "fresh"
    environ = {"XDG_CONFIG_HOME": str(target / "config"), "XDG_CACHE_HOME": str(target / "cache")}
    for config_option in (["--config", str(config)], []):
        done = duel.user.run("migrate", "--json", str(index), *config_option, "--dry-run", **environ)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        actions = {each["name"]: each["action"] for each in report["collections"]}
        assert actions["texts"] == actions["talks"] == "added"
    assert "All talks" not in done.stdout
    duel.user.run("migrate", str(index), "--yes", **environ)
    assert "All talks" in (target / "config" / "qmd" / "index.yml").read_text(encoding="utf-8")
    assert "Nothing to take over" in duel.user.run("migrate", str(index), "--yes", **environ).stdout
    # At the default path both programs share index.yml.
    shared = {key: duel.other.environ[key] for key in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME")}
    assert "Both programs read the same" in duel.user.run("migrate", **shared).stdout
    assert (index.read_bytes(), config.read_bytes()) == before
