"""Dates relative to a day, and filters that have them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, strategies as st

from qmd.errors import UsageError
from qmd.text import filters
from qmd.text.date_filters import dates_said, with_days
from qmd.text.dates import of_mtime
from qmd.text.dates.relative import CHINESE_WORDS, WORDS, days, is_relative
from qmd.text.predicates import describe, matches
from qmd.text.question import Question
from tests.questions import split

#: A Wednesday.
TODAY = date(2026, 11, 25)
ANY_DAY = st.dates()
SHANGHAI, NEW_YORK = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("today|TODAY|今天|今日", "11-25", "11-25"),
        ("yesterday|昨天|昨日", "11-24", "11-24"),
        ("day before yesterday|前天|2-days-ago|two days ago|两天前|2天前|２天前|2日前", "11-23", "11-23"),
        ("tomorrow|明天|in-1-day|一天后", "11-26", "11-26"),
        ("this-week|本周|这周|这个星期|本週", "11-23", "11-29"),
        ("last-week|last week|last_week|上周|上週|上个星期|上个礼拜|上一周", "11-16", "11-22"),
        ("上上周", "11-09", "11-15"),
        ("next-week|下周|下星期", "11-30", "12-06"),
        ("this-month|本月|这个月|這個月|当月", "11-01", "11-30"),
        ("last-month|上月|上个月|上個月", "10-01", "10-31"),
        ("this-quarter|本季度", "10-01", "12-31"),
        ("this-year|今年|本年", "01-01", "12-31"),
        ("monday|mon|周一|星期一|本周一", "11-23", "11-23"),
        ("friday|周五|上周五", "11-20", "11-20"),
        ("sunday|星期天|周日", "11-22", "11-22"),
        ("wednesday|周三", "11-25", "11-25"),
        ("last-wednesday|上周三|a week ago|一周前|7 days ago|七天前", "11-18", "11-18"),
        ("next-wednesday|下周三|in-a-week|一周后", "12-02", "12-02"),
        ("两周前|two-weeks-ago", "11-11", "11-11"),
        ("二十一天前|3周前", "11-04", "11-04"),
        ("3 months ago|3个月前|三個月前|三个月以前", "08-25", "08-25"),
        ("半年前", "05-25", "05-25"),
    ],
)
def test_relative_date_stands_for_days(words: str, first: str, last: str) -> None:
    for word in words.split("|"):
        span = days(word, TODAY)
        assert span is not None, word
        assert [*map(str, span)] == [f"2026-{first}", f"2026-{last}", f"2026-{last}"], word


@pytest.mark.parametrize(
    "words", ["7d", "7 days", "last-7-days", "1w", "最近7天", "近七天", "过去一周", "7天", "-7d"]
)
def test_length_of_time_is_up_to_today_for_equality(words: str) -> None:
    assert days(words, TODAY) == (date(2026, 11, 18), date(2026, 11, 18), TODAY)


@pytest.mark.parametrize(
    ("today", "word", "first"),
    [
        ("2026-03-31", "1m", "2026-02-28"),
        ("2024-03-31", "1-month-ago", "2024-02-29"),
        ("2024-02-29", "1y", "2023-02-28"),
        ("2024-02-29", "4y", "2020-02-29"),
        ("2024-03-01", "yesterday", "2024-02-29"),
        ("2026-01-01", "昨天", "2025-12-31"),
        ("2026-01-01", "last-month", "2025-12-01"),
        ("2026-01-01", "last-quarter", "2025-10-01"),
        ("2026-01-01", "last-week", "2025-12-22"),
        ("2025-12-31", "下个月", "2026-01-01"),
        ("2025-12-31", "next-week", "2026-01-05"),
        ("2026-02-28", "后天", "2026-03-02"),
    ],
)
def test_relative_date_crosses_ends_of_months_and_years(today: str, word: str, first: str) -> None:
    span = days(word, date.fromisoformat(today))
    assert span is not None
    assert str(span.first) == first


@pytest.mark.parametrize(
    "text",
    [
        *"soon lastweek 0d d 7 3月 30日 2024年 24年 999999d 200y last-7 十 十十天前 7d-ago-ago".split(),
        *"last-2-days-ago 上周八 两 过去7天前 past-week 下个周月".split(),
        "",
        "x" * 10_000,
    ],
)
def test_other_text_is_no_relative_date(text: str) -> None:
    assert not is_relative(text), text


@given(ANY_DAY, st.sampled_from([*WORDS, *CHINESE_WORDS]))
@example(date.min, "last-week")
@example(date.max, "next-year")
def test_days_are_in_order_on_any_day(today: date, word: str) -> None:
    span = days(word, today)
    assert span is not None
    assert span.first <= span.last
    assert span.first <= span.whole


@given(st.dates(date(200, 1, 1), date(9000, 1, 1)), st.integers(1, 36_500))
def test_number_of_days_is_counted_from_today(today: date, number: int) -> None:
    ago = today - timedelta(days=number)
    assert days(f"{number}d", today) == (ago, ago, today)
    assert days(f"{number}-days-ago", today) == days(f"{number}天前", today) == (ago, ago, ago)


@given(st.dates(date(200, 1, 1), date(9000, 1, 1)))
def test_calendar_units_follow_each_other(today: date) -> None:
    for unit in ("week", "month", "quarter", "year"):
        last, this, following = (days(f"{which}-{unit}", today) for which in ("last", "this", "next"))
        assert last and this and following
        assert (
            last.last + timedelta(days=1)
            == this.first
            <= today
            <= this.last
            == following.first - timedelta(days=1)
        )
    week = days("this-week", today)
    assert week is not None
    assert week.first.isoweekday() == 1
    for number, name in enumerate(WORDS[-7:], 1):
        day, before, after = (days(f"{which}{name}", today) for which in ("", "last-", "next-"))
        assert day and before and after
        assert day.first.isoweekday() == before.first.isoweekday() == after.first.isoweekday() == number
        assert before.first < today < after.first
        assert timedelta(0) <= today - day.first < timedelta(days=7)


@given(st.text(max_size=50), ANY_DAY)
def test_days_never_fails_and_does_not_depend_on_the_day(text: str, today: date) -> None:
    assert (days(text, today) is not None) == is_relative(text)


NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "described", "said"),
    [
        ("after:7d x", "after:2026-11-18", "after 2026-11-18"),
        ('after:"7 days ago" x', "after:2026-11-18", "after 2026-11-18"),
        ("before:上周", "before:2026-11-16", "before 2026-11-16"),
        ("date:last-week", "[date:2026-11-16..2026-11-22]", "date 2026-11-16..2026-11-22"),
        ("date:昨天", "[date:2026-11-24]", "date 2026-11-24"),
        ("-date:today", "-[date:2026-11-25]", "date 2026-11-25"),
        ("date:2024-06", "[date:2024-06]", ""),
        ("[due<next-week]", "[due<2026-11-30]", "due before 2026-11-30"),
        ("[due<=next-week]", "[due<=2026-12-06]", "due until 2026-12-06"),
        ("[modified>last-week]", "[modified>2026-11-22]", "modified later than 2026-11-22"),
        ("[status:today]", "[status:today]", ""),
        ("tag:today title:today", "tag:today title:today", ""),
        ("after:7d before:today after:7d", "after:2026-11-18 before:2026-11-25 after:2026-11-18",
         "after 2026-11-18, before 2026-11-25"),
    ],
)  # fmt: skip
def test_filter_is_resolved_by_a_day(query: str, described: str, said: str) -> None:
    where = split(query)[1]
    assert where is not None
    found = with_days(where, NOON)
    assert (describe(found), dates_said(found)) == (described, said)
    assert with_days(found, NOON + timedelta(days=1)) == found
    if said:
        assert with_days(where, NOON + timedelta(days=7)) != found


def test_json_filter_takes_relative_dates() -> None:
    where = filters.from_json({"field": "due", "operator": "lt", "value": "next-week"})
    assert describe(with_days(where, NOON)) == "[due<2026-11-30]"


def test_equality_of_a_field_matches_the_text_and_the_date() -> None:
    equal, later = (with_days(filters.condition(f"when{sign}today"), NOON) for sign in ("=", ">="))
    matching = [
        {
            value
            for value in ("Today", "2026-11-25", "2026-11-26", "zzz", 1.0)
            if matches(where, {"when": (value,)})
        }
        for where in (equal, later)
    ]
    assert matching == [{"Today", "2026-11-25"}, {"2026-11-25", "2026-11-26"}]


@given(
    st.sampled_from([SHANGHAI, NEW_YORK, UTC]),
    st.dates(date(2000, 1, 1), date(2040, 1, 1)),
    st.integers(0, 23),
    st.integers(-4 * 86_400, 4 * 86_400),
    st.sampled_from(["today", "yesterday", "last-week", "this-month", "2d"]),
    st.sampled_from(["<", "<=", ">", ">=", ":"]),
)
def test_times_of_files_are_compared_in_the_zone_of_the_user(
    zone: ZoneInfo, today: date, hour: int, seconds: int, word: str, sign: str
) -> None:
    now = datetime(today.year, today.month, today.day, hour, tzinfo=zone)
    file = now.timestamp() + seconds
    local = datetime.fromtimestamp(int(file), zone).replace(tzinfo=None).isoformat()
    modified = of_mtime(int(file) * 10**9)
    for field in ("date", "modified"):
        where = filters.condition(f"{field}{sign}{word}")
        # A document without a date of its own has that of its file.
        undated = matches(with_days(where, now), {"date": (modified,), "modified": (modified,)})
        naive = with_days(where, now.replace(tzinfo=UTC))
        assert undated == matches(naive, {"date": (local,), "modified": (local,)})
    stated = matches(
        with_days(filters.condition(f"date{sign}{word}"), now),
        {"date": (local,), "modified": ("1970-01-01T00:00:00",)},
    )
    assert stated == undated


@pytest.mark.parametrize(
    ("query", "suggestion"),
    [
        ("after:lastweek", "last-week"),
        ("before:yesterdy", "yesterday"),
        ("date:上個周月", ""),
        ("after:soon", ""),
    ],
)
def test_unknown_word_is_an_error_with_examples(query: str, suggestion: str) -> None:
    with pytest.raises(UsageError, match=r"must be a date, such as 2024.*last-week") as raised:
        Question.read(query).refuse_wrong_date()
    assert f"did you mean '{suggestion}'?" in (raised.value.hint or "") if suggestion else True
    assert "in quotes it is text" in (raised.value.hint or "")
    with pytest.raises(UsageError, match="after must be a date"):
        filters.from_options({"after": "lastweek"})
