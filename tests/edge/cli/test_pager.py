"""Output that is longer than the terminal goes through a pager, as that of git does."""

from __future__ import annotations

import shutil

import pytest

from tests.edge.cli.test_terminal import on_terminal, plain
from tests.features.picker.test_pick import Terminal
from tests.users import MakeUser, User

_MARKS = "sed s/^/|/"


def _shown(user: User, *args: str, height: int = 24, **environ: str) -> list[str]:
    return plain(on_terminal(user, *args, width=80, height=height, **environ)).splitlines()


@pytest.fixture
def reader(user: User) -> User:
    lines = "".join(f"- line {number} of the herring\n" for number in range(60))
    (user.notes / "long.md").write_text(f"# Long\n\n{lines}", encoding="utf-8")
    (user.notes / "wide.md").write_text(f"# Wide\n\n{'wide ' * 400}\n", encoding="utf-8")
    (user.notes / "short.md").write_text("# Short\n\nOne line.\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes))
    return user


def test_long_output_goes_through_the_pager_of_the_user(reader: User) -> None:
    for name in ("long.md", "wide.md"):
        seen = _shown(reader, "get", f"notes/{name}", PAGER=_MARKS)
        assert seen
        assert all(line.startswith("|") for line in seen), seen
    own = {"QMD_PAGER": _MARKS, "PAGER": "cat"}
    assert _shown(reader, "search", "herring", "--full", **own)[0].startswith("|notes/long.md")


def test_short_output_and_that_of_a_pipe_do_not(reader: User) -> None:
    assert not any(line.startswith("|") for line in _shown(reader, "get", "notes/short.md", PAGER=_MARKS))
    assert not any(line.startswith("|") for line in _shown(reader, "search", "herring", PAGER=_MARKS))
    assert "|" not in reader.run("get", "notes/long.md", PAGER=_MARKS).stdout


@pytest.mark.parametrize("pager", ["cat", "", "nowhere-such-a-pager -x", "'"])
def test_without_a_pager_all_is_shown(reader: User, pager: str) -> None:
    seen = _shown(reader, "get", "notes/long.md", QMD_PAGER=pager, PAGER=_MARKS)
    assert seen[-1] == "- line 59 of the herring"
    assert not any(line.startswith("|") for line in seen)


def test_no_pager_and_agents_have_none(reader: User) -> None:
    for args in (("--no-pager",), ("--agent",)):
        assert not any(line.startswith("|") for line in _shown(reader, "get", *args, "long.md", PAGER=_MARKS))
    assert not any(
        line.startswith("|") for line in _shown(reader, "get", "long.md", PAGER=_MARKS, QMD_AGENT="1")
    )


def test_other_commands_have_none_whatever_their_options_are_called(reader: User) -> None:
    seen = _shown(reader, "--index", "get", "status", height=3, PAGER=_MARKS)
    assert len(seen) > 3
    assert not any(line.startswith("|") for line in seen)


def test_pager_that_ends_early_is_no_error(reader: User) -> None:
    (reader.notes / "long.md").write_text("herring\n" * 100_000, encoding="utf-8")
    reader.ok("update", "--no-embed")
    assert _shown(reader, "get", "notes/long.md", PAGER="head -n 1") == ["notes/long.md  #" + _docid(reader)]


def _docid(user: User) -> str:
    return user.ok("search", "herring", "--files", "-n", "1").split(",")[0].strip("#")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None or shutil.which("less") is None, reason="needs tmux, less")
def test_less_shows_the_first_screen_survives_ctrl_c_and_ends_by_q(make_user: MakeUser) -> None:
    user = make_user("pager")
    (user.notes / "long.md").write_text("".join(f"- line {n}\n" for n in range(50_000)), encoding="utf-8")
    user.ok("collection", "add", str(user.notes))
    with_less = {key: value for key, value in user.environ.items() if key != "PAGER"}
    terminal = Terminal(User(user.home, user.notes, with_less), user.home / "tmux")
    try:
        terminal.start(80, 24, f"trap : INT; {user.python} -m qmd get notes/long.md")
        screen = terminal.waits_for("- line 10", ":")
        assert "- line 59" not in "\n".join(screen)
        terminal.keys("C-c")  # less has read only a part
        terminal.keys("G")
        terminal.waits_for("- line 49999")
        terminal.keys("q")
        assert "code 0" in "\n".join(terminal.waits_for("code 0"))
    finally:
        terminal.tmux("kill-server")
