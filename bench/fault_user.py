"""The user whose index the faults of `faults.py` damage: files, commands, and checks of the index."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from common import SOURCE

_WORDS = [f"word{number}" for number in range(600)]
_COMMON = ["heron", "river", "stone", "数据库", "备份"]
QUERIES = (*_COMMON, "word1 word2", "heron -stone", '"river stone"', "word9*", "数据库 word77")

FILES = 200
#: Files that never change, unlike the index around them.
STABLE = range(0, FILES, 5)
#: Commands that only read.
READING = (
    ("search", "heron"), ("vsearch", "heron"), ("query", "heron"), ("ls", "notes"), ("get", "notes/5.md"),
    ("multi-get", "notes/1*.md"), ("status",), ("why", "notes/5.md", "heron"),
)  # fmt: skip


class User:
    """A user with a home folder, files in `notes`, and an index that only commands change."""

    def __init__(self, home: Path, chance: random.Random, index: Path | None = None) -> None:
        self.home = home
        self.chance = chance
        self.notes = home / "notes"
        self.index = index or home / "cache" / "qmd" / "index.sqlite"
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("QMD_", "XDG_"))},
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "QMD_INDEX_PATH": str(self.index),
            "PYTHONPATH": str(SOURCE),
        }
        (home / "cache" / "qmd").mkdir(parents=True)
        # Models are prepared once for all users.
        models = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qmd" / "models"
        models.mkdir(parents=True, exist_ok=True)
        (home / "cache" / "qmd" / "models").symlink_to(models)
        self.notes.mkdir()

    @property
    def config(self) -> Path:
        return self.home / "config" / "qmd" / "index.yml"

    # -- files ---------------------------------------------------------------------------------------------

    def write(self, name: str, words: int = 40, folder: Path | None = None) -> Path:
        """Write a file of random words."""
        path = (folder or self.notes) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = " ".join(self.chance.choices(_WORDS + 20 * _COMMON, k=words))
        # Digits at the end, so that another text of the same length can be written.
        last = f"{self.chance.randrange(10**8):08d}"
        path.write_text(f"# {name} {self.chance.random()}\n\n{lines}\n{last}\n", encoding="utf-8")
        return path

    # -- commands ------------------------------------------------------------------------------------------

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command without waiting for its end."""
        return subprocess.Popen(
            [sys.executable, "-m", "qmd", *arguments],
            env=self.environ,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end.

        The run fails if the command crashes or prints anything but its usual errors.
        """
        done = subprocess.run(
            [sys.executable, "-m", "qmd", *arguments],
            env=self.environ,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        said = f"qmd {' '.join(arguments)}: {done.returncode}: {done.stderr[-2000:]}"
        assert done.returncode in (0, 1), said
        assert "internal error" not in done.stderr, said
        assert "Traceback" not in done.stderr, said
        assert done.returncode == 0 or done.stderr.startswith("Error: ") or arguments[0] == "doctor", said
        return done

    def ok(self, *arguments: str) -> str:
        """Return the output of a command. The run fails if the command does."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"qmd {' '.join(arguments)}: {done.stderr[-2000:]}"
        return done.stdout

    def refused(self, *arguments: str) -> str:
        """Return the error of a command, which must be a line and a hint.

        The run fails if the command succeeds.
        """
        done = self.run(*arguments)
        assert done.returncode == 1, f"qmd {' '.join(arguments)}: {done.stdout[-500:]}"
        lines = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
        assert 1 <= len(lines) <= 2, done.stderr
        return done.stderr

    def seconds(self, *arguments: str) -> float:
        """Return how long a command takes, in seconds."""
        began = time.monotonic()
        self.ok(*arguments)
        return time.monotonic() - began

    # -- checks --------------------------------------------------------------------------------------------

    def held(self) -> dict[str, str]:
        """Return the hash of each text in the index by display path."""
        import qmd

        with qmd.open_index(self.index, config=self.config, environ=self.environ) as index:
            return {document.file: document.hash for document in index.documents()}

    def answers(self, queries: Sequence[str] = QUERIES) -> list[list[tuple[str, float]]]:
        """Return all results of lexical searches."""
        import qmd

        with qmd.open_index(self.index, config=self.config, environ=self.environ) as index:
            found = [index.search(query, limit=None) for query in queries]
            return [sorted((hit.file, round(hit.score, 6)) for hit in each.hits) for each in found]

    def vector_answers(self, queries: Sequence[str] = QUERIES) -> list[list[tuple[str, float]]]:
        """Return all results of vector searches."""
        import qmd

        with qmd.open_index(self.index, config=self.config, environ=self.environ) as index:
            found = [index.vsearch(query, limit=None, min_score=0.0) for query in queries]
            return [sorted((hit.file, round(hit.score, 3)) for hit in each.hits) for each in found]

    def sound(self) -> None:
        """Check that the file is intact, by SQLite's check and by the doctor's."""
        from qmd.store.sqlite.store import SqliteStore

        # Check a copy with its log, as another process would find it, because nothing can be opened on a full
        # disk.
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "copy.sqlite")
            for ending in ("", "-wal"):
                if os.path.exists(f"{self.index}{ending}"):
                    shutil.copyfile(f"{self.index}{ending}", copy + ending)
            connection = apsw.Connection(copy)
            found = connection.execute("PRAGMA integrity_check").fetchall()
            connection.close()
            assert found == [("ok",)], found
            store = SqliteStore(copy)
            faults = store.upkeep.faults(lambda step: None)
            store.close()
            assert not faults, faults

    def fresh(self) -> User:
        """Return another user with the same files and configuration, who has indexed them in one run."""
        home = self.home.with_name(self.home.name + "-fresh")
        shutil.rmtree(home, ignore_errors=True)
        other = User(home, random.Random(0))
        shutil.copytree(self.config.parent, other.config.parent)
        other.ok("index", "-q")
        return other

    def lost(self, *, vectors: bool = False) -> int:
        """Return the number of documents that a fresh index of the same files has and this one lacks.

        Everything else must be equal.
        """
        other = self.fresh()
        mine, theirs = self.held(), other.held()
        lost = [path for path, digest in theirs.items() if mine.get(path) != digest]
        if not lost:
            assert mine == theirs, sorted(set(mine) - set(theirs))
            assert self.answers() == other.answers()
            if vectors:
                other.ok("embed", "-q")
                assert self.vector_answers() == other.vector_answers()
        return len(lost)


def index_notes(user: User) -> list[Path]:
    """Write the notes and index them."""
    files = [user.write(f"{number}.md") for number in range(FILES)]
    user.ok("collection", "add", "-q", str(user.notes))
    return files


def missing(user: User, files: Sequence[Path], collection: str = "notes") -> int:
    """Return the number of these files whose texts are missing in the index."""
    held = user.held()
    wanted: dict[str, Any] = {
        f"{collection}/{path.relative_to(user.notes)}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    return sum(held.get(path) != digest for path, digest in wanted.items())
