"""`qmd cite check` as people and programs run it."""

from __future__ import annotations

import json
import os

import pytest

from tests.edge.cli.schemas import faults, schema
from tests.users import User

GOOD = 'It says "Run make rollback to return to the last release" (notes/deploy.md:7).\n'
BAD = 'It says "Run make rollback to return to the first release" (notes/deploy.md:7).\n'
MOVED = '\ufeff"The cache decides performance." (`notes/deploy.md:1`) \u00e4\r\n'


def check(user: User, text: str, *args: str) -> tuple[int, str]:
    result = user.invoke("cite", "check", "-", *args, input=text)
    return result.exit_code, result.stdout


def test_cite_check_exits_with_1_if_a_citation_does_not_hold(reader: User) -> None:
    assert check(reader, GOOD) == (0, "1 citation: 1 holds.\n")
    code, told = check(reader, GOOD + BAD)
    assert code == 1
    assert told == (
        "-:2:61  changed  notes/deploy.md:7\n"
        '    "Run make rollback to return to the first release"\n'
        "    not quoted exactly; the nearest words are at notes/deploy.md:7\n"
        "    Run make rollback to return to the [-first-] {+last+} release\n"
        "2 citations: 1 changed, 1 holds.\n"
    )
    assert check(reader, "No citation.") == (0, "No citations in -.\n")


def test_cite_check_prints_json(reader: User) -> None:
    code, told = check(reader, BAD, "--json")
    (found,) = json.loads(told)
    assert faults([found], schema("cite check")) == []
    assert code == 1
    assert (found["standing"], found["address"], found["replacement"]) == (
        "changed",
        "notes/deploy.md:7",
        None,
    )
    assert check(reader, "No citation.", "--json") == (0, "[]\n")


def test_cite_check_counts_quotations_without_a_citation(reader: User) -> None:
    told = reader.invoke("cite", "check", "-", input='"Nobody said this."').stderr
    assert told == "note: 1 quotation without a citation: not checked\n"


def test_cite_check_fix_changes_only_the_place(reader: User) -> None:
    draft = reader.home / "draft.md"
    data = (MOVED + BAD).encode() + b"\xff\xfe\r\n"
    draft.write_bytes(data)
    result = reader.invoke("cite", "check", str(draft), "--fix")
    assert result.exit_code == 1
    assert "it stands at notes/deploy.md:3: rewritten" in result.stdout
    assert draft.read_bytes() == data.replace(b"deploy.md:1`", b"deploy.md:3`")
    draft.write_bytes(MOVED.encode())
    assert reader.invoke("cite", "check", str(draft), "--fix").exit_code == 0
    assert reader.invoke("cite", "check", str(draft)).exit_code == 0
    assert [file for file in os.listdir(reader.home) if file.startswith("draft")] == ["draft.md"]


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (("-", "--fix"), 2, "--fix needs a file"),
        (("nowhere.md",), 1, "nowhere.md: cannot be read: No such file or directory"),
    ],
)
def test_cite_check_refuses_what_it_cannot_read(
    reader: User, args: tuple[str, ...], code: int, told: str
) -> None:
    result = reader.invoke("cite", "check", *args)
    assert (result.exit_code, told in result.stderr) == (code, True)
