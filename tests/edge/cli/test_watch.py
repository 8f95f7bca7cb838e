"""`qmd watch` and `qmd add`."""

from __future__ import annotations

import json
import os
import plistlib
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from qmd.errors import UsageError
from qmd.server.user_service import service
from tests.clients import server_of
from tests.edge.cli.schemas import faults, schema
from tests.users import User
from tests.waiting import PATIENCE, until


class Watch:
    """A process of `qmd watch`, and the lines that it prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self.notes: list[str] = []
        for stream, lines in ((process.stdout, self.lines), (process.stderr, self.notes)):
            threading.Thread(target=lambda s=stream, into=lines: into.extend(s), daemon=True).start()

    def until_printed(self, line: str) -> None:
        until(lambda: f"{line}\n" in self.lines, lambda: self.process.poll() is None)

    def until_noted(self, text: str) -> None:
        until(lambda: any(text in note for note in self.notes), lambda: self.process.poll() is None)


@contextmanager
def watch(user: User, *args: str) -> Iterator[Watch]:
    process = subprocess.Popen(
        [sys.executable, "-m", "qmd", "watch", *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=user.environ,
        cwd=user.home,
    )
    with process:
        try:
            yield Watch(process)
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def manual(user: User) -> None:
    """Set `embed: manual`, so that the watcher does not embed."""
    config = user.home / "config" / "qmd" / "index.yml"
    config.write_text(config.read_text().replace("  notes:", "  notes:\n    embed: manual"))


@pytest.fixture
def owner(user: User) -> User:
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    return user


@pytest.mark.slow
def test_watch_prints_each_change_and_embeds_until_it_is_interrupted(owner: User) -> None:
    with watch(owner) as running:
        until(lambda: any(line.startswith("embedded ") for line in running.lines))
        (owner.notes / "new.md").write_text("# New\n\nquetzal\n", encoding="utf-8")
        running.until_printed("new      notes/new.md")
        assert "notes/new.md" in owner.ok("search", "quetzal", "--files")
        running.until_printed("embedded 1 text (1 chunk)")
        (owner.notes / "new.md").write_text("# New\n\nocelot\n", encoding="utf-8")
        running.until_printed("updated  notes/new.md")
        (owner.notes / "new.md").unlink()
        running.until_printed("removed  notes/new.md")
        state = json.loads(owner.ok("status", "--json"))
        assert state["watching"] == "events"
        assert faults(state, schema("status")) == []
        assert state["watcher"]["pid"] == running.process.pid
        assert "Watched:" in owner.ok("status")
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(PATIENCE) == 130
    assert json.loads(owner.ok("status", "--json"))["watching"] == "off"


@pytest.mark.slow
def test_another_process_takes_over_from_a_killed_watcher(owner: User) -> None:
    manual(owner)
    with watch(owner) as first:
        first.until_noted("watching;")
        until(lambda: json.loads(owner.ok("status", "--json"))["watching"] == "events")
        with watch(owner) as second:
            second.until_noted(f"process {first.process.pid} (qmd watch) watches already")
            (owner.notes / "one.md").write_text("quetzal\n", encoding="utf-8")
            first.until_printed("new      notes/one.md")
            first.process.kill()
            first.process.wait()
            # Either the first scan or the watch of the second process finds the file.
            (owner.notes / "two.md").write_text("ocelot\n", encoding="utf-8")
            second.until_printed("new      notes/two.md")
            assert second.lines == ["new      notes/two.md\n"]


@pytest.mark.slow
def test_watch_survives_a_full_disk(owner: User) -> None:
    manual(owner)
    with watch(owner) as running:
        until(lambda: json.loads(owner.ok("status", "--json"))["watching"] == "events")
        index = owner.home / "cache" / "qmd" / "index.sqlite"
        pid, (_, hard) = running.process.pid, resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (index.stat().st_size // 2, hard))
        (owner.notes / "new.md").write_text("quetzal " * 100_000, encoding="utf-8")
        running.until_noted("notes: ")
        assert owner.ok("search", "performance", "--files")
        assert "new.md" not in owner.ok("search", "quetzal", "--files")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
        running.until_printed("new      notes/new.md")
        assert "notes/new.md" in owner.ok("search", "quetzal", "--files")


@pytest.mark.slow
def test_servers_watch_if_enabled(owner: User) -> None:
    manual(owner)
    with server_of(owner, QMD_WATCH="") as server:
        until(lambda: server.ok("GET", "/health")["watching"] == "events")
        before = server.post("/search", query="performance")["indexed_at"]
        (owner.notes / "new.md").write_text("quetzal\n", encoding="utf-8")
        until(lambda: server.post("/search", query="quetzal")["results"])
        assert server.post("/search", query="performance")["indexed_at"] > before
        assert server.ok("GET", "/status")["watching"] == "events"
        assert server.end() == 0
    with server_of(owner, "--no-watch", QMD_WATCH="") as server:
        assert server.ok("GET", "/health")["watching"] == "off"
        assert server.ok("GET", "/status")["watching"] == "off"


def test_watch_refuses_options_that_contradict_each_other(user: User) -> None:
    assert user.invoke("watch", "--install", "--uninstall").exit_code == 2
    assert "--dry-run needs" in user.invoke("watch", "--dry-run").stderr


@pytest.fixture
def systemctl(user: User) -> Path:
    """A program named systemctl that writes its arguments to a file."""
    folder = user.home / "bin"
    folder.mkdir()
    calls = user.home / "calls"
    program = folder / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n[ ! -e {user.home}/broken ] || exit 1\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    user.environ["PATH"] = f"{folder}:{user.environ['PATH']}"
    return calls


@pytest.mark.skipif(sys.platform != "linux", reason="systemd")
def test_watch_install_writes_a_unit_and_uninstall_removes_it(user: User, systemctl: Path) -> None:
    unit = user.home / "config" / "systemd" / "user" / "qmd-watch-my_work.service"
    name = ("--index", "my_work")
    planned = user.ok("watch", "--install", "--dry-run", *name)
    assert str(unit) in planned and "systemctl --user restart" in planned
    assert not unit.exists() and not systemctl.exists()
    assert user.ok("watch", "--install", *name).startswith("Installed qmd-watch-my_work.service")
    content = unit.read_text()
    assert f'ExecStart="{sys.executable}" "-P" "-m" "qmd" "--index" "my_work" "watch"' in content
    assert f'Environment="XDG_CACHE_HOME={user.home / "cache"}"' in content
    assert user.ok("watch", "--install", *name).startswith("Already installed")
    assert unit.read_text() == content
    assert systemctl.read_text().splitlines()[:3] == [
        "--user daemon-reload",
        "--user enable qmd-watch-my_work.service",
        "--user restart qmd-watch-my_work.service",
    ]
    assert user.ok("watch", "--uninstall", *name).startswith("Removed")
    assert not unit.exists()
    assert user.ok("watch", "--uninstall", *name) == "qmd-watch-my_work.service is not installed.\n"


@pytest.mark.skipif(sys.platform != "linux", reason="systemd")
def test_watch_install_names_the_failed_command(user: User, systemctl: Path) -> None:
    (user.home / "broken").touch()
    result = user.invoke("watch", "--install")
    assert result.exit_code == 1
    assert "'systemctl --user daemon-reload' failed" in result.stderr


def test_systemd_units_quote_unusual_paths() -> None:
    environ = {"HOME": "/h", "QMD_CONFIG_DIR": '/a b/50%/"x"', "QMD_OPENAI_API_KEY": "secret"}
    item = service(
        "qmd-watch", ["/opt/my $python", "-m", "qmd", "watch"], "/p/100%", environ, platform="linux"
    )
    content = item.content.decode()
    assert item.file == "/h/.config/systemd/user/qmd-watch.service"
    assert 'ExecStart="/opt/my $$python" "-m" "qmd" "watch"\n' in content
    assert 'Environment="QMD_CONFIG_DIR=/a b/50%%/\\"x\\""\n' in content
    assert "WorkingDirectory=/p/100%%\n" in content
    assert "secret" not in content


@pytest.mark.parametrize(
    "name",
    [
        "a\n[Service]\nExecStartPre=id",
        "a\rb",
        "a\x1bb",
        "a\x85b",
        "a\u2028b",
        "a\\",
        "a ",
        os.fsdecode(b"a\xff"),
    ],
)
def test_watch_install_refuses_folders_that_units_cannot_name(user: User, systemctl: Path, name: str) -> None:
    project = user.home / name
    (project / ".qmd").mkdir(parents=True)
    (project / ".qmd" / "index.yml").write_text("collections: {}\n", encoding="utf-8")
    refused = user.call("watch", "--install", cwd=project)
    assert (refused.returncode, refused.stdout) == (2, ""), refused
    assert "a service cannot" in refused.stderr
    assert "rename the folder" in refused.stderr
    assert not list(user.home.rglob("*.service")) and not systemctl.exists()


@pytest.mark.parametrize("value", ["/a\n<key>Nice</key>", "/a\0b", "/a\ud800"])
def test_launchd_agents_refuse_text_that_xml_cannot_contain(value: str) -> None:
    for folder, environ in ((value, {}), (None, {"QMD_CONFIG_DIR": value})):
        with pytest.raises(UsageError):
            service("qmd-watch", ["/py"], folder, {"HOME": "/h", **environ}, platform="darwin")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd: see scripts/packages.sh")
def test_systemd_accepts_every_line_of_the_unit(tmp_path: Path) -> None:
    folder = tmp_path / 'a 50% "x"'
    folder.mkdir()
    environ = {"HOME": str(tmp_path), "QMD_CONFIG_DIR": str(folder)}
    command = [sys.executable, "-m", "qmd", "watch"]
    item = service("qmd-watch", command, str(folder), environ, platform="linux")
    unit = tmp_path / item.name
    unit.write_bytes(item.content)
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(unit)],
        env={**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_launchd_agent_runs_watch() -> None:
    item = service("qmd-watch-a", ["/py", "-m", "qmd", "watch"], None, {"HOME": "/h"}, platform="darwin")
    assert item.file == "/h/Library/LaunchAgents/org.qmd.watch-a.plist"
    agent = plistlib.loads(item.content)
    assert agent["ProgramArguments"] == ["/py", "-m", "qmd", "watch"]
    assert (agent["Label"], agent["WorkingDirectory"]) == ("org.qmd.watch-a", "/h")
    assert item.start == (("launchctl", "bootstrap", f"gui/{os.getuid()}", item.file),)


@pytest.mark.models
def test_add_indexes_and_embeds_a_folder(user: User) -> None:
    result = user.invoke("add", str(user.notes))
    assert result.exit_code == 0, result.output
    assert "11 new" in result.stdout
    assert "Embedded 11 texts" in result.stdout
    assert "'qmd watch'" in result.stderr
    assert user.ok("vsearch", "undo a release", "--files")


def test_add_of_a_folder_that_is_a_collection_updates_it(user: User) -> None:
    user.ok("add", str(user.notes), "--name", "mine", "--no-embed")
    (user.notes / "new.md").write_text("# New\n", encoding="utf-8")
    result = user.call("add", ".", "--no-embed", cwd=user.notes)
    assert result.returncode == 0
    assert ". is the collection 'mine' already: it is updated.\nmine: 1 new, 11 unchanged\n" in result.stdout
    assert len(json.loads(user.ok("collection", "list", "--json"))) == 1
    # Another name, or other files, is another collection or a conflict.
    assert user.invoke("add", str(user.notes), "--name", "other").exit_code == 1
    assert user.invoke("add", str(user.notes), "--mask", "*.txt", "--no-embed").exit_code == 1
    assert user.invoke("add", str(user.notes), "--mask", "*.txt", "--no-embed", "--name", "x").exit_code == 0


def test_add_of_a_folder_in_a_collection_says_so(user: User) -> None:
    user.ok("add", str(user.notes), "--no-embed")
    result = user.invoke("add", str(user.notes / "2026"), "--no-embed")
    assert result.exit_code == 0
    assert "2026 is a folder of 'notes' as well: its documents are found in both" in result.stderr


def test_add_can_skip_embedding_and_notes_an_empty_folder(user: User) -> None:
    (user.home / "empty").mkdir()
    assert "no file in" in user.invoke("add", str(user.home / "empty")).stderr
    result = user.invoke("add", str(user.notes), "--no-embed")
    assert (result.exit_code, "Embedded" in result.stdout) == (0, False)


def test_query_and_vsearch_without_vectors_hint_at_embed(owner: User) -> None:
    expected = "11 texts without vectors: run 'qmd embed', which takes about 1 s"
    assert expected in owner.invoke("query", "performance", "--no-rerank").stderr
    assert expected in owner.invoke("vsearch", "performance").stderr
    assert expected not in owner.invoke("search", "performance").stderr
