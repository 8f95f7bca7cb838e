"""The structures of texts: results by them, old indexes without them, and damaged ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import qmd
from qmd.store.sqlite.database import Database
from qmd.store.sqlite.structures import Placer
from qmd.text.highlight import Highlighter
from qmd.text.layout import lay_out_markdown
from qmd.text.passages import find_windows
from qmd.text.query import parse
from qmd.text.spans import blanked
from qmd.types.traces import KeywordMatch
from tests.conftest import Notes

FILLER = "Everybody wrote down what had been said at the table, and went home before it was dark.\n\n" * 12
CODE = "```py\n# walnut in code\nwalnut = 'lantern'\n```\n\n"
TOGETHER = f"# Yard\n\n{FILLER}\n## Evening\n\nA walnut table under the copper lantern.\n\n{FILLER}{FILLER}"
APART = f"# Yard\n\nA walnut.\n\n{FILLER}\nA copper pot.\n\n{FILLER}\nThe lantern. A lantern.\n\n{FILLER}"
MIXED = (
    "---\ntitle: walnut\n---\n# Garten <b>und</b> Übersicht\n\n"
    f"Die Straße führt zum Nußbaum, siehe [walnut](https://example.com/page).\n\n{CODE}{FILLER}"
    "<!-- walnut -->\n\n## 数据库的备份\n\n数据库每天备份一次，"
    "恢复数据库需要很长时间。在备份完成以前不要删除旧的数据库文件。\n\n"
    f"{FILLER}- wal**nut** lan&shy;tern, a copper-lantern\n\n<div class='copper'>\n\n"
    f"### 4.2 Lanterns\n\nOf copper.\n\n{FILLER}"
)
QUERIES = [
    "example.com",
    "walnut lantern",
    "copper-lantern",
    "数据库 备份",
    "Übersicht Straße",
    "section 4.2",
    "uebersicht",
    "walnut in code",
    '"walnut table" lantern',
    '"before it was dark" "数据库需要"',
]


@pytest.fixture
def yard(index: qmd.Index, notes: Notes) -> qmd.Index:
    files = {
        "apart.md": APART,
        "together.md": TOGETHER,
        "mixed.md": MIXED,
        "short.md": "# Walnut\n\nIt is a nut.\n",
    }
    index.add_collection(str(notes(files)), "notes")
    return index


@pytest.fixture
def file(yard: qmd.Index) -> Iterator[apsw.Connection]:
    db = apsw.Connection(yard.locations.index)
    yield db
    db.close()


def without_structures(db: apsw.Connection) -> None:
    """Make an index as an older version has left it, brought up to date."""
    db.execute("DELETE FROM structures; INSERT OR REPLACE INTO meta VALUES ('without structures', '')")


def shown(index: qmd.Index, query: str) -> dict[str, object]:
    return {
        hit.path: (hit.line, hit.section, [each.text for each in hit.passages])
        for hit in index.search(query, passages=3).hits
    }


def test_search_prefers_a_text_with_the_words_in_one_place(yard: qmd.Index, file: apsw.Connection) -> None:
    def ranked() -> dict[str, float]:
        hits = yard.search("walnut copper lantern", explain=True).hits
        matches = {hit.path: hit.traces[0] for hit in hits}
        return {path: trace.scattered for path, trace in matches.items() if isinstance(trace, KeywordMatch)}

    scattered = ranked()
    assert [*scattered].index("together.md") < [*scattered].index("apart.md")
    assert scattered["apart.md"] > 0.3 and scattered["together.md"] == scattered["short.md"] == 0.0
    without_structures(file)
    assert [*ranked()].index("apart.md") < [*ranked()].index("together.md")


@pytest.mark.parametrize("query", QUERIES)
def test_passages_by_places_are_those_of_reading(query: str, yard: qmd.Index, file: apsw.Connection) -> None:
    by_places = shown(yard, query)
    without_structures(file)
    assert by_places and shown(yard, query) == by_places


@pytest.mark.parametrize("query", QUERIES)
def test_places_of_terms_give_the_windows_that_reading_finds(
    query: str, yard: qmd.Index, file: apsw.Connection
) -> None:
    highlighter = Highlighter(parse(query).terms)
    rows = dict(file.execute("SELECT d.id, t.text FROM documents d JOIN contents t ON t.id = d.content_id"))
    placed = Placer().placed(Database(yard.locations.index), [*rows], highlighter.placeable)
    assert len(placed) == 4
    for document, (structure, places) in placed.items():
        plain = blanked(rows[document], structure.unread_spans())
        assert structure.windows == lay_out_markdown(rows[document]).windows
        by_places = find_windows(plain, highlighter, structure, places)
        assert by_places == find_windows(plain, highlighter, structure)


def test_update_makes_the_structures_of_an_older_index(yard: qmd.Index, file: apsw.Connection) -> None:
    before = file.execute("SELECT * FROM structures").fetchall()
    without_structures(file)
    assert any("4 texts without" in note for note in yard.status().notes)
    yard.update()
    assert file.execute("SELECT * FROM structures").fetchall() == before
    assert not any("without structure" in note for note in yard.status().notes)


def test_text_that_is_dropped_takes_its_structure_along(
    yard: qmd.Index, file: apsw.Connection, tmp_path: Path
) -> None:
    yard.remove_collection("notes")
    yard.cleanup()
    assert file.execute("SELECT count(*) FROM structures").get == 0


@pytest.mark.parametrize("damage", [b"", b"\xff", b"\x94\x92\xcd\xff\xff\x01\x90\x90\x90"])
def test_damaged_structures_are_not_used_and_made_again(
    damage: bytes, yard: qmd.Index, file: apsw.Connection
) -> None:
    whole, before = shown(yard, "walnut lantern"), file.execute("SELECT * FROM structures").fetchall()
    file.execute("UPDATE structures SET structure = ?", (damage,))
    assert shown(yard, "walnut lantern") == whole
    assert any("4 texts have" in finding.message for finding in yard.doctor())
    yard.cleanup()
    assert file.execute("SELECT * FROM structures").fetchall() == before
