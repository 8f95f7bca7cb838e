"""Dates as text, and the filters of arbitrary queries."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

from hypothesis import example, given, strategies as st

from qmd.text import dates
from qmd.text.predicates import And, Comparison, describe
from qmd.text.query import parse
from tests.questions import split

MOMENTS = st.datetimes()
ZONES = st.sampled_from(["", "Z", " +08:00", "-0530", "+1"])
WORDS = st.text(st.sampled_from('abz数 "“”:-_\n2014'), max_size=8)
TYPED = st.lists(
    WORDS
    | st.sampled_from(
        ["author:ann", 'AUTHOR:"ann b"', "after:2024", "before:2024-13", "before:x", "author:", "[a:b]", "-"]
    ),
    max_size=8,
).map("".join)


@given(MOMENTS, ZONES, st.sampled_from("T t"))
def test_read_returns_a_moment_as_written_without_its_zone(moment: datetime, zone: str, between: str) -> None:
    plain = moment.replace(microsecond=0).isoformat()
    assert dates.read(moment.isoformat().replace("T", between) + zone) == plain
    assert dates.in_name(f"{plain.replace('T', '_').replace(':', '_')}_Title.md") == plain


@given(st.dates(min_value=date(1000, 1, 1)))
def test_read_accepts_every_iso_form_of_a_day(day: date) -> None:
    midnight = f"{day}T00:00:00"
    year, week, weekday = day.isocalendar()
    forms = [str(day), f"{day.year}-{day.month}-{day.day}", f"{day:%Y%m%d}".zfill(8)]
    if year == day.year:
        forms.append(f"{year:04}-W{week:02}-{weekday}")
    assert {dates.read(form) for form in forms} == {midnight}
    assert dates.in_name(f"{day} a day.md") == midnight
    assert dates.read(f"{day:%Y-%m}") == f"{str(day)[:7]}-01T00:00:00"
    assert dates.read(f"{day:%Y}") == f"{str(day)[:4]}-01-01T00:00:00"


@given(MOMENTS, MOMENTS)
def test_dates_sort_like_times(one: datetime, other: datetime) -> None:
    first, second = dates.read(one.isoformat()), dates.read(other.isoformat())
    assert first is not None
    assert second is not None
    assert (first < second) == (one.replace(microsecond=0) < other.replace(microsecond=0))


@given(st.text(max_size=50) | st.from_regex(r"\d{1,5}[-/]\d{1,3}([-T :]\d{1,3}){0,3}.?"))
@example("2023-02-29")
@example("2024-13")
@example("0000-01-01")
@example("2024-01-01 24:00")
@example("2024-01-01T10:00:60")
@example("٢٠٢٤")
def test_read_returns_only_valid_moments(text: str) -> None:
    for found in (dates.read(text), dates.in_name(text)):
        if found is not None:
            assert datetime.fromisoformat(found).isoformat() == found


def test_read_refuses_dates_that_no_calendar_has() -> None:
    for text in (
        "2023-02-29",
        "2024-13",
        "0000",
        "2024-01-01 24:00",
        "2024-01-01T10:00:60",
        "soon",
        "",
        "٢٠٢٤",
    ):
        assert dates.read(text) is None
    for name in ("2023-02-29_10_00_00_Title.md", "2023-02-29.md", "2024-01-011.md", "v2024-01-01.md"):
        assert dates.in_name(name) is None


@given(st.integers())
def test_of_mtime_returns_a_date_in_utc(nanoseconds: int) -> None:
    found = dates.of_mtime(nanoseconds)
    assert len(found) == len("2024-03-07T10:00:00")
    if abs(nanoseconds) < 10**18:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=nanoseconds // 10**9)
        assert found == moment.replace(tzinfo=None).isoformat()
        elsewhere = moment.astimezone(timezone(timedelta(hours=8)))
        assert datetime.fromisoformat(found).replace(tzinfo=UTC) == elsewhere


@given(TYPED | st.text(max_size=60))
def test_split_removes_all_filters_and_keeps_the_words(text: str) -> None:
    rest, found = split(text)
    assert split(rest) == (rest, None)
    if found is None:
        assert rest == text


@given(st.text(st.characters(exclude_characters='"“”„«»\0', exclude_categories=["Cs"]), min_size=1), MOMENTS)
@example("\x1f", datetime(2000, 1, 1, tzinfo=UTC))
def test_split_parses_typed_author_and_date_filters(name: str, moment: datetime) -> None:
    day = str(moment)[:10]
    rest, found = split(f'one author:"{name}" two After:{day} before:{day[:4]}')
    dated = (Comparison("date", "gte", day), Comparison("date", "lt", day[:4]))
    if name.strip():
        assert (rest, found) == ("one two", And((Comparison("author", "eq", name.strip()), *dated)))
    else:
        assert (rest, found) == (f'one author:"{name}" two', And(dated))


def test_split_ignores_text_that_only_resembles_a_filter() -> None:
    for text in (
        '"author:ann"', "author:", 'author:""', 'author:" "', "after:someday", "before:2024-13",
        "coauthor:ann", 'author:"ann"b', 'author:ann"b', 'author:"ann', "key:value",
        "author :ann",
    ):  # fmt: skip
        assert split(text) == (text, None), text
    assert parse("key:value").terms
    assert [term.words for term in parse('"author:ann"').terms] == [("author", "ann")]


def test_typed_filters_are_combined_with_and() -> None:
    rest, found = split("author:ann x -author:bob after:2023 after:2024")
    assert rest == "x"
    assert found is not None
    assert describe(found) == "author:ann -author:bob after:2023 after:2024"
