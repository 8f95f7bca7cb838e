"""The meaning of properties, whichever program they were written for: one table of their names.

Obsidian, Logseq, Dataview, Hugo, Jekyll, Quarto, Docusaurus and others have their own names for the time when
a text was written, and for that when it was changed. The fields `date` and `changed` are made of
them; the properties themselves stay fields as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain

from qmd.text import dates
from qmd.text.regex import lazy
from qmd.text.values import CHANGED, UNREAD, Value, as_date, fold, shown

#: Properties that say when a text was written, the most telling first. Case and the signs between words do
#: not count: `created_at`, `createdAt` and `Created at` are one.
_WRITTEN = """
date, created, createdat, createdon, createddate, datecreated, creationdate, creationtime, createdtime,
ctime, published, publishedat, publishedon, publisheddate, publishdate, datepublished, publicationdate,
publishedtime, pubdate, dateissued, issued, posted, postedat, written, dcdate, articlepublishedtime,
revdate, timestamp, erstellt, erstelltam, datum, data, creado, fecha, criado, dcterms.created,
dctermscreated, datepost, 日期, 创建时间, 创建日期, 发布时间, 发布日期, 建立日期, 作成日, 作成日時,
公開日, 날짜, 작성일, дата, создано
"""
#: Properties that say when it was changed last.
_CHANGED = """
lastmod, lastmodified, lastmodifiedat, lastmodifieddate, datemodified, modifieddate, modified,
modifiedat, modifiedon, modifiedtime, mtime, updated, updatedat, updatedon, updateddate, dateupdated,
lastupdated, lastupdatedat, lastupdatedate, lastupdate, lastedited, lasteditedtime, lastchanged, edited,
editedat, changed, revised, revisiondate, articlemodifiedtime, ogupdatedtime, dctermsmodified, geändert,
geändertam, aktualisiert, modificado, actualizado, atualizado, modifié, 更新时间, 更新日期, 修改时间,
修改日期, 最后更新, 更新日, 更新日時, 수정일, изменено, обновлено
"""
#: Other properties whose values are dates, so that filters compare them as dates.
_DATES = """
due, duedate, deadline, scheduled, start, startdate, end, enddate, expires, expirydate, expirydate,
validfrom, validuntil, reviewed, reviewdate, lastreviewed, nextreview, completed, completedon, closed,
eventdate
"""
#: Properties that name the author, the most telling first.
_AUTHORS = """
author, authorname, authorsname, authorliteral, authorsliteral, authordisplayname, by, byline, writer,
creator, writtenby, dccreator, dctermscreator, autor, auteur, autore, 作者, 著者, 저자, автор
"""
#: Other names of a document, by which it is searched and linked.
_ALIASES = "alias, sidebarlabel, linktitle, navtitle, navlabel, menutitle, shorttitle, 别名"
#: Words that are also said of other things: values without a year are no dates.
_OTHERS = frozenset(
    "published issued posted written edited changed modified updated revised data timestamp".split()
)
#: Values that stand for the day on which a site is made, or for nothing. Templates have no dates either.
_NONE = frozenset("today now last-modified none null n/a tbd - – — yes no".split())
_TEMPLATES = ("{{", "<%", "{%", "${", "`", "%%")
_SIGNS = lazy(r"[-_\s:.]++")
#: The name of a file with a word and a number: `eip-20.md`, `pep-0008.rst`.
_NUMBERED = lazy(r"([A-Za-z]{2,8})[-_ ]?0{0,6}+(\d{1,6})")
_YEAR = lazy(r"\d{4}")


def series_of(path: str) -> str:
    """Return the word of a document that is one of a numbered series: `PEP` of `pep-0008.rst`, or ""."""
    number = _numbered(path)
    return number[1].upper() if number else ""


def _numbered(path: str) -> re.Match[str] | None:
    stem = path.rpartition("/")[2].rpartition(".")[0]
    return _NUMBERED.fullmatch(stem) if stem[-1:].isdigit() and stem[0].isalpha() else None


def _names(table: str) -> dict[str, int]:
    return {name.strip(): rank for rank, name in enumerate(table.split(","))}


_RANKS = {
    "date": _names(_WRITTEN),
    CHANGED: _names(_CHANGED),
    "": _names(_DATES),
    "author": _names(_AUTHORS),
    "alias": _names(_ALIASES),
}


@lru_cache(maxsize=2000)
def role_of(name: str) -> tuple[str, int] | None:
    """Return the field that a property makes, and its rank among those that do; None if it is no date.

    The field is "" if it makes none.
    """
    bare = _SIGNS.sub("", name)
    return next(((role, ranks[bare]) for role, ranks in _RANKS.items() if bare in ranks), None)


def is_dated(name: str) -> bool:
    """Tell whether a property of this name says when a text was written or changed."""
    known = role_of(fold(name))
    return known is not None and known[0] in ("date", CHANGED)


def interpreted(fields: Mapping[str, tuple[Value, ...]], path: str = "") -> dict[str, tuple[Value, ...]]:
    """Return the fields of a content with those that they mean: `date`, `changed`, `date.unread`.

    A text without a date on which it was written has the one on which it was changed. A number that the file
    at `path` is named for is an alias.
    """
    found = dict(fields)
    stated: dict[str, tuple[int, str]] = {}
    unread: list[Value] = []
    names: dict[str, dict[int, tuple[Value, ...]]] = {"author": {}, "alias": {}}
    for name, values in fields.items():
        if (known := role_of(name)) is None:
            continue
        role, rank = known
        if role in names:
            names[role][rank] = tuple(str(shown(value)) for value in values if not isinstance(value, bool))
            continue
        found[name] = tuple(map(as_date, values))
        if not role:
            continue
        if read := next(filter(None, (dates.read(shown(value)) for value in values)), None):
            stated[role] = min(stated.get(role, (rank, read)), (rank, read))
        else:
            unread += _unread(name, values)
    found |= _named(fields, names)
    if fields and (number := _numbered(path)):
        name, own = fold(number[1]), int(number[2])
        if name in fields and fields[name] == (own,):
            found["alias"] = tuple(dict.fromkeys((*found.get("alias", ()), f"{number[1].upper()} {own}")))
    found.pop("date", None)
    if written := stated.get("date") or stated.get(CHANGED):
        found["date"] = (written[1],)
    if changed := stated.get(CHANGED):
        found[CHANGED] = (changed[1],)
    if unread:
        found[UNREAD] = tuple(unread)
    return found


def _named(
    fields: Mapping[str, tuple[Value, ...]], names: Mapping[str, Mapping[int, tuple[Value, ...]]]
) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Yield the authors and aliases of a text: the first property with an author, and all aliases."""
    authors = names["author"]
    given, family = fields.get("author.name.given", ()), fields.get("author.name.family", ())
    if authors:
        yield "author", authors[min(authors)]
    elif given and len(given) == len(family):
        yield "author", tuple(f"{first} {last}" for first, last in zip(given, family, strict=True))
    if aliases := names["alias"]:
        yield "alias", tuple(dict.fromkeys(chain.from_iterable(aliases[rank] for rank in sorted(aliases))))


def omissions(fields: Mapping[str, tuple[Value, ...]]) -> Iterator[str]:
    """Yield what the interpretation of fields left out, a phrase each."""
    for value in fields.get(UNREAD, ()):
        yield f"a date that cannot be read, {value}"


def _unread(name: str, values: tuple[Value, ...]) -> Iterator[str]:
    """Yield the values of a property that should be dates: `date: soon`."""
    for value in values[:3]:
        text = shown(value).strip()
        if isinstance(value, bool) or text.lower() in _NONE or any(sign in text for sign in _TEMPLATES):
            continue
        if _SIGNS.sub("", name) not in _OTHERS or _YEAR.search(text):
            yield f"{name}: {text[:80]}"
