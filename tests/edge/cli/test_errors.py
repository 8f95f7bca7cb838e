"""Errors: a line and a hint on stderr, nothing on stdout, the right exit code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from qmd.cli.app import app
from qmd.cli.command import command
from qmd.cli.session import Session
from qmd.cli.start import run
from qmd.cli.usage import Interrupted
from qmd.errors import QueryError
from tests.users import User

USAGE = {
    "serach x": "no such command 'serach'. Did you mean 'search'?",
    "zzz": "no such command 'zzz'",
    "collection ad x": "no such command 'ad'. Did you mean 'add'?",
    "search --jsno x": "no such option '--jsno'. Did you mean '--json'?",
    "search x --bogus": "no such option '--bogus'",
    "search -Z x": "no such option '-Z'",
    "--bogus": "no such option '--bogus'",
    "-n 5 search x": "no such option '-n'",
    "search": "missing QUERY...",
    "get": "missing DOC...",
    "search --json --csv x": "two formats at once: json and csv",
    "search --format json --md x": "two formats at once: json and md",
    "search --format yaml x": "--format must be one of cli, json, csv, md, xml, files, names, vimgrep, ",
    "search -n 0 x": "--limit must be a whole number from 1 to 1000000, not '0'",
    "search -n -1 x": "--limit must be a whole number from 1 to 1000000, not '-1'",
    "search -n abc x": "--limit must be a whole number from 1 to 1000000, not 'abc'",
    "search -n 1.5 x": "--limit must be a whole number from 1 to 1000000, not '1.5'",
    "search -n ٣ x": "--limit must be a whole number from 1 to 1000000, not '٣'",
    "search --min-score 1.5 x": "--min-score must be a number from 0 to 1, not '1.5'",
    "search --min-score nan x": "--min-score must be a number from 0 to 1, not 'nan'",
    "query --timeout 0 x": "--timeout must be a number from 0.001 to 86400, not '0'",
    "query --timeout inf x": "--timeout must be a number from 0.001 to 86400, not 'inf'",
    "query -C 0 x": "--candidate-limit must be a whole number from 1 to 1000, not '0'",
    "query --ranking best x": "--ranking must be one of contract, tuned, not 'best'",
    "get a.md -l 0": "--max-lines must be a whole number from 1 to 1000000000, not '0'",
    "get a.md --from 0": "--from must be a whole number from 1 to 1000000000, not '0'",
    "multi-get a.md --max-bytes -5": "--max-bytes must be a whole number from 1 to 1000000000, not '-5'",
    "multi-get a.md --full --max-bytes 5": "--full and --max-bytes contradict each other",
    "context add a b c": "give one PATH and one TEXT: put the text in quotes",
    "context add qmd://notes": "the TEXT that describes qmd://notes is missing",
    "status notes": "got unexpected extra argument (notes)",
    "search --timeout 3 x": "no such option '--timeout'",
    "search --no-rerank x": "no such option '--no-rerank'",
    "vsearch --no-rerank x": "no such option '--no-rerank'",
    "vsearch --ranking tuned x": "no such option '--ranking'",
}


@pytest.mark.parametrize("line", USAGE)
def test_usage_error_is_one_line_with_a_hint(user: User, line: str) -> None:
    result = user.invoke(*line.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    error, hint = result.stderr.splitlines()
    assert error.startswith(f"Error: {USAGE[line]}")
    assert hint.startswith("Hint: ")
    assert "--help'" in hint


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("search rocket -notes", "search rocket -- -notes"),
        ("search performance -sports", "search performance -- -sports"),
        ("search -bugs rocket --json", "search rocket --json -- -bugs"),
        ("search rocket -cats", "search rocket -- -cats"),
        ("vsearch rocket -Cats", "vsearch rocket -- -Cats"),
        ("query rocket -notes", "query rocket -- -notes"),
    ],
)
def test_usage_error_explains_how_to_search_a_word_with_a_minus(
    reader: User, line: str, instead: str
) -> None:
    result = reader.invoke(*line.split())
    assert result.exit_code in (1, 2)
    _, hint = result.stderr.splitlines()
    wanted = f"Hint: text that begins with '-', such as an excluded word, goes after '--': qmd {instead}"
    assert hint.partition(";")[0] == wanted


def test_usage_error_of_an_option_value_does_not_mention_double_dash(reader: User) -> None:
    assert "'--':" not in reader.invoke("search", "rocket", "-n", "otes").stderr


@pytest.mark.parametrize(
    "args",
    [
        ("get", "nowhere.md"),
        ("collection", "add", "/no/such/folder"),
        ("collection", "show", "nope"),
        ("collection", "remove", "nope"),
        ("collection", "rename", "nope", "other"),
        ("search", "x", "-c", "nope"),
        ("context", "rm", "/"),
        ("context", "add", "some text"),
        ("update", "-c", "nope"),
        ("embed", "-c", "nope"),
        ("ls", "nope"),
        ("vsearch", "x"),
        ("multi-get", "*.nothing"),
        ("query", "intent: alone"),
        ("query", "lex: a\nno type"),
    ],
    ids=str,
)
def test_failed_command_has_exit_code_one(user: User, args: tuple[str, ...]) -> None:
    result = user.invoke(*args)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) <= 3


def test_configuration_in_a_folder_that_is_not_unicode_is_a_usage_error(user: User, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"notes\xff")
    environ = {"QMD_CONFIG_DIR": str(folder), "QMD_INDEX_PATH": str(tmp_path / "index.sqlite")}
    done = user.run("collection", "add", str(tmp_path), "--name", "x", **environ)
    assert done.returncode == 2
    assert "contains half a character" in done.stderr


def test_broken_configuration_is_an_error_with_file_and_line(user: User) -> None:
    config = user.home / "config" / "qmd" / "index.yml"
    config.parent.mkdir(parents=True)
    config.write_text("collections:\n  notes:\n    path: [unclosed\n", encoding="utf-8")
    for args in (["status"], ["search", "x"], ["collection", "list"], ["update"]):
        found = user.call(*args)
        assert found.returncode == 1
        assert found.stderr.startswith(f"Error: {config}:")
        assert "Traceback" not in found.stderr
        assert len(found.stderr.splitlines()) <= 2


def test_misspelt_collection_gets_a_suggestion(reader: User) -> None:
    for args in (["search", "x", "-c", "ntoes"], ["ls", "ntoes"], ["collection", "show", "ntoes"]):
        result = reader.invoke(*args)
        assert result.exit_code == 1
        assert result.stderr == (
            "Error: Collection not found: ntoes\nHint: did you mean 'notes'? known collections: notes\n"
        )
    assert "did you mean" not in reader.invoke("ls", "zebra").stderr


@pytest.mark.parametrize(
    ("line", "example"),
    [
        ("get", "qmd get notes/meeting.md"),
        ("outline", "qmd outline notes/ops.md"),
        ("pin holidays", 'qmd mark pin "how do I deploy" ops/deploy.md'),
        ("search", "qmd search deploy kubernetes"),
    ],
)
def test_missing_argument_is_shown_by_an_example(user: User, line: str, example: str) -> None:
    assert f"\nHint: for example '{example}'; " in user.invoke(*line.split()).stderr


def test_get_explains_how_to_quote_a_docid(user: User) -> None:
    assert "put a docid in quotes" in user.invoke("get").stderr


def test_debug_prints_the_traceback(user: User) -> None:
    plain, debug = user.call("get", "x.md"), user.call("get", "x.md", "--debug")
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr
    assert "Error: Document not found: x.md" in debug.stderr
    assert user.call("--debug", "get", "x.md").stderr == debug.stderr


def failing(error: BaseException) -> list[str]:
    """Return the words of a command that fails so."""

    @command("work")
    def work(_: Session) -> None:
        """Fail."""
        raise error

    app.commands["work"] = work
    return ["work"]


@pytest.fixture(autouse=True)
def without_work() -> Iterator[None]:
    yield
    app.commands.pop("work", None)


def test_internal_error_is_one_line_with_exit_code_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(failing(ZeroDivisionError("by\nzero"))) == 1
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "Error: internal error: ZeroDivisionError: by zero"
    assert "--debug" in hint


def test_query_error_prints_message_and_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(failing(QueryError("line 2: what", "a hint"))) == 1
    assert capsys.readouterr().err == "Error: line 2: what\nHint: a hint\n"


def test_interrupted_command_exits_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(failing(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "Interrupted.\n"
    assert run(failing(Interrupted("Interrupted. Half is kept."))) == 130
    assert capsys.readouterr().err == "Interrupted. Half is kept.\n"


def test_error_escapes_control_characters_of_arguments(user: User) -> None:
    result = user.invoke("get", "a\x1b[2Jb")
    assert "\x1b" not in result.stderr
    assert "a\\u001b[2Jb" in result.stderr


def test_arguments_that_are_not_utf8_are_no_internal_error(user: User) -> None:
    for args in ([b"search", b"\xff\xfe"], [b"get", b"\xff.md"], [b"ls", b"\xff"], [b"multi-get", b"\xff*"]):
        found = user.run(*args)
        assert found.returncode in (0, 1)
        assert "internal error" not in found.stderr


def test_closed_pipe_is_no_error(reader: User) -> None:
    command = [sys.executable, "-m", "qmd", "multi-get", "notes/*"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=reader.environ, cwd=reader.home
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_reader_that_stops_early_is_no_error(reader: User) -> None:
    for args in ("search performance --all", "multi-get 'notes/*' --json", "ls notes", "--help"):
        found = subprocess.run(
            f"set -o pipefail; '{sys.executable}' -m qmd {args} | head -n 1 >&2",
            shell=True,
            executable=shutil.which("bash"),
            stderr=subprocess.PIPE,
            text=True,
            env=reader.environ,
            cwd=reader.home,
            check=False,
        )
        assert found.returncode == 0
        assert len(found.stderr.splitlines()) == 1


def test_full_output_device_is_an_error(reader: User) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        for args in (["search", "performance"], ["--help"], ["ls", "notes"]):
            found = subprocess.run(
                [sys.executable, "-m", "qmd", *args],
                stdout=full,
                stderr=subprocess.PIPE,
                env=reader.environ,
                cwd=reader.home,
                check=False,
            )
            assert found.returncode == 1
            assert found.stderr == b"Error: No space left on device\n"


def test_closed_stdout_is_no_error(reader: User) -> None:
    found = subprocess.run(
        f"'{sys.executable}' -m qmd search performance >&-",
        shell=True,
        capture_output=True,
        env=reader.environ,
        cwd=reader.home,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, b"")


def test_deleted_current_folder_is_an_error(user: User) -> None:
    gone = user.home / "gone"
    gone.mkdir()
    found = subprocess.run(
        f"cd '{gone}' && rmdir '{gone}' && '{sys.executable}' -m qmd ls",
        shell=True,
        capture_output=True,
        text=True,
        env=user.environ,
        check=False,
    )
    assert found.returncode == 1
    assert found.stderr.startswith("Error: the current folder has been deleted")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("embed --csv", "it prints text, or JSON with --json; see 'qmd embed --help'"),
        ("keys add bob --json", "it prints text only; see 'qmd server keys add --help'"),
    ],
)
def test_a_format_that_a_command_lacks_leads_to_those_that_it_has(user: User, line: str, hint: str) -> None:
    result = user.invoke(*line.split())
    assert (result.exit_code, result.stderr.splitlines()[1]) == (2, f"Hint: {hint}")
