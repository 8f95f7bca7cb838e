"""The rule that makes the command of a session, for arbitrary fields; and the database of OpenCode."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from qmd.features.agents import opencode
from qmd.sources.formats.base import Unreadable
from qmd.sources.read import RawBytes
from qmd.text.sessions import AGENTS, session_of
from qmd.types import Extracted
from tests.transcripts import SES, UUID, OpenCode

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


def _keys(data: bytes, log: bytes) -> list[str]:
    found = opencode.extract_all(RawBytes("a.db", data, beside=log))
    return [key for key, content in found if isinstance(content, Extracted)]


def test_log_of_a_database_adds_the_transactions_that_it_has_committed(tmp_path: Path) -> None:
    file = tmp_path / "opencode.db"
    base = OpenCode(file)
    keys = [f"ses_{number:012}" for number in range(50)]
    for key in keys:
        base.session(key)
        base.say([({"role": "user"}, [{"type": "text", "text": "A linnet. " * 200}])], key)
    data, log = file.read_bytes(), file.with_name("opencode.db-wal").read_bytes()
    assert _keys(data, log) == keys
    assert _keys(data, log[:-1]) == keys[:-1]
    half = _keys(data, log[: len(log) // 2])
    assert 0 < len(half) < 50
    changed = bytearray(log)
    changed[len(log) // 2] ^= 1
    assert _keys(data, bytes(changed)) == half
    for other in (b"", b"\0" * 100, b"\x37\x7f\x06\x82" + b"\xff" * 5_000):
        with pytest.raises(Unreadable, match="no transcript"):
            _keys(data, other)
    # Frames of before the last checkpoint are still in the file, but do not count.
    base.db.execute("PRAGMA wal_checkpoint")
    base.db.execute("DELETE FROM session WHERE id > ?", (keys[9],))
    base.db.commit()
    assert _keys(file.read_bytes(), file.with_name("opencode.db-wal").read_bytes()) == keys[:10]
    base.db.close()


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_bytes_that_are_no_database_are_refused(data: bytes, log: bytes) -> None:
    for start in (b"", b"SQLite format 3\0"):
        with pytest.raises(Unreadable):
            _keys(start + data, log)
