"""`qmd pick`, and `qmd` alone, in a terminal of tmux, with its keys."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from qmd.features.picker.opening import editor_words
from tests.users import MakeUser, User
from tests.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux: see scripts/packages.sh"),
]


class Terminal(Struct):
    """A terminal in which a command runs."""

    user: User
    socket: Path

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self.socket), "-f", "/dev/null", *words],
            capture_output=True,
            env=self.user.environ,
            check=True,
        )
        return done.stdout.decode()

    def start(self, columns: int, lines: int, command: str, **environ: str) -> None:
        variables = [f"{name}={value}" for name, value in environ.items()]
        words = ["env", *variables, "sh", "-c", f'{command}; echo "code $?"; cat']
        size = ["-x", str(columns), "-y", str(lines)]
        self.tmux("new-session", "-d", *size, "-c", str(self.user.home), shlex.join(words))
        self.tmux("set-option", "-s", "set-clipboard", "on")

    def screen(self) -> list[str]:
        return self.tmux("capture-pane", "-p").split("\n")[:-1]

    def keys(self, *names: str) -> None:
        self.tmux("send-keys", *names)

    def types(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    def waits_for(self, *texts: str) -> list[str]:
        """Return the screen that has all of these texts."""
        until(lambda: all(text in "\n".join(self.screen()) for text in texts))
        return self.screen()


Start = Callable[..., Terminal]


@pytest.fixture(scope="module")
def owner(make_user: MakeUser) -> User:
    user = make_user("picker")
    (user.notes / "long.md").write_text(
        "# Long\n" + "Other lines.\n" * 60 + "The ostrich runs.\n" + "More lines.\n" * 60, encoding="utf-8"
    )
    (user.notes / "tagged.md").write_text(
        "---\ntags: [fieldwork]\n---\nA tagged ostrich.\n", encoding="utf-8"
    )
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    return user


@pytest.fixture
def start(owner: User, tmp_path: Path) -> Iterator[Start]:
    terminal = Terminal(owner, tmp_path / "tmux")

    def start(command: str = "pick", columns: int = 80, lines: int = 24, **environ: str) -> Terminal:
        terminal.start(columns, lines, f"{shlex.quote(owner.python)} -m qmd {command}", **environ)
        return terminal

    yield start
    terminal.tmux("kill-server")


def chosen(screen: list[str]) -> str:
    return next(line for line in screen[1:] if line.startswith("> "))


def test_pick_shows_results_while_one_types_and_marks_the_passage(start: Start) -> None:
    terminal = start()
    terminal.waits_for("Esc end")
    terminal.types("ostri")
    terminal.waits_for("2 results", "notes/long.md:62")
    terminal.keys("C-u")
    terminal.types("rollback")
    screen = terminal.waits_for("notes/deploy.md:5")
    assert chosen(screen).endswith("Deploying the service  notes/deploy.md:5")
    assert "▌ Run `make rollback` to return to the last release." in screen
    assert len(screen) == 24
    terminal.keys("Escape")
    terminal.waits_for("code 0")


def test_pick_moves_between_results_and_in_the_text(start: Start) -> None:
    terminal = start("pick performance")
    first = chosen(terminal.waits_for("9 results"))
    terminal.keys("Down")
    until(lambda: chosen(terminal.screen()) != first)
    terminal.keys("Up")
    until(lambda: chosen(terminal.screen()) == first)
    terminal.keys("C-u")
    terminal.types("ostrich runs")
    terminal.waits_for("▌ The ostrich runs.")
    for _ in range(6):
        terminal.keys("NPage")
    until(lambda: "ostrich runs." not in "\n".join(terminal.screen()))
    for _ in range(12):
        terminal.keys("PPage")
    terminal.waits_for("  # Long")


def test_pick_opens_the_editor_at_the_line(start: Start, owner: User) -> None:
    terminal = start("pick rollback", VISUAL="echo opened")
    terminal.waits_for("notes/deploy.md:5")
    terminal.keys("Enter")
    terminal.waits_for(f"opened +5 {owner.notes}/deploy.md", "code 0")


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("nvim", "nvim +7 /notes/a b.md"),
        ("/usr/bin/emacsclient -nw", "/usr/bin/emacsclient -nw +7 /notes/a b.md"),
        ("code --wait", "code --wait --goto /notes/a b.md:7"),
        ("hx", "hx /notes/a b.md:7"),
    ],
)
def test_editor_gets_the_line_in_its_own_form(editor: str, words: str) -> None:
    assert " ".join(editor_words(editor, "/notes/a b.md", 7)) == words


def test_pick_prints_the_address_for_a_pipe(start: Start) -> None:
    terminal = start("pick rollback | sed s/^/picked:/")
    terminal.waits_for("notes/deploy.md:5")
    terminal.keys("Enter")
    terminal.waits_for("picked:qmd://notes/deploy.md:5")


def test_pick_copies_the_address_by_the_terminal(start: Start) -> None:
    terminal = start("pick rollback")
    terminal.waits_for("notes/deploy.md:5")
    terminal.keys("C-y")
    terminal.waits_for("copied: qmd://notes/deploy.md:5")
    until(lambda: terminal.tmux("show-buffer") == "qmd://notes/deploy.md:5")


def test_pick_opens_the_page(start: Start, owner: User, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >{seen}\n', encoding="utf-8")
    browser.chmod(0o755)
    terminal = start("pick rollback", BROWSER=str(browser))
    terminal.waits_for("notes/deploy.md:5")
    terminal.keys("C-o")
    try:
        until(lambda: seen.exists() and "/read/notes/deploy.md" in seen.read_text(encoding="utf-8"))
    finally:
        owner.call("server", "stop")


def test_pick_searches_by_the_next_source_and_says_what_is_missing(start: Start) -> None:
    terminal = start("pick rollback", columns=150)
    terminal.waits_for("notes/deploy.md:5")
    terminal.keys("Tab")
    terminal.waits_for("13 texts without vectors: run 'qmd embed'")
    terminal.keys("BTab")
    terminal.waits_for("notes/deploy.md:5", "Tab meaning")


def test_pick_searches_by_meaning(seer: User, tmp_path: Path) -> None:
    terminal = Terminal(seer, tmp_path / "tmux")
    terminal.start(150, 40, f"{shlex.quote(seer.python)} -m qmd pick going back to an earlier version")
    try:
        terminal.waits_for("Esc end")
        terminal.keys("Tab")
        terminal.waits_for("Tab both", "notes/deploy.md")
        terminal.keys("Tab")
        terminal.waits_for("Tab words", "notes/deploy.md")
    finally:
        terminal.tmux("kill-server")


def test_pick_offers_the_values_of_filters(start: Start) -> None:
    terminal = start()
    terminal.types("tag:fie")
    terminal.waits_for("> tag:fieldwork")
    terminal.keys("Right")
    assert "notes/tagged.md" in chosen(terminal.waits_for("1 result"))


@pytest.mark.parametrize("columns", [80, 300])
def test_pick_fits_its_terminal_also_with_wide_characters(start: Start, columns: int) -> None:
    terminal = start("pick 迁移", columns=columns)
    screen = terminal.waits_for("notes/数据库 迁移.md", "▌ 数据库迁移需要先备份数据。迁移工具支持回滚。")
    assert ("│" in screen[5]) is (columns == 300)
    terminal.tmux("resize-window", "-x", "120", "-y", "40")
    until(lambda: "│" in terminal.screen()[30])
    assert "notes/数据库 迁移.md" in chosen(terminal.screen())


def test_qmd_alone_lists_what_changed_last(start: Start) -> None:
    terminal = start("")
    terminal.waits_for("notes/tagged.md", "Esc end")
    terminal.keys("C-c")
    terminal.waits_for("code 0")


def test_qmd_alone_lists_for_an_agent_and_does_not_wait(start: Start) -> None:
    terminal = start("", QMD_AGENT="1")
    terminal.waits_for("Changed last", "code 0")


def test_pick_needs_a_terminal(owner: User) -> None:
    refused = owner.call("pick", "x")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the picker needs a terminal" in refused.stderr
