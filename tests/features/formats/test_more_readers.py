"""Readers of small formats: LaTeX, tables, subtitles, calendars, bibliographies, TiddlyWiki, Maildir."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

import qmd
from qmd.types import Anchor
from tests.conftest import Notes

LATEX = r"""\documentclass{article}
% a secret remark
\usepackage{graphicx}
\title{On \emph{Harbours}}
\author{Ann Bee \and Bo Cat}
\date{2024-05-01}
\begin{document}
\maketitle
\section{The pier} \label{sec:pier}
A \textbf{kestrel} sits on the \emph{north}ern pier, as M\"uller~\cite{mueller} says. % remarked
\subsection*{Cranes}
\input{chapters/cranes}
See \ref{sec:pier} and \href{https://example.org/x}{the plan}.
\begin{verbatim}
\section{no heading}
\end{verbatim}
\end{document}
"""
BIB = """@article{bee2024,
  title = {The {H}arbours of Norway},
  author = {Bee, Ann and M\\"uller, Bo},
  url = {https://example.org/bee}
}
@string{x = "y"}
@book{cat, title = "Cranes",
}
"""
TID = """created: 20240501100000000
title: Harbour Log
tags: alpha [[two words]]

! Head
A //kestrel// at [[the pier|Pier]].
"""
ICS = """BEGIN:VCALENDAR
X-WR-CALNAME:Harbour
BEGIN:VEVENT
SUMMARY:Review of the pier
DTSTART;TZID=Europe/Oslo:20240501T100000
LOCATION:Room 3\\, Oslo
DESCRIPTION:Bring the kes
 trel plan\\nand bread
ATTENDEE;CN="Ann Bee":mailto:ann@example.org
CATEGORIES:sea,work
END:VEVENT
END:VCALENDAR
"""
SRT = """1
00:00:01,000 --> 00:00:02,000
The <i>heron</i> flies.

2
00:01:05,500 --> 00:01:07,000
A kestrel
sits.
"""
VTT = """WEBVTT

NOTE remark

00:01.000 --> 00:02.000
<v Ann>The heron flies.

x
01:00:05.500 --> 01:00:07.000
A kestrel.
"""


@pytest.fixture
def library(index: qmd.Index, notes: Notes) -> qmd.Index:
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["Message-ID"] = "Plan", "Ann Bee <a@b.example>", "<x@y>"
    mail.set_content("Die Überweisung ist längst ausgeführt.\n", cte="quoted-printable")
    files = {
        "a.tex": LATEX,
        "chapters/cranes.tex": "\\section{All cranes}\n",
        "refs.bib": BIB,
        "note.tid": TID,
        "talk.srt": SRT,
        "talk.vtt": VTT,
        "cal.ics": ICS,
        "birds.csv": 'name,place,"how many"\nkestrel,"the ""old"" pier",4\nheron,,2\n',
        "birds.tsv": "name\tplace\nwhinchat\theath, north\n",
        "mail/cur/1700000000.M1.host:2,S": mail.as_string(),
        "mail/new/1700000001.M2.host": mail.as_string().replace("Plan", "New"),
        "new/2024.draft": "no mail",
    }
    index.add_collection(str(notes(files)), formats=["all"])
    return index


def paths(index: qmd.Index, query: str) -> set[str]:
    return {hit.path for hit in index.search(query, limit=20).hits}


def test_every_reader_finds_its_words(library: qmd.Index) -> None:
    assert paths(library, "kestrel") == {
        *("a.tex", "note.tid", "talk.srt", "talk.vtt", "cal.ics", "birds.csv"),
    }
    assert not library.search('"no mail"').hits


def test_latex_has_sections_labels_and_no_commands(library: qmd.Index) -> None:
    assert library.get("a.tex").text == LATEX
    outline = [(each.heading, each.level, each.id) for each in library.outline("a.tex")[1]]
    assert outline == [("The pier", 2, "sec:pier"), ("Cranes", 3, "")]
    assert "kestrel" in library.get("a.tex#sec:pier").text
    for query in (
        '"kestrel sits on the northern pier"',
        "müller",
        "muller",
        'author:"Bo Cat"',
        "date:2024-05",
    ):
        assert "a.tex" in paths(library, query), query
    snippet = library.search("kestrel pier", where="format=latex").hits[0].snippet
    assert "textbf" not in snippet.text or snippet.text in LATEX
    assert [link.to for link in library.links("a.tex") if link.kind == "embed"] == [
        "notes/chapters/cranes.tex"
    ]
    found = library.fields_of(["notes/a.tex"])["notes/a.tex"]
    assert (found["title"], found["author"]) == (("On Harbours",), ("Ann Bee", "Bo Cat"))


def test_rows_of_tables_have_their_header(library: qmd.Index) -> None:
    assert library.get("birds.csv").text == (
        'name | place | how many\nname: kestrel | place: the "old" pier | how many: 4\n'
        "name: heron | how many: 2\n"
    )
    assert library.get("birds.csv:r3").text.strip() == "name: heron | how many: 2"
    assert library.get("birds.tsv").text.endswith("name: whinchat | place: heath, north\n")


def test_subtitles_have_their_times_as_anchors(library: qmd.Index) -> None:
    assert library.get("talk.srt").text == "The heron flies.\nA kestrel\nsits.\n"
    assert library.search("kestrel", where="ext=srt").hits[0].anchor == Anchor(2, "time", 65)
    assert library.get("talk.srt:t65").text.strip() == "A kestrel\nsits."
    assert library.get("talk.vtt").text == "Ann: The heron flies.\nA kestrel.\n"
    assert library.search("kestrel", where="ext=vtt").hits[0].anchor == Anchor(2, "time", 3605)


def test_calendars_have_their_events(library: qmd.Index) -> None:
    assert library.get("cal.ics").text == (
        "Review of the pier\n\nStart: 2024-05-01 10:00\nPlace: Room 3, Oslo\nWith: Ann Bee\n\n"
        "Bring the kestrel plan\nand bread\n"
    )
    assert paths(library, "tag:sea date:2024-05") == {"cal.ics"}
    assert library.fields_of(["notes/cal.ics"])["notes/cal.ics"]["title"] == ("Harbour",)


def test_bibliographies_have_a_section_for_each_entry(library: qmd.Index) -> None:
    assert library.get("refs.bib").text == BIB
    outline = [(each.heading, each.id) for each in library.outline("refs.bib")[1]]
    assert outline == [("The Harbours of Norway", "bee2024"), ("cat", "cat")]
    assert "Bee, Ann" in library.get("refs.bib#bee2024").text
    assert "refs.bib" in paths(library, "harbours müller")


def test_notes_of_tiddlywiki_have_fields_and_headings(library: qmd.Index) -> None:
    assert library.get("note.tid").text == TID
    assert [each.heading for each in library.outline("note.tid")[1]] == ["Head"]
    assert paths(library, 'tag:"two words" date:2024-05-01') == {"note.tid"}
    assert [link.target for link in library.links("note.tid")] == ["Pier"]


def test_messages_of_a_maildir_are_mail(library: qmd.Index) -> None:
    found = paths(library, "Überweisung")
    assert found == {"mail/cur/1700000000.M1.host:2,S", "mail/new/1700000001.M2.host"}
    assert library.fields_of([f"notes/{path}" for path in found])["notes/mail/new/1700000001.M2.host"][
        "title"
    ] == ("New",)
