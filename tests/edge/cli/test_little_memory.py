"""A process that may have little memory says so in one line, and does what it can."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.users import MakeUser, User

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("sh") is None, reason="only Linux limits memory so"
)


@pytest.fixture(scope="module")
def reader(make_user: MakeUser) -> User:
    user = make_user("reader")
    user.ok("collection", "add", str(user.notes))
    user.ok("embed")
    return user


def _limited(user: User, kilobytes: int, *words: str) -> tuple[str, list[str]]:
    """Return what a command prints, and the lines of stderr."""
    script = f'ulimit -v {kilobytes}; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-m", "qmd", *words],
        env={name: value for name, value in user.environ.items() if name != "OPENBLAS_NUM_THREADS"},
        cwd=user.home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, done.stderr.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [60_000, 100_000, 140_000, 200_000, 400_000])
@pytest.mark.parametrize(
    "words", [("vsearch", "rollback"), ("query", "rollback"), ("embed", "-f"), ("similar", "deploy.md")]
)
def test_little_memory_is_said_in_one_line(reader: User, kilobytes: int, words: tuple[str, ...]) -> None:
    printed, said = _limited(reader, kilobytes, *words)
    assert printed or said[0].startswith("Error: this process may have "), said
    assert all("OpenBLAS" not in line and "internal error" not in line for line in said), said
    if words[0] == "similar":  # once for each limit
        assert "deploy.md" in _limited(reader, kilobytes, "search", "rollback")[0]
