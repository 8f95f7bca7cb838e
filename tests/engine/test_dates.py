"""Dates of documents: in their text, their name, git, or of their file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

import qmd
from tests.repositories import Repository, needs_git

#: The first of May 2024, as people and programs write it.
_WAYS = """
2024-05-01
2024-5-1
2024/05/01
2024.05.01
20240501
2024-05-01T10:00:00.000Z
2024-05-01 10:00 +0200
2024-05-01 Wed
[2024-05-01]
[[2024-05-01]]
"[[2024-05-01|yesterday]]"
"[[journal/2024-05-01]]"
"[2024-05-01](2024-05-01.md)"
"<2024-05-01 Wed>"
May 1, 2024
May 1st, 2024
Wednesday, May 1, 2024 at 10:30 PM
1 May 2024
01-May-2024
Wed, 01 May 2024 10:00:00 +0000
Wed May 01 2024 10:00:00 GMT+0200 (Central European Summer Time)
05/01/2024 is not clear
01.05.2024
1. Mai 2024
1er mai 2024
1 de mayo de 2024
1 мая 2024 г.
2024年5月1日 10:30
2024년 5월 1일
1714557600
1714557600000
2024-W18-3
2024-122
""".strip().splitlines()
_WRITTEN = """
date created created_at createdAt Date-Created "date created" creation_date published pubDate publishDate
published_at published_time posted datum fecha 创建时间 дата
"""
_CHANGED = (
    "updated updated_at lastmod last_modified last_modified_at dateModified modified lastUpdated 更新日期"
)
_NAMES = """
journals/2024_05_01.md
2024.05.01.md
20240501.md
202405011030 Zettel.md
20240501T103000--denote__tag.md
Meeting 2024-05-01.md
Screenshot 2024-05-01 at 10.30.15.md
IMG_20240501_103015.md
2024年5月1日.md
01.05.2024.md
May 1st, 2024.md
Standup - 1 May 2024 (Berlin).md
2024-W18-3.md
2024/05/01.md
2024/05-May/01-Wednesday.md
_posts/2024-05-01-title.md
blog/2024-05-01-title/index.md
scan_2024-05-01_103015.html
""".strip().splitlines()


def _files(index: qmd.Index, folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    index.add_collection(str(folder), "notes", formats=["all"])


def _of_that_day(index: qmd.Index, where: Sequence[str] = ("date=2024-05-01",)) -> set[str]:
    return {hit.file.removeprefix("notes/") for hit in index.search("heron", where=where, limit=None).hits}


def test_date_is_read_as_people_write_it(index: qmd.Index, tmp_path: Path) -> None:
    texts = {f"{at}.md": f"---\ndate: {way}\n---\nheron\n" for at, way in enumerate(_WAYS)}
    _files(index, tmp_path / "notes", texts)
    unclear = {f"{at}.md" for at, way in enumerate(_WAYS) if "not clear" in way}
    found = _of_that_day(index)
    assert texts.keys() - found == unclear
    assert index.status().dates == {"text": len(texts) - 1, "file": 1}
    (file,) = unclear
    assert any("1 document with a date that cannot be read" in note for note in index.status().notes)
    assert any(
        finding.check == "dates" and f"notes/{file}" in finding.message and "not clear" in finding.message
        for finding in index.doctor()
    )
    (left_out,) = [
        note
        for note in index.why(f"notes/{file}", "search", qmd.SearchRequest("heron")).notes
        if "date" in note
    ]
    assert left_out == "left out: a date that cannot be read, date: 05/01/2024 is not clear"


def test_properties_say_when_a_text_was_written_and_changed(index: qmd.Index, tmp_path: Path) -> None:
    written = _WRITTEN.replace('"date created"', "Date.Created").split()
    texts = {f"w{at}.md": f"---\n{key}: May 1, 2024\n---\nheron\n" for at, key in enumerate(written)}
    texts |= {f"c{at}.md": f"---\n{key}: 2024/05/01\n---\nheron\n" for at, key in enumerate(_CHANGED.split())}
    both = {
        "both.md": "---\nupdated: 2024-06-02\ncreated: 2024-05-01\n---\nheron\n",
        "docusaurus.md": "---\ndate: 2024-05-01\nlast_update:\n  date: 6/20/2024\n---\nheron\n",
        "date.html": "<meta property='article:published_time' content='1 May 2024'>"
        "<meta property='article:modified_time' content='2024-06-02'><p>heron</p>",
        "date.org": "#+DATE: <2024-05-01 Wed>\nheron\n",
        "date.adoc": "= Title\nAnn Bee <a@b.example>\n:revdate: May 1, 2024\n\nheron\n",
        "date.rst": ":Date: 1 May 2024\n:Updated: 2024-06-02\n\nheron\n",
    }
    none = {
        "none.md": "---\npublished: true\nupdated: often\ndate: today\ncreated: '{{date}}'\n---\nheron\n",
        "date-like.md": "---\nversion: 1.5.2024\nname: May 2024\n---\nheron\n",
    }
    _files(index, tmp_path / "notes", texts | both | none)
    os.utime(tmp_path / "notes/none.md", (1_700_000_000, 1_700_000_000))
    index.update()
    assert _of_that_day(index) == texts.keys() | both.keys()
    assert _of_that_day(index, ["changed=2024-06"]) == both.keys() - {"date.org", "date.adoc"}
    # A document that does not say when it was changed was changed with its file.
    assert _of_that_day(index, ["changed<2024"]) == {"none.md"}
    assert _of_that_day(index, ["created<2024-05-02"]) >= {"both.md"}
    assert not [finding for finding in index.doctor() if finding.check == "dates"]


def test_names_of_files_and_folders_state_dates(index: qmd.Index, tmp_path: Path) -> None:
    others = ("12345678.md", "rfc-2024.md", "v1.2.2024.md", "05-06-2024.md", "May.md", "20241301.md")
    stated = {"Meeting 2023-01-01.md": "---\ndate: 2024-05-01\n---\nheron\n"}
    _files(index, tmp_path / "notes", dict.fromkeys((*_NAMES, *others), "heron\n") | stated)
    assert _of_that_day(index) == {*_NAMES, *stated}
    assert index.status().dates == {"name": len(_NAMES), "text": 1, "file": len(others)}


@needs_git
def test_files_of_a_clone_have_the_dates_of_their_last_commits(index: qmd.Index, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "notes" / "clone")
    repository.commit(
        "2024-05-01T10:00:00Z", "One", {"a.md": "heron\n", "b.md": "heron b\n", "ü c.md": "heron"}
    )
    repository.commit("2024-06-02T10:00:00Z", "Two", {"b.md": "heron, changed\n"})
    folder = repository.folder
    (folder / "new.md").write_text("heron\n")
    (folder / "dirty.md").write_text("heron\n")
    repository.git("add", "dirty.md")
    (tmp_path / "notes" / "outside.md").write_text("heron\n")
    index.add_collection(str(tmp_path / "notes"), "notes")
    assert index.status().dates == {"git": 3, "file": 3}
    assert _of_that_day(index) == {"clone/a.md", "clone/ü c.md"}
    assert _of_that_day(index, ["date=2024-06-02", "changed=2024-06-02"]) == {"clone/b.md"}
    # A commit changes the dates of files that stay as they are, and a change those of files in git.
    (folder / "a.md").write_text("heron, not committed\n")
    repository.git("commit", "-q", "-m", "Three", date="2024-07-03T10:00:00Z")
    (report,) = index.update()
    assert (report.updated, report.notices) == (1, [])
    assert _of_that_day(index, ["date=2024-07-03"]) == {"clone/dirty.md"}
    assert _of_that_day(index) == {"clone/ü c.md"}
    # History that was written anew counts as it is.
    repository.git("reset", "-q", "--soft", "HEAD~2")
    repository.git("commit", "-q", "-m", "Four", date="2024-08-04T10:00:00Z")
    index.update()
    assert _of_that_day(index, ["date=2024-08-04"]) == {"clone/b.md", "clone/dirty.md"}
    # The watcher asks for the files that have changed.
    repository.git("checkout", "-q", "a.md")
    index.rescan("notes", ["clone/a.md"])
    assert _of_that_day(index) == {"clone/a.md", "clone/ü c.md"}


@needs_git
def test_clone_that_cannot_be_read_is_said_and_indexed(index: qmd.Index, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "notes")
    repository.commit("2024-05-01T10:00:00Z", "One", {"a.md": "heron\n"})
    (repository.folder / ".git/objects/info/alternates").write_text("/elsewhere\n")
    (repository.folder / "b.md").write_text("heron\n")
    index.add_collection(str(repository.folder), "notes")
    assert index.status().dates == {"file": 2}
    (report,) = index.update()
    assert not report.notices or "borrows objects" in report.notices[0]


@pytest.mark.parametrize("text", ["date: 2024-05-01", "published: 2024-05-01"])
def test_filters_take_dates_as_people_write_them(index: qmd.Index, tmp_path: Path, text: str) -> None:
    _files(index, tmp_path / "notes", {"a.md": f"---\n{text}\n---\nheron\n"})
    for typed in ('after:"May 1, 2024"', "before:2024/05/02", "date:2024年5月1日"):
        assert [hit.file for hit in index.search(f"heron {typed}").hits] == ["notes/a.md"], typed
