"""Read dates as people write them: `May 1st, 2024`, `1.5.2024 10:30`, `[[2024-05-01]]`, `2024年5月1日`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache

from qmd.text.regex import lazy

#: A longer text is not a date.
MAX_LENGTH = 100
#: The names of the months from January on, a line for each language. Accents do not count.
_MONTHS = """
january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
jänner feber maerz april mai juno julei august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
januari februari maart april mei juni juli augustus september oktober november december
januari februari mars april maj juni juli augusti september oktober november december
januar februar marts april maj juni juli august september oktober november desember
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
ledna února března dubna května června července srpna září října listopadu prosince
ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık
ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie
január február március április május június július augusztus szeptember október november december
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня
يناير فبراير مارس ابريل مايو يونيو يوليو اغسطس سبتمبر اكتوبر نوفمبر ديسمبر
"""
#: Words that may stand in a date and say nothing more: prepositions, names of days, time zones.
_BESIDE = """
t of de del do da d den der the on at um uhr le el la am en vom a o kl klo г года р року z utc gmt cet cest
est edt cst cdt mst mdt pst pdt ist jst bst msk
mon monday tue tues tuesday wed wednesday thu thur thurs thursday fri friday sat saturday sun sunday
montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so
lundi mardi mercredi jeudi vendredi samedi dimanche lun mer jeu ven sam dim
lunes martes miercoles jueves viernes sabado domingo mie jue vie sab dom
segunda terca quarta quinta sexta feira lunedi martedi mercoledi giovedi venerdi domenica gio
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag ma wo vr za zo
mandag tirsdag onsdag torsdag fredag lordag sondag poniedziałek wtorek sroda czwartek piatek sobota niedziela
понедельник вторник среда четверг пятница суббота воскресенье пн вт ср чт пт сб вс
年 月 日 号 號 년 월 일 星期一 星期二 星期三 星期四 星期五 星期六 星期日 星期天 周一 周二 周三 周四 周五 周六
周日 月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日 火 水 木 金 土 월요일 화요일 수요일 목요일 금요일 토요일
일요일
"""
#: The year before the first one of an era of Japan.
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}
_HAN = "〇一二三四五六七八九"
_HAN_NUMBER = lazy(r"(?<![〇零一二三四五六七八九十])[〇零一二三四五六七八九十]++(?=[年月日号號])")
_ERA = lazy(r"(令和|平成|昭和)(元|\d{1,2})年")
#: What stands around a date: the target of a link with its text, `date(...)` of a query language.
_LINK = lazy(r"\[\[([^\[\]|]++)(?:\|[^\[\]]*+)?\]\]|\[([^\[\]]++)\](?:\([^()]*+\))?|date\(([^()]*+)\)")
_TIME = lazy(
    r"(?<![\d./-])(\d{1,2})(?:[:.h](\d{2})(?:[:.](\d{2})(?:[.,]\d{1,9})?)?(?!\d|[./-]\d)|[时時点](?:(\d{1,2})分?)?)"
    r"(?:z|[ ]?(am|pm|a\.m\.|p\.m\.))?(?![^\W\d_])|(?<!\d)(\d{1,2})[ ]?(am|pm|a\.m\.|p\.m\.)(?!\w)"
)
_HALF = lazy(r"上午|午前|오전|下午|午後|오후|晚上")
_OFFSET = lazy(r"[+-]\d{1,2}(?::?\d{2})?(?![\d-])|\([^()]{1,40}\)|\[[^\[\]]{1,40}\]")
_TOKEN = lazy(r"(\d+)(?:(?:st|nd|rd|th|er|[oa])(?![^\W\d_]))?|([年月日号號년월일]|[^\W\d_]+)|([^\w\s])")
_SIGNS = frozenset("-/.,()'’–・~")
#: Stamps without signs between their parts, and seconds or milliseconds since 1970.
_STAMP = lazy(r"(\d{4})(\d{2})(\d{2})(?:[t_ -]?(\d{2}):?(\d{2})(?::?(\d{2}))?(?:\.?\d{1,6})?z?)?")
_SINCE_EPOCH = lazy(r"(\d{10})(?:\.\d{1,9}|\d{3})?")
_YEARS = range(1800, 2200)


def prefix(text: str) -> str | None:
    """Return a date, or the beginning of one, as `2024-05-01` or `2024-05`; None if it is none or unclear.

    `05/06/2024` is unclear, because the day or the month may come first. `1.5.2024` begins with the day.
    """
    text = _unwrapped(text)
    if since := _SINCE_EPOCH.fullmatch(text):
        return datetime.fromtimestamp(int(since[1]), UTC).strftime("%Y-%m-%dT%H:%M:%S")
    if stamp := _STAMP.fullmatch(text):
        return _valid(*stamp.groups())
    time = _TIME.search(text)
    hour = minute = second = None
    if time is not None:
        hour, minute = int(time[1] or time[6]), int(time[2] or time[4] or 0)
        second = int(time[3]) if time[3] else None
        half = (time[5] or time[7] or "")[:1]
        if sign := _HALF.search(text):
            half = "a" if sign[0] in ("上午", "午前", "오전") else "p"
            text = text[: sign.start()] + " " * len(sign[0]) + text[sign.end() :]
        hour = hour % 12 + (12 if half == "p" else 0) if half and hour <= 12 else hour
        text = f"{text[: time.start()]} {_OFFSET.sub(' ', text[time.end() :])}"
    day = _day(text)
    if day is None:
        return None
    return _valid(*day, hour, minute, second) if len(day) == 3 else _valid(*day)


def first_day(text: str) -> str | None:
    """Return the first day of `2024-W18` and `Q2 2024`, and the day `2024-122` by its number."""
    text = _unwrapped(text)
    matches = ((shape.fullmatch(text), read) for shape, read in _PERIODS)
    try:
        return next((read(match) for match, read in matches if match), None)
    except (ValueError, OverflowError):
        return None


def _week(match: re.Match[str]) -> str:
    day = int(match.groupdict().get("day") or 1)
    return str(date.fromisocalendar(int(match["year"]), int(match["week"]), day))


def _quarter(match: re.Match[str]) -> str:
    return f"{match['year']}-{3 * int(match['quarter']) - 2:02}-01"


def _day_of_year(match: re.Match[str]) -> str | None:
    day = date(int(match["year"]), 1, 1) + timedelta(days=int(match["day"]) - 1)
    return str(day) if day.year == int(match["year"]) else None


#: The shapes of weeks, quarters and days of a year, and what returns their first day.
_PERIODS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...] = (
    (lazy(r"(?P<year>\d{4})[-_ ]?(?:w|kw|week)[-_ ]?(?P<week>\d{1,2})(?:-(?P<day>[1-7]))?"), _week),
    (lazy(r"(?P<year>\d{4})年?第?(?P<week>\d{1,2})[周週]"), _week),
    (lazy(r"(?:w|kw|week)[ -]?(?P<week>\d{1,2})[,/ -]{1,2}(?P<year>\d{4})"), _week),
    (lazy(r"(?P<year>\d{4})[-_ /]?q(?P<quarter>[1-4])"), _quarter),
    (lazy(r"(?P<year>\d{4})年?第?(?P<quarter>[1-4])季度?"), _quarter),
    (lazy(r"q(?P<quarter>[1-4])[-_ /]{0,2}(?P<year>\d{4})"), _quarter),
    (lazy(r"(?P<year>\d{4})-?(?P<day>\d{3})"), _day_of_year),
)


def _unwrapped(text: str) -> str:
    """Return a text as it is compared: without links, quotes, case and accents, with digits of ASCII."""
    text = _plain(text[:MAX_LENGTH].strip().strip("\"'“”‘’`<>@ "))
    if link := _LINK.fullmatch(text):
        text = (link[1] or link[2] or link[3]).strip("\"' <>")
        if link[1] and "/" in text and not _STAMP.fullmatch(text.replace("/", "")):
            text = text.rpartition("/")[2]  # a path
    if any(sign in text for sign in "年月日"):
        text = _HAN_NUMBER.sub(lambda match: _han(match[0]), text)
        text = _ERA.sub(lambda era: f"{_ERAS[era[1]] + int(era[2].replace('元', '1'))}年", text)
    return text.strip()


def _plain(text: str) -> str:
    digits = (str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in text)
    folded = unicodedata.normalize("NFKD", "".join(digits)).casefold().replace("ı", "i").replace("ł", "l")
    kept = "".join(sign for sign in folded if unicodedata.category(sign) not in ("Mn", "Cf"))
    return unicodedata.normalize("NFC", kept)


def _han(number: str) -> str:
    """Return a Chinese number up to 99, or the digits of a year."""
    if "十" not in number:
        return "".join(str(max(0, _HAN.find(sign))) for sign in number)
    tens, _, ones = number.partition("十")
    return str(10 * (_HAN.find(tens) if tens else 1) + (_HAN.find(ones) if ones else 0))


@cache
def _months() -> Mapping[str, int]:
    """Return the months by their names and abbreviations, as far as these mean one month."""
    full: dict[str, int] = {}
    short: dict[str, set[int]] = {}
    english: dict[str, int] = {}
    for at, line in enumerate(_plain(_MONTHS).split("\n")):
        for month, name in enumerate(line.split(), 1):
            full.setdefault(name, month)
            for end in (3, 4, 5):
                short.setdefault(name[:end], set()).add(month)
                if at == 1:
                    english.setdefault(name[:end], month)
    unique = {name: min(months) for name, months in short.items() if len(months) == 1}
    return {**unique, **english, **full}


@cache
def _beside() -> frozenset[str]:
    return frozenset(_plain(_BESIDE).split())


def _parts(text: str) -> tuple[list[str], str, int | None] | None:
    """Return the numbers, the signs, and the named month of a text; None if it has other words."""
    numbers: list[str] = []
    signs = ""
    month: int | None = None
    for number, word, sign in _TOKEN.findall(text):
        if number:
            numbers.append(number)
        elif sign:
            if sign not in _SIGNS:
                return None
            signs += sign
        elif month is None and word in _months() and word not in _beside():
            month = _months()[word]
        elif word not in _beside():
            return None
        elif word in "年년":
            signs += word
    return numbers, signs, month


def _day(text: str) -> tuple[int, ...] | None:
    """Return year, month and day, or year and month, of a text without a time; None if it is no date."""
    parts = _parts(text)
    if parts is None:
        return None
    numbers, signs, month = parts
    if not numbers or len(numbers) > 3 or any(len(number) > 4 for number in numbers):
        return None
    years = [at for at, number in enumerate(numbers) if len(number) == 4]
    if len(years) != 1:
        return None
    year = int(numbers.pop(years[0]))
    others = [*map(int, numbers)]
    if month is not None:
        return (year, month, *others) if len(others) < 2 else None
    return _of_numbers(year, others, years[0], signs)


def _of_numbers(year: int, others: Sequence[int], at: int, signs: str) -> tuple[int, ...] | None:
    """Return year, month and day of a date in numbers, of which the year is the one `at` a place."""
    if len({sign for sign in signs if sign in "-/."}) > 1:
        return None
    if not others or at == 0:
        return (year, *others) if others or "年" in signs or "년" in signs else None
    if len(others) == 1:
        return year, others[0]
    if at != 2:
        return None
    first, second = others
    if signs.startswith(".") or first > 12 or first == second:
        return year, second, first
    return (year, first, second) if second > 12 else None


def _valid(*parts: int | str | None) -> str | None:
    """Return the beginning of a date with these parts, in its canonical form; None if it does not exist."""
    given = [int(part) for part in parts if part not in (None, "")]
    try:
        moment = datetime(*(given + [1, 1][len(given) - 1 :] if len(given) < 3 else given))  # type: ignore[arg-type]  # noqa: DTZ001
    except (ValueError, TypeError):
        return None
    if moment.year not in _YEARS:
        return None
    return moment.isoformat(timespec="seconds")[: 3 * len(given) + 1]
