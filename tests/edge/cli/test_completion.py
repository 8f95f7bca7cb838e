"""`qmd completion`: the offers for TAB, requested as the shells do and in a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.users import FILES, User

pytestmark = pytest.mark.slow

BASH = shutil.which("bash")


def offered(user: User, *words: str) -> list[str]:
    """Return the completions of the last word."""
    answer = user.call(
        _QMD_COMPLETE="bash_complete", COMP_LINE=" ".join(["qmd", *words]), COMP_WORD=words[-1]
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    return [line.partition(",")[2] for line in answer.stdout.splitlines() if line]


def test_completion_offers_commands_and_options(user: User) -> None:
    assert offered(user, "vse") == ["vsearch"]
    assert {"add", "list", "remove"} <= set(offered(user, "collection", ""))
    assert offered(user, "search", "--form") == ["--format"]
    formats = ["cli", "json", "csv", "md", "xml", "files", "names", "vimgrep", "short"]
    assert offered(user, "search", "--format", "") == formats
    assert offered(user, "completion", "z") == ["zsh"]


def test_completion_offers_collections(reader: User) -> None:
    assert offered(reader, "search", "-c", "") == ["notes"]
    assert offered(reader, "query", "x", "--collection", "no") == ["notes"]
    assert offered(reader, "search", "-c", "z") == []
    assert offered(reader, "--index", "other", "search", "-c", "") == []


@pytest.mark.parametrize("command", ["search", "vsearch", "query", "why x"])
def test_completion_offers_authors_in_any_case(user: User, command: str) -> None:
    (user.notes / "ann.md").write_text("---\nauthor: Ann Bee\n---\nherring\n", encoding="utf-8")
    assert offered(user, *command.split(), "--author", "") == []
    user.ok("collection", "add", str(user.notes))
    assert offered(user, *command.split(), "--author", "an") == ["Ann Bee"]
    assert offered(user, *command.split(), "--author", "z") == []


def test_completion_offers_tags_paths_fields_and_values(user: User) -> None:
    text = "---\nstatus: draft\npriority: 2\ntags: [Work/plan, home]\n---\nherring\n"
    (user.notes / "ops").mkdir()
    (user.notes / "ops" / "run.md").write_text(text, encoding="utf-8")
    user.ok("collection", "add", str(user.notes))
    for command in ("search x", "ls", "multi-get x", "why x y", "bench x"):
        assert offered(user, *command.split(), "--tag", "wo") == ["Work/plan"]
        assert offered(user, *command.split(), "--where", "sta") == ["status"]
    assert offered(user, "ls", "--where", "status=D") == ["status=draft"]
    assert offered(user, "ls", "--where", "'priority!='") == ["priority!=2"]
    assert offered(user, "ls", "--where", "nothing=") == []
    assert offered(user, "ls", "--path", "op") == ["ops/"]
    assert offered(user, "ls", "--path", "ops/") == ["ops/run.md"]
    assert offered(user, "fields", "sta") == ["status"]
    assert offered(user, "query", "x", "--facets", "tag,stat") == ["tag,state", "tag,status"]
    assert offered(user, "vsearch", "x", "--facets", "y") == ["year"]


def test_completion_offers_typed_filters_and_names_of_indexes(user: User) -> None:
    text = "---\nstatus: draft\nauthor: Ann Bee\ntags: [Work/plan]\n---\nherring\n"
    (user.notes / "run.md").write_text(text, encoding="utf-8")
    user.ok("collection", "add", str(user.notes))
    user.ok("--index", "work", "collection", "add", str(user.notes))
    for command in ("search", "vsearch x", "query", "why run.md"):
        # bash treats a colon as the end of a word, so it needs only the text after it.
        assert offered(user, *command.split(), "tag:wo") == ["tag:Work/plan"]
        assert offered(user, *command.split(), "author:a") == ['author:"Ann Bee"']
        assert offered(user, *command.split(), "path:ru") == ["path:run.md"]
        assert offered(user, *command.split(), "'[sta") == ["[status"]
        assert offered(user, *command.split(), "http:") == []
    assert offered(user, "--index", "") == ["index", "work"]
    assert offered(user, "search", "--index", "w") == ["work"]


def test_completion_offers_paths_of_contexts(reader: User) -> None:
    assert offered(reader, "context", "add", "") == ["qmd://notes/", "/"]
    assert offered(reader, "context", "add", "'qmd://notes/2") == ["qmd://notes/2026/"]
    assert offered(reader, "context", "add", "qmd://notes/", "") == []
    assert set(offered(reader, "context", "rm", "")) == {"qmd://", "qmd://notes/2026"}
    assert offered(reader, "get", "'qmd://notes/dep") == ["qmd://notes/deploy.md"]


def test_completion_offers_commands_to_help(reader: User) -> None:
    assert offered(reader, "help", "vse") == ["vsearch"]
    assert {"add", "rm"} <= set(offered(reader, "help", "context", ""))
    assert offered(reader, "help", "search", "") == offered(reader, "help", "nothing", "") == []


@pytest.mark.parametrize("command", ["get", "multi-get", "ls", "links", "outline"])
def test_completion_offers_paths_one_folder_at_a_time(reader: User, command: str) -> None:
    assert offered(reader, command, "") == ["notes/"]
    top = {f"notes/{path.partition('/')[0]}{'/' if '/' in path else ''}" for path in FILES}
    assert set(offered(reader, command, "notes/")) == top
    assert offered(reader, command, r"notes/2026/old\ n") == ["notes/2026/old notes.md"]
    assert offered(reader, command, "notes/数") == ["notes/数据库 迁移.md"]
    assert offered(reader, command, "nowhere/") == []


def test_completion_prints_no_errors(user: User) -> None:
    config = user.home / "config" / "qmd" / "index.yml"
    config.parent.mkdir(parents=True)
    config.write_text("collections: [", encoding="utf-8")
    assert offered(user, "search", "-c", "") == []
    assert offered(user, "get", "n") == []
    assert offered(user, "no-such-command", "--nothing") == []
    assert "search" in offered(user, "--version", "")


@pytest.mark.parametrize(("shell", "mark"), [("zsh", "#compdef qmd"), ("fish", "complete --no-files")])
def test_completion_scripts_of_other_shells_offer_the_same(reader: User, shell: str, mark: str) -> None:
    script = reader.ok("completion", shell)
    assert mark in script
    assert f"_QMD_COMPLETE={shell}_complete" in script
    answer = reader.call(
        _QMD_COMPLETE=f"{shell}_complete",
        COMP_WORDS="qmd get notes/dep",
        COMP_CWORD="notes/dep" if shell == "fish" else "2",
    )
    assert "notes/deploy.md" in answer.stdout


def test_completion_refuses_an_unknown_shell(user: User) -> None:
    refused = user.invoke("completion", "csh")
    assert refused.exit_code == 2
    assert "SHELL must be one of bash, zsh, fish, not 'csh'" in refused.stderr


@pytest.mark.skipif(BASH is None, reason="no bash here")
def test_bash_completion_quotes_names(reader: User, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    program = tmp_path / "qmd"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m qmd "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    start = tmp_path / "rc"
    start.write_text(
        f'PATH="{tmp_path}:$PATH"\nPS1="ready> "\neval "$(qmd completion bash)"\n', encoding="utf-8"
    )
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [str(BASH), "--noprofile", "--rcfile", str(start), "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=reader.environ | {"TERM": "dumb"},
        cwd=reader.home,
        start_new_session=True,
    ) as shell:
        os.close(theirs)
        assert read_until(ours, "ready> ")
        # One TAB for each missing part. The completed command is run and prints the document.
        os.write(ours, b"qmd ge\t no\tdep\t --json\n")
        deploy = read_until(ours, "ready> ")
        os.write(ours, b"qmd get notes/2026/\t --from 3\n")
        old = read_until(ours, "ready> ")
        os.write(ours, b"qmd ls qmd://no\t2026/\t --json\n")
        address = read_until(ours, "ready> ")
        os.write(ours, b"exit\n")
        read_until(ours, None)
        assert shell.wait(60) == 0
    os.close(ours)
    assert '"file": "qmd://notes/deploy.md"' in deploy
    assert r"qmd get notes/2026/old\ notes.md" in old
    assert "The performance review of 2025" in old
    assert r"qmd ls qmd://notes/2026/old\ notes.md " in address
    assert '"file": "qmd://notes/2026/old notes.md"' in address


def read_until(descriptor: int, mark: str | None) -> str:
    """Return everything up to and including `mark`, or up to the end."""
    seen = b""
    while mark is None or mark.encode() not in seen:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # the other end is closed
            data = b""
        if not data:
            break
        seen += data
    return seen.decode().replace("\r\n", "\n")
