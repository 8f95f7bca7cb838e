"""Dates in the names of files and folders: journals, daily notes, posts, scans, screenshots."""

from __future__ import annotations

from qmd.text.dates import read
from qmd.text.dates.written import first_day, prefix
from qmd.text.regex import lazy

_TIME = r"(?:(?:[ _T-]{1,3}|[ ]at[ ]|, )(?P<time>\d{2}[-._:h]?\d{2}(?:[-._:]?\d{2})?)(?!\d))?"
#: Forms of a date in a name, from the clearest to the least clear. The first that is a date counts. No digit
#: is beside a form, and no letter beside one without signs between its parts.
_FORMS = (
    # 2024_05_01, 2024.05.01, 2024 05 01, Meeting 2024-05-01, Screenshot 2024-05-01 at 10.30.15
    lazy(rf"(?<!\d)(?P<day>(?:19|20)\d\d(?P<sign>[-_. ])\d{{1,2}}(?P=sign)\d{{1,2}})(?!\d){_TIME}"),
    # 20240501, 20240501T103000--title, 202405011030 title, IMG_20240501_103015
    lazy(rf"(?<!\d)(?P<day>(?:19|20)\d\d[01]\d[0-3]\d)(?:(?P<stamp>\d{{4}}(?:\d\d)?)|{_TIME})(?![^\W_])"),
    # 2024年5月1日
    lazy(r"(?P<day>\d{4}年\d{1,2}月\d{1,2}日)"),
    # 01.05.2024, 13-05-2024, if it is clear what is the day
    lazy(r"(?<![^\W_])(?<!\.)(?P<day>\d{1,2}(?P<sign>[-_. ])\d{1,2}(?P=sign)(?:19|20)\d\d)(?!\d)"),
    # May 1st, 2024; Standup - 1 May 2024 (Berlin); 01-May-2024; May 2024
    lazy(
        r"(?<!\w)(?P<day>(?:\d{1,2}(?:st|nd|rd|th|er|\.)?[ -]{1,2}(?:de |of )?)?"
        r"[^\W\d_]{3,10}\.?[ -](?:de |of )?(?:\d{1,2}(?:st|nd|rd|th)?,?[ -])?(?:19|20)\d\d)(?!\d)"
    ),
    lazy(r"(?<!\d)(?P<day>(?:19|20)\d\d[ -][^\W\d_]{3,10}[ -]\d{1,2})(?!\d)"),
)
#: Weeks, quarters and months, as names of notes: 2024-W18, 2024-Q2, 2024-05, 2024-05 Review.
_SPAN = lazy(
    r"((?:19|20)\d\d(?:[-_ ]?(?:W\d{2}(?:-[1-7])?|Q[1-4])|[-_.](?:0[1-9]|1[0-2])))(?=[ _-]{1,3}[^\W\d]|\Z)"
)
_DIGIT = lazy(r"\d")
#: Folders by year, month and day: 2024/05/01.md, 2024/05-May/01-Wednesday.md, 2024/05/01/title.md
_FOLDERS = lazy(r"(?:^|/)((?:19|20)\d\d)/(\d{2})(?:-[^\W\d]{3,12})?/(\d{2})(?![\d])(?:[-_ .][^/]*)?(?:/|\Z)")
#: The longest path that is looked at.
_MAX_LENGTH = 1_000


def in_path(path: str) -> str | None:
    """Return the first second of the date that the name of a file states, else its folders.

    None if there is none.

    Args:
        path: The path inside the collection. What follows the name of a container is looked at as well.
    """
    path = path[-_MAX_LENGTH:]
    folders, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    if not _DIGIT.search(path):
        return None
    found = _in_name(stem) or _by_folder(f"{folders}/{stem}")
    # The folder of a page and its files: posts/2024-05-01-title/index.md
    found = found or (_in_name(folders.rpartition("/")[2]) if folders else None)
    return found and read(found)


def _in_name(name: str) -> str | None:
    for form in _FORMS:
        for match in form.finditer(name):
            groups = match.groupdict()
            day = prefix(groups["day"].replace("_", "-").replace(" ", "-"))
            if day is None:
                continue
            digits = "".join(filter(str.isdigit, groups.get("stamp") or groups.get("time") or ""))
            time = ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))
            return (prefix(f"{day} {time}") if time else None) or day
    if span := _SPAN.match(name):
        return first_day(span[1]) or prefix(span[1].replace("_", "-").replace(".", "-"))
    return None


def _by_folder(path: str) -> str | None:
    match = _FOLDERS.search(path)
    return prefix("-".join(match.groups())) if match else None
