"""Words are found in whatever letters and signs they are written, in all scripts and places."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import qmd
from qmd.text.highlight import Highlighter
from qmd.text.query import parse

FILES = {
    "soft.md": "Ge\u00adsamt\u00adkon\u00adzep\u00adti\u00adon, pota\u200cssium, Zwi\u200bschen\ufeffraum\n",
    "arabic.md": "# دفتر\n\nهَذَا الكِتَابُ جَمِيلٌ في آسفي مع مدرســـة ٢٠٢٤ مراكش #كِتَاب\n",
    "persian.md": "# یادداشت\n\nمی‌خواهم کتاب بخوانم\n",
    "hebrew.md": "# דף\n\nשָׁלוֹם עולם\n",
    "hindi.md": "# नोट\n\nक़लम और ज़मीन #हिन्दी\n",
    "latin.md": "# By\n\nsmørrebrød i Łódź, đường phố, Þingvellir, cœur, Hawaiʻi, œuvre\n",
    "german.md": "# Länder\n\nDie Geschichte der Republik Österreich und München, groß.\n",
    "oesterreich.md": "# Laender\n\nDie Straße von Muenchen nach Salzburg im Sueden.\n",
    "turkish.md": "# Gezi\n\nIşık sokağı, ısparta gülü #İstanbul\n",
    "thai.md": "# ไทย\n\nประเทศ\u200bไทย\u200bมี\n",
    "Übergröße.md": "nothing else\n",
    "divided.md": (
        "# Parts\n\nun**believ**able wort<wbr>teil M&uuml;nster Caf&eacute;\nH<sub>2</sub>O irri-\ngation\n"
    ),
    "links.md": (
        '# Links\n\nsee [amber](https://x.y/z "t") jumps, [beige][ref] jumps, ![cyan](<a b.png>) jumps, '
        "[[page|denim]] jumps, ecru[^1] jumps, [flax](a_(b).md 'c\nd') jumps, "
        "<a href='https://x.y'>gold</a> jumps\n\n[[https://x.y/][henna]] jumps, "
        "https://x.y/z[jade] jumps, "
        'khaki&nbsp;jumps, li<b>la</b>c jumps, mauve <!-- not --> jumps, <Tip a="b">navy</Tip> jumps, '
        '{{< ref "x" >}}ochre{{< /ref >}} jumps, [p](a.md){t=b} jumps\n\n'
        "peach{.c} jumps, [quartz](a.md)es jump, [[page|ruby]]s jump\n\n[ref]: https://x.y\n"
    ),
    "english.md": "# Pans\n\nThe pot and its value.\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[qmd.Index]:
    """An index that the tests only read."""
    folder = tmp_path_factory.mktemp("letters")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    with qmd.open_index(folder / "index.sqlite", environ={"HOME": str(folder)}) as index:
        index.add_collection(str(folder), "notes")
        yield index


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        ("soft.md", "Gesamtkonzeption,Gesamt\u00adkonzeption,potassium,Zwischenraum,gesamtk*"),
        ("arabic.md", 'الكتاب,جميل,مَرَّاكُش,اسفي,مدرسة,2024,"الكتاب جميل",tag:كتاب,tag:كِتَاب'),
        ("persian.md", "میخواهم,كتاب"),
        ("hebrew.md", "שלום"),
        ("hindi.md", "कलम,जमीन,tag:हिन्दी"),
        (
            "latin.md",
            'smorrebrod,smoerrebroed,Lodz,duong,thingvellir,coeur,Hawaii,oeuvre,"smorrebrod i lodz"',
        ),
        ("german.md", 'Oesterreich,OESTERREICH,"Republik Oesterreich",Osterreich,Muenchen,gross'),
        ("oesterreich.md", '"Muenchen nach",München,"von München nach",Strasse,Länder'),
        ("divided.md", "unbelievable,Wortteil,Münster,Muenster,café,H2O,irrigation"),
        (
            "links.md",
            '"amber jumps","beige jumps","cyan jumps","denim jumps","ecru jumps","flax jumps","gold jumps",'
            '"henna jumps","jade jumps","khaki jumps","lilac jumps","mauve jumps","navy jumps",'
            '"ochre jumps","p jumps","peach jumps","quartzes jump",'
            '"rubys jump","x.y/z","see [amber](https://x.y/z) jumps",lilac,page,href',
        ),
        ("turkish.md", "isik,ISIK,ISPARTA,tag:istanbul,tag:İSTANBUL"),
        ("thai.md", "ประเทศไทย,ไทยมี"),
        ("Übergröße.md", "uebergroesse,ubergrosse,Übergröße"),
    ],
)
def test_words_are_found_in_all_their_letters(library: qmd.Index, name: str, queries: str) -> None:
    missed = [
        query for query in queries.split(",") if name not in {hit.path for hit in library.search(query).hits}
    ]
    assert not missed


def test_words_that_others_are_only_written_like_are_not_found(library: qmd.Index) -> None:
    assert not library.search('"poet"').hits
    assert not library.search('"the poet"').hits


def test_words_in_other_letters_are_highlighted() -> None:
    for query, word in {
        "Oesterreich": "Österreich",
        "gesamtkonzeption": "Ge\u00adsamt\u00adkon\u00adzep\u00adti\u00adon",
        "الكتاب": "الكِتَابُ",
        "lodz": "Łódź",
        "ประเทศไทย": "ประเทศ\u200bไทย",
        "unbelievable": "un**believ**able",
        "Telefon": "Tele<wbr>fon",
        "H2O": "H<sub>2</sub>O",
        "Café": "Caf&eacute;",
        "don't": "don&#39;t",
        "irrigation": "irri-\n  gation",
        "able": "able",
    }.items():
        text = f"one, {word}, two"
        [(start, end)] = Highlighter(parse(query).terms).highlights(text)
        assert text[start:end] == word


def test_passage_has_words_and_phrases_that_markup_divides(tmp_path: Path) -> None:
    filler = "Nothing of it.\n\n" * 40
    lines = {
        "unbelievable": "an un<b>believ</b>able fox",
        '"fox jumps"': "see [fox](https://x.y/z) jumps",
        "telefon": "das Tele<wbr>fon hier",
    }
    text = f"{filler}a fox, it jumps\n\n{filler}" + "".join(f"{line}\n\n{filler}" for line in lines.values())
    (tmp_path / "note.md").write_text(text)
    with qmd.open_index(tmp_path / "index.sqlite", environ={"HOME": str(tmp_path)}) as index:
        index.add_collection(str(tmp_path), "notes")
        for query, line in lines.items():
            [hit] = index.search(query).hits
            assert line in hit.snippet.text


def test_older_index_gets_words_and_values_in_their_letters(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# By\n\nŁódź #İstanbul\n")
    place = tmp_path / "index.sqlite"
    with qmd.open_index(place, environ={"HOME": str(folder)}) as index:
        index.add_collection(str(folder), "notes")
    with closing(apsw.Connection(str(place))) as db:
        db.execute("DROP TRIGGER document_fields_of_this_format; DROP TRIGGER links_of_this_format")
        identity = db.execute("SELECT id FROM documents").get
        db.execute("DELETE FROM documents_fts")
        old = (identity, "by a", "by łodz i̇stanbul", "a md")
        db.execute("INSERT INTO documents_fts (rowid, title, body, path) VALUES (?, ?, ?, ?)", old)
        db.execute("UPDATE field_values SET key = 'i̇stanbul' WHERE value = 'İstanbul'")
        db.execute("PRAGMA user_version=12")
    (folder / "a.md").unlink()
    with qmd.open_index(place, environ={"HOME": str(folder)}) as index:
        for query in ("lodz", "tag:istanbul"):
            assert [hit.path for hit in index.search(query).hits] == ["a.md"]
