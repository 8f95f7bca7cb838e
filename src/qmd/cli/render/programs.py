"""The formats for programs: JSON, CSV, Markdown, XML, and names only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import to_builtins

from qmd.cli.render.entries import Entry, hit_entry, page_entry, with_note
from qmd.cli.render.rows import Listing, Writer, program_text
from qmd.cli.render.view import View
from qmd.cli.terminal import clean_name, cut, one_line
from qmd.text.anchors import LINE
from qmd.text.regex import lazy
from qmd.types import Hit
from qmd.types.notes import OF_SEARCHES, TOGETHER, shown

if TYPE_CHECKING:
    from qmd.engine.documents.pages import Page, Skipped
    from qmd.types import Anchor, Document, Snippet

_SPECIAL = frozenset(',"\n\r')
#: A spreadsheet reads a text that starts with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: XML 1.0 does not allow these characters.
_FORBIDDEN = lazy("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
# A parser replaces line feeds and tabs in attributes by spaces, unless they are escaped.
_IN_ATTRIBUTE = _IN_TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def dumps(value: Any) -> str:
    """Return a value, in which there may be structs, as indented JSON with a line feed at the end."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=to_builtins) + "\n"


def json_hits(hits: Sequence[Hit], view: View) -> list[dict[str, Any]]:
    """Return hits as objects; scores have two decimals."""
    return [_json_hit(hit_entry(hit, view)) for hit in hits]


def _json_hit(entry: Entry) -> dict[str, Any]:
    if entry.content == "note":
        return {"note": entry.text}
    notes = shown(entry.notes, "hit")
    return _without_none(
        docid=entry.docid,
        score=round(entry.score, 2),
        file=entry.file,
        line=entry.line,
        anchor=_json_anchor(entry.anchor),
        title=entry.title,
        section=entry.section,
        context=entry.context,
        **{note.key: note.data for note in notes if not note.quotes},
        **{entry.content: entry.text},
        passages=[*map(_json_passage, entry.passages)] or None,
        **{note.key: _json_quoted(note.data) for note in notes if note.quotes},
        explain=_rounded(entry.explain),
    )


def _json_passage(passage: Snippet) -> dict[str, Any]:
    section, score = passage.section or None, round(passage.score, 2)
    return _without_none(line=passage.line, section=section, score=score, text=passage.text)


def _json_quoted(passage: Snippet) -> dict[str, Any]:
    return _without_none(line=passage.line, section=passage.section or None, text=passage.text)


def json_page(item: Page | Skipped, view: View) -> dict[str, Any]:
    """Return a document, the commit that it is from if it is that of a date, and the note, as an object."""
    commit = getattr(item, "commit", None)
    return _json_page(page_entry(item, view)) | _without_none(commit=commit, note=view.note or None)


def _json_page(entry: Entry) -> dict[str, Any]:
    if entry.content == "note":
        return {"note": entry.text}
    return _without_none(
        file=entry.file,
        docid=entry.docid,
        title=entry.title,
        skipped=entry.skipped or None,
        context=entry.context,
        line=entry.line,
        anchor=_json_anchor(entry.anchor),
        total_lines=entry.total_lines,
        **{note.key: note.data for note in shown(entry.notes, "hit")},
        **{entry.content: entry.text},
    )


def _json_anchor(anchor: Anchor | None) -> dict[str, Any] | None:
    return None if anchor is None else {"kind": anchor.kind, "value": anchor.value}


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _rounded(value: Any) -> Any:
    """Round numbers to six decimals, at any depth."""
    match value:
        case float():
            return round(value, 6)
        case Mapping():
            return {key: _rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
    return value


def _json_listing(listing: Listing) -> str:
    return dumps([{column.name: row[column.name] for column in listing.columns} for row in listing.rows])


def _csv_hits(entries: Sequence[Entry]) -> str:
    rows = [
        (entry.docid, f"{entry.score:.4f}", entry.file, entry.title, entry.context, entry.line, entry.text)
        if entry.content != "note"
        else (*[None] * 6, entry.text)
        for entry in entries
    ]
    return _csvwith_note(("docid", "score", "file", "title", "context", "line", "snippet"), rows, entries)


def _csv_pages(entries: Sequence[Entry]) -> str:
    rows = [
        (entry.docid, entry.file, entry.title, entry.context, entry.skipped, entry.text) for entry in entries
    ]
    return _csvwith_note(("docid", "file", "title", "context", "skipped", "body"), rows, entries)


def _csvwith_note(heading: Sequence[str], rows: Sequence[Sequence[Any]], entries: Sequence[Entry]) -> str:
    """Add columns that are only there if they have values, because programs may count columns."""
    found = [{note.key: note.cell for note in entry.notes} for entry in entries]
    had = {key for cells in found for key in cells}
    had |= {*TOGETHER} if had.intersection(TOGETHER) else set()
    kinds = {type(note): None for entry in entries for note in entry.notes} | dict.fromkeys(OF_SEARCHES)
    columns = [kind for kind in shown([*kinds], "columns") if kind.key in had]
    more = [[cells.get(kind.key, kind.nothing) for kind in columns] for cells in found]
    first = (*heading, *(kind.key for kind in columns))
    return _csv([first, *((*row, *added) for row, added in zip(rows, more, strict=True))])


def _csv_listing(listing: Listing) -> str:
    names = [column.name for column in listing.columns]
    return _csv([names, *([row[name] for name in names] for row in listing.rows)])


def _csv(rows: Sequence[Sequence[Any]]) -> str:
    """Return rows quoted as in RFC 4180, with line feeds as row ends.

    No text is read as a formula by a spreadsheet; numbers stay numbers.
    """
    lines = []
    for row in rows:
        texts = [
            f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else program_text(value)
            for value in row
        ]
        lines.append(",".join(map(_cell, texts)) + "\n")
    return "".join(lines)


def _cell(text: str) -> str:
    return text if _SPECIAL.isdisjoint(text) and text == text.strip() else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _files(entries: Sequence[Entry], *, scores: bool) -> str:
    lines = []
    for entry in entries:
        if entry.content == "note":
            lines.append(f"[{entry.text}]\n")
            continue
        cells = [] if entry.docid is None else [entry.docid]
        cells += [f"{entry.score:.2f}"] if scores else []
        cells.append(_cell(entry.file))
        if entry.context:
            # Always quoted, and without line breaks, because each line is one document.
            cells.append(_quoted(one_line(entry.context, terminal=False)))
        cells += ["[SKIPPED]"] * entry.skipped
        for note in shown(entry.notes, "attributes"):
            line = one_line(": ".join(filter(None, (note.label, note.line))), terminal=False)
            cells.append(_quoted(line) if note.line else f"[{note.key.upper()}]")
        lines.append(",".join(cells) + "\n")
    return "".join(lines)


def _names(items: Sequence[Hit | Page | Skipped], view: View) -> str:
    return "".join(f"{_name(item, view)}\n" for item in items)


def _name(item: Hit | Page | Skipped, view: View) -> str:
    return clean_name(view.address(_document(item)))


def _document(item: Hit | Page | Skipped) -> Hit | Document:
    return item if isinstance(item, Hit) else item.document


#: A document, and a line of it with its number.
_Row: TypeAlias = "tuple[Hit | Page | Skipped, int, str]"


def _passage_rows(hits: Iterable[Hit]) -> Iterator[_Row]:
    """Yield the line of each passage that matches."""
    for hit in hits:
        for place in hit.passages or (hit.snippet,):
            texts, at = place.text.split("\n"), max(0, place.line - place.first_line)
            # The lines of source code are those of the file.
            line = hit.anchor.value if hit.anchor is not None and hit.anchor.kind == LINE else place.line
            yield hit, line, texts[min(at, len(texts) - 1)]


def _page_rows(items: Iterable[Page | Skipped]) -> Iterator[_Row]:
    return ((item, getattr(item, "first_line", 1), item.document.title) for item in items)


def _vimgrep(rows: Iterable[_Row], view: View) -> str:
    return "".join(f"{_name(item, view)}:{line}:1:{_in_line(text, view)}\n" for item, line, text in rows)


def _short(rows: Iterable[_Row], view: View) -> str:
    """Return the address with the line, the title and the text of each row, with tabs between them."""
    lines = (
        "\t".join(
            (f"{_name(item, view)}:{line}", _in_line(_document(item).title, view), _in_line(text, view))
        )
        for item, line, text in rows
    )
    return "".join(f"{cut(line, view.width) if view.terminal else line}\n" for line in lines)


def _in_line(text: str, view: View) -> str:
    return one_line(view.shown(text.replace("\t", " ")), terminal=view.terminal)


def _files_listing(listing: Listing) -> str:
    return "".join(",".join(map(_cell, row)) + "\n" for row in _keys(listing))


def _names_listing(listing: Listing, view: View) -> str:
    return view.written("".join(f"{row[-1]}\n" for row in _keys(listing)))


def _keys(listing: Listing) -> list[list[str]]:
    names = listing.key_columns
    return [[one_line(program_text(row[name]), terminal=False) for name in names] for row in listing.rows]


def _markdown(entries: Sequence[Entry]) -> str:
    sections = []
    for entry in entries:
        if entry.content == "note":
            sections.append(f"---\n\n*{entry.text}*\n")
            continue
        place = entry.anchor and f"{entry.anchor.kind} {entry.anchor.value}"
        values = {"file": entry.file, "docid": entry.docid, "place": place, "section": entry.section}
        values |= {"context": entry.context}
        values |= {note.key: note.line or "yes" for note in shown(entry.notes, "markdown")}
        fields = [f"**{name}:** {one_line(text, terminal=False)}" for name, text in values.items() if text]
        text = f"*{entry.text}*" if entry.skipped else entry.text.rstrip("\n")
        title = f"# {one_line(entry.title, terminal=False)}"
        sections.append("\n".join(["---", title, *fields, "", text, ""]))
    return "\n".join(sections)


def _markdown_listing(listing: Listing) -> str:
    if not listing.rows:
        return ""
    columns = listing.columns
    texts = [
        [one_line(program_text(row[column.name]), terminal=False) for column in columns]
        for row in listing.rows
    ]
    lines = [
        [column.name for column in columns],
        ["---:" if column.right else "---" for column in columns],
        *([text.replace("\\", "\\\\").replace("|", "\\|") for text in row] for row in texts),
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _xml(root: str, entries: Sequence[Entry]) -> str:
    elements = []
    for entry in entries:
        if entry.content == "note":
            elements.append(_element("note", {}, entry.text) + "\n")
            continue
        attributes = {"docid": entry.docid, "name": entry.file, "title": entry.title}
        attributes |= {"context": entry.context}
        if root == "results":
            attributes |= {"score": f"{entry.score:.2f}", "line": str(entry.line), "section": entry.section}
        attributes |= {
            "anchor": None if entry.anchor is None else entry.anchor.address,
            "skipped": "true" if entry.skipped else None,
            **{note.key: note.line or "true" for note in shown(entry.notes, "attributes")},
        }
        elements.append(_element("file", attributes, f"\n{entry.text}\n") + "\n")
    return _xml_document(root, elements)


def _xml_listing(listing: Listing) -> str:
    """Return one element per row that contains one per column, without columns whose value is None."""
    rows = [
        "".join(_values(column.name, row[column.name]) for column in listing.columns) for row in listing.rows
    ]
    return _xml_document(listing.root, [f"<{listing.row}>{row}</{listing.row}>\n" for row in rows])


def _xml_document(root: str, elements: Sequence[str]) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}>\n{"".join(elements)}</{root}>\n'


def _values(name: str, value: Any, key: str | None = None) -> str:
    """Return an element, or one for each item of a list or mapping, with the key as `name`."""
    match value:
        case None:
            return ""
        case Mapping():
            return "".join(_values(name, each, str(part)) for part, each in value.items())
        case list() | tuple():
            return "".join(
                f"<{name}>{''.join(_values(part, one) for part, one in each.items())}</{name}>"
                if isinstance(each, Mapping)
                else _values(name, each)
                for each in value
            )
    return _element(name, {"name": key}, program_text(value))


def _element(name: str, attributes: Mapping[str, str | None], text: str) -> str:
    given = "".join(
        f' {key}="{_FORBIDDEN.sub("", value).translate(_IN_ATTRIBUTE)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{_FORBIDDEN.sub('', text).translate(_IN_TEXT)}</{name}>"


def _writer(
    hits: Callable[[Sequence[Entry]], str],
    pages: Callable[[Sequence[Entry]], str],
    listing: Callable[[Listing], str],
    *,
    escapes: bool = False,
) -> Writer:
    """Make a writer of functions that do not know the view; `escapes` if the format has its own."""

    def seen(view: View) -> View:
        return view.replaced(terminal=False, escapes=view.escapes and not escapes)

    return Writer(
        lambda found, view: view.written(
            hits(with_note([hit_entry(hit, seen(view)) for hit in found], view))
        ),
        lambda items, view: view.written(
            pages(with_note([page_entry(item, seen(view)) for item in items], view))
        ),
        lambda rows, view: view.written(listing(rows)),
    )


def _of_lines(lines: Callable[[Iterable[_Row], View], str]) -> Writer:
    """Make a writer of a function of rows."""
    return Writer(
        lambda hits, view: lines(_passage_rows(hits), view),
        lambda items, view: lines(_page_rows(items), view),
        _names_listing,
    )


#: By the name that `--format` takes.
WRITERS = {
    "json": _writer(
        lambda entries: dumps([*map(_json_hit, entries)]),
        lambda entries: dumps([*map(_json_page, entries)]),
        _json_listing,
        escapes=True,
    ),
    "csv": _writer(_csv_hits, _csv_pages, _csv_listing),
    "md": _writer(_markdown, _markdown, _markdown_listing),
    "xml": _writer(partial(_xml, "results"), partial(_xml, "documents"), _xml_listing),
    "files": _writer(partial(_files, scores=True), partial(_files, scores=False), _files_listing),
    "names": Writer(_names, _names, _names_listing),
    "vimgrep": _of_lines(_vimgrep),
    "short": _of_lines(_short),
}
