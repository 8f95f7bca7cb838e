"""Makes docs/options.md, the options and operations of every interface: `python tools/make_options_docs.py`.

An interface may lack an option only for a reason that stands here. Tests compare the page with this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from qmd.api.operation import Operation
from qmd.api.reading import fields_of
from qmd.api.table import TABLE
from qmd.cli.app import app
from qmd.features.evidence.packs import PackRequest
from qmd.features.page.search import Wishes
from qmd.mcp.tools import TOOLS
from qmd.search_options import OF_HITS, SEARCH_OPTIONS, SearchKind, names_of

PAGE = Path(__file__).parent.parent / "docs" / "options.md"
KINDS: tuple[SearchKind, ...] = ("search", "vsearch", "query")
Kind = SearchKind | Literal["pack"]
ROWS: Mapping[str, Operation] = {row.run.__name__: row for row in TABLE}
#: What the parameters of the page are called otherwise. It has no other options.
ON_PAGE = {"query": "query", "sort": "sort", "limit": "limit", "offset": "offset", "scores": "explain"}

COSTS = "every argument costs tokens in every session of an agent; filters can be typed in the query"
FOR_PEOPLE = "the page is for people: filters are typed or chosen, and the rest is as configured"
TYPED = "the query may have several lines, each with its type"
NAMED = "the document is the path of the address: `filter=path:ops/`"
ONE = "one `collection`"
NO_TOOL = "no tool, because each costs tokens in every session: `query` with words of the document"
BESIDE = "the page shows some beside each document"
NO_PACKS = "packs are for programs and agents"
Reasons = Mapping[str, Mapping[str, str]]
#: Why an interface lacks an option, by interface and option; "" stands for all others.
REASONS: Reasons = {
    "command line": {"searches": TYPED},
    "HTTP": {},
    "MCP": {"": COSTS},
    "page": {"facets": "the page always shows facets, and more results on request", "": FOR_PEOPLE},
}
#: The tables by heading: the kinds of searches, and the reasons.
TABLES: Mapping[str, tuple[Sequence[Kind], Reasons]] = {
    "Options": (KINDS, REASONS),
    "Options of `similar`": (
        ("similar",),
        {
            "command line": {},
            "HTTP": {"path": NAMED, "collections": ONE},
            "MCP": {"": NO_TOOL},
            "page": {"": BESIDE},
        },
    ),
    "Options of `pack`": (
        ("pack",),
        {"command line": {"searches": TYPED}, "HTTP": {}, "MCP": {"": COSTS}, "page": {"": NO_PACKS}},
    ),
}
_TOP = """\
# Options of searches, and operations, by interface

What is described here once is the same everywhere: the options are fields of `SearchRequest` in
[Python](python.md), the defaults and limits are those of [HTTP](http.md), and `qmd search --help` explains
them for people. A dash has its reason below.
"""


def faces(kind: Kind) -> dict[str, set[str]]:
    """The options of a kind of search by interface; `query` is also that of a pack, or a document."""
    typed = {each.to.removeprefix("no_") for each in app.find(kind).parameters}
    tool = TOOLS.get("query" if kind == "pack" else kind)
    unknown = {*Wishes.__struct_fields__} - {*ON_PAGE, "mode", "typing"}
    assert not unknown, f"parameters of the page to be named here: {unknown}"
    packed = {*PackRequest.__struct_fields__} - {"search"}
    return {
        "Python": {"query", *(names_of("query") - {*OF_HITS} | packed if kind == "pack" else names_of(kind))},
        "command line": typed - {"text", "document"} | {"query"},
        "HTTP": {item.name for item in fields_of(ROWS[kind].arguments)} - _document(kind) | {"query"},
        "MCP": set() if tool is None else {item.name for item in fields_of(tool.about.arguments)},
        "page": {*ON_PAGE.values()} if kind in KINDS else set(),
    }


def _document(kind: Kind) -> set[str]:
    return {"path"} if kind == "similar" else set()


def lacking(kinds: Sequence[Kind], reasons: Reasons) -> Iterator[tuple[str, str, str | None]]:
    """Each interface and option that it lacks in a kind of search that has it in Python, and the reason."""
    for option in options(kinds):
        for face, given in reasons.items():
            having = [kind for kind in kinds if option in faces(kind)["Python"]]
            if any(option not in faces(kind)[face] for kind in having):
                yield face, option, given.get(option, given.get(""))


def options(kinds: Sequence[Kind]) -> list[str]:
    """The options of some kinds of searches, in order."""
    of_kinds = set().union(*(faces(kind)["Python"] for kind in kinds))
    names = [*SEARCH_OPTIONS, *PackRequest.__struct_fields__]
    return [name for name in names if name in of_kinds]


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _TOP
    for heading, (kinds, reasons) in TABLES.items():
        yield f"## {heading}\n"
        yield from _table(kinds, reasons)
        yield ""
    yield "`collection` of HTTP and MCP is one name in place of `collections`.\n"
    yield "## Operations\n"
    yield (
        "A server refuses changes to keys that may only read, and some operations to keys that are limited\n"
        "to some collections. Changes have a line in the audit log.\n"
    )
    yield "| HTTP | command | MCP | changes the index | needs a key for all collections |"
    yield "|---|---|---|---|---|"
    for row in TABLE:
        command = "" if row.command is None else f"`qmd {row.command}`"
        tool = "" if row.tool is None else f"`{row.run.__name__}`"
        marks = ("yes" if row.writes else "", "yes" if row.everything else "")
        yield f"| `{row.method} {row.path}` | {command} | {tool} | {' | '.join(marks)} |"


def _table(kinds: Sequence[Kind], why: Reasons) -> Iterator[str]:
    gaps = {(face, option): reason for face, option, reason in lacking(kinds, why)}
    reasons = [*dict.fromkeys(str(reason) for reason in gaps.values())]
    heads, lines = ("option", *(["of"] if kinds[1:] else []), "Python", *why), []
    for option in options(kinds):
        having = [kind for kind in kinds if option in faces(kind)["Python"]]
        cells = [
            f"– ({reasons.index(str(gaps[face, option])) + 1})" if (face, option) in gaps else "yes"
            for face in why
        ]
        of = "all" if len(having) == len(kinds) else ", ".join(f"`{kind}`" for kind in having)
        lines.append((f"`{option}`", *([of] if kinds[1:] else []), "yes", *cells))
    yield f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(line)} |" for line in lines)
    yield ""
    yield from (f"{number}. {reason}." for number, reason in enumerate(reasons, 1))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
