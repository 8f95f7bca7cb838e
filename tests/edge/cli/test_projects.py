"""`qmd project init` and `qmd project trust`: projects and the permissions that they ask for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import apsw
import pytest
from msgspec import Struct

from qmd.store.sqlite.schema import APPLICATION_ID, FIRST_VERSION, VERSION, migrate_to
from tests.forged import endless_tables
from tests.users import User

pytestmark = pytest.mark.slow

pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")

#: Asks for one permission of each kind.
ASKING = """\
collections:
  docs:
    path: .
    update: echo '# Made' > made.md && echo made
  other:
    path: {other}
models:
  embed: some-model
"""


class Checkout(Struct):
    """A project in a user's home folder, and another folder."""

    user: User
    folder: Path
    other: Path

    def run(self, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return self.user.call(*args, cwd=self.folder, **environ)

    def ok(self, *args: str) -> str:
        found = self.run(*args)
        assert found.returncode == 0, found.stderr
        return found.stdout

    def on_terminal(self, answer: str, *args: str) -> str:
        return self.user.on_terminal(answer, *args, cwd=self.folder)

    def write(self, text: str) -> None:
        file = self.folder / ".qmd" / "index.yml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")


@pytest.fixture
def folder(user: User) -> Path:
    """A folder without a project."""
    folder = user.home / "code" / "site"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.md").write_text("# Inside\n\ninside herring\n", encoding="utf-8")
    return folder


@pytest.fixture
def checkout(user: User, folder: Path) -> Checkout:
    """A project that asks for permissions, none of which is approved or denied yet."""
    other = user.home / "other"
    other.mkdir()
    (other / "b.md").write_text("# Outside\n\noutside herring\n", encoding="utf-8")
    made = Checkout(user, folder, other)
    made.write(ASKING.format(other=other))
    return made


def test_init_indexes_the_project_folder_into_its_own_index(user: User, folder: Path) -> None:
    (folder / ".qmd").mkdir()
    made = user.call("init", cwd=folder)
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.startswith(f"Created .qmd/index.yml: collection 'site' is {folder} (**/*.md)\n")
    assert "\n  qmd update " in made.stdout
    assert not (folder / ".qmd" / "index.sqlite").exists()
    assert user.call("update", "--no-embed", cwd=folder / "sub").stdout == "site: 1 new\n"
    assert "site/sub/a.md" in user.call("search", "herring", cwd=folder).stdout
    assert user.call("ls", cwd=user.home).stdout.startswith("No collections yet.")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_init_lets_git_see_only_the_configuration(user: User, folder: Path) -> None:
    user.call("init", "-q", cwd=folder)
    user.call("update", cwd=folder)
    subprocess.run(["git", "init", "-q", str(folder)], check=True, env=user.environ)
    found = subprocess.run(
        ["git", "-C", str(folder), "status", "--porcelain", "-uall", ".qmd"],
        check=True,
        capture_output=True,
        text=True,
        env=user.environ,
    )
    assert found.stdout == "?? .qmd/.gitignore\n?? .qmd/index.yml\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("网站", "网站"), (".dotted", "dotted"), ("true", "true"), ("...", "project"), ("a\\b", "project")],
)
def test_init_names_the_collection_after_the_folder(user: User, name: str, expected: str) -> None:
    folder = user.home / name
    folder.mkdir()
    assert f"collection '{expected}'" in user.call("init", cwd=folder).stdout
    assert json.loads(user.call("ls", "--json", cwd=folder).stdout)[0]["name"] == expected


#: Statements that forge an index file, by the object that they add.
FORGERIES = {
    "view": "ALTER TABLE meta RENAME TO other; CREATE VIEW meta AS WITH RECURSIVE n (key) AS "
    "(SELECT 'a' UNION ALL SELECT key FROM n) SELECT key, key AS value FROM n",
    "trigger": "CREATE TRIGGER t AFTER INSERT ON documents BEGIN "
    "INSERT INTO meta VALUES (new.path, zeroblob(1000)); END",
    "virtual table": "CREATE VIRTUAL TABLE t USING fts5(a)",
    "expression": "CREATE INDEX i ON meta(length(value))",
    "tables of no version": "PRAGMA user_version = 0",
    "endless list of tables": "",
}


@pytest.mark.parametrize("added", FORGERIES)
def test_project_replaces_a_forged_index(user: User, folder: Path, added: str) -> None:
    user.call("init", cwd=folder)
    index = folder / ".qmd" / "index.sqlite"
    if FORGERIES[added]:
        assert user.call("update", cwd=folder).returncode == 0
        with apsw.Connection(str(index)) as db:
            db.execute(FORGERIES[added])
        db.close()
    else:
        endless_tables(index)
    (folder / "b.md").write_text("# New\n", encoding="utf-8")
    before = index.read_bytes()
    expected = "is not opened" if FORGERIES[added] else "is damaged"
    for command in ("search herring", "update", "status", "backup copy.sqlite", "cleanup"):
        found = user.call(*command.split(), cwd=folder)
        assert found.returncode != 0, command
        assert expected in found.stderr, command
        assert "Traceback" not in found.stderr, command
    assert "index.sqlite" in user.call("doctor", cwd=folder).stdout
    assert index.read_bytes() == before
    for file in folder.glob(".qmd/index.sqlite*"):
        file.unlink()
    assert user.call("update", "--no-embed", cwd=folder).stdout == "site: 2 new\n"


def test_project_index_of_every_earlier_version_is_migrated(user: User, folder: Path) -> None:
    user.call("init", cwd=folder)
    for version in range(FIRST_VERSION, VERSION + 1):
        index = folder / ".qmd" / "index.sqlite"
        index.unlink(missing_ok=True)
        with apsw.Connection(str(index)) as db:
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            migrate_to(db, version)
        db.close()
        assert user.call("update", "--no-embed", cwd=folder).stdout == "site: 1 new\n", version
        assert "a.md" in user.call("search", "herring", cwd=folder).stdout


@pytest.mark.parametrize("name", ["index.yml", "index.yaml"])
def test_init_refuses_an_existing_configuration(user: User, folder: Path, name: str) -> None:
    (folder / ".qmd").mkdir()
    (folder / ".qmd" / name).write_text("# mine\n", encoding="utf-8")
    found = user.call("init", cwd=folder)
    assert found.returncode == 1
    assert f"{name} exists already" in found.stderr
    assert [path.name for path in (folder / ".qmd").iterdir()] == [name]


def test_init_refuses_the_home_folder_and_an_index_name(user: User, folder: Path) -> None:
    assert "the home folder cannot be a project" in user.call("init", cwd=user.home).stderr
    assert not (user.home / ".qmd").exists()
    assert user.call("init", "--index", "work", cwd=folder).returncode == 2
    assert not (folder / ".qmd").exists()


def test_unapproved_permissions_are_skipped_with_one_note(checkout: Checkout) -> None:
    found = checkout.run("update", "--no-embed")
    assert found.returncode == 0
    assert found.stdout == "docs: 1 new\n"
    assert found.stderr == (
        "note: not approved, so skipped: the update command of 'docs', "
        "'other', which is outside the project, the embed model 'some-model'; "
        "'qmd project trust' approves it, without a terminal 'qmd project trust --yes'\n"
    )
    assert not (checkout.folder / "made.md").exists()
    found = checkout.run("search", "herring", "--format", "files")
    assert found.stdout.endswith("qmd://docs/sub/a.md\n")
    assert "'docs'" not in found.stderr
    assert checkout.run("search", "herring", "-q").stderr == ""


def test_unapproved_update_command_is_noted_only_by_update(checkout: Checkout) -> None:
    checkout.write("collections: {docs: {path: ., update: make docs}}")
    assert checkout.run("index").stderr == ""
    assert checkout.run("search", "herring").stderr == ""
    assert "the update command of 'docs'" in checkout.run("update").stderr


def test_agents_approve_nothing_and_are_not_told_how(checkout: Checkout) -> None:
    checkout.ok("index")
    checkout.write(f"{ASKING.format(other=checkout.other)}\ncontext: {{docs: all of it}}\n")
    (checkout.folder / ".qmd" / "index.marks.yaml").write_text(
        "- query: herring\n  pin: [docs/sub/a.md]\n", encoding="utf-8"
    )
    reading = [("search", "herring"), ("query", "herring"), ("get", "docs/sub/a.md"), ("mark", "list")]
    reading += [
        ("status",),
        ("context", "list"),
        ("collection", "list"),
        ("pack", "herring"),
        ("why", "herring"),
    ]
    refused = [("project", "trust", "--yes"), ("trust", "--yes"), ("update",), ("update", "--pull")]
    told = checkout.run("search", "herring").stderr
    assert "qmd project trust" in told
    for command in [*reading, *refused]:
        for output in (checkout.run("--agent", *command), checkout.run(*command, QMD_AGENT="1")):
            assert "trust" not in output.stdout + output.stderr, (command, output)
            assert (output.returncode != 0) == (command in refused or command[0] in ("why", "mark")), command
    said = checkout.run("--agent", "search", "herring").stderr
    assert "not approved, so skipped: 'other', which is outside the project" in said
    assert "Approve" not in checkout.on_terminal("y\n", "--agent", "search", "herring")
    assert checkout.ok("trust", "list") == "Nothing was approved yet.\n"
    assert not (checkout.folder / "made.md").exists()


def test_trust_without_a_terminal_requires_yes(checkout: Checkout) -> None:
    asked = checkout.run("trust")
    assert asked.returncode == 2
    assert "qmd project trust --yes" in asked.stderr
    assert asked.stdout == (
        f"{checkout.folder}/.qmd asks to\n"
        f"  docs:   run at 'qmd update', in {checkout.folder}: echo '# Made' > made.md && echo made\n"
        f"  other:  read the documents in {checkout.other}\n"
        "  embed:  use the model some-model\n"
        "  hooks:  give agents passages of its documents by 'qmd hook'\n"
    )
    assert len(checkout.run("update", "--no-embed").stderr.splitlines()) == 1
    approved = checkout.ok("trust", "--yes")
    assert approved.startswith(asked.stdout)
    found = checkout.run("update", "--no-embed")
    assert (found.stdout, found.stderr) == ("docs: made\ndocs: 1 new, 1 unchanged\nother: 1 new\n", "")
    again = checkout.ok("trust")
    assert again.startswith(f"{checkout.folder} asks for nothing that is not approved.\n  docs: ")


def test_trust_lists_approvals_in_every_format_and_revokes_them(checkout: Checkout) -> None:
    assert checkout.ok("trust", "list") == "Nothing was approved yet.\n"
    assert checkout.ok("trust", "list", "--json") == "[]\n"
    checkout.ok("trust", "--yes")
    listed = json.loads(checkout.ok("trust", "list", "--json"))
    assert [(each["kind"], each["name"], each["value"], each["approved"]) for each in listed] == [
        ("update", "docs", "echo '# Made' > made.md && echo made", True),
        ("path", "other", str(checkout.other), True),
        ("model", "embed", "some-model", True),
        ("hook", "hooks", str(checkout.folder), True),
    ]
    assert {each["project"] for each in listed} == {str(checkout.folder)}
    assert checkout.ok("trust", "list", "--csv").startswith("project,kind,name,value,approved,when\n")
    assert str(checkout.other) in checkout.ok("trust", "list")
    revoked = checkout.user.call("trust", "revoke", "code/site")
    assert revoked.stdout == f"Revoked 4 approvals for {checkout.folder}\n"
    assert checkout.run("trust", "revoke").returncode == 1
    assert "not approved" in checkout.run("search", "herring").stderr


def test_trust_outside_a_project_is_an_error(user: User) -> None:
    for command in (["trust"], ["trust", "--yes"], ["trust", "revoke"]):
        found = user.call(*command)
        assert found.returncode == 1
        assert "no project here" in found.stderr
    assert user.call("trust", "--yes", "list").returncode == 2


def test_first_command_in_a_project_asks_and_remembers_yes(checkout: Checkout) -> None:
    seen = checkout.on_terminal("y\n", "update")
    seen, known, told = re.sub(r" in \d[^\n]*|\r.*\x1b\[K", "", seen).partition("(known models: ")
    assert seen + known == (
        f"{checkout.folder}/.qmd asks to\n"
        f"  docs:   run at 'qmd update', in {checkout.folder}: echo '# Made' > made.md && echo made\n"
        f"  other:  read the documents in {checkout.other}\n"
        "  embed:  use the model some-model\n"
        "Approve this? [y/N] docs: made\ndocs: 2 new\nother: 1 new\n"
        "note: no vectors were made: Unknown model 'some-model' for the role 'embed' (known models: "
    )
    assert told.endswith("); 'qmd update --no-embed' does not try\n")
    assert checkout.run("search", "outside").stderr == ""
    assert "Approve" not in checkout.on_terminal("y\n", "search", "outside")


@pytest.mark.parametrize("answer", ["n\n", "\n", "what\n"])
def test_denied_permissions_are_not_asked_about_again(checkout: Checkout, answer: str) -> None:
    seen = checkout.on_terminal(answer, "index")
    assert seen.count("Approve this?") == 1
    assert "note: not approved, so skipped: 'other'" in seen
    assert "docs: 1 new in " in seen
    assert "other: " not in seen.partition("[y/N]")[2]
    again = checkout.on_terminal("y\n", "update")
    assert "Approve this?" not in again
    assert "note: not approved" in again
    assert {each["approved"] for each in json.loads(checkout.ok("trust", "list", "--json"))} == {False}


def test_project_asks_only_about_new_permissions(checkout: Checkout) -> None:
    checkout.on_terminal("n\n", "update")
    file = checkout.folder / ".qmd" / "index.yml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("some-model", "another-model"), encoding="utf-8")
    seen = checkout.on_terminal("y\n", "ls")
    assert "embed:  use the model another-model" in seen
    assert "read the documents" not in seen
    assert {
        each["name"]: each["approved"] for each in json.loads(checkout.ok("trust", "list", "--json"))
    } == {
        "docs": False,
        "other": False,
        "embed": True,
    }


def test_end_of_input_is_no_answer_to_a_permission_prompt(checkout: Checkout) -> None:
    seen = checkout.on_terminal("\x04", "ls")
    assert "[y/N] \nnote: not approved" in seen
    assert checkout.ok("trust", "list", "--json") == "[]\n"


@pytest.mark.parametrize("command", [["search", "herring", "-q"], ["trust", "list"], ["init"], ["--help"]])
def test_commands_that_need_no_permission_do_not_ask(checkout: Checkout, command: list[str]) -> None:
    assert "[y/N]" not in checkout.on_terminal("y\n", *command)
    assert checkout.ok("trust", "list", "--json") == "[]\n"


def test_trust_asks_again_after_a_denial(checkout: Checkout) -> None:
    checkout.on_terminal("n\n", "update")
    assert checkout.on_terminal("no\n", "trust").endswith("[y/N] Nothing was approved.\n")
    assert checkout.on_terminal("Yes\n", "trust").endswith(
        "[y/N] Approved. To take it back, run 'qmd project trust revoke'.\n"
    )
    assert "docs: made" in checkout.run("update").stdout


def test_permission_prompt_escapes_hidden_characters(checkout: Checkout) -> None:
    checkout.write(
        'collections: {docs: {path: ., update: "make docs\\r\\n\\u001b[2Kevil\\u202e \\u200b; x"}}'
    )
    shown = r"make docs\r\n\x1b[2Kevil\u202e \u200b; x"
    assert shown in checkout.run("trust").stdout
    assert shown in checkout.on_terminal("n\n", "trust")


def test_changes_made_by_commands_are_approved(checkout: Checkout) -> None:
    checkout.write("collections: {docs: {path: .}}")
    assert checkout.run("collection", "add", str(checkout.other)).stderr == ""
    checkout.ok("collection", "update-cmd", "docs", "echo", "typed by hand")
    found = checkout.run("update")
    assert found.stderr == ""
    assert found.stdout.startswith("docs: typed by hand\n")
    assert "other/b.md" in checkout.ok("search", "outside")


def test_broken_file_of_approvals_is_an_error_with_a_hint(checkout: Checkout) -> None:
    checkout.ok("trust", "--yes")
    file = checkout.user.home / "config" / "qmd" / "trusted.json"
    file.write_text("{", encoding="utf-8")
    for command in (["search", "herring"], ["trust"], ["trust", "list"], ["update"]):
        found = checkout.run(*command)
        assert found.returncode == 1
        assert found.stderr.startswith(f"Error: {file}: not valid JSON")
        assert "\nHint: " in found.stderr
    assert not (checkout.folder / "made.md").exists()
    assert checkout.run("search", "herring", QMD_TRUST_LOCAL_CONFIG="1").returncode == 0
