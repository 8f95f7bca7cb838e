"""`--tokens`: the whole output stays within a number of tokens, in every format."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest

from qmd.text import budget
from tests.users import FILES, User

FORMATS = ["cli", "json", "csv", "md", "xml", "files"]


@pytest.mark.parametrize("tokens", [60, 150, 400])
@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "performance", "--all"),
        ("search", "performance", "--all", "--full", "--line-numbers"),
        ("multi-get", "**", "--full"),
    ],
    ids=" ".join,
)
def test_output_stays_within_tokens_and_says_what_is_missing(
    reader: User, arguments: tuple[str, ...], format_name: str, tokens: int
) -> None:
    whole = reader.ok(*arguments, "--format", format_name)
    printed = reader.ok(*arguments, "--format", format_name, "--tokens", str(tokens))
    assert budget.count(printed) <= tokens
    assert (printed == whole) == (budget.count(whole) <= tokens)
    assert (": raise --tokens" in printed) == (printed != whole)


def test_notes_are_entries_of_formats_for_programs(reader: User) -> None:
    def search(name: str) -> str:
        return reader.ok("search", "performance", "--all", "--format", name, "--tokens", "150")

    whole = json.loads(reader.ok("search", "performance", "--all", "--json"))
    *hits, note = json.loads(search("json"))
    assert note["note"].startswith(f"{len(whole) - len(hits)} more hits")
    *_, last = csv.reader(io.StringIO(search("csv")))
    assert last[:6] == [""] * 6
    assert last[6].endswith(": raise --tokens")
    notes = ElementTree.fromstring(search("xml")).findall("note")
    assert [str(note.text).endswith(": raise --tokens") for note in notes] == [True]
    assert search("files").endswith(": raise --tokens]\n")
    assert search("md").endswith(": raise --tokens*\n")


@pytest.mark.parametrize("format_name", FORMATS)
def test_get_stays_within_tokens(reader: User, format_name: str) -> None:
    get = ("get", "deploy.md", "--format", format_name, "--tokens")
    whole = reader.ok(*get[:-1])
    assert reader.ok(*get, "500") == whole
    if format_name != "files":
        tokens = budget.count(whole) - 2
        printed = reader.ok(*get, str(tokens))
        assert budget.count(printed) <= tokens
        assert "more of notes/deploy.md from line " in printed


def test_facets_and_stages_count(reader: User) -> None:
    arguments = ("search", "performance", "--all", "--facets", "ext", "--explain", "--tokens", "420")
    printed = reader.ok(*arguments)
    assert budget.count(printed) <= 420
    assert "Facets" in printed
    assert "Stages:" in printed
    found = json.loads(reader.ok(*arguments, "--json"))
    assert found["note"].endswith(": raise --tokens")


def test_too_few_tokens_are_refused_with_the_least_number(reader: User) -> None:
    result = reader.invoke("get", "deploy.md", "--json", "--tokens", "5")
    assert result.exit_code == 2
    assert "--tokens 5 is too little for this answer" in result.stderr
    least = int(result.stderr.split()[-1])
    assert budget.count(reader.ok("get", "deploy.md", "--json", "--tokens", str(least))) <= least
    assert FILES["deploy.md"].startswith(json.loads(reader.ok("get", "deploy.md", "--json"))["body"][:20])
