"""What a person sees: colours, links and widths on a terminal, and none of them elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from qmd.cli.render.explain import EXPECTED
from qmd.cli.show import editor_address
from qmd.cli.sizes import counted, duration, human_size, time_left
from qmd.cli.terminal import columns, width_of
from tests.edge.cli.conftest import FILES, User

pty = pytest.importorskip("pty")


def on_terminal(user: User, *args: str, **environ: str) -> str:
    """What a command writes to a terminal, stdout and stderr together."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "qmd", *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**user.environ, **environ},
        cwd=user.home,
        close_fds=True,
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while data := os.read(ours, 65536):
                seen += data
        except OSError:  # the other end is closed
            pass
        process.wait(60)
    os.close(ours)
    return seen.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;;.*?\x1b\\", "", text)


def test_matches_are_highlighted_in_every_script(reader: User) -> None:
    assert "\x1b[1;33mrollback\x1b[0m" in on_terminal(reader, "search", "rollback")
    assert "\x1b[1;33m数据库迁移\x1b[0m需要" in on_terminal(reader, "search", "数据库迁移")


def test_a_link_leads_to_the_file_and_line(reader: User) -> None:
    seen = on_terminal(reader, "search", "rollback", QMD_EDITOR_URI="vscode://file{path}:{line}:{col}")
    assert f"\x1b]8;;vscode://file{reader.notes}/deploy.md:5:1\x1b\\" in seen
    assert f"\x1b]8;;file://{reader.notes}/deploy.md\x1b\\" in on_terminal(reader, "search", "rollback")


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_no_colour_is_used_where_none_is_wanted(reader: User, environ: dict[str, str]) -> None:
    for args in (["search", "rollback"], ["get", "deploy.md"], ["multi-get", "2026/*"], ["get", "nope"]):
        assert "\x1b" not in on_terminal(reader, *args, **environ)


def test_a_terminal_shows_what_a_pipe_gets(reader: User) -> None:
    for args in (["search", "performance"], ["multi-get", "2026/*"], ["ls", "notes"], ["status"], ["--help"]):
        assert plain(on_terminal(reader, *args)) == reader.run(*args).stdout


def test_a_pipe_gets_no_escape_sequences(reader: User) -> None:
    for args in (["search", "performance"], ["get", "x"], ["collection", "list"], ["search", "--bogus"]):
        found = reader.run(*args)
        assert "\x1b" not in found.stdout + found.stderr


def test_a_document_on_a_terminal_stands_under_its_name(reader: User) -> None:
    seen = plain(on_terminal(reader, "get", "2026/old notes.md"))
    assert re.fullmatch(
        r"notes/2026/old notes\.md  #[0-9a-f]{6}\n"
        r'Context: Everything\n         Notes of "2026", dated\n\n' + re.escape(FILES["2026/old notes.md"]),
        seen,
    )


def test_documents_cannot_steer_the_terminal(user: User) -> None:
    (user.notes / "evil.md").write_text(
        "# Evil \x1b]0;title\x07\n\n\x1b[2J herring \x9b5m\n", encoding="utf-8"
    )
    user.ok("collection", "add", str(user.notes))
    for args in (["search", "herring"], ["get", "evil.md"], ["multi-get", "evil.md"]):
        seen = plain(on_terminal(user, *args, NO_COLOR="1"))
        assert not set(seen) & set("\x1b\x07\x9b")
    assert "\x1b[2J" in user.run("get", "evil.md").stdout


def test_new_texts_are_hinted_at_on_a_terminal_only(user: User) -> None:
    user.ok("collection", "add", str(user.notes))
    (user.notes / "new.md").write_text("new\n", encoding="utf-8")
    assert "run 'qmd embed'" in on_terminal(user, "update")
    (user.notes / "newer.md").write_text("newer\n", encoding="utf-8")
    assert user.run("update").stderr == ""


def test_wide_and_combining_characters_are_measured() -> None:
    assert [width_of(text) for text in ("abc", "数据库", "한국", "e\u0301", "ｱ", "🎉", "")] == [
        3,
        6,
        4,
        1,
        1,
        2,
        0,
    ]
    assert columns([("数据", "1"), ("abcdef", "22")], right=frozenset({1})) == ["数据     1", "abcdef  22"]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (10_200, "10 KB"),
        (1024 * 1023, "1.0 MB"),
        (5 * 1024**3, "5.0 GB"),
    ],
)
def test_sizes_are_short(size: int, expected: str) -> None:
    assert human_size(size) == expected


def test_numbers_and_times_are_in_words() -> None:
    assert [counted(number, "file") for number in (0, 1, 1234)] == ["0 files", "1 file", "1,234 files"]
    assert [time_left(seconds) for seconds in (None, 0.2, 59, 120, 7200)] == [
        "",
        "about 1 s left",
        "about 59 s left",
        "about 2 min left",
        "about 2.0 h left",
    ]
    assert [duration(seconds) for seconds in (1.25, 61, 3700)] == ["1.2 s", "1 min 1 s", "1 h 1 min"]


def test_an_editor_is_called_with_path_and_line() -> None:
    assert editor_address("x://{path}?l={line}&c={col}", "/a b/#c.md", 7) == "x:///a%20b/%23c.md?l=7&c=1"


def test_what_was_asked_for_is_not_nagged_about(reader: User) -> None:
    result = reader.invoke("query", "lex: performance", "--no-rerank", "--no-expand", "--json")
    assert result.stderr == ""
    assert EXPECTED
