"""Makes docs/python.md from the docstrings of the public names: `python tools/make_python_docs.py`.

A test compares the page with what this makes. `stub` gives the same names as Python source without bodies,
which `tests/stable` keeps for each version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import griffe

import qmd

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "python.md"
#: Names by heading. Errors and what is listed nowhere else come last.
SECTIONS = {
    "Index": ["open_index", "Index"],
    "Requests": ["SearchRequest", "TypedSearch"],
    "Results of searches": ["SearchResponse", "Hit", "Snippet", "Stage", "Why"],
    "Documents": ["Document", "Page", "Pages", "Skipped", "Author", "Collection"],
    "Archive": ["open_archive", "Archive", "AuthorPosts", "Match", "Matches", "Post", "PostText"],
}
#: Names of modules that the public ones refer to, or that packages with plugins use.
OTHERS = {
    "Requests": {
        "qmd.engine.requests": [
            "FilterOptions",
            "SearchOptions",
            "VectorSearchOptions",
            "HybridSearchOptions",
        ]
    },
    "Results of searches": {"qmd.types": ["ValueCount"]},
    "Documents": {"qmd.types": ["FieldSummary", "ResolvedLink", "Section"]},
    "For plugins": {"qmd.types": ["Extracted", "Link", "Anchor"]},
}
INTRODUCTION = """\
# Python

```python
import qmd

with qmd.open_index("notes.sqlite") as index:
    index.add_collection("~/notes")
    index.embed()
    answer = index.query("how do I get my data back", limit=3, after="2026")
    for hit in answer.hits:
        print(f"{hit.score:.2f} {hit.file}:{hit.line} {hit.title}")
    for stage in answer.stages:
        print(stage.stage, stage.status, stage.reason or "")
```

`qmd.open_index()` without arguments opens the index that the command line uses. All names on this page are
imported from `qmd`, unless their module is given. They are stable, and others are not:
[Stability](stability.md) says how.
"""


@cache
def package() -> Any:
    """The package as griffe reads it, without importing it."""
    return griffe.load("qmd", search_paths=[ROOT / "src"], resolve_aliases=True)


def names() -> dict[str, list[tuple[str, Any]]]:
    """By heading: (how the name is imported, what it is)."""
    rest = set(qmd.__all__) - {name for listed in SECTIONS.values() for name in listed} - {"__version__"}
    errors = {name for name in rest if name.endswith("Error")}
    sections = {**SECTIONS, "Reports": sorted(rest - errors), "For plugins": [], "Errors": sorted(errors)}
    found = {
        heading: [(f"qmd.{name}", package()[name].final_target) for name in listed]
        for heading, listed in sections.items()
    }
    for heading, modules in OTHERS.items():
        for module, listed in modules.items():
            inner = package()[module.removeprefix("qmd.")]
            found[heading] += [(f"{module}.{name}", inner[name]) for name in listed]
    return found


def members(item: Any) -> Iterator[tuple[str, Any]]:
    """The public members of a class, inherited ones included: fields, properties and methods."""
    # Own members first, then inherited ones.
    for name, member in {**item.members, **item.all_members}.items():
        member = member.final_target if member.is_alias else member
        # Attributes that are only set in a method are no fields.
        field = member.is_attribute and (member.annotation is not None or "property" in member.labels)
        if not name.startswith("_") and (field or member.is_function) and member.lineno:
            if member.is_attribute and member.parent.is_function:
                continue
            yield name, member


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for heading, listed in names().items():
        parts.append(f"## {heading}\n")
        for path, item in listed:
            parts += _described(path, item)
    return "\n".join(parts)


def stub() -> str:
    """The public names as Python source without docstrings and bodies, in alphabetical order."""
    lines = []
    for path, item in sorted(
        (pair for listed in names().values() for pair in listed), key=lambda pair: pair[0]
    ):
        lines += [f"# {path}"]
        if item.is_function:
            lines.append(f"def {_signature(item)}: ...")
            continue
        bases = ", ".join(str(base) for base in item.bases if not str(base).endswith("Methods"))
        # Two modules may have the same name.
        name = path.removeprefix("qmd.").replace(".", "_")
        lines.append(f"class {name}({bases}):" if bases else f"class {name}:")
        body = [line for name, member in sorted(members(item)) for line in _stub(name, member)]
        lines += [f"    {line}" for line in body or ["pass"]]
    return "\n".join(lines) + "\n"


def _stub(name: str, member: Any) -> list[str]:
    if member.is_function:
        marks = [f"@{label}" for label in ("staticmethod", "classmethod") if label in member.labels]
        return [*marks, f"def {_signature(member)}: ..."]
    if "property" in member.labels:
        return ["@property", f"def {name}(self) -> {member.annotation}: ..."]
    default = "" if member.value is None else f" = {member.value}"
    return [f"{name}: {member.annotation}{default}"]


def _signature(item: Any) -> str:
    return re.sub(r"\s+", " ", item.signature())


def _described(path: str, item: Any) -> Iterator[str]:
    module, _, name = path.rpartition(".")
    yield f"### {name}\n"
    if module != "qmd":
        yield f"`from {module} import {name}`\n"
    if item.is_function:
        yield f"```text\n{item.signature()}\n```\n"
        yield from _docstring(item)
        return
    yield from _docstring(item)
    listed = list(members(item))
    described = {path.rpartition(".")[2] for each in names().values() for path, _ in each}
    bases = [base for base in item.resolved_bases if base.name in described]
    if bases:
        # Inherited members are described with the class that has them.
        inherited = {member.path for base in bases for _, member in members(base)}
        listed = [(name, member) for name, member in listed if member.path not in inherited]
        links = ", ".join(f"[`{base.name}`](#{base.name.lower()})" for base in bases)
        yield f"Extends {links}.\n"
    fields = [
        (name, str(member.annotation), _comment(member)) for name, member in listed if not member.is_function
    ]
    if any(comment for _, _, comment in fields):
        rows = [f"| `{name}` | `{_cell(kind)}` | {_cell(comment)} |" for name, kind, comment in fields]
        yield "\n".join(["| | type | |", "|---|---|---|", *rows]) + "\n"
    elif fields:
        yield f"Fields: {', '.join(f'`{name}: {kind}`' for name, kind, _ in fields)}.\n"
    for _, member in listed:
        if member.is_function:
            yield f"```text\n{member.signature()}\n```\n"
            yield from _docstring(member)


def _docstring(item: Any) -> Iterator[str]:
    if item.docstring is None:
        return
    for section in item.docstring.parse("google", warnings=False):
        kind = section.kind.value
        if kind == "text":
            yield section.value + "\n"
        elif kind in ("parameters", "attributes"):
            yield "\n".join(f"- `{each.name}`: {_line(each.description)}" for each in section.value) + "\n"
        elif kind == "raises":
            yield (
                "Raises:\n\n"
                + "\n".join(f"- `{each.annotation}`: {_line(each.description)}" for each in section.value)
                + "\n"
            )


def _comment(member: Any) -> str:
    """The description of a field: its docstring, or the comment `#:` beside or above it."""
    if member.docstring is not None:
        return _line(member.docstring.value)
    source = member.filepath.read_text(encoding="utf-8").splitlines()
    line = source[member.lineno - 1]
    if "#: " in line:
        return line.partition("#: ")[2]
    above: list[str] = []
    for text in reversed(source[: member.lineno - 1]):
        if not text.strip().startswith("#: "):
            break
        above.insert(0, text.strip().removeprefix("#: "))
    return " ".join(above)


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
