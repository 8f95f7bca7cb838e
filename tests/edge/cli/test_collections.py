"""`qmd collection` and `qmd context`."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import closing
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import apsw
import pytest

from tests.users import FILES, User


def config(user: User) -> str:
    return (user.home / "config" / "qmd" / "index.yml").read_text(encoding="utf-8")


def test_collection_add_indexes_the_folder_and_prints_next_steps(user: User) -> None:
    text = user.ok("collection", "add", str(user.notes))
    lines = text.splitlines()
    assert lines[0] == f"Added collection 'notes': {user.notes} (**/*.md)"
    assert lines[1] == f"notes: {len(FILES)} new"
    assert "qmd embed" in text
    assert 'qmd search "..." -c notes' in text
    assert "notes/deploy.md" in user.ok("search", "rollback")
    assert "qmd embed" not in user.ok("collection", "add", str(user.notes / "2026"), "-q")


def test_collection_add_defaults_to_the_current_folder(user: User) -> None:
    found = user.call("collection", "add", cwd=user.notes)
    assert found.returncode == 0
    assert found.stdout.startswith(f"Added collection 'notes': {user.notes}")


def test_collection_add_takes_relative_and_home_paths(user: User) -> None:
    assert user.call("collection", "add", "notes", "--name", "a", cwd=user.home).returncode == 0
    assert user.call("collection", "add", "~/notes/2026", "--name", "b").returncode == 0
    assert [each["documents"] for each in json.loads(user.ok("collection", "list", "--json"))] == [
        len(FILES),
        1,
    ]


def test_collection_add_help_names_the_default_formats(user: User) -> None:
    (user.notes / "plain.txt").write_text("plain text\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes))
    assert "plain.txt" not in user.ok("ls", "notes")
    told = " ".join(user.ok("collection", "add", "--help").split())
    assert "[default: what --mask selects; binary files in their format, other files as Markdown]" in told


@pytest.mark.parametrize("flag", ["--mask", "--pattern", "--glob"])
def test_collection_add_selects_files_by_mask_and_ignore(user: User, flag: str) -> None:
    (user.notes / "plain.txt").write_text("plain text\n", encoding="utf-8")
    user.ok(
        "collection", "add", str(user.notes), flag, "**/*.{md,txt}", "--ignore", "2026/**", "--ignore", "[x]*"
    )
    shown = json.loads(user.ok("collection", "show", "notes", "--json"))
    assert shown["pattern"] == "**/*.{md,txt}"
    assert shown["ignore"] == ["2026/**", "[x]*"]
    listed = user.ok("ls", "notes")
    assert "notes/plain.txt" in listed
    assert "2026" not in listed.replace("2026-", "")


def test_collection_add_takes_an_encoding(user: User) -> None:
    old = user.home / "old"
    old.mkdir()
    (old / "a.md").write_bytes("# 資料庫\n\n資料庫遷移\n".encode("big5"))
    user.ok("collection", "add", str(old), "--encoding", "big5")
    assert "資料庫遷移" in user.ok("get", "old/a.md")
    refused = user.invoke("collection", "add", str(user.notes), "--encoding", "klingon")
    assert refused.exit_code == 2


def test_collection_add_with_invalid_arguments_changes_nothing(user: User) -> None:
    user.ok("collection", "add", str(user.notes))
    before = config(user)
    other = user.home / "other"
    other.mkdir()
    for args in (
        [str(user.notes)],
        [str(user.notes), "--name", "again"],
        [str(other), "--name", "notes"],
        [str(other), "--name", "a/b"],
        [str(other), "--mask", ""],
        [str(user.notes / "deploy.md")],
        ["/no/such/folder"],
    ):
        result = user.invoke("collection", "add", *args)
        assert result.exit_code in (1, 2), args
        assert result.stderr.startswith("Error: "), args
    assert config(user) == before


def test_collection_add_names_up_to_ten_unreadable_files(user: User) -> None:
    bad = user.home / "bad"
    bad.mkdir()
    for number in range(13):
        (bad / f"{number:02}.md").write_bytes(b"\x00\x01\x02\x03")
    (bad / "good.md").write_text("good\n", encoding="utf-8")
    found = user.call("collection", "add", str(bad))
    assert found.returncode == 0
    assert "bad: 1 new, 13 not read\n" in found.stdout
    *named, rest = found.stderr.splitlines()
    assert len(named) == 10
    assert named[0] == "bad: cannot read 00.md: not text"
    assert rest == "bad: ... and 3 more that could not be read: 'qmd update --failed' lists all"
    (bad / "good.md").write_bytes(b"\x00\x01\x02\x03")
    found = user.call("update", "--no-embed", "--failed", "-c", "bad")
    kept, counts = found.stdout.splitlines()
    assert kept.startswith("bad: 1 file stays as it was: could not be read since ")
    assert counts == "bad: 14 not read"
    listed = [f"bad: cannot read {number:02}.md: not text" for number in range(13)]
    assert found.stderr.splitlines() == [*listed, "bad: cannot read good.md: not text"]
    assert "bad: 14 files could not be read: 14 not text" in user.ok("status")


def test_collection_add_of_a_folder_without_matches_prints_a_note(user: User) -> None:
    empty = user.home / "empty"
    empty.mkdir()
    found = user.call("collection", "add", str(empty))
    assert found.returncode == 0
    assert "no file in" in found.stderr
    assert user.ok("ls", "empty") == "No files yet.\n"
    (user.home / "site").mkdir()
    for name in ("a.mdx", "b.mdx", "c.markdown", "d.png"):
        (user.home / "site" / name).write_text(f"# Page {name}")
    told = user.call("collection", "add", str(user.home / "site")).stdout
    assert "left out: 3 files (2 .mdx, 1 .markdown). To index them: qmd collection set site" in told
    command = re.search(r"To index them: qmd (.+)", told)
    assert command
    assert user.call(*shlex.split(command[1])).stdout.splitlines()[-1] == "site: 3 new"


def test_collection_list_and_show_print_all_properties(user: User) -> None:
    assert user.ok("collection", "list").startswith("No collections yet.")
    assert user.ok("collection", "list", "--json") == "[]\n"
    user.ok("collection", "add", str(user.notes), "--name", "笔记")
    user.ok("context", "add", "qmd://笔记/2026", "dated")
    text = user.ok("collection", "list")
    assert text.startswith("Collections (1):\n\n笔记 (qmd://笔记/)\n")
    for label in ("Path:", "Pattern:", "Files:", "Contexts:"):
        assert f"\n  {label} " in text
    assert "Context of 2026: dated" in user.ok("collection", "show", "笔记")
    assert user.ok("collection", "info", "笔记") == user.ok("collection", "show", "笔记")
    shown = json.loads(user.ok("collection", "show", "笔记", "--json"))
    assert shown["documents"] == len(FILES)
    assert shown["context"] == {"2026": "dated"}
    assert shown == json.loads(user.ok("collection", "list", "--json"))[0]


@pytest.mark.parametrize("command", ["rename", "mv"])
def test_collection_rename_makes_documents_available_under_the_new_name(user: User, command: str) -> None:
    user.ok("collection", "add", str(user.notes))
    assert "qmd://diary/" in user.ok("collection", command, "notes", "diary")
    assert "diary/数据库 迁移.md" in user.ok("search", "数据库")
    assert user.ok("get", "diary/deploy.md") == FILES["deploy.md"]
    assert user.invoke("ls", "notes").exit_code == 1
    assert user.invoke("collection", command, "diary", "diary").exit_code == 1


@pytest.mark.parametrize("command", ["remove", "rm"])
def test_collection_remove_keeps_files(user: User, command: str) -> None:
    user.ok("collection", "add", str(user.notes))
    assert f"{len(FILES)} documents" in user.ok("collection", command, "notes")
    assert (user.notes / "deploy.md").exists()
    assert user.ok("search", "rollback") == "No results found.\n"
    assert user.ok("ls", "--json") == "[]\n"


def test_context_add_keeps_comments_of_index_yml(user: User) -> None:
    user.ok("collection", "add", str(user.notes))
    path = user.home / "config" / "qmd" / "index.yml"
    path.write_text("# mine\n" + config(user), encoding="utf-8")
    user.ok("context", "add", "/", "All of it")
    assert config(user).startswith("# mine\n")


@pytest.fixture
def owner(user: User) -> User:
    user.ok("collection", "add", str(user.notes))
    return user


def test_context_list_sorts_from_general_to_specific(owner: User) -> None:
    assert owner.ok("context", "list").startswith("No contexts yet.")
    assert owner.ok("context", "list", "--json") == "[]\n"
    assert owner.ok("context", "add", "/", "All") == "Added context for everything (qmd://)\n"
    assert owner.ok("context", "add", "qmd://notes/2026", "Dated\n\nlines") == (
        "Added context for qmd://notes/2026\n"
    )
    assert owner.ok("context", "list") == (
        "Configured Contexts\n\n/\n  / (root)\n    All\n\nnotes\n  /2026\n    Dated\n\n    lines\n"
    )
    assert json.loads(owner.ok("context", "list", "--json")) == [
        {"path": "qmd://", "context": "All"},
        {"path": "qmd://notes/2026", "context": "Dated\n\nlines"},
    ]


@pytest.mark.parametrize("where", ["", "2026"])
def test_context_add_without_a_path_describes_the_current_folder(owner: User, where: str) -> None:
    found = owner.call("context", "add", "about here", cwd=owner.notes / where)
    assert found.stdout == f"Added context for qmd://notes{'/' + where if where else ''}\n"


def test_context_add_takes_a_folder_on_disk(owner: User) -> None:
    assert owner.call("context", "add", "notes/2026", "dated", cwd=owner.home).returncode == 0
    assert owner.call("context", "rm", str(Path("notes") / "2026"), cwd=owner.home).stdout == (
        "Removed context for qmd://notes/2026\n"
    )
    assert owner.invoke("context", "remove", "qmd://notes/2026").exit_code == 1


def test_excluded_collection_is_searched_only_if_named(owner: User) -> None:
    before = config(owner)
    assert "-c notes" in owner.ok("collection", "exclude", "notes")
    found = owner.call("search", "rollback")
    assert (found.returncode, found.stdout) == (0, "No results found.\n")
    assert "every collection is excluded: name one with -c" in found.stderr
    assert "notes/deploy.md" in owner.ok("search", "rollback", "-c", "notes")
    assert "notes (qmd://notes/) [excluded]\n" in owner.ok("collection", "list")
    assert json.loads(owner.ok("collection", "show", "notes", "--json"))["include_by_default"] is False
    assert config(owner) == before + "    includeByDefault: false\n"
    owner.ok("collection", "include", "notes")
    assert "notes/deploy.md" in owner.ok("search", "rollback")


@pytest.mark.parametrize("command", ["update-cmd", "set-update"])
def test_collection_update_cmd_sets_and_clears_the_command(owner: User, command: str) -> None:
    before = config(owner)
    owner.ok("collection", command, "notes", "echo '# Made' > made.md && echo made")
    assert owner.ok("update").startswith("notes: made\nnotes: 1 new, ")
    assert "Update:    echo '# Made'" in owner.ok("collection", "show", "notes")
    owner.ok("collection", command, "notes")
    assert config(owner) == before
    assert owner.ok("update", "--no-embed") == f"notes: {len(FILES) + 1} unchanged\n"


def test_collection_update_cmd_quotes_each_word(owner: User) -> None:
    owner.ok("collection", "update-cmd", "notes", "printf", "%s-", "-q", "two words", "--help")
    assert owner.ok("update").startswith("notes: -q-two words---help-\n")


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["update-cmd", "--bogus", "notes"], 2),
        (["update-cmd", "notes", "--bogus"], 2),
        (["update-cmd", "nope", "make"], 1),
        (["exclude", "nope"], 1),
        (["include", "nope"], 1),
        (["exclude"], 2),
    ],
    ids=str,
)
def test_collection_change_with_invalid_arguments_changes_nothing(
    owner: User, args: list[str], code: int
) -> None:
    before = config(owner)
    result = owner.invoke("collection", *args)
    assert result.exit_code == code
    assert result.stderr.startswith("Error: ")
    assert config(owner) == before


def test_collection_changes_keep_comments_and_order(owner: User) -> None:
    path = owner.home / "config" / "qmd" / "index.yml"
    path.write_text("# mine\n" + config(owner) + "# below\neditor_uri: x://{path}  # y\n", encoding="utf-8")
    before = config(owner)
    owner.ok("collection", "exclude", "notes")
    owner.ok("collection", "update-cmd", "notes", "git", "pull")
    added = '    includeByDefault: false\n    update: "git pull"\n'
    assert config(owner) == before.replace("# below", added + "# below")


def test_context_check_names_places_without_a_context(owner: User) -> None:
    (owner.notes / "it's here").mkdir()
    (owner.notes / "it's here" / "deep").mkdir()
    (owner.notes / "it's here" / "deep" / "a.md").write_text("words\n", encoding="utf-8")
    (owner.notes / "bare").mkdir()
    owner.ok("update")
    owner.ok("context", "add", "/", "Said of everything, not of a place")
    found = json.loads(owner.ok("context", "check", "--json"))
    assert [(each["path"], each["documents"]) for each in found] == [
        ("qmd://notes", len(FILES) + 1),
        ("qmd://notes/2026", 1),
        ("qmd://notes/it's here", 1),
    ]
    listed = owner.ok("context", "check")
    for each in found:
        assert each["command"] in listed
        done = subprocess.run(
            ["sh", "-c", each["command"].replace("qmd", f"{sys.executable} -m qmd", 1)],
            env=owner.environ,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert (
        owner.ok("context", "check") == "Every collection and top folder that has documents has a context.\n"
    )
    assert owner.ok("context", "check", "--format", "files") == ""


@pytest.mark.parametrize(
    "args",
    [["collection", "list"], ["collection", "show", "notes"], ["context", "list"], ["context", "check"]],
)
def test_collection_and_context_lists_have_every_format(owner: User, args: list[str]) -> None:
    owner.ok("context", "add", "qmd://notes", "One, two & <three>")
    shown = json.loads(owner.ok(*args, "--format", "json"))
    rows = [shown] if isinstance(shown, dict) else shown
    names = list(rows[0])
    table = list(csv.DictReader(StringIO(owner.ok(*args, "--csv"))))
    assert [list(row) for row in table] == [names]
    assert table[0][names[0]] == rows[0][names[0]]
    root = ElementTree.fromstring(owner.ok(*args, "--xml"))
    assert [row.findtext(names[0]) for row in root] == [rows[0][names[0]]]
    assert owner.ok(*args, "--md").startswith(f"| {' | '.join(names)} |\n| --- |")
    assert owner.ok(*args, "--files") == f"{rows[0][names[0]]}\n"


def test_unknown_key_of_index_yml_is_noted_once_by_every_command(owner: User) -> None:
    config = owner.home / "config" / "qmd" / "index.yml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("collections:", "colections:"), encoding="utf-8")
    told = (
        f"note: {config} has unknown keys, which are ignored: "
        "line 1 'colections' (did you mean 'collections'?)\n"
    )
    for command in (["ls"], ["search", "rollback"], ["status"]):
        assert owner.invoke(*command).stderr.count(told) == 1, command
    failed = owner.invoke("update")
    assert failed.exit_code == 1
    assert told in failed.stderr
    assert "names no collections" in failed.stderr
    config.write_text(text, encoding="utf-8")
    assert "notes/deploy.md" in owner.ok("search", "rollback")
    # The note is also printed if the configuration is read from the index instead of the file.
    config.write_text(f"rankign: tuned\n{text}", encoding="utf-8")
    owner.ok("update")
    assert "did you mean 'ranking'?" in owner.invoke("ls").stderr
    assert owner.invoke("-q", "ls").stderr == ""


def test_index_yml_that_is_a_pipe_is_refused(user: User) -> None:
    config = user.home / "config" / "qmd" / "index.yml"
    config.parent.mkdir(parents=True)
    os.mkfifo(config)
    found = user.run("ls")
    assert (found.returncode, found.stderr.splitlines()[0]) == (1, f"Error: {config}: not a regular file.")


@pytest.mark.parametrize(
    "command",
    [
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
        ("context", "rm", "/"),
    ],
)
def test_command_that_cannot_write_the_index_leaves_the_configuration(
    user: User, command: tuple[str, ...]
) -> None:
    user.ok("collection", "add", str(user.notes))
    user.ok("context", "add", "/", "everything")
    (user.home / "more").mkdir()
    config = user.home / "config" / "qmd" / "index.yml"
    before = config.read_bytes()
    with closing(apsw.Connection(str(user.home / "cache" / "qmd" / "index.sqlite"))) as db:
        db.execute("BEGIN IMMEDIATE")
        failed = user.call(*command, QMD_SQLITE_BUSY_TIMEOUT="1")
        assert failed.returncode == 1, failed
        assert config.read_bytes() == before
    assert user.call(*command).returncode == 0
    assert config.read_bytes() != before


def test_collection_set_changes_what_a_collection_has_and_its_name(user: User) -> None:
    (user.notes / "plain.txt").write_text("A heron on the quay.")
    user.ok("collection", "add", str(user.notes))
    told = user.ok("collection", "set", "notes", "--formats", "markdown,text", "--ignore", "2026/**")
    assert (
        "  pattern:  **/*.md -> none\n  formats:  none -> markdown, text\n  ignore:   none -> 2026/**\n"
        in told
    )
    assert "notes: 1 new, 10 unchanged, 1 removed\n" in told
    assert user.ok("search", "heron", "--names") == "qmd://notes/plain.txt\n"
    told = user.ok("collection", "set", "notes", "--name", "diary", "--ignore", "", "--language", "de")
    assert told.startswith(f"Collection 'notes' ({user.notes}) changes:\n  name: ")
    assert user.ok("search", "heron", "--names") == "qmd://diary/plain.txt\n"
    changed = json.loads(user.ok("collection", "show", "diary", "--json"))
    assert (changed["formats"], changed["ignore"], changed["language"]) == (["markdown", "text"], [], "de")
    user.ok("collection", "set", "diary", "--formats", "")
    assert json.loads(user.ok("collection", "show", "diary", "--json"))["pattern"] == "**/*.md"
    assert user.ok("search", "heron", "--names") == ""


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "nothing to change"),
        (("--mask", ""), "A collection needs a folder and a pattern"),
        (("--mask", "x" * 10_000), "is longer than"),
        (("--formats", "pdff"), "there is no format 'pdff'"),
        (("--encoding", "klingon"), "klingon"),
        (("--name", "a/b"), "a/b"),
        (("--name", "other"), "Collection 'other' already exists"),
        (("--name", "new", "--mask", "*.txt"), "Collection 'other' already indexes"),
    ],
)
def test_collection_set_that_is_refused_changes_nothing(user: User, args: tuple[str, ...], told: str) -> None:
    user.ok("collection", "add", str(user.notes))
    user.ok("collection", "add", str(user.notes), "--name", "other", "--mask", "*.txt")
    before, listed = config(user), user.ok("ls", "notes")
    refused = user.invoke("collection", "set", "notes", *args)
    assert refused.exit_code in (1, 2)
    assert told in refused.stderr
    assert (config(user), user.ok("ls", "notes")) == (before, listed)


def test_add_of_a_collection_with_other_options_changes_it_if_a_person_agrees(user: User) -> None:
    (user.notes / "plain.txt").write_text("A heron on the quay.")
    told = user.ok("add", str(user.notes), "--no-embed")
    command = re.search(r"left out: 1 file \(1 \.txt\)\. To index them: qmd (.+)", told)
    assert command
    assert f"To index them: qmd {command[1]}" in user.ok("status")
    wanted = ("add", str(user.notes), "--no-embed", "--formats", "markdown,text")
    refused = user.invoke(*wanted)
    assert refused.exit_code == 1
    assert "add --yes to change it" in refused.stderr
    assert user.ok("search", "heron", "--names") == ""
    shown = user.on_terminal("n\n", *wanted)
    assert "pattern:  **/*.md -> none" in shown
    assert "Change it? [y/N]" in shown
    assert user.ok("search", "heron", "--names") == ""
    assert "notes: 1 new, 11 unchanged" in user.ok(*wanted, "--yes")
    assert user.ok("search", "heron", "--names") == "qmd://notes/plain.txt\n"
    # The command that was named does the same.
    user.ok("collection", "set", "notes", "--formats", "")
    user.ok(*shlex.split(command[1]))
    assert user.ok("search", "heron", "--names") == "qmd://notes/plain.txt\n"
    conflict = user.invoke("collection", "add", str(user.notes), "--formats", "markdown,text")
    assert "'qmd collection set notes'" in conflict.stderr


def test_add_asks_about_the_current_folder_and_refuses_a_whole_home(user: User) -> None:
    assert "is the current folder. Add it? [y/N]" in user.on_terminal("n\n", "add", cwd=user.notes)
    assert json.loads(user.ok("collection", "list", "--json")) == []
    for folder in (str(user.home), str(user.home.parent)):
        refused = user.call("add", folder, "--no-embed", HOME=str(user.home))
        assert refused.returncode == 2
        assert "your home folder" in refused.stderr
        assert "add --yes" in refused.stderr
    user.ok("add", str(user.notes), "--no-embed")
    above = user.notes.parent / "above"
    (above / "inner").mkdir(parents=True)
    user.ok("add", str(above / "inner"), "--no-embed")
    refused = user.call("add", "--no-embed", cwd=above)
    assert refused.returncode == 2
    assert "the current folder with 'inner' in it, whose documents will be found twice" in refused.stderr
    assert user.call("add", "--no-embed", "--yes", cwd=above).returncode == 0


def test_add_of_a_folder_with_an_unread_format_names_its_extra_alone(user: User) -> None:
    folder = user.home / "papers"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(b"%PDF-1.4")
    told = user.call("add", str(folder), "--no-embed")
    assert "To index them: qmd collection set papers --formats markdown,pdf" in told.stdout
    assert "--mask" not in told.stderr
    assert "qmd collection set papers --formats markdown,pdf" in user.invoke("search", "x").stderr


def test_context_of_a_collection_is_added_by_its_name(user: User) -> None:
    user.ok("collection", "add", str(user.notes), "--name", "mine")
    assert "qmd://mine" in user.call("context", "add", "mine", "My notes", cwd=user.home).stdout
    assert "qmd://mine/2026" in user.call("context", "add", "mine/2026", "Of 2026", cwd=user.home).stdout
    assert user.call("context", "add", "nowhere", "x", cwd=user.home).returncode == 1
