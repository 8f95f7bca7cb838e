"""Properties in the body of a Markdown text: `key:: value` of Logseq and Dataview, and heads of records.

Logseq writes the properties of a page into its first lines, those of a block below it, and notes of its own
among them. Dataview also reads `[key:: value]` in a sentence. Decision records have lines such as
`Status: accepted` below their title, or a section of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile

from qmd.text.front_matter import bare_tag, collect, scalar
from qmd.text.predicates import TAG, field_name
from qmd.text.regex import lazy
from qmd.text.spans import Closed
from qmd.text.values import Value, fold, shown
from qmd.types.states import REPLACED_BY, STATE_FIELDS, WORDS

#: A line `key:: value`, perhaps an item of a list, with emphasis around the key.
_LINE = lazy(
    r"^[ \t]*+(?:[-*+][ \t]++(?:\[.\][ \t]++)?+)?+[*_]{0,2}(?P<key>[^\W\d_][\w .\-/]{0,60}+)[*_]{0,2}::"
    r"[*_]{0,2}(?:[ \t]++(?P<value>[^\n]*+)|(?=\n|\Z))",
    re.MULTILINE,
)
#: `[key:: value]` and `(key:: value)` in a sentence.
_INLINE = lazy(
    r"[\[(](?P<key>[^\W\d_][\w .\-/]{0,60}+)::[ \t]++"
    r"(?P<value>(?:\[\[[^\[\]\n]{0,200}+\]\]|[^\[\]()\n]){1,300}+)[\])]"
)
#: Lines that Logseq writes for itself: not what anybody has written, and no text.
_OWN = lazy(
    r"^[ \t]*+(?:[-*+][ \t]++)?+(?:"
    r"(?:collapsed|created[-_]at|updated[-_]at|hl-(?:page|color|stamp|type)|ls-type|card-[\w-]{1,40}+"
    r"|logseq\.[\w.-]{1,60}+|query-(?:table|properties|sort-by|sort-desc)|exclude-from-graph-view"
    r"|background-color)::[^\n]*+"
    r"|id::[ \t]*+[0-9A-Fa-f][0-9A-Fa-f-]{5,}+[ \t]*+(?=\n|\Z)"
    r"|heading::[ \t]*+(?:true|false|\d)[ \t]*+(?=\n|\Z)"
    r"|:(?:LOGBOOK|END):[ \t]*+(?=\n|\Z)|CLOCK: ?\[[^\n]*+)",
    re.MULTILINE,
)
#: The metadata of a record, by the words before the colon.
_HEAD_KEYS: Mapping[str, str] = {
    **dict.fromkeys(("status", "state", "stand", "statut", "estado", "stato", "状态", "状態"), "status"),
    **dict.fromkeys(("date", "decision date", "created", "datum", "fecha", "日期"), "date"),
    **dict.fromkeys(("updated", "last updated", "last modified", "last reviewed"), "updated"),
    **dict.fromkeys(("author", "authors", "deciders", "decider", "decision makers"), "author"),
    **dict.fromkeys(("superseded by", "superceded by", "replaced by", "obsoleted by"), "superseded_by"),
    **dict.fromkeys(("supersedes", "supercedes", "replaces", "obsoletes"), "supersedes"),
}
#: A line of metadata: `Status: accepted`, `* **Date:** 2024-05-01`, `| Status | accepted |`.
_HEAD_LINE = lazy(
    r"[ \t]*+(?:[-*+>][ \t]++)?+[*_]{0,2}(?P<key>[^\W\d_][\w ]{0,30}+)"
    r"(?:[*_]{0,2}:(?!:)[*_]{0,2}[ \t]*+|[*_]{2}[ \t]++)(?P<value>[^\n]*+)"
    r"|\|[ \t]*+[*_]{0,2}(?P<cell>[^\W\d_][\w ]{0,30}?)[*_]{0,2}[ \t]*+\|[ \t]*+(?P<text>[^|\n]++)\|"
)
#: A heading from its last sign, which is found faster than the beginning of a line.
_STATUS_HEADING = lazy(
    r"\#[ \t]++(?:\d+\.?[ \t]++)?(?:status|stand|statut|estado|stato|状态|状態)[ \t#:]*+$", re.I | re.M
)
_MARKS = lazy(r"\#{0,5}")
_HEADING = lazy(r"\#{1,6}[ \t]")
_STATES = frozenset(fold(word) for words in WORDS.values() for word in words.split(", "))
_SUPERSEDES = ("supersedes ", "supercedes ", "replaces ", "obsoletes ")
#: The most characters of a title, and of a key below it.
_MAX_TITLE, _MAX_KEY = 300, 45
#: The most lines of a head, of a section on the status, and properties of a text.
_HEAD_LINES, _STATUS_LINES, _MOST = 30, 12, 2_000
#: References that make up a whole value: `[[Big Topic]], #small`.
_REFERENCES = lazy(r"(?:(?:#?\[\[[^\[\]\n]{1,200}+\]\]|#[^\s,#\[\]]{1,200}+)[ \t]*+,?[ \t]*+)++")
_ONE_REFERENCE = lazy(r"#?\[\[([^\[\]\n]{1,200}+)\]\]|#([^\s,#\[\]]{1,200}+)")
#: Properties of which a text between commas is one of several values.
_LISTS = frozenset((TAG, "alias", "author"))
_Entries = Sequence[tuple[str, tuple[Value, ...]]]


def without_own_lines(text: str, start: int, code: Callable[[str], Closed]) -> str:
    """Return a text in which the lines are empty that Logseq writes for itself. Numbers of lines stay.

    `code` returns the code of a text, and is called if it has such lines.
    """
    if ":LOGBOOK:" in text:
        found = [*_OWN.finditer(text, start)]
    else:
        lines = _lines_with_colons(text, start)
        found = [match for low, high in lines if (match := _OWN.match(text, low, high))]
    if not found:
        return text
    closed = code(text)
    parts, at = [], 0
    for match in found:
        if closed.end(match.start()) == match.start():
            parts.append(text[at : match.start()])
            at = match.end()
    return "".join((*parts, text[at:]))


def _lines_with_colons(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield [start, end) of each line that has `::`, which few texts have."""
    while (colons := text.find("::", start)) >= 0:
        low = max(start, text.rfind("\n", start, colons) + 1)
        feed = text.find("\n", colons)
        start = feed if feed >= 0 else len(text)
        yield low, start


def add_properties(
    fields: dict[str, tuple[Value, ...]], text: str, start: int, code: Closed
) -> tuple[dict[str, tuple[Value, ...]], str]:
    """Return fields with those of the body of a text, and the title that it states as a property, or "".

    A field of the front matter stays as it is; tags, aliases and links of both count.
    """
    listed = [*_properties(text, start, code)]
    title = next((written for key, written, of_page in listed if key == "title" and of_page), "")
    entries = [(key, written) for key, written, _ in listed if key != "title"]
    entries += _head(text, start)
    if not entries:
        return fields, title
    found = dict(fields)
    tags = dict.fromkeys(map(shown, fields.get(TAG, ())))
    read: list[tuple[str, tuple[Value, ...]]] = []
    for key, written in entries:
        name = field_name(key)
        values = tuple(_values(name, written))
        if name == TAG:
            tags.update(dict.fromkeys(bare_tag(str(value)) for value in values))
        elif values and (name not in fields or name == "alias"):
            read.append((name, values))
    for name, values in collect(read).fields.items():
        found[name] = tuple(dict.fromkeys((*fields.get(name, ()), *values)))
    if kept := tuple(tag for tag in tags if tag):
        found[TAG] = kept
    return found, title


def _properties(text: str, start: int, code: Closed) -> Iterator[tuple[str, str, bool]]:
    """Yield key, value, and whether it is a property of the page, of `key:: value` outside code."""
    matches: list[re.Match[str]] = []
    for low, high in _lines_with_colons(text, start):
        whole = _LINE.match(text, low, high)
        matches += [*([whole] if whole else []), *_INLINE.finditer(text, low, high)]
    page_end = start
    for match in matches[:_MOST]:
        if code.end(match.start()) > match.start():
            continue
        key, written = " ".join(match["key"].split()), (match["value"] or "").strip()
        of_page = not text[page_end : match.start()].strip() and match[0][0] not in "[("
        if of_page:
            page_end = match.end()
        if written:
            yield fold(key), written.strip("`") if written[:1] == "`" else written, of_page


def _head(text: str, start: int) -> Iterator[tuple[str, str]]:
    """Yield the metadata below the title of a record or page, and in a section on its status.

    Without a status a text is no record, and what looks like metadata is text.
    """
    titled = False
    found: list[tuple[str, str]] = []
    for line in text[start : start + 4_000].split("\n")[:_HEAD_LINES]:
        if not line.strip():
            continue
        if _HEADING.match(line):
            if titled:
                break
            titled = True
            continue
        match = _HEAD_LINE.match(line)
        key = fold(" ".join((match["key"] or match["cell"] or "").split())) if match else ""
        if match is None:
            if line[:1] in "|<-=!" or line.startswith(("import ", "export ")):
                continue
            break
        if name := _HEAD_KEYS.get(key):
            found += _said(name, (match["value"] or match["text"] or "").strip(" \t*_`"))
    for written in _status_lines(text, start):
        found += _said("", written)
    if any(name in ("status", "supersedes", "superseded_by") for name, _ in found):
        yield from found
    if (place := _below_title(text, start)) >= 0:
        from qmd.text.header_lines import lines_at

        yield from lines_at(text, place)


def _below_title(text: str, start: int) -> int:
    """Return the place of a line below the first heading that may be a property of Notion; -1 if none is."""
    while text[start : start + 1].isspace():
        start += 1
    place = text.find("\n", start, start + _MAX_TITLE) if text.startswith("# ", start) else -1
    if place < 0:
        return -1
    while text[place : place + 1].isspace():
        place += 1
    colon = text.find(":", place, place + _MAX_KEY)  # most texts go on otherwise
    return -1 if colon < 0 or "\n" in text[place:colon] else place


def _status_lines(text: str, start: int) -> Iterator[str]:
    """Yield the lines of the first section on the status of a record."""
    for section in _STATUS_HEADING.finditer(text, start):
        if _MARKS.fullmatch(text, text.rfind("\n", 0, section.start()) + 1, section.start()):
            lines = text[section.end() + 1 : section.end() + 2_000].split("\n")[:_STATUS_LINES]
            own = takewhile(lambda line: not _HEADING.match(line), lines)
            yield from filter(None, (line.strip(" \t*_-+`>.") for line in own))
            return


def _said(name: str, written: str) -> Iterator[tuple[str, str]]:
    """Yield what a line of metadata says. In a section on the status, only states count."""
    plain = fold(written.rstrip("."))
    if name not in ("", "status"):
        if written:
            yield name, written
    elif plain.startswith(_SUPERSEDES):
        yield "supersedes", written.partition(" ")[2]
    elif plain.startswith(REPLACED_BY) or plain in _STATES:
        yield "status", written.rstrip(".") if plain in _STATES else written
    elif name and 0 < len(plain) <= 40:
        yield "status", written


def _values(name: str, written: str) -> Iterator[Value]:
    """Yield the values of a property: references by their names, texts of lists apart, or the text."""
    if STATE_FIELDS.get(name) not in ("supersedes", "superseded_by") and _REFERENCES.fullmatch(written):
        yield from (link or tag for link, tag in _ONE_REFERENCE.findall(written))
    elif name in _LISTS:
        for part in written.split(","):
            reference = _ONE_REFERENCE.fullmatch(part.strip())
            if value := ((reference[1] or reference[2]) if reference else part.strip().strip("\"'")):
                yield value
    elif (value := scalar(written)) is not None:
        yield value
