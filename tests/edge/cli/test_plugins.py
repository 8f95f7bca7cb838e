"""Plugins as a user installs and uses them."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients import server_of
from tests.packages import install
from tests.users import User

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
EXAMPLE = EXAMPLES / "qmd-contacts"
CONTACT = """\
BEGIN:VCARD
FN:Ann Café
EMAIL;TYPE=work:ann@example.com
BDAY:1990-03-07
NOTE:Met her at the har
 bour.
END:VCARD
"""
COMMAND = """
import click
@click.command()
@click.argument("name")
def greet(name):
    "Greet somebody."
    click.echo(f"Hello {name}")
"""


def add_to_path(user: User, folder: Path) -> None:
    user.environ["PYTHONPATH"] = os.pathsep.join([str(folder), user.environ["PYTHONPATH"]])


def pip_install(user: User, package: Path, site: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(site), str(package)], check=True, capture_output=True)
    add_to_path(user, site)


def test_example_plugin_can_be_installed_and_used(user: User, tmp_path: Path) -> None:
    pip_install(user, EXAMPLE, tmp_path / "site")
    (user.notes / "ann.vcf").write_text(CONTACT, encoding="utf-8")
    added = user.run("collection", "add", str(user.notes), "--name", "notes", "--formats", "contact,markdown")
    assert added.returncode == 0, added.stderr
    for query in ("harbour", "[format:contact]", "[email:ann@example.com] [birthday:1990-03-07]"):
        found = user.run("search", query, "--files")
        assert "notes/ann.vcf" in found.stdout, (query, found)
        assert len(found.stdout.splitlines()) == 1
    assert user.run("get", "ann.vcf").stdout.startswith("# Ann Café\n\nemail: ann@example.com")
    assert "qmd.formats: 'vcf' of 'qmd-contacts 1.0'" in user.run("doctor").stdout


def test_example_feature_adds_a_command_and_a_method(user: User, tmp_path: Path) -> None:
    """The feature that CONTRIBUTING.md builds."""
    pip_install(user, EXAMPLES / "qmd-reading-time", tmp_path / "site")
    (user.notes / "long.md").write_text("many words " * 230, encoding="utf-8")
    (user.notes / "长.md").write_text("数据库迁移指南。" * 200, encoding="utf-8")
    (user.notes / "mine.md").write_text("---\nagents: false\n---\nfor people\n", encoding="utf-8")
    added = user.run("collection", "add", str(user.notes), "--name", "notes")
    assert added.returncode == 0, added.stderr
    for name, minutes in (("deploy.md", 1), ("long.md", 2), ("长.md", 4), ("mine.md", 1)):
        assert user.run("reading-time", name).stdout == f"{minutes} min\n"
    assert json.loads(user.run("reading-time", "long.md", "--json").stdout)["minutes"] == 2
    assert user.run("--agent", "reading-time", "long.md").stdout == "2 min\n"
    for args in (("reading-time", "none.md"), ("--agent", "reading-time", "mine.md")):
        missing = user.run(*args)
        assert (missing.returncode, missing.stdout) == (1, "")
        assert "Document not found" in missing.stderr


def test_example_feature_adds_a_note_to_hits_on_every_face(user: User, tmp_path: Path) -> None:
    pip_install(user, EXAMPLES / "qmd-reading-time", tmp_path / "site")
    (user.notes / "long.md").write_text("many heron words " * 230, encoding="utf-8")
    (user.notes / "short.md").write_text("a heron\n", encoding="utf-8")
    assert user.run("collection", "add", str(user.notes), "--name", "notes").returncode == 0

    def shown(form: str, *args: str) -> str:
        return user.run(*(args or ("search", "heron")), "--format", form).stdout

    hits = {hit["file"]: hit.get("reading_time") for hit in json.loads(shown("json"))}
    assert hits == {"qmd://notes/long.md": {"minutes": 3}, "qmd://notes/short.md": None}
    assert json.loads(shown("json", "get", "long.md"))["reading_time"] == {"minutes": 3}
    assert shown("cli").count("Reading time: 3 min\n") == 1
    assert shown("cli", "multi-get", "long.md,short.md").count("Reading time: 3 min\n") == 1
    assert sorted(row["reading_time"] for row in csv.DictReader(io.StringIO(shown("csv")))) == ["", "3 min"]
    assert shown("xml").count(' reading_time="3 min"') == 1
    assert shown("md").count("**reading_time:** 3 min") == 1
    assert shown("files").count(',"3 min"\n') == 1
    with server_of(user, "--transport", "http") as server:
        found = server.ok("POST", "/search", {"query": "heron"})
        assert [hit.get("reading_time") for hit in found["results"]].count({"minutes": 3}) == 1
        assert found["content"].count(" [3 min]") == 1
        told = server.ok("POST", "/get", {"file": "long.md"})
        assert told["document"]["reading_time"] == {"minutes": 3}
        assert "ReadingTime" in server.ok("GET", "/openapi.json")["components"]["schemas"]
        assert server.ask("GET", "/?q=heron").text.count("3 min") == 1
        assert "3 min" in server.ask("GET", "/read/notes/long.md").text


def test_example_feature_adds_an_operation(user: User, tmp_path: Path) -> None:
    pip_install(user, EXAMPLES / "qmd-reading-time", tmp_path / "site")
    (user.notes / "long.md").write_text("many words " * 230, encoding="utf-8")
    (user.notes / "mine.md").write_text("---\nagents: false\n---\nfor people\n", encoding="utf-8")
    assert user.run("collection", "add", str(user.notes), "--name", "notes").returncode == 0
    kinds = (("agent", "--agent"), ("owner",))
    agent, owner = (user.run("keys", "add", *kind).stdout.strip() for kind in kinds)
    with server_of(user, "--transport", "http") as server:
        for key in (agent, owner):
            assert server.ok("POST", "/reading_time", {"file": "long.md"}, key=key) == {"minutes": 2}
        assert server.ok("POST", "/reading_time", {"file": "mine.md"}, key=owner) == {"minutes": 1}
        for key, file in ((agent, "mine.md"), (owner, "none.md")):
            assert server.ask("POST", "/reading_time", {"file": file}, key=key).status == 404
        assert "/reading_time" in server.ok("GET", "/openapi.json", key=owner)["paths"]


def test_broken_note_of_a_plugin_is_a_step_that_did_not_run(user: User, tmp_path: Path) -> None:
    add_to_path(user, install(tmp_path / "site", "torn", "qmd.notes", {"title": ":note"}, "1 / 0"))
    assert user.run("collection", "add", str(user.notes), "--name", "notes").returncode == 0
    found = user.run("search", "deploy")
    assert found.returncode == 0
    assert "the package 'torn 1.0' is broken (qmd.notes: title): ZeroDivisionError" in found.stderr
    assert user.run("get", "deploy.md").returncode == 0
    assert "the package 'torn 1.0' is broken" in user.run("doctor").stdout


@pytest.mark.parametrize("file", ["qmd_contacts.py", "pyproject.toml"])
def test_plugins_page_shows_the_files_of_the_example(file: str) -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    assert f"```{'python' if file.endswith('py') else 'toml'}\n{(EXAMPLE / file).read_text()}```\n" in page


def test_command_of_a_plugin_runs(user: User, tmp_path: Path) -> None:
    add_to_path(user, install(tmp_path / "site", "hello", "qmd.commands", {"greet": ":greet"}, COMMAND))
    assert user.run("greet", "Ann").stdout == "Hello Ann\n"
    assert "Greet somebody." in user.run("help", "greet").stdout
    unknown = user.run("gret", "Ann")
    assert (unknown.returncode, unknown.stdout) == (2, "")


def test_command_of_a_plugin_in_the_form_of_qmd_runs(user: User, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    code = page.partition("## A command\n")[2].partition("```python\n")[2].partition("```")[0]
    add_to_path(user, install(tmp_path / "site", "hello", "qmd.commands", {"greet": ":greet"}, code))
    assert user.run("-q", "greet", "Ann", "--loud", "-n2").stdout == "HELLO ANN, 0 DOCUMENTS\n" * 2
    told = user.run("greet", "--help").stdout
    assert told == user.run("help", "greet").stdout
    assert "Usage: qmd greet [OPTIONS] NAME" in told
    assert "--loud" in told
    wrong = user.run("greet", "Ann", "--times", "11")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--times must be a whole number from 1 to 10, not '11'" in wrong.stderr


def test_errors_of_a_command_of_click_are_shown_in_one_line(user: User, tmp_path: Path) -> None:
    code = COMMAND + "    raise click.ClickException('odd') if name == 'odd' else SystemExit(3)\n"
    add_to_path(user, install(tmp_path / "site", "hello", "qmd.commands", {"greet": ":greet"}, code))
    assert user.run("greet", "odd").stderr == "Error: odd\n"
    missing = user.run("greet")
    assert (missing.returncode, missing.stderr.splitlines()[-1]) == (2, "Hint: see 'qmd greet --help'")


def test_broken_command_of_a_plugin_names_its_package(user: User, tmp_path: Path) -> None:
    add_to_path(user, install(tmp_path / "site", "hello", "qmd.commands", {"greet": ":greet"}, "1 / 0"))
    failed = user.run("greet", "Ann")
    assert failed.returncode == 1
    assert "the package 'hello 1.0' is broken (qmd.commands: greet): ZeroDivisionError" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert user.run("search", "x").returncode == user.run("--help").returncode == 0


def test_doctor_names_broken_plugins_and_names_in_use(user: User, tmp_path: Path) -> None:
    site = tmp_path / "site"
    add_to_path(user, site)
    install(site, "shadow", "qmd.formats", {"md": ""}, "1 / 0")
    install(site, "first", "qmd.commands", {"greet": ":greet"}, COMMAND)
    install(site, "second", "qmd.commands", {"greet": ":greet", "search": ":greet"}, COMMAND)
    install(site, "torn", "qmd.stores", {"box": ""}, "import nothing_of_this_name")
    told = user.run("doctor").stdout
    assert "qmd.formats: 'md' of 'shadow 1.0' is not used: qmd itself has it" in told
    assert "qmd.commands: 'search' of 'second 1.0' is not used: qmd itself has it" in told
    assert "qmd.commands: 'greet' of 'second 1.0' is not used: 'first 1.0' has it" in told
    assert "the package 'torn 1.0' is broken (qmd.stores: box): ModuleNotFoundError" in told
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    assert "deploy.md" in user.run("search", "rollback", "--files").stdout


def test_doctor_runs_checks_of_plugins_and_names_a_broken_one_once(user: User, tmp_path: Path) -> None:
    code = (
        "from qmd import Finding\n"
        "def check(environ, folder):\n"
        "    yield Finding('moon', 'ok', f'the moon is over {folder}')\n"
    )
    add_to_path(user, install(tmp_path / "site", "moon", "qmd.checks", {"moon": ":check"}, code))
    install(tmp_path / "site", "torn", "qmd.checks", {"torn": ":check"}, "1 / 0")
    told = user.run("doctor", cwd=user.notes).stdout
    assert f"the moon is over {user.notes}" in told
    assert told.count("the package 'torn 1.0' is broken (qmd.checks: torn): ZeroDivisionError") == 1
