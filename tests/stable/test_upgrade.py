"""Released versions run beside this one: their watchers, servers and open indexes, in both orders.

Each line of `released.txt` has a version, its commit, and packages that it needs beside those of this one.
The sources come from the history of git, and the packages from PyPI, into a folder of the environment. Where
the history is not there, as in a sdist, the tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path

import apsw
import pytest

import qmd
from qmd.store.sqlite.schema import VERSION
from tests.conftest import TESTS
from tests.users import MakeUser, User
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

#: The commit and the packages by version.
RELEASED = {
    version: (commit, packages)
    for version, commit, *packages in map(
        str.split, (TESTS / "stable" / "released.txt").read_text(encoding="utf-8").splitlines()
    )
}
VERSIONS = pytest.mark.parametrize("version", RELEASED)
#: Opens the index, and updates it at each line on stdin; says "done", or the class and text of the error.
HOLDER = """
import sys
import qmd
with qmd.open_index() as index:
    index.status()
    print("ready", flush=True)
    for _ in sys.stdin:
        try:
            index.update()
            print("done", flush=True)
        except Exception as error:
            print(type(error).__name__, error, flush=True)
"""
Release = Callable[[str], tuple[str, ...]]


@cache
def path_of(version: str, into: Path) -> tuple[str, ...]:
    """Return the folders from which Python imports a released version; none if it is not in the history."""
    commit, packages = RELEASED[version]
    archive = subprocess.run(
        ["git", "archive", commit, "src"], cwd=TESTS.parent, capture_output=True, check=False
    )
    if archive.returncode:
        return ()
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(into / version, filter="data")
    needed = Path(sys.prefix) / "released" / version
    if packages and not needed.exists():
        install = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-deps"]
        with tempfile.TemporaryDirectory(dir=sys.prefix) as new:
            subprocess.run([*install, "--target", new, *packages], check=True, timeout=PATIENCE)
            needed.parent.mkdir(exist_ok=True)
            shutil.copytree(new, needed, dirs_exist_ok=True)
    return (str(into / version / "src"), str(needed))


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    into = tmp_path_factory.mktemp("released")

    def of(version: str) -> tuple[str, ...]:
        found = path_of(version, into)
        if not found:
            pytest.skip(f"the history of git does not have {version}")
        return found

    return of


class Versions:
    """A user who has this version, and a released one."""

    def __init__(self, user: User, old: tuple[str, ...]) -> None:
        self.user = user
        path = os.pathsep.join((*old, user.environ["PYTHONPATH"]))
        self.old = User(user.home, user.notes, {**user.environ, "PYTHONPATH": path})
        self.log = user.home / "old.log"

    @contextmanager
    def running(
        self, *words: str, user: User | None = None, **environ: str
    ) -> Iterator[subprocess.Popen[str]]:
        """Run a program of Python in the background, of the released version unless `user` is given."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**(user or self.old).environ, **environ},
                cwd=self.user.home,
            )
        assert process.stdin is not None and process.stdout is not None
        try:
            yield process
        finally:
            process.kill()
            process.wait(PATIENCE)
            process.stdin.close()
            process.stdout.close()

    @contextmanager
    def holder(self, user: User | None = None) -> Iterator[Callable[[], str]]:
        """Yield a function that lets a process with an open index update it, and returns what it says."""
        with self.running("-c", HOLDER, user=user) as process:
            assert process.stdin is not None and process.stdout is not None
            assert process.stdout.readline() == "ready\n"

            def update() -> str:
                process.stdin.write("\n")  # type: ignore[union-attr]
                process.stdin.flush()  # type: ignore[union-attr]
                return process.stdout.readline().strip()  # type: ignore[union-attr]

            yield update

    @contextmanager
    def watcher(self) -> Iterator[subprocess.Popen[str]]:
        with self.running("-m", "qmd", "watch", QMD_WATCH="1") as process:
            lock = self.user.home / "cache" / "qmd" / "index.sqlite.watch.lock"
            until(lambda: lock.exists() and b'"pid"' in lock.read_bytes(), lambda: process.poll() is None)
            yield process

    @contextmanager
    def server(self, user: User | None = None) -> Iterator[subprocess.Popen[str]]:
        words = ("-m", "qmd", "server", "--transport", "http", "--port", "0")
        with self.running(*words, user=user) as process:
            assert process.stdout is not None
            assert "http://" in process.stdout.readline()
            yield process

    def write(self, name: str, text: str) -> None:
        (self.user.notes / name).write_text(text, encoding="utf-8")

    def ours(self, *words: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of this version, which must not end with a traceback."""
        done = self.user.call(*words, stdin=stdin)
        assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr
        return done

    def index_findings(self) -> list[tuple[str, str, str]]:
        """Return level, message and hint of what doctor says of the index."""
        found = json.loads(self.ours("doctor", "--json").stdout)
        return [
            (each["level"], each["message"], each["hint"] or "") for each in found if each["check"] == "index"
        ]

    def is_intact(self) -> bool:
        return {level for level, *_ in self.index_findings()} == {"ok"}

    @property
    def format(self) -> int:
        with closing(apsw.Connection(str(self.user.home / "cache" / "qmd" / "index.sqlite"))) as db:
            return int(db.pragma("user_version"))


@pytest.fixture
def versions(release: Release, make_user: MakeUser, version: str) -> Versions:
    """Notes that the released version has indexed."""
    both = Versions(make_user("upgrade"), release(version))
    assert both.old.run("collection", "add", str(both.user.notes), "--name", "notes").returncode == 0
    return both


@VERSIONS
def test_commands_answer_while_a_released_server_runs(versions: Versions, version: str) -> None:
    prompt = json.dumps({"session_id": "1", "prompt": "How do I return to the last release?"}).encode()
    with versions.server() as server:
        for command in (["search", "rollback"], ["pack", "rollback"], ["get", "notes/deploy.md"]):
            done = versions.ours(*command)
            assert done.returncode == 0 and "rollback" in done.stdout.lower(), done
        assert versions.ours("hook", "run", "prompt", stdin=prompt).returncode == 0
        status = versions.ours("server", "status").stdout
        assert str(server.pid) in status
        (finding,) = (
            each for each in json.loads(versions.ours("doctor", "--json").stdout) if each["check"] == "server"
        )
        assert str(server.pid) in finding["message"]
        words = ("-m", "qmd", "server", "--transport", "http", "--port", "0", "--replace")
        with versions.running(*words, user=versions.user) as ours:
            assert ours.stdout is not None and "http://" in ours.stdout.readline()
            server.wait(PATIENCE)
            assert str(ours.pid) in versions.ours("server", "status").stdout
            # The index could not be brought up to date while the other server held it.
            versions.write("later.md", "# Later\n\nzymurgy\n")
            assert versions.ours("update", "--no-embed").returncode == 0
    assert versions.format == VERSION
    assert versions.is_intact()


#: Commands that need the index as this version writes it.
CHANGES: tuple[tuple[str, ...], ...] = (
    ("collection", "add", "more"),
    ("collection", "remove", "notes"),
    ("collection", "rename", "notes", "others"),
    ("collection", "exclude", "notes"),
    ("collection", "weight", "notes", "0.5"),
    ("collection", "recency", "notes", "30d"),
    ("collection", "agents", "notes", "off"),
    ("collection", "gitignore", "notes", "on"),
    ("collection", "update-cmd", "notes", "true"),
    ("context", "add", "qmd://notes", "all"),
    ("cleanup",),
    ("cleanup", "--dry-run"),
    ("store", "compact"),
    ("embed",),
    ("index",),
)


@VERSIONS
def test_format_stays_while_a_released_watcher_runs(versions: Versions, version: str) -> None:
    before = versions.format
    with versions.watcher() as watcher:
        assert "deploy.md" in versions.ours("search", "rollback").stdout
        refused = versions.ours("update", "--no-embed")
        assert refused.returncode == 1
        assert (
            f"qmd watch (process {watcher.pid})" in refused.stderr and "stop that process" in refused.stderr
        )
        assert versions.format == before
        config = versions.user.home / "config" / "qmd" / "index.yml"
        written = config.read_bytes()
        (versions.user.home / "more").mkdir()
        for command in CHANGES:
            done = versions.ours(*command)
            assert "internal error" not in done.stderr, done
            # The watcher makes the vectors.
            assert "stop that process" in done.stderr or command == ("embed",), done
            assert config.read_bytes() == written, done
        [(level, message, hint)] = versions.index_findings()
        assert (level, "older qmd" in message, "stop that process" in hint) == ("problem", True, True)
        versions.write("Manage otters.md", "otterly words\n\n# Settings\n")
        until(lambda: "otters" in versions.old.run("search", "otterly").stdout)
        watcher.send_signal(signal.SIGTERM)
        watcher.wait(PATIENCE)
    assert versions.ours("update", "--no-embed").returncode == 0
    assert versions.format == VERSION
    assert versions.is_intact()
    assert "Manage otters" in versions.ours("search", "manage").stdout


@VERSIONS
def test_released_process_cannot_write_after_the_upgrade(versions: Versions, version: str) -> None:
    with versions.holder() as update:
        assert update() == "done"
        assert versions.ours("update", "--no-embed").returncode == 0
        assert versions.format == VERSION
        versions.write("Manage otters.md", "otterly words\n\n# Settings\n")
        assert "restart_qmd_because_a_newer_version" in update()
        (versions.user.notes / "deploy.md").unlink()
        assert "restart_qmd_because_a_newer_version" in update()
        (versions.user.notes / "Manage otters.md").unlink()
        assert "restart_qmd_because_a_newer_version" in update()
        assert "deploy.md" in versions.ours("search", "rollback").stdout
    assert versions.ours("update", "--no-embed").returncode == 0
    assert versions.is_intact()


@pytest.mark.parametrize("version", ["1.0.0"])
def test_update_renews_what_a_released_process_wrote_after_another_upgrade(
    versions: Versions, release: Release, version: str
) -> None:
    between = Versions(versions.user, release("1.1.0"))
    with versions.holder() as update:
        assert between.old.run("search", "rollback").returncode == 0
        assert versions.format == 12
        versions.write("Manage otters.md", "otterly words\n\n# Settings\n")
        assert update() == "done"
    assert versions.ours("update", "--no-embed").returncode == 0
    assert versions.is_intact()
    assert "Manage otters" in versions.ours("search", "manage").stdout


@VERSIONS
def test_released_commands_refuse_an_index_of_this_version(versions: Versions, version: str) -> None:
    assert versions.ours("update", "--no-embed").returncode == 0
    with versions.server(versions.user):
        # Released versions with the same number let the server answer.
        for command in ("search rollback", "update"):
            done = versions.old.run(*command.split())
            assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done
            assert "newer qmd" in done.stderr or "deploy.md" in done.stdout, done
    assert versions.is_intact()


@pytest.mark.parametrize("version", ["1.1.0"])
def test_process_refuses_to_write_a_newer_format(versions: Versions, version: str) -> None:
    """This version as the older one: it ends with a clear error in place of writing on."""
    assert versions.ours("update", "--no-embed").returncode == 0
    with (
        versions.holder(versions.user) as update,
        versions.running("-m", "qmd", "watch", user=versions.user) as watcher,
    ):
        lock = versions.user.home / "cache" / "qmd" / "index.sqlite.watch.lock"
        until(lambda: lock.exists() and b'"pid"' in lock.read_bytes(), lambda: watcher.poll() is None)
        with closing(apsw.Connection(str(versions.user.home / "cache" / "qmd" / "index.sqlite"))) as db:
            db.execute(f"PRAGMA user_version={VERSION + 1}")
        versions.write("later.md", "# Later\n\nzymurgy\n")
        assert update().startswith("OutdatedError")
        assert watcher.wait(PATIENCE) == 1
    assert "a newer qmd" in versions.log.read_text()


def test_released_versions_have_their_folders() -> None:
    assert set(RELEASED) == {each.parent.name for each in (TESTS / "stable").glob("*/interfaces.json")}
    assert qmd.__version__ in RELEASED or tuple(qmd.__version__.split(".")) > max(
        tuple(each.split(".")) for each in RELEASED
    )
