"""Colours, links and widths on a terminal, and none of them in a pipe."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from qmd.cli.options import FORMATS
from qmd.cli.render.formats import writer
from qmd.cli.render.rows import Column, Listing
from qmd.cli.render.view import View
from qmd.cli.terminal import columns, width_of
from qmd.text.uris import editor_address
from qmd.text.wording import duration, human_size, plural, time_left
from tests.users import FILES, User

pytestmark = pytest.mark.slow

#: One character of each kind that must not reach a terminal: C0, C1, a line separator, an override and an
#: isolate.
EVIL = "\x1b\x07\x9b\x7f\u2028\u202e\u2066"

PROGRESS = """
from qmd.cli.progress import Bar
from qmd.cli.session import Session
with Bar("the long name of a model to download", Session()) as bar:
    bar.bytes(5_000_000, 10_000_000)
print("done")
"""

pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")


def on_terminal(
    user: User,
    *args: str,
    program: tuple[str, ...] = ("-m", "qmd"),
    width: int = 400,
    height: int = 50,
    cwd: Path | None = None,
    **environ: str,
) -> str:
    """Return the output of a command on a terminal of `width` columns, stdout and stderr together."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (height, width))
    with subprocess.Popen(
        [sys.executable, *program, *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**user.environ, **environ},
        cwd=cwd or user.home,
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


def links(text: str) -> list[str]:
    return re.findall(r"\x1b\]8;;(.+?)\x1b\\", text)


def test_search_highlights_matches_in_every_script(reader: User) -> None:
    assert "\x1b[1;31mrollback\x1b[0m" in on_terminal(reader, "search", "rollback")
    assert "\x1b[1;31m数据库迁移\x1b[0m需要" in on_terminal(reader, "search", "数据库迁移")


def test_terminal_colours_are_readable_on_dark_and_light(reader: User) -> None:
    seen = "".join(on_terminal(reader, *args) for args in (["query", "performance", "--explain"], ["status"]))
    used = {code for codes in re.findall(r"\x1b\[([0-9;]+)m", seen) for code in codes.split(";")}
    assert "35" in used
    # Bold, dim, and the colours of the terminal except black, white and the bright ones.
    assert used <= {"0", "1", "2", "31", "32", "33", "34", "35", "36"}


def test_terminal_paths_link_to_the_line_in_an_editor(reader: User) -> None:
    assert links(on_terminal(reader, "search", "rollback")) == [f"vscode://file{reader.notes}/deploy.md:5:1"]
    old = f"{reader.notes}/2026/old%20notes.md"
    for args, line in (
        (["get", "old notes.md:3"], 3),
        (["multi-get", "2026/*"], 1),
        (["ls", "notes/2026"], 1),
    ):
        assert links(on_terminal(reader, *args)) == [f"vscode://file{old}:{line}:1"]


def test_editor_links_can_be_configured_or_disabled(user: User) -> None:
    user.ok("collection", "add", str(user.notes))
    config = user.home / "config" / "qmd" / "index.yml"
    config.write_text(
        config.read_text(encoding="utf-8") + 'editor_uri: "zed://{path}?{line}"\n', encoding="utf-8"
    )
    assert links(on_terminal(user, "search", "rollback")) == [f"zed://{user.notes}/deploy.md?5"]
    seen = on_terminal(user, "search", "rollback", QMD_EDITOR_URI="emacs://{path}#{column}")
    assert links(seen) == [f"emacs://{user.notes}/deploy.md#1"]
    assert links(on_terminal(user, "search", "rollback", QMD_EDITOR_URI="none")) == []


def test_editor_of_a_project_and_an_unknown_scheme_make_no_link(user: User, tmp_path: Path) -> None:
    config = user.notes / ".qmd" / "index.yml"
    config.parent.mkdir()
    config.write_text(
        f"editor_uri: 'javascript://x{{path}}'\ncollections: {{notes: {{path: '{user.notes}'}}}}\n"
    )
    user.call("update", cwd=user.notes)
    seen = on_terminal(user, "search", "rollback", cwd=user.notes)
    assert links(seen) == [f"vscode://file{user.notes}/deploy.md:5:1"]
    seen = on_terminal(
        user, "search", "rollback", cwd=user.notes, QMD_EDITOR_URI="javascript:alert(1)//{path}"
    )
    assert links(seen) == []
    assert "editor_uri 'javascript:alert(1)//{path}' is ignored" in seen


def test_no_color_disables_colours(reader: User) -> None:
    for args in (["search", "rollback"], ["get", "deploy.md"], ["multi-get", "2026/*"], ["get", "nope"]):
        seen = on_terminal(reader, *args, NO_COLOR="1")
        assert "\x1b" not in seen


def test_variables_can_want_colours_in_a_pipe(reader: User) -> None:
    plain_text = reader.call("search", "rollback").stdout
    assert "\x1b" not in plain_text
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        coloured = reader.call("search", "rollback", **{name: "1"}).stdout
        assert "\x1b[" in coloured
        assert "\x1b]8" not in coloured
        assert plain(coloured) == plain_text
        assert reader.call("search", "rollback", **{name: "1"}, NO_COLOR="1").stdout == plain_text
        assert reader.call("search", "rollback", **{name: "0"}).stdout == plain_text


def test_dumb_terminal_gets_plain_text(reader: User) -> None:
    for args in (
        ["search", "rollback"],
        ["get", "deploy.md"],
        ["ls", "notes"],
        ["update", "--no-embed"],
        ["get", "nope"],
    ):
        assert "\x1b" not in on_terminal(reader, *args, TERM="dumb")


def test_terminal_shows_the_same_text_as_a_pipe(reader: User) -> None:
    for args in (["search", "performance"], ["multi-get", "2026/*"], ["ls", "notes"], ["status"]):
        assert plain(on_terminal(reader, *args)) == reader.call(*args).stdout


@pytest.mark.slow
@pytest.mark.parametrize(("number", "lines"), [(5, 3), (10, 2), (20, 1)])
def test_search_shows_the_best_result_on_a_low_terminal(user: User, number: int, lines: int) -> None:
    for each in range(number):
        text = f"{'Much stands here. ' * 9}Here a herring swims.\n\nMore\n" * (3 if each == 0 else 1)
        (user.notes / f"{each}.md").write_text(f"# Sea {each}\n\n## Fish\n\n{text}", encoding="utf-8")
    user.ok("collection", "add", str(user.notes))

    def shown(*args: str, height: int = 24) -> list[str]:
        args = ("search", "herring", "-n", str(number), *args)
        return plain(on_terminal(user, *args, width=80, height=height)).splitlines()

    low = shown()
    assert len(low) == number * lines
    assert low[0].startswith("notes/0.md:5 #")
    assert max(map(width_of, low)) <= 80
    assert ("herring swims." in low[1]) is (lines > 1)
    assert (low[2] == "  Sea 0 > Fish") is (lines > 2)
    assert len(shown("--passages", "1")) > 6 * number < len(shown(height=50))


@pytest.mark.parametrize("width", [24, 40, 80])
def test_search_results_fit_the_terminal_in_every_script(user: User, width: int) -> None:
    english = "Each of these words is to be found whole, wherever the herring line ends. " * 3
    chinese = "数据库迁移需要先备份数据，迁移工具支持回滚；每天凌晨两点自动备份。" * 4
    (user.notes / "long.md").write_text(f"# {english}\n\n{english}\n\n{chinese}herring\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes))
    user.ok("context", "add", "qmd://notes", english)
    for args in (["herring"], ["herring", "--line-numbers", "--full"]):
        seen = plain(on_terminal(user, "search", *args, width=width))
        assert max(map(width_of, seen.splitlines())) <= width
        assert "".join(seen.split()) == "".join(user.call("search", *args).stdout.split())
        assert set(english.split()) <= set(seen.split())


def test_explanations_fit_the_terminal(reader: User) -> None:
    table = plain(on_terminal(reader, "query", "performance", "-n", "1", "--explain"))
    assert re.search(r"\n  list +rank  score  weight +gives\n  lexical:original +1 ", table)
    narrow = plain(on_terminal(reader, "query", "performance", "-n", "1", "--explain", width=40))
    assert re.search(r"\n  lexical:original  rank 1, score [0-9.]+,\n  weight 1, gives [0-9.]+\n", narrow)


def test_listing_wider_than_the_terminal_is_printed_as_records() -> None:
    listing = Listing(
        "models",
        "model",
        (Column("role"), Column("bytes", "Size", human_size, right=True), Column("key", for_people=False)),
        [{"role": "embed", "bytes": 2048, "key": "k"}, {"role": "数据", "bytes": None, "key": None}],
    )
    assert writer("cli").listing(listing, View(terminal=True, width=80)) == (
        "Role     Size\nembed  2.0 KB\n数据\n"
    )
    assert writer("cli").listing(listing, View(terminal=True, width=10)) == (
        "Role:  embed\nSize:  2.0 KB\n\nRole:  数据\n"
    )


def test_pipe_gets_no_escape_sequences(reader: User) -> None:
    for args in (["search", "performance"], ["get", "x"], ["collection", "list"], ["search", "--bogus"]):
        found = reader.call(*args)
        assert "\x1b" not in found.stdout + found.stderr


def test_get_prints_name_and_context_on_a_terminal(reader: User) -> None:
    seen = plain(on_terminal(reader, "get", "2026/old notes.md"))
    assert re.fullmatch(
        r"notes/2026/old notes\.md  #[0-9a-f]{6}\n"
        r'Context: Everything\n         Notes of "2026", dated\n\n' + re.escape(FILES["2026/old notes.md"]),
        seen,
    )


def test_documents_cannot_control_the_terminal(user: User) -> None:
    (user.notes / "evil.md").write_text(
        "# Evil \x1b]0;title\x07\n\n\x1b[2J herring \x9b5m \u202ertl\u2066\n", encoding="utf-8"
    )
    user.ok("collection", "add", str(user.notes))
    commands = [["search", "herring"], ["get", "evil.md"], ["multi-get", "evil.md"]]
    formats = [["--format", name] for name in FORMATS]
    for args in (command + name for command in commands for name in formats):
        seen = on_terminal(user, *args, NO_COLOR="1")
        assert not set(seen) & set(EVIL), args
        # XML cannot contain such characters, and the others have not the line of the title.
        assert (
            args[-1] in ("xml", "files", "names", "vimgrep", "short") or "\\u001b]0;title\\u0007" in seen
        ), args
    assert "\\u001b[2J herring \\u009b5m \\u202ertl\\u2066" in on_terminal(user, "get", "evil.md")
    assert "\\u202e" in on_terminal(user, "search", "herring", "--xml")


def test_pipe_gets_controls_of_documents_as_escapes_unless_raw(user: User) -> None:
    text = f"# Evil\n\nherring {EVIL} and\twords enough to pass for a text, which controls alone do not\n"
    escaped = text.replace(EVIL, "\\u001b\\u0007\\u009b\\u007f\u2028\\u202e\\u2066")
    (user.notes / "evil.md").write_text(text, encoding="utf-8")
    (user.notes / "\x1b[5m.md").write_text("# haddock\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes))
    assert user.call("get", "evil.md").stdout == escaped
    assert user.call("get", "evil.md", "--raw").stdout == text
    for command in (
        ["get", "evil.md"],
        ["multi-get", "evil.md"],
        ["search", "herring"],
        ["similar", "evil.md"],
    ):
        for name in ("cli", "csv", "md", "xml"):
            shown = user.call(*command, "--format", name).stdout
            assert not ({*EVIL} - {"\u2028"}) & {*shown}, (command, name)
    for name in ("cli", "csv", "md"):
        assert EVIL in user.call("search", "herring", "--format", name, "--raw").stdout
    for command in ("get", "search"):
        told = json.loads(
            user.call(command, *(["evil.md"] if command == "get" else ["herring"]), "--json").stdout
        )
        assert EVIL in (told["body"] if command == "get" else told[0]["snippet"])
    assert EVIL in on_terminal(user, "get", "evil.md", "--raw", NO_COLOR="1")
    (user.notes / "dos.md").write_bytes(b"# Dos\r\n\r\nlines\r\n")
    user.ok("update")
    assert user.call("get", "dos.md").stdout == user.call("get", "dos.md", "--raw").stdout
    for name in ("cli", "csv", "md", "files"):
        assert "notes/\\u001b[5m.md" in user.call("search", "haddock", "--format", name).stdout
    assert "notes/\\u001b[5m.md" in user.call("ls", "notes").stdout


#: Formats without escapes of their own.
FORMATTED = ("csv", "md", "files")


def test_names_control_neither_terminals_nor_pipes(user: User) -> None:
    name = "a\x1b]0;t\x07\x9b5m\x7f\u202e b"
    folder = user.home / name
    (folder / name).mkdir(parents=True)
    (folder / f"{name}.md").write_text(
        f"---\n{name}: x\n---\n# haddock\n\n[[none {name}]]\n", encoding="utf-8"
    )
    (folder / name / "b.md").write_text("# haddock too\n", encoding="utf-8")
    user.call("project", "init", cwd=folder)
    assert user.call("update", cwd=folder).returncode == 0
    commands = {
        "search haddock": FORMATTED,
        "ls": FORMATTED,
        "ls project": FORMATTED,
        "lint": FORMATTED,
        "similar b.md": FORMATTED,
        "fields": FORMATTED,
        "get b.md": FORMATTED,
        "multi-get *": FORMATTED,
        "outline b.md": FORMATTED,
        "links --unresolved": FORMATTED,
        "links --orphans": FORMATTED,
        "tags": FORMATTED,
        "status": FORMATTED,
        "collection list": FORMATTED,
        "context list": FORMATTED,
        "doctor": (),
        "why b.md haddock": (),
        "hook install --project --target claude": (),
        "hook status": FORMATTED,
        "agent status": FORMATTED,
        "update --no-embed": (),
    }
    for command, formats in commands.items():
        for form in ([], *(["--format", each] for each in formats)):
            done = user.call(*command.split(), *form, cwd=folder)
            assert not set("\x1b\x07\x9b\x7f\u202e") & {*done.stdout, *done.stderr}, (command, form, done)
    for command in ("hook status", "agent status", "lint", "ls project"):
        seen = user.on_terminal("", *command.split(), cwd=folder).replace("\x1b[K", "")
        assert not set("\x1b\x07\x9b\x7f\u202e") & {*seen}, (command, seen)


def test_configuration_cannot_control_the_terminal(reader: User) -> None:
    seen = on_terminal(reader, "search", "rollback", QMD_EDITOR_URI="zed://\x1b]0;title\x07\n{path}")
    assert not set(plain(seen)) & set("\x1b\x07")
    assert links(seen)[0].startswith("zed://\\u001b]0;title\\u0007\\u000a/")


def test_update_without_vectors_hints_at_embed_only_on_a_terminal(user: User) -> None:
    user.ok("collection", "add", str(user.notes))
    (user.notes / "new.md").write_text("new\n", encoding="utf-8")
    assert "run 'qmd embed'" in on_terminal(user, "update", "--no-embed")
    (user.notes / "newer.md").write_text("newer\n", encoding="utf-8")
    assert user.call("update", "--no-embed").stderr == ""
    assert "run 'qmd embed'" not in on_terminal(user, "update")


def test_width_of_counts_wide_and_combining_characters() -> None:
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
def test_human_size_is_short(size: int, expected: str) -> None:
    assert human_size(size) == expected


def test_numbers_and_durations_are_in_words() -> None:
    assert [plural(number, "file") for number in (0, 1, 1234)] == ["0 files", "1 file", "1,234 files"]
    assert [time_left(seconds) for seconds in (None, 0.2, 59, 120, 7200)] == [
        "",
        "about 1 s left",
        "about 59 s left",
        "about 2 min left",
        "about 2.0 h left",
    ]
    assert [duration(seconds) for seconds in (1.25, 61, 3700)] == ["1.2 s", "1 min 1 s", "1 h 1 min"]


@pytest.mark.parametrize(
    ("template", "address"),
    [
        ("x://{path}?l={line}&c={col}", "x:///a%20b/%23c.md?l=7&c=1"),
        ("vscode://file/{path}:{line}:{col}", "vscode://file/a%20b/%23c.md:7:1"),
        ("vscode://file{path}:{line}", "vscode://file/a%20b/%23c.md:7"),
        ("file:///{path}", "file:///a%20b/%23c.md"),
        ("obsidian://open?path={path}", "obsidian://open?path=%2Fa%20b%2F%23c.md"),
        ("idea://open?file={path}&line={line}", "idea://open?file=%2Fa%20b%2F%23c.md&line=7"),
        ("txmt://open/?url=file://{path}&line={line}", "txmt://open/?url=file:///a%20b/%23c.md&line=7"),
    ],
)
def test_editor_address_inserts_path_and_line(template: str, address: str) -> None:
    assert editor_address(template, "/a b/#c.md", 7) == address


def test_editor_address_does_not_expand_placeholders_in_a_path() -> None:
    assert editor_address("x://{path}:{line}", "/{line}/{col}.md", 7) == "x:///%7Bline%7D/%7Bcol%7D.md:7"


def test_query_with_explicit_options_prints_no_hint(reader: User) -> None:
    result = reader.invoke("query", "lex: performance", "--no-rerank", "--no-expand", "--json")
    assert result.stderr == ""


def test_interrupted_embed_reports_progress_and_leaves_a_good_index(user: User) -> None:
    for number in range(200):
        (user.notes / f"{number}.md").write_text(
            f"# {number}\n\n" + f"word{number} and more. " * 200, encoding="utf-8"
        )
    user.ok("collection", "add", str(user.notes))
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "qmd", "embed"],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=user.environ,
        cwd=user.home,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        seen = b""
        while b"Embedding" not in seen:
            seen += os.read(ours, 65536)
        process.send_signal(signal.SIGINT)
        try:
            while data := os.read(ours, 65536):
                seen += data
        except OSError:  # the other end is closed
            pass
        assert process.wait(60) == 130
    os.close(ours)
    assert b"Interrupted. Finished vectors are saved" in seen
    assert b"Traceback" not in seen
    assert json.loads(user.call("status", "--json").stdout)["needs_embedding"] > 0
    assert "notes/deploy.md" in user.call("search", "rollback").stdout


@pytest.mark.parametrize(("width", "bar"), [(80, "#" * 15 + "-" * 15), (40, "")])
def test_progress_stays_in_one_line_and_disappears(user: User, width: int, bar: str) -> None:
    seen = on_terminal(user, "-c", PROGRESS, program=(), width=width)
    drawn, _, rest = seen.rpartition("\r\x1b[K")
    line = plain(drawn.removeprefix("\r").removesuffix("\x1b[K"))
    assert line.endswith(f"{bar} 4.8 MB of 9.5 MB")
    assert width_of(line) < width
    assert rest == "done\n"


def test_progress_of_several_collections_says_which_one_it_is(user: User) -> None:
    program = (
        "from qmd.cli.progress import Bar\n"
        "from qmd.cli.session import Session\n"
        "bar = Bar('Scanning', Session())\n"
        "show = bar.files_of(['diary', 'notes'])\n"
        "show('notes', 3, 6)\n"
    )
    shown = plain(on_terminal(user, "-c", program, program=(), width=80))
    assert shown.startswith(f"\r2/2 notes {'#' * 15}{'-' * 15} 3/6")


def test_progress_is_not_drawn_without_a_terminal(user: User) -> None:
    found = subprocess.run(
        [sys.executable, "-c", PROGRESS], capture_output=True, text=True, env=user.environ, check=True
    )
    assert (found.stdout, found.stderr) == ("done\n", "")


def test_server_is_offered_once_after_a_command_has_loaded_models(embedded: User) -> None:
    embedded.ok("query", "rollback")  # in a script, nobody reads it
    offers = [
        on_terminal(embedded, *words) for words in (["search", "rollback"], *[["query", "rollback"]] * 2)
    ]
    assert ["qmd server --daemon" in shown for shown in offers] == [False, True, False]


def test_search_on_a_terminal_says_how_to_get_the_next_page(reader: User) -> None:
    shown = plain(on_terminal(reader, "search", "performance", "-n", "2"))
    assert shown.endswith("note: results 1 to 2 of 9: --offset 2 shows the next\n")
    past = reader.call("search", "performance", "--offset", "9")
    assert (past.stdout, past.stderr) == ("No results found.\n", "note: there are only 9 results\n")


def test_qmd_alone_says_how_to_begin_and_shows_the_notes_that_changed_last(user: User) -> None:
    begin = user.on_terminal("")
    assert "qmd add ~/notes" in begin
    assert len(begin.splitlines()) == 2
    user.ok("collection", "add", str(user.notes))
    for old in user.notes.rglob("*.md"):
        os.utime(old, (1_700_000_000, 1_700_000_000))
    user.ok("update")
    note = user.notes / "fresh.md"
    note.write_text("# Fresh from the press\n", encoding="utf-8")
    assert re.search(r"notes: 1 new, \d+ unchanged in ", user.on_terminal("", "update"))
    # Such a terminal cannot show the picker.
    first, newest, *_ = on_terminal(user, TERM="dumb").splitlines()
    assert first == "Changed last"
    assert re.fullmatch(r"  Fresh from the press +notes +(today|yesterday) \d\d:\d\d", newest)
    assert user.call().stdout == user.call("--help").stdout
