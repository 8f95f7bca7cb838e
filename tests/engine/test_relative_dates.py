"""Relative dates in the filters of searches and listings, in the time zone of the user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from time import tzset

import pytest

import qmd
from qmd.engine.requests import SearchRequest
from qmd.errors import UsageError
from qmd.text.date_filters import with_days
from qmd.text.predicates import matches
from tests.conftest import Notes
from tests.questions import split

pytestmark = pytest.mark.slow


@pytest.fixture(params=["Asia/Shanghai", "America/New_York", "UTC"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The time zone of this process."""
    monkeypatch.setenv("TZ", request.param)
    tzset()
    yield request.param
    monkeypatch.undo()
    tzset()


@pytest.fixture
def library(index: qmd.Index, notes: Notes, zone: str) -> qmd.Index:
    """Notes that state a date, and notes that have that of the file.

    They are of the first and the last minute of today, of the last one of yesterday, and of ten days ago.
    """
    today = date.today()  # noqa: DTZ011 - of the user
    midnight = datetime.combine(today, time()).astimezone()
    moments = {
        "begin": midnight + timedelta(minutes=1),
        "end": midnight + timedelta(hours=23, minutes=59),
        "yesterday": midnight - timedelta(minutes=1),
        "old": midnight - timedelta(days=10),
    }
    stated = {
        f"stated-{name}.md": f"---\ndate: {moment.replace(tzinfo=None)}\ndue: {moment.date()}\n---\nheron\n"
        for name, moment in moments.items()
    }
    folder = notes({**stated, **{f"file-{name}.md": "heron\n" for name in moments}})
    for name, moment in moments.items():
        os.utime(folder / f"file-{name}.md", (moment.timestamp(), moment.timestamp()))
    index.add_collection(str(folder), "notes")
    return index


TODAY = {"stated-begin.md", "stated-end.md", "file-begin.md", "file-end.md"}
YESTERDAY = {"stated-yesterday.md", "file-yesterday.md"}
OLD = {"stated-old.md", "file-old.md"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("after:today", TODAY),
        ("after:昨天", TODAY | YESTERDAY),
        ("after:7d", TODAY | YESTERDAY),
        ("date:最近7天", TODAY | YESTERDAY),
        ('before:"7 days ago"', OLD),
        ("before:today", YESTERDAY | OLD),
        ("-before:today", TODAY),
        ("date:today", TODAY),
        ("date:yesterday", YESTERDAY),
        ("date:十天前", OLD),
        ("[date<=yesterday]", YESTERDAY | OLD),
        ("[date>yesterday]", TODAY),
        ("[due=yesterday]", {"stated-yesterday.md"}),
        ("[due<today]", {"stated-yesterday.md", "stated-old.md"}),
        ("[modified=yesterday]", {"file-yesterday.md"}),
        ("file:file [modified>=today]", {"file-begin.md", "file-end.md"}),
    ],
)
def test_days_begin_in_the_zone_of_the_user(library: qmd.Index, query: str, expected: set[str]) -> None:
    for typed in (query, f"heron {query}"):
        assert {hit.path for hit in library.search(typed, limit=None).hits} == expected
    where = split(query)[1]
    assert where is not None
    fields = library.fields_of([document.file for document in library.documents()])
    assert {path for path, each in fields.items() if matches(with_days(where), each)} == {
        f"notes/{path}" for path in expected
    }


def test_every_way_to_filter_takes_relative_dates(library: qmd.Index) -> None:
    recent = {"stated-yesterday.md", "file-yesterday.md"}
    assert {each.path for each in library.documents(after="yesterday", before="今天")} == recent
    assert {each.path for each in library.documents(where="date=yesterday")} == recent
    tree = {"field": "date", "operator": "eq", "value": "yesterday"}
    for response in (
        library.search("heron", filter=tree),
        library.search("heron", where=["date>=yesterday", "date<today"]),
        library.query("lex: heron date:yesterday", rerank=False, expand=False),
    ):
        assert {hit.path for hit in response.hits} == recent
    (field,) = library.fields(["notes"], after="today", values=2)[:1]
    assert field.summary.documents == 4


def test_response_says_the_days_of_relative_dates(library: qmd.Index) -> None:
    today = date.today()  # noqa: DTZ011 - of the user
    response = library.search("heron after:7d before:yesterday")
    stage = response.stage("dates")
    assert stage is not None
    assert stage.reason == f"after {today - timedelta(days=7)}, before {today - timedelta(days=1)}"
    assert stage.notable
    assert library.search("heron after:2024").stage("dates") is None
    absent = library.search("heron after:tomorrow").stage("filter")
    assert absent is not None
    assert absent.reason == f"No document passes the filter after:{today + timedelta(days=1)}."
    pack = library.pack("heron after:today")
    assert [stage.reason for stage in pack.stages if stage.stage == "dates"] == [f"after {today}"]
    why = library.why("notes/file-old.md", "search", SearchRequest("heron after:7d"))
    assert f"after:{today - timedelta(days=7)}" in why.reason


def test_text_of_a_document_keeps_its_meaning(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "---\nstatus: today\n---\nheron\n", "b.md": "heron\n"})), "notes")
    for options in (
        {"where": "status=today"},
        {"filter": {"field": "status", "operator": "eq", "value": "today"}},
    ):
        assert [hit.path for hit in index.search("heron", **options).hits] == ["a.md"]
    assert [hit.path for hit in index.search("heron [status:today]").hits] == ["a.md"]
    assert not index.search("heron tag:today").hits


@pytest.mark.parametrize("query", ["after:lastweek heron", "date:lastweek heron"])
def test_unknown_word_is_an_error_that_suggests_one(index: qmd.Index, query: str) -> None:
    with pytest.raises(qmd.UsageError, match="must be a date, such as") as raised:
        index.search(query)
    assert "did you mean 'last-week'?" in (raised.value.hint or "")


@pytest.fixture
def diary(index: qmd.Index, notes: Notes) -> qmd.Index:
    """Notes of the days around week 47 of 2026, which begins on the 16th of November."""
    days = [date(2026, 11, day) for day in (15, 16, 18, 22, 23)]
    files = {f"{day:%d}.md": f"---\ndate: {day}\ndue: {day}\n---\nheron\n" for day in days}
    index.add_collection(str(notes(files)), "notes")
    return index


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("date:2026-W47", "16 18 22"),
        ("date:2026w47", "16 18 22"),
        ("-date:2026-W47", "15 23"),
        ("after:2026-W47", "16 18 22 23"),
        ("before:2026-W47", "15"),
        ("[due:2026-W47]", "16 18 22"),
        ("[due<=2026-W47]", "15 16 18 22"),
        ("date:2026-W47-3", "18"),
        ("date:20261118", "18"),
    ],
)
def test_filters_take_weeks_of_iso_8601(diary: qmd.Index, query: str, days: str) -> None:
    hits = diary.search(f"heron {query}").hits
    assert sorted(hit.path.removesuffix(".md") for hit in hits) == days.split()


@pytest.mark.parametrize("week", ["2026-W54", "2026-W00", "2026W99"])
@pytest.mark.parametrize("key", ["date", "after", "before"])
def test_filters_refuse_a_week_that_the_year_does_not_have(diary: qmd.Index, key: str, week: str) -> None:
    with pytest.raises(UsageError) as error:
        diary.search(f"heron {key}:{week}")
    assert "2026 has the weeks 2026-W01 to 2026-W53" in (error.value.hint or "")
