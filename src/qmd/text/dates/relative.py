"""Dates relative to a day, in English and Chinese: `7d`, `last-week`, `3-months-ago`, `上周`, `三天前`.

Weeks begin on Monday. `last-week` is the calendar week before this one, `monday` the latest Monday, which may
be today. `7d` and `last-7-days` begin seven days ago; `7-days-ago` is that day alone. Weeks of ISO 8601 are
read as well: `2026-W47`, `2026-W47-3`.
"""

from __future__ import annotations

import unicodedata
from calendar import monthrange
from collections.abc import Callable
from datetime import date
from functools import partial
from re import Match, Pattern
from typing import NamedTuple

from qmd.text.dates import MAX_DAYS
from qmd.text.regex import lazy
from qmd.text.similar import did_you_mean

#: Relative dates as users are told of them, and as a shell completes them.
WORDS = (
    *("today", "yesterday", "tomorrow", "7d", "2w", "3m", "1y", "2-days-ago", "last-7-days", "in-3-days"),
    *(
        f"{which}-{unit}"
        for unit in ("week", "month", "quarter", "year")
        for which in ("this", "last", "next")
    ),
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
)
CHINESE_WORDS = (
    *("今天", "昨天", "前天", "明天", "后天", "本周", "上周", "下周", "本月", "上个月", "下个月", "本季度"),
    *("上季度", "今年", "去年", "前年", "明年", "最近7天", "最近三个月", "三天前", "两周前", "上周五"),
)
#: A longer text is no relative date.
_MAX_LENGTH = 40


class Span(NamedTuple):
    """The days that a relative date stands for; see `qmd.text.predicates.Days`."""

    first: date
    last: date
    whole: date


def _numbered(rows: str, first: int) -> dict[str, int]:
    """Return the numbers of words, which are the same for those between two commas."""
    return {name: number for number, names in enumerate(rows.split(","), first) for name in names.split()}


#: Days and years with names of their own, and the words before units, by their distance.
_DAYS = _numbered(
    "大前天, day-before-yesterday 前天, yesterday 昨天 昨日, today 今天 今日, tomorrow 明天 明日,"
    "day-after-tomorrow 后天, 大后天",
    -3,
)
_YEARS = _numbered("前年, 去年 上一年, 今年 本年, 明年, 后年", -2)
_WHICH = _numbered("上上, last previous 上 上一, this current 本 这 这一 当, next 下 下一, 下下", -2)
_WEEKDAYS = _numbered("mon 一, tue 二, wed 三, thu 四, fri 五, sat 六, sun 日 天", 0)
_NUMBERS = _numbered("a an one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve", 1)
_DIGITS = _numbered("一, 二 两, 三, 四, 五, 六, 七, 八, 九", 1)
#: Units by the first sign of their names, and their days.
_UNITS = dict.fromkeys("d天日", "day") | dict.fromkeys("w周星礼", "week") | dict.fromkeys("m月", "month")
_UNITS |= dict.fromkeys("q季", "quarter") | dict.fromkeys("y年", "year")
_LENGTHS = {"day": 1.0, "week": 7.0, "month": 30.0, "quarter": 91.0, "year": 365.0}
#: Half of a unit, which some have.
_HALVES = {"year": ("month", 6), "month": ("day", 15)}
#: Chinese as it is written elsewhere, and other spellings of the same.
_VARIANTS = str.maketrans("週個兩後過這禮當內", "周个两后过这礼当内")
#: A week of ISO 8601, or a day of one.
_WEEK = lazy(r"(?P<year>[0-9]{4})-?w(?P<week>[0-9]{1,2})(?:-?(?P<day>[1-7]))?")


def days(text: str, today: date) -> Span | None:
    """Return the days that a relative date stands for; None if the text is none.

    Words may be separated by spaces, hyphens or underscores. Digits may be of full width. Whether a text is a
    relative date does not depend on `today`: days outside of the calendar become its first or last day.
    """
    written = _folded(text)
    for unit, names in (("day", _DAYS), ("year", _YEARS)):
        if written in names:
            return _period(today, unit, names[written])
    matches = ((shape.fullmatch(written), read) for shape, read in _SHAPES)
    return next((read(match, today) for match, read in matches if match), None)


def _folded(text: str) -> str:
    if len(text) > _MAX_LENGTH:
        return ""
    folded = unicodedata.normalize("NFKC", text).strip().lower().translate(_VARIANTS)
    written = "-".join(folded.replace("_", " ").replace("-", " ").split())
    return written if written.isascii() else written.replace("-", "")


def is_relative(text: str) -> bool:
    """Tell whether a text is a relative date."""
    return days(text, date(2000, 1, 1)) is not None


def nearest_word(text: str) -> str:
    """Return the question `did you mean 'last-week'? ` for a wrong word; "" if none is similar.

    Of a week that a year does not have, say which it has.
    """
    if week := _WEEK.fullmatch(_folded(text)):
        year = max(1, int(week["year"]))
        # The 28th of December is always in the last week.
        last = date(year, 12, 28).isocalendar().week
        return f"{year:04} has the weeks {year:04}-W01 to {year:04}-W{last}; "

    return did_you_mean(text.strip().lower(), (*WORDS, *CHINESE_WORDS))


def _iso_week(match: Match[str], today: date) -> Span | None:
    try:
        first = date.fromisocalendar(int(match["year"]), int(match["week"]), int(match["day"] or 1))
    except ValueError:
        return None
    return _period(first, "day" if match["day"] else "week", 0)


def _calendar(match: Match[str], today: date) -> Span | None:
    """Return a calendar unit before, at or after a day, or a day of such a week."""
    unit, day = _UNITS[match["unit"][0]], match.groupdict().get("day")
    span = _period(today, unit, _WHICH[match["which"]])
    if day is None:
        return span
    return _period(span.first, "day", _WEEKDAYS[day]) if unit == "week" else None


def _weekday(match: Match[str], today: date) -> Span:
    """Return the latest day of a weekday up to a day, or the last one before it, or the next one after it."""
    after, which = _WEEKDAYS[match["day"]] - today.weekday(), match.groupdict().get("which")
    number = (after - 1) % 7 + 1 if which == "next-" else after % -7
    return _period(today, "day", -7 if which == "last-" and not number else number)


def _counted(match: Match[str], today: date, *, sign: int = -1, alone: bool = False) -> Span | None:
    """Return the day some units from a day, and the time between both unless it is meant `alone`."""
    unit, number = _UNITS[match["unit"].lstrip("个")[0]], _number(match["number"])
    if match["number"] == "半" and unit in _HALVES:
        unit, number = _HALVES[unit]
    if number is None or not 0 < number * _LENGTHS[unit] <= MAX_DAYS:
        return None
    day = _shifted(today, unit, sign * number)
    return Span(day, day, day if alone else today)


def _number(text: str) -> int | None:
    """Return a number in digits, in English or in Chinese up to 99; None if the characters are no number."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.partition("十")
    if not ten:
        return (_NUMBERS | _DIGITS).get(text)
    if tens not in _DIGITS | {"": 1} or ones not in _DIGITS | {"": 0}:
        return None
    return 10 * _DIGITS.get(tens, 1) + _DIGITS.get(ones, 0)


_COUNT = rf"(?P<number>[0-9]{{1,5}}|{'|'.join(_NUMBERS)})-?(?P<unit>days?|d|weeks?|w|months?|m|years?|y)"
_CHINESE_NUMBER = "(?P<number>[0-9]{1,5}|半|[一二两三四五六七八九十]{1,3})"
_CHINESE_COUNT = f"{_CHINESE_NUMBER}(?P<unit>天|日|周|年|个?(?:星期|礼拜|月))"
_ago, _later = partial(_counted, alone=True), partial(_counted, sign=1, alone=True)
#: The shapes of relative dates, and what reads them. `3月` is March, `30日` a day, and `24年` the year 2024.
_SHAPES: tuple[tuple[Pattern[str], Callable[[Match[str], date], Span | None]], ...] = (
    (_WEEK, _iso_week),
    (lazy("(?P<which>last|previous|this|current|next)-(?P<unit>week|month|quarter|year)"), _calendar),
    (
        lazy(
            r"(?P<which>last-|next-)?(?P<day>mon|tue|wed|thu|fri|sat|sun)"
            r"(?:(?<=mon)day|(?<=tue)sday|(?<=wed)nesday|(?<=thu)rsday|(?<=fri)day|(?<=sat)urday|(?<=sun)day)?"
        ),
        _weekday,
    ),
    (lazy(f"(?:(?:last|past)-)?{_COUNT}"), _counted),
    (lazy(f"{_COUNT}-ago"), _ago),
    (lazy(f"in-{_COUNT}"), _later),
    (
        lazy(
            "(?P<which>上上|下下|上一|下一|这一|上|下|本|这|当)个?(?P<unit>周|星期|礼拜|月|季度)"
            "(?P<day>[一二三四五六日天])?"
        ),
        _calendar,
    ),
    (lazy("(?:周|星期|礼拜)(?P<day>[一二三四五六日天])"), _weekday),
    (lazy(f"{_CHINESE_NUMBER}(?P<unit>天|周|个?(?:星期|礼拜)|个月)"), _counted),
    (lazy(f"(?:最近|近|过去){_CHINESE_COUNT}(?:以来|以内|之内|内)?"), _counted),
    (lazy(f"{_CHINESE_COUNT}(?:以来|以内|之内|内)"), _counted),
    (lazy(f"{_CHINESE_COUNT}(?:以前|之前|前)"), _ago),
    (lazy(f"{_CHINESE_COUNT}(?:以后|之后|后)"), _later),
)


def _period(today: date, unit: str, number: int) -> Span:
    """Return the calendar unit that is `number` after the one with a day."""
    start = {
        "day": today,
        "week": _shifted(today, "day", -today.weekday()),
        "month": today.replace(day=1),
        "quarter": today.replace(month=today.month - (today.month - 1) % 3, day=1),
        "year": today.replace(month=1, day=1),
    }[unit]
    first = _shifted(start, unit, number)
    last = max(first, _shifted(_shifted(first, unit, 1), "day", -1))
    return Span(first, last, last)


def _shifted(day: date, unit: str, number: int) -> date:
    """Return a day some units later. A day that a month does not have becomes its last one."""
    if unit in ("day", "week"):
        ordinal = day.toordinal() + number * (7 if unit == "week" else 1)
        return date.fromordinal(min(max(ordinal, date.min.toordinal()), date.max.toordinal()))
    months = number * {"month": 1, "quarter": 3, "year": 12}[unit]
    year, month = divmod(12 * day.year + day.month - 1 + months, 12)
    if not date.min.year <= year <= date.max.year:
        return date.min if number < 0 else date.max
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
