"""Names with signs, and numbers, acronyms and names in code that are searched in another form."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import qmd
from qmd.text.second_forms import forms
from tests.conftest import Notes

LANGUAGES = {
    "C++": "Templates",
    "C#": "Generics",
    "C": "Pointers",
    "F#": "Unions",
    ".NET": "Runtime",
    "R": "Frames",
}
OTHERS = {
    "cpp": "C++",
    "csharp": "C#",
    "fsharp": "F#",
    "dotnet": ".NET",
    "c++": "C++",
    "c#": "C#",
    ".net": ".NET",
}


@pytest.fixture
def languages(index: qmd.Index, notes: Notes) -> qmd.Index:
    files = {
        f"{title}.md": f"---\ntags: ['{name}', code]\n---\n# {title}\n\nNotes on {name}, and more.\n"
        for name, title in LANGUAGES.items()
    }
    index.add_collection(str(notes(files)), "notes")
    return index


def found(index: qmd.Index, query: str) -> list[str]:
    return [hit.path for hit in index.search(query, limit=20).hits]


@pytest.mark.parametrize("query", [*LANGUAGES, *OTHERS])
def test_names_with_signs_are_words(languages: qmd.Index, query: str) -> None:
    path = f"{LANGUAGES[OTHERS.get(query, query)]}.md"
    assert found(languages, query) == [path]
    assert found(languages, f"notes {query}")[0] == path
    assert found(languages, f'"on {query}"') == [path]


@pytest.mark.parametrize("name", LANGUAGES)
def test_names_with_signs_are_tags(languages: qmd.Index, name: str) -> None:
    assert found(languages, f"tag:{name}") == [f"{LANGUAGES[name]}.md"]


def test_names_with_signs_are_shown(index: qmd.Index, notes: Notes) -> None:
    lines = "".join(f"\n\nParagraph {number} is about nothing at all, in some words." for number in range(40))
    index.add_collection(str(notes({"a.md": f"# A{lines}\n\nTemplates of **C++** and of C\\# here.\n"})))
    for query in ("C++", "C#"):
        assert "Templates of" in index.search(query).hits[0].snippet.text


@pytest.mark.parametrize(
    "text", ["i++ and a+b", "h# y", "## Heading ##", "ASP.NET, example.net and net", "C++++"]
)
def test_signs_of_other_words_are_no_part_of_them(index: qmd.Index, notes: Notes, text: str) -> None:
    index.add_collection(str(notes({"a.md": text})))
    assert [found(index, query) for query in ("cpp", "csharp", "dotnet")] == [[], [], []]


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("Tel. 0176 12345678", ["017612345678", "0176 12345678", "0176-12345678"]),
        ("Call (206) 767-9975 now", ["2067679975"]),
        ("Call +49 (0)30 / 123 456", ["4930123456"]),
        ("Call 206.767.9975", ["2067679975"]),
        ("DE89 3704 0044 0532 0130 00", ["DE89370400440532013000", "de89370400440532013000"]),
        ("ISBN 978-3-16-148410-0", ["9783161484100"]),
        ("ISBN 0-306-40615-X", ["030640615X"]),
        ("id 123e4567-e89b-12d3-a456-426614174000", ["123e4567e89b12d3a456426614174000"]),
        ("mac 00:1A:2B:3C:4D:5E and 11-22-33-44-55-6F", ["001a2b3c4d5e", "11223344556F"]),
        ("paid 1,000,000 or 12'345 or 7\u00a0654\u00a0321", ["1000000", "12345", "7654321"]),
        ("card 4111 1111 1111 1111", ["4111111111111111"]),
        ("Made by I.B.M. in the U.S.A.", ["IBM", "USA", "I.B.M."]),
        ("`getUserById(x)` and parseHTTPHeader", ["UserById", "userbyid", "ById", "HTTPHeader"]),
        ("a wire of 5µm or 7 μm", ["5um", "5µm", "7 um"]),
    ],
)
def test_other_forms_find_a_text(index: qmd.Index, notes: Notes, text: str, queries: list[str]) -> None:
    index.add_collection(
        str(notes({"a.md": f"# Page\n\n{text}\n", "b.md": "# B\n\n1234 and 767 or 12 by use\n"}))
    )
    for query in queries:
        assert found(index, query)[:1] == ["a.md"], query


@pytest.mark.parametrize("unit", ["1", "12 ", "1-", "(0) ", "+1", "1234.", "ab:", "12)(", "1–2 ", "0,000"])
@pytest.mark.parametrize("end", ["", "x", "é", "_"])
def test_rows_of_digits_take_linear_time(unit: str, end: str) -> None:
    # A reader of files that takes seconds of a processor is ended, and its file is left out.
    assert len({*forms(f"0 00-000 {unit * 2_000}{end}")}) < 2_000


def test_numbers_are_shown_where_they_are(index: qmd.Index, notes: Notes) -> None:
    lines = "".join(f"\n\nParagraph {number} is about nothing at all, in some words." for number in range(40))
    index.add_collection(str(notes({"a.md": f"# A{lines}\n\nThe plumber has 0176 12345678.\n"})))
    assert "plumber" in index.search("017612345678").hits[0].snippet.text


def test_version_is_found_before_longer_ones(index: qmd.Index, notes: Notes) -> None:
    texts = {"a": "v2.10.1", "b": "v2.1.1", "c": "2.10.10", "d": "2.10"}
    index.add_collection(
        str(notes({f"{name}.md": f"# {name}\n\nUpgraded to {text} today\n" for name, text in texts.items()}))
    )
    assert found(index, "2.10.1")[0] == "a.md"
    assert found(index, "v2.10.10")[0] == "c.md"


def test_short_hash_finds_its_commit_among_words(index: qmd.Index, notes: Notes) -> None:
    commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"
    index.add_collection(
        str(notes({"a.md": f"# Fix\n\ncommit {commit} broke it\n", "b.md": "# B\n\ncommit 1111111 fine\n"}))
    )
    for query in ("commit 9fceb02", "the commit 9fceb02d broke", "9fceb02"):
        assert found(index, query)[0] == "a.md"


def test_words_of_an_earlier_version_are_made_again(notes: Notes, tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    with qmd.open_index(path, config=tmp_path / "index.yml") as index:
        index.add_collection(str(notes({"a.md": "Notes on C++.\n"})), "notes")
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version=15")
    rowid = connection.execute("SELECT rowid FROM documents_fts").get
    connection.execute("DELETE FROM documents_fts WHERE rowid = ?", (rowid,))
    connection.execute(
        "INSERT INTO documents_fts (rowid, title, body, path) VALUES (?, 'a', 'note on c', 'a md')", (rowid,)
    )
    connection.close()
    with qmd.open_index(path, config=tmp_path / "index.yml") as index:
        index.update()
        assert found(index, "C++") == ["a.md"]
