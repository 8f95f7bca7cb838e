"""`qmd embed --workers`: several processes share the texts, and no vectors are lost if one dies."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from qmd.engine.embedding.batches import BATCH_CHUNKS, FIRST_BATCH
from tests.users import MakeUser, User
from tests.waiting import until

pytestmark = pytest.mark.slow

TEXTS = 150


@pytest.fixture
def writer(make_user: MakeUser, request: pytest.FixtureRequest) -> User:
    """A user with many notes and no vectors."""
    user = make_user(request.node.name[:40])
    folder = user.home / "many"
    folder.mkdir()
    for number in range(TEXTS):
        text = (
            f"# Note {number}\n\n"
            + f"The heron number {number} stands in the water of lake {number % 7}. " * 4
        )
        (folder / f"{number:03}.md").write_text(text, encoding="utf-8")
    user.ok("collection", "add", str(folder), "--name", "many")
    return user


def embedded(user: User) -> list[tuple[str, int]]:
    """Return (text's hash, number of chunks) of all texts with vectors."""
    return asked(
        user,
        "SELECT t.hash, count(*) FROM content_vectors v JOIN contents t ON t.id = v.content_id "
        "GROUP BY t.hash ORDER BY t.hash",
    )


def frequencies(user: User) -> list[tuple[int, int]]:
    """Return the count of each token: if a text was embedded twice, its tokens were counted twice."""
    return asked(user, "SELECT token, chunks FROM token_frequencies ORDER BY token")


def asked(user: User, query: str) -> list[Any]:
    # Not by the standard library's SQLite: two copies of SQLite in a process break each other's locks.
    db = apsw.Connection(str(Path(user.environ["XDG_CACHE_HOME"]) / "qmd" / "index.sqlite"))
    # The first or last process that has the index open locks it exclusively for a moment.
    db.set_busy_timeout(60_000)
    try:
        return list(db.execute(query))
    finally:
        db.close()


def test_embed_workers_produce_the_vectors_of_one_process(writer: User) -> None:
    assert f"Embedded {TEXTS} texts" in writer.ok("embed", "--workers", "2", "-q")
    together = (embedded(writer), frequencies(writer), writer.ok("vsearch", "heron of lake 3", "--json"))
    assert writer.ok("embed", "--workers", "2", "-q").startswith("Nothing to embed")
    writer.ok("embed", "--force", "-q")
    alone = (embedded(writer), frequencies(writer), writer.ok("vsearch", "heron of lake 3", "--json"))
    assert together == alone


def test_killed_worker_is_replaced_without_repeated_work(writer: User) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "qmd", "embed", "--workers", "2"],
        env=writer.environ,
        cwd=writer.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until(lambda: embedded(writer), alive=lambda: process.poll() is None)
        killed = _workers(process.pid)[0]
        os.kill(killed, signal.SIGKILL)
        _, err = process.communicate()
    assert (process.returncode, "1 worker died" in err) == (0, True), err
    assert len(embedded(writer)) == TEXTS
    assert writer.ok("status", "--json").count('"needs_embedding": 0') == 1
    counted = frequencies(writer)
    writer.ok("embed", "--force", "-q")
    assert counted == frequencies(writer)


def test_vectors_survive_if_all_workers_die(writer: User) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "qmd", "embed", "--workers", "2"],
        env=writer.environ,
        cwd=writer.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until(lambda: embedded(writer), alive=lambda: process.poll() is None)

        def ended() -> bool:
            for worker in _workers(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            return process.poll() is not None

        until(ended)
        _, err = process.communicate()
    assert process.returncode == 1
    assert "workers have died" in err
    assert "fewer --workers" in err
    assert embedded(writer)
    writer.ok("embed", "-q")
    assert len(embedded(writer)) == TEXTS


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=lambda how: how.name)
def test_killed_embed_of_a_long_note_loses_at_most_one_batch(
    make_user: MakeUser, how: signal.Signals
) -> None:
    user = make_user(f"long-{how.name}")
    folder = user.home / "mixed"
    folder.mkdir()
    days = (f"## Day {day}\n\n" + f"Tide {day} rose by {day} feet. " * 40 for day in range(92))
    (folder / "0-long.md").write_text("# Log\n\n" + "\n\n".join(days), encoding="utf-8")
    for number in range(10):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nThe heron {number}.\n", encoding="utf-8")
    user.ok("collection", "add", str(folder), "--name", "mixed")
    with subprocess.Popen(
        [sys.executable, "-m", "qmd", "embed"],
        env=user.environ,
        cwd=user.home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until(
            lambda: sum(chunks for _, chunks in embedded(user)) >= FIRST_BATCH + BATCH_CHUNKS,
            alive=lambda: process.poll() is None,
        )
        process.send_signal(how)
        process.wait()
    assert process.returncode == (-how if how == signal.SIGKILL else 130)
    kept = sum(chunks for _, chunks in embedded(user))
    assert kept % BATCH_CHUNKS == FIRST_BATCH
    # Small notes are embedded first, so only the long one is left.
    assert len(embedded(user)) == 11
    status = json.loads(user.ok("status", "--json"))
    assert status["needs_embedding"] == 1
    assert "mixed/0-long.md" in user.ok("vsearch", "how far the tide rose", "--json")
    assert "is intact" in user.ok("doctor")

    said = user.ok("embed", "-q")
    found = re.search(r"Embedded 1 text \((\d+) chunks\)", said)
    assert found, said
    total = sum(chunks for _, chunks in embedded(user))
    assert kept + int(found[1]) == total
    assert asked(user, "SELECT chunks FROM embedders") == [(total,)]


def _workers(pid: int) -> list[int]:
    """Return the child processes that embed, or none if the parent has ended."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [int(child) for child in children if b"qmd.processes" in _command(int(child))]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
