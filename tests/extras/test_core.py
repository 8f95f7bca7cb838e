"""qmd without extras: what an extra adds is named in a line, and everything else works."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from qmd.sources.formats.registry import BUILTIN
from tests.agents import agents
from tests.clients import server_of
from tests.extras.conftest import ROOT, UserOf
from tests.users import User
from tests.waiting import PATIENCE, until

#: The suffixes of the files that wait, by extra.
WAITING = {
    extra: [suffix for row in BUILTIN.values() if row.extra == extra for suffix in row.suffixes]
    for extra in ("formats", "code")
}


@pytest.fixture(scope="module")
def user(user_of: UserOf) -> User:
    """A user with a file of each kind, in a collection with all formats."""
    user = user_of("core")
    for path in user.notes.glob("[abc].*"):
        path.unlink()
    for suffix in (suffix for suffixes in WAITING.values() for suffix in suffixes):
        (user.notes / f"x.{suffix}").write_bytes(b"heron")
    done = run(user, "add", str(user.notes), "--formats", "all")
    for extra, suffixes in WAITING.items():
        assert f"notes: {len(suffixes)} files" in done.stderr
        assert command(user, extra) in done.stderr
    return user


def run(user: User, *words: str, code: int = 0, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command that ends with a code, and never with a traceback."""
    done = user.run(*words, **environ)
    assert done.returncode == code, (words, done)
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    return done


def command(user: User, extra: str) -> str:
    """Return the command that installs an extra into the environment of a user."""
    return f"{user.python} -P -m pip install '{ROOT}[{extra}]'"


@pytest.mark.parametrize(
    "words",
    [
        *("update", "update --failed", "status --json", "ls notes", "collection show notes"),
        *("search performance", "vsearch performance", "query performance", "get notes/deploy.md"),
        *(
            "multi-get notes/*.md",
            "pack performance",
            "models",
            "cleanup",
        ),
        *("mcp install --client claude --dry-run", "hook status"),
    ],
)
def test_command_works_while_files_wait(user: User, words: str) -> None:
    assert run(user, *words.split()).stdout


def test_doctor_names_each_missing_extra_once(user: User) -> None:
    found = json.loads(run(user, "doctor", "--json").stdout)
    waiting = [each for each in found if each["check"] == "files"]
    assert {each["hint"] for each in waiting} == {command(user, extra) for extra in WAITING}
    assert len(waiting) == len(WAITING)
    assert {each["level"] for each in waiting} == {"warning"}


@pytest.mark.parametrize("suffix", ["pdf", "html", "py"])
def test_document_that_waits_is_explained(user: User, suffix: str) -> None:
    extra = "code" if suffix == "py" else "formats"
    told = run(user, "get", f"notes/x.{suffix}", code=1).stderr
    assert f"files of this format wait for the extra '{extra}'" in told
    assert command(user, extra) in told
    assert command(user, extra) in run(user, "why", f"notes/x.{suffix}", "heron").stdout


def test_mask_that_selects_other_formats_leaves_them_waiting(user_of: UserOf) -> None:
    other = user_of("core")
    done = run(other, "add", str(other.notes), "--mask", "**/*")
    assert f"1 file (1 .pdf) waits for: {command(other, 'formats')}" in done.stderr
    assert "1 file (1 .pdf) waits for" in run(other, "update").stderr
    assert run(other, "search", "performance").stdout


def test_watcher_goes_on_while_files_wait(user: User) -> None:
    words = [user.python, "-m", "qmd", "watch"]
    log = user.home / "watch.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(words, stdout=errors, stderr=errors, env=user.environ) as process,
    ):
        try:
            waits = command(user, "formats").encode()
            until(lambda: waits in log.read_bytes(), lambda: process.poll() is None)
            (user.notes / "y.pdf").write_bytes(b"ibis")
            (user.notes / "new.md").write_text("A flamingo.", encoding="utf-8")
            until(lambda: "new.md" in user.run("search", "flamingo").stdout, lambda: process.poll() is None)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
    assert b"Traceback" not in log.read_bytes()


def test_server_and_its_watcher_go_on_while_files_wait(user: User) -> None:
    with server_of(user, QMD_WATCH="1") as server:
        until(lambda: server.ok("GET", "/health")["watching"] in ("events", "polling"))
        (user.notes / "z.pdf").write_bytes(b"ibis")
        (user.notes / "later.md").write_text("A cormorant.", encoding="utf-8")
        until(lambda: server.ok("POST", "/search", {"query": "cormorant"})["results"])
        (report,) = server.ok("POST", "/update", {})["reports"]
        assert command(user, "formats") in " ".join(report["notices"])
        for path, extra in (("/", "web"), ("/metrics", "server")):
            assert server.ask("GET", path).detail(501).endswith(f"extra '{extra}': {command(user, extra)}")
        assert server.mcp("tools/list").status == 200
        assert server.ok("GET", "/health")["watching"] in ("events", "polling")
    log = (user.home / "server.log").read_text(encoding="utf-8")
    assert "Traceback" not in log
    assert command(user, "formats") in log


def test_mcp_server_answers_while_files_wait(user: User) -> None:
    with agents() as start:
        agent = start(user)
        agent.greet()
        assert "deploy" in agent.text("search", query="performance")
        assert "not found" in agent.failure("get", file="notes/x.pdf")
        assert agent.text("status")
        assert agent.hang_up()[0] == 0


@pytest.mark.parametrize(
    ("words", "environ", "extra"),
    [
        ("open", {}, "web"),
        ("pick", {}, "pick"),
        ("backup --portable --encrypt x.qmd", {"QMD_PASSPHRASE": "p"}, "crypt"),
        ("search x --index-file {home}/secret.qmd", {"QMD_PASSPHRASE": "p"}, "crypt"),
        ("status --store milvus://127.0.0.1:1/db", {}, "milvus"),
        ("update", {"QMD_STORE": "milvus://{home}/milvus.db"}, "milvus"),
        ("embed --force", {"QMD_EMBED_MODEL": "{home}/model.gguf"}, "llm"),
    ],
)
def test_missing_extra_is_named(user: User, words: str, environ: dict[str, str], extra: str) -> None:
    home = str(user.home)
    (user.home / "secret.qmd").write_bytes(b"age-encryption.org/v1\n-> scrypt AAAA 18\n")
    (user.home / "model.gguf").write_bytes(b"GGUF")
    filled = {name: value.format(home=home) for name, value in environ.items()}
    told = run(user, *words.format(home=home).split(), code=1, **filled).stderr
    assert command(user, extra) in told
    assert f"the extra '{extra}'" in told
    assert os.path.basename(told.splitlines()[0].split()[0]) == "Error:"
    assert len(told.splitlines()) <= 2
