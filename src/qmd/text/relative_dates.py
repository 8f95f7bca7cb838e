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


_NUMBERS = {
    word: number
    for number, words in enumerate(
        "a|an|one two three four five six seven eight nine ten eleven twelve".split(), 1
    )
    for word in words.split("|")
}
_UNITS = {"d": "day", "w": "week", "m": "month", "y": "year", "q": "quarter"}
_WHICH = {"last": -1, "previous": -1, "this": 0, "current": 0, "next": 1}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAYS = {
    "day-before-yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
    "day-after-tomorrow": 2,
    "大前天": -3,
    "前天": -2,
    "昨天": -1,
    "昨日": -1,
    "今天": 0,
    "今日": 0,
    "明天": 1,
    "明日": 1,
    "后天": 2,
    "大后天": 3,
}
_YEARS = {"前年": -2, "去年": -1, "上一年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
#: The first letter of each unit in English is its key in `_UNITS`.
_ENGLISH_COUNT = lazy(
    rf"(?P<before>(?:last|past|in)-)?(?P<number>[0-9]{{1,5}}|{'|'.join(_NUMBERS)})-?"
    r"(?P<unit>days?|d|weeks?|w|months?|m|years?|y)(?P<ago>-ago)?"
)
_ENGLISH_PERIOD = lazy(rf"(?P<which>{'|'.join(_WHICH)})-(?P<unit>week|month|quarter|year)")
_ENGLISH_WEEKDAY = lazy(
    r"(?P<which>last-|next-)?(?P<day>mon|tue|wed|thu|fri|sat|sun)"
    r"(?:(?<=mon)day|(?<=tue)sday|(?<=wed)nesday|(?<=thu)rsday|(?<=fri)day|(?<=sat)urday|(?<=sun)day)?"
)
_CHINESE_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week"} | {
    "月": "month",
    "季度": "quarter",
    "年": "year",
}
_CHINESE_COUNT = lazy(
    "(?P<before>最近|近|过去)?(?P<number>[0-9]{1,5}|半|[一二两三四五六七八九十]{1,3})(?P<measure>个)?"
    "(?P<unit>天|日|周|星期|礼拜|月|年)(?P<after>以前|之前|前|以来|以内|之内|内|以后|之后|后)?"
)
_CHINESE_PERIOD = lazy(
    "(?P<which>上上|下下|上一|下一|这一|上|下|本|这|当)个?(?P<unit>周|星期|礼拜|月|季度)(?P<day>[一二三四五六日天])?"
)
_CHINESE_WEEKDAY = lazy("(?:周|星期|礼拜)(?P<day>[一二三四五六日天])")
_CHINESE_WHICH = {"上上": -2, "上": -1, "本": 0, "这": 0, "当": 0, "下": 1, "下下": 2}
_CHINESE_WEEKDAYS = "一二三四五六日"
_CHINESE_DIGITS = "一二三四五六七八九"
#: Chinese as it is written elsewhere, and other spellings of the same.
_VARIANTS = str.maketrans("週個兩後過這禮當內", "周个两后过这礼当内")
#: A week of ISO 8601, or a day of one.
_WEEK = lazy(r"(?P<year>[0-9]{4})-?w(?P<week>[0-9]{1,2})(?:-?(?P<day>[1-7]))?")
_LENGTHS = {"day": 1.0, "week": 7.0, "month": 30.0, "quarter": 91.0, "year": 365.0}


def days(text: str, today: date) -> Span | None:
    """Return the days that a relative date stands for; None if the text is none.

    Words may be separated by spaces, hyphens or underscores. Digits may be of full width. Whether a text is a
    relative date does not depend on `today`: days outside of the calendar become its first or last day.
    """
    written = _folded(text)
    return next((span for read in _READERS if (span := read(written, today)) is not None), None)


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


def _iso_week(written: str, today: date) -> Span | None:
    match = _WEEK.fullmatch(written)
    if match is None:
        return None
    try:
        first = date.fromisocalendar(int(match["year"]), int(match["week"]), int(match["day"] or 1))
    except ValueError:
        return None
    return _day(first) if match["day"] else _period(first, "week", 0)


def _word(written: str, today: date) -> Span | None:
    if written in _DAYS:
        return _period(today, "day", _DAYS[written])
    return _period(today, "year", _YEARS[written]) if written in _YEARS else None


def _english_period(written: str, today: date) -> Span | None:
    match = _ENGLISH_PERIOD.fullmatch(written)
    return None if match is None else _period(today, match["unit"], _WHICH[match["which"]])


def _english_weekday(written: str, today: date) -> Span | None:
    match = _ENGLISH_WEEKDAY.fullmatch(written)
    if match is None:
        return None
    return _day(_weekday(today, _WEEKDAYS.index(match["day"]), (match["which"] or "")[:-1]))


def _english_count(written: str, today: date) -> Span | None:
    match = _ENGLISH_COUNT.fullmatch(written)
    if match is None or (match["before"] and match["ago"]):
        return None
    number = _NUMBERS.get(match["number"]) or int(match["number"])
    direction = 1 if match["before"] == "in-" else -1
    alone = bool(match["ago"]) or direction == 1
    return _counted(today, _UNITS[match["unit"][0]], direction * number, alone=alone)


def _chinese_period(written: str, today: date) -> Span | None:
    match = _CHINESE_PERIOD.fullmatch(written)
    if match is None:
        return None
    unit = _CHINESE_UNITS[match["unit"]]
    span = _period(today, unit, _CHINESE_WHICH[match["which"].removesuffix("一") or "一"])
    if match["day"] is None:
        return span
    if unit != "week":
        return None
    return _day(_shifted(span.first, "day", _chinese_weekday_number(match["day"])))


def _chinese_weekday(written: str, today: date) -> Span | None:
    match = _CHINESE_WEEKDAY.fullmatch(written)
    return None if match is None else _day(_weekday(today, _chinese_weekday_number(match["day"]), ""))


def _chinese_weekday_number(day: str) -> int:
    return _CHINESE_WEEKDAYS.index("日" if day == "天" else day)


def _chinese_count(written: str, today: date) -> Span | None:
    match = _CHINESE_COUNT.fullmatch(written)
    if match is None:
        return None
    before, measure, unit, after = match["before"], match["measure"], match["unit"], match["after"] or ""
    # `3月` is March, `30日` a day of the month, and `24年` the year 2024.
    if not (before or after) and (unit in ("年", "日") or (unit == "月" and not measure)):
        return None
    if measure and unit not in ("月", "星期", "礼拜"):
        return None
    if match["number"] == "半":
        halves = {"年": ("month", 6), "月": ("day", 15)}
        if unit not in halves:
            return None
        name, number = halves[unit]
    else:
        name, count = _CHINESE_UNITS[unit], _chinese_number(match["number"])
        if count is None:
            return None
        number = count
    if before and after.endswith(("前", "后")):
        return None
    return _counted(
        today, name, number if after.endswith("后") else -number, alone=after.endswith(("前", "后"))
    )


def _chinese_number(text: str) -> int | None:
    """Return a number of 1 to 99, or in digits; None if the characters are no number."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.replace("两", "二").partition("十")
    if not ten:
        return _CHINESE_DIGITS.find(text.replace("两", "二")) + 1 if len(text) == 1 else None
    if len(tens) > 1 or len(ones) > 1 or "十" in ones:
        return None
    return 10 * (_CHINESE_DIGITS.find(tens) + 1 if tens else 1) + (
        _CHINESE_DIGITS.find(ones) + 1 if ones else 0
    )


#: The ways to read a relative date.
_READERS: tuple[Callable[[str, date], Span | None], ...] = (
    _iso_week,
    _word,
    _english_period,
    _english_weekday,
    _english_count,
    _chinese_period,
    _chinese_weekday,
    _chinese_count,
)


def _day(day: date) -> Span:
    return Span(day, day, day)


def _counted(today: date, unit: str, number: int, *, alone: bool) -> Span | None:
    """Return the day some units from a day, and the time between both unless it is meant `alone`."""
    if not 0 < abs(number) * _LENGTHS[unit] <= MAX_DAYS:
        return None
    day = _shifted(today, unit, number)
    return Span(day, day, day if alone else today)


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


def _weekday(today: date, weekday: int, which: str) -> date:
    """Return the latest day of a weekday up to a day, or the last one before it, or the next one after it."""
    if which == "next":
        return _shifted(today, "day", (weekday - today.weekday() - 1) % 7 + 1)
    back = (today.weekday() - weekday) % 7
    return _shifted(today, "day", -(back or 7) if which == "last" else -back)


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
