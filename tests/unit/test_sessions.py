"""The rule that makes the command of a session, for arbitrary fields; and logs of SQLite."""

from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from qmd.sources.formats.wal import applied
from qmd.text.sessions import AGENTS, session_of
from tests.transcripts import SES, UUID

_TEXT = st.text(max_size=60) | st.sampled_from([UUID, SES, "/work/my shop", "/w/it's", "C:\\w", "/w;true"])


@given(st.sampled_from([*AGENTS]), _TEXT, _TEXT)
def test_command_of_a_session_has_only_words_of_the_agent_and_a_quoted_folder(
    agent: str, session: str, project: str
) -> None:
    found = session_of(
        {"format": ("transcript",), "agent": (agent,), "session": (session,), "project": (project,)}
    )
    assert found is not None
    if not found.resume:
        return
    folder, _, command = found.resume.rpartition(" && ")
    assert session in (UUID, SES)
    assert command == " ".join([*AGENTS[agent].resume, session])
    assert "\n" not in found.resume
    if folder:
        assert shlex.split(folder) == ["cd", project]


@given(st.dictionaries(st.sampled_from(["agent", "session", "project", "date"]), st.tuples(_TEXT)))
def test_documents_of_other_formats_have_no_session(fields: dict[str, tuple[str, ...]]) -> None:
    assert session_of(fields) is None
    assert session_of({**fields, "format": ("markdown",)}) is None


def _rows(data: bytes, log: bytes) -> int:
    with sqlite3.connect(":memory:") as db:
        db.deserialize(applied(data, log))
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        return int(db.execute("SELECT count(*) FROM t").fetchone()[0]) if tables else -1


def test_log_of_a_database_adds_the_transactions_that_it_has_committed(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    db = sqlite3.connect(file)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("CREATE TABLE t (x)")
    for number in range(100):
        db.execute("INSERT INTO t VALUES (?)", (f"{number} " * 200,))
        db.commit()
    data, log = file.read_bytes(), (tmp_path / "a.db-wal").read_bytes()
    assert _rows(data, log) == 100
    assert _rows(data, log[:-1]) == 99
    assert 0 < _rows(data, log[: len(log) // 2]) < 100
    assert _rows(data, b"") == _rows(data, b"\0" * 100) == -1
    changed = bytearray(log)
    changed[len(log) // 2] ^= 1
    assert 0 < _rows(data, bytes(changed)) < 100
    # Frames of before the last checkpoint are still in the file, but do not count.
    db.execute("PRAGMA wal_checkpoint")
    db.execute("DELETE FROM t WHERE rowid > 50")
    db.commit()
    assert _rows(file.read_bytes(), (tmp_path / "a.db-wal").read_bytes()) == 50
    db.close()


@given(st.binary(min_size=20, max_size=200), st.binary(max_size=200))
def test_bytes_that_are_no_log_change_nothing_but_the_version(data: bytes, log: bytes) -> None:
    found = applied(data, log)
    assert found[:18] == data[:18]
    assert found[20:] == data[20:]
