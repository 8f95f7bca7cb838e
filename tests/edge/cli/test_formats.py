"""The output formats for programs."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from msgspec.structs import replace

from qmd.cli.render.formats import writer
from qmd.cli.render.rows import Column, Listing
from qmd.cli.render.view import View, address
from qmd.types import Hit, Snippet
from qmd.types.traces import ContractBlend
from tests.users import User

HIT = Hit(
    docid="#abc123",
    file="notes/a.md",
    collection="notes",
    path="a.md",
    title="A",
    score=0.925,
    context=None,
    line=7,
    snippet=Snippet("one\ntwo", 6, 7),
    hash="abc123",
)
NASTY = replace(
    HIT,
    file='notes/a, "b"\n<c> & 100%20.md',
    path='a, "b"\n<c> & 100%20.md',
    title='T "q", & <x> ]]>\x00\x08',
    context='line "one",\n\n\tline <two>\r',
    snippet=Snippet("a\x0bb\ufffe & <b>\"q\", 'r'\n  ]]>\x1b[0m", 1, 1),
)


def test_json_has_exactly_the_fields_of_the_contract() -> None:
    assert json.loads(writer("json").hits([HIT], View())) == [
        {
            "docid": "#abc123",
            "score": 0.93,
            "file": "qmd://notes/a.md",
            "line": 7,
            "title": "A",
            "snippet": "one\ntwo",
        }
    ]


def test_json_adds_context_body_and_explanation_if_present() -> None:
    hit = replace(HIT, context="C", body="all\n", traces=(ContractBlend(0.1 + 0.2, 0.0, 0.75),))
    shown = json.loads(writer("json").hits([hit], View(full=True, explain=True)))[0]
    assert list(shown) == ["docid", "score", "file", "line", "title", "context", "body", "explain"]
    assert shown["explain"] == {"rerank": 0.3, "blend": {"fused": 0.75, "rerank": 0.25}}


def test_json_does_not_escape_other_scripts() -> None:
    assert "数据库" in writer("json").hits([replace(HIT, title="数据库")], View())


def test_csv_can_be_read_back() -> None:
    header, first, second = csv.reader(io.StringIO(writer("csv").hits([HIT, NASTY], View()), newline=""))
    assert header == ["docid", "score", "file", "title", "context", "line", "snippet"]
    assert first == ["#abc123", "0.9250", "qmd://notes/a.md", "A", "", "7", "one\ntwo"]
    assert second[2:] == [address(NASTY.file), NASTY.title, NASTY.context, "7", NASTY.snippet.text]


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_csv_escapes_spreadsheet_formulas(first: str) -> None:
    text = f"{first}1+cmd|' /C calc'!A0"
    hit = replace(HIT, title=text, context=text, snippet=Snippet(text, 1, 1))
    _, row = csv.reader(io.StringIO(writer("csv").hits([hit], View()), newline=""))
    assert row[3:] == [f"'{text}", f"'{text}", "7", f"'{text}"]
    listing = Listing("things", "thing", (Column("name"), Column("number")), [{"name": text, "number": -1}])
    _, row = csv.reader(io.StringIO(writer("csv").listing(listing, View()), newline=""))
    assert row == [f"'{text}", "-1"]
    assert json.loads(writer("json").hits([hit], View()))[0]["title"] == text


def test_xml_is_well_formed_for_any_text() -> None:
    root = ElementTree.fromstring(writer("xml").hits([HIT, NASTY], View()))
    assert root.tag == "results"
    plain, nasty = root
    assert plain.attrib == {
        "docid": "#abc123",
        "name": "qmd://notes/a.md",
        "title": "A",
        "score": "0.93",
        "line": "7",
    }
    assert plain.text == "\none\ntwo\n"
    assert nasty.attrib["name"] == address(NASTY.file)
    assert nasty.attrib["title"] == 'T "q", & <x> ]]>'
    assert nasty.attrib["context"] == NASTY.context
    assert nasty.text == "\nab & <b>\"q\", 'r'\n  ]]>[0m\n"


def test_files_format_has_one_line_for_each_document() -> None:
    hit = replace(HIT, context='Says "hi",\n\ntwice')
    assert writer("files").hits([HIT, hit], View()) == (
        '#abc123,0.93,qmd://notes/a.md\n#abc123,0.93,qmd://notes/a.md,"Says ""hi"", twice"\n'
    )
    quoted = next(csv.reader(io.StringIO(writer("files").hits([NASTY], View()), newline="")))
    assert quoted[2] == address(NASTY.file)


def test_markdown_format_has_one_section_for_each_document() -> None:
    hit = replace(HIT, context="One\n\nTwo")
    assert writer("md").hits([hit], View()) == (
        "---\n# A\n**file:** qmd://notes/a.md\n**docid:** #abc123\n**context:** One Two\n\none\ntwo\n"
    )


@pytest.mark.parametrize("name", ["cli", "json", "csv", "md", "xml", "files"])
def test_empty_results_have_a_form_in_every_format(name: str) -> None:
    expected = {
        "cli": "No results found.\n",
        "json": "[]\n",
        "csv": "docid,score,file,title,context,line,snippet\n",
        "md": "",
        "xml": '<?xml version="1.0" encoding="UTF-8"?>\n<results>\n</results>\n',
        "files": "",
    }
    assert writer(name).hits([], View()) == expected[name]


@pytest.mark.parametrize("name", ["cli", "json", "csv", "md", "xml", "files"])
def test_line_numbers_start_at_the_line_of_the_snippet(name: str) -> None:
    text = writer(name).hits([HIT], View(line_numbers=True))
    assert ("6: one" in text) == (name != "files")


@pytest.mark.parametrize("name", ["cli", "json", "csv", "md", "xml", "files"])
def test_terminal_output_escapes_control_characters(name: str) -> None:
    text = writer(name).hits([NASTY], View(terminal=True))
    assert not any(ord(char) < 32 and char not in "\n\t" for char in text)
    assert ("\\u001b[0m" in text) == (name not in ("xml", "files"))
    if name == "json":
        assert json.loads(text) == json.loads(writer(name).hits([NASTY], View()))


def test_cli_format_escapes_line_breaks_of_names() -> None:
    text = writer("cli").hits([NASTY], View())
    assert text.splitlines()[0] == 'notes/a, "b"\\u000a<c> & 100%20.md:7 #abc123'
    assert NASTY.snippet.text in text


@pytest.mark.parametrize(
    ("score", "expected"), [(0, 0), (0.004, 0), (0.005, 1), (0.285, 29), (0.7, 70), (0.995, 100), (1, 100)]
)
def test_percent_is_rounded_half_up(score: float, expected: int) -> None:
    assert replace(HIT, score=score).percent == expected


def test_address_encodes_only_what_decoding_would_change() -> None:
    assert address("notes/100%20 #1 数.md") == "qmd://notes/100%2520 #1 数.md"
    assert address("notes/50% off.md") == "qmd://notes/50% off.md"


@pytest.mark.parametrize("short", ["json", "csv", "md", "xml", "files"])
def test_format_flags_equal_the_format_option(reader: User, short: str) -> None:
    expected = reader.ok("search", "performance", "--format", short)
    assert reader.ok("search", "performance", f"--{short}") == expected
    assert reader.ok("search", "performance", f"--{short}", "--format", short) == expected


def test_search_results_can_be_parsed_in_every_format(reader: User) -> None:
    count = len(json.loads(reader.ok("search", "performance", "--json", "--all")))
    assert count > 5
    rows = list(csv.reader(io.StringIO(reader.ok("search", "performance", "--csv", "--all"), newline="")))
    assert len(rows) == count + 1
    assert {len(row) for row in rows} == {7}
    assert len(ElementTree.fromstring(reader.ok("search", "performance", "--xml", "--all"))) == count


def test_stage_notes_go_to_stderr(reader: User) -> None:
    result = reader.invoke("query", "performance", "--json", "--no-rerank")
    json.loads(result.stdout)
    assert result.stderr == (
        "note: searched by words alone: 11 texts without vectors: run 'qmd embed', which takes about 1 s\n"
    )
    assert reader.invoke("query", "performance", "--json", "--no-rerank", "--quiet").stderr == ""
