"""The file of pins and marks beside `index.yml`: which documents the user chose, or judged, for a query.

```yaml
- query: "how do I deploy"
  pin: ["notes/ops/deploy.md"]
  good: ["notes/ops/checklist.md"]
  bad: ["notes/old/deploy.md"]
```

The file may come with somebody else's project, so its size and everything in it is bounded. Every public
function raises `ConfigError` if the file is broken.
"""

# os.path instead of pathlib, see `paths`.

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from msgspec import Struct, field, json

from qmd.config.atomic import locked, replace_file
from qmd.config.index_yml import read_bytes
from qmd.errors import ConfigError
from qmd.text.regex import lazy

MarkKind = Literal["pin", "good", "bad"]
KINDS: tuple[MarkKind, ...] = get_args(MarkKind)
MAX_BYTES = 200_000
#: The most queries, documents of each kind for a query, and characters of a query and of a path.
MAX_QUERIES, MAX_DOCUMENTS, MAX_QUERY, MAX_PATH = 1_000, 20, 1_000, 2_000
_HEADER = """\
# Which documents you pinned to a query, and which results you marked as good or bad. See 'qmd mark list'.
# Searches show pinned documents first.
"""
_HEADER_LINES = tuple(_HEADER.splitlines())
#: A line as `write` makes it. Such files are read without the parser, which would take longer than a search.
_LINE = lazy(r"(- |  )(query|pin|good|bad): (.+)")
#: No key of a YAML mapping that is read as text.
_COMMENT = "\0comment"


class MarkEntry(Struct, frozen=True):
    """The pins and marks of a query: display paths by kind. `comment` has the comment lines above it."""

    query: str
    files: Mapping[MarkKind, tuple[str, ...]] = field(default_factory=dict)
    comment: str = ""


def read(path: str) -> bytes:
    """Return the bytes of the file, b"" if it does not exist."""
    data = read_bytes(path, MAX_BYTES)
    if len(data) > MAX_BYTES:
        told = f"{path}: larger than {MAX_BYTES // 1000} kB."
        raise ConfigError(told, "remove marks: 'qmd mark remove QUERY'")
    return data


def parse(data: bytes, path: str) -> tuple[MarkEntry, ...]:
    """Return the entries of the file at `path`."""
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _broken(path, f"line {line}: not UTF-8") from error
    rows = _plain_rows(text)
    entries = [_entry(row, number, path) for number, row in enumerate(_rows(text, path, rows), 1)]
    if len(entries) > MAX_QUERIES:
        raise _broken(path, f"more than {MAX_QUERIES:,} queries")
    return tuple(entries)


def edit(path: str, change: Callable[[tuple[MarkEntry, ...]], tuple[MarkEntry, ...]]) -> bytes:
    """Change the entries under a lock, replace the file atomically, and return its bytes.

    Comments above entries stay. Raises `BusyError` if another process holds the lock.
    """
    with locked(path) as target:
        before = read(path)
        entries = change(parse(before, path))
        data = _written(entries)
        parse(data, path)  # the limits hold for what is written, too
        if len(data) > MAX_BYTES:
            raise _broken(path, f"it would be larger than {MAX_BYTES // 1000} kB; remove marks first")
        if parse(before, path) != entries:
            replace_file(target, data)
            return data
        return before


def _written(entries: tuple[MarkEntry, ...]) -> bytes:
    from qmd.config.yaml_text import quoted

    lines = [_HEADER]
    for entry in entries:
        lines.append(f"{entry.comment}- query: {quoted(entry.query)}\n")
        lines += [f"  {kind}: {quoted([*files])}\n" for kind, files in entry.files.items() if files]
    return "".join(lines).encode()


def _plain_rows(text: str) -> list[dict[str, Any]] | None:
    """Return the entries of a file that looks as `_written` writes it; None if it looks otherwise."""
    rows: list[dict[str, Any]] = []
    comment = ""
    for line in text.split("\n"):
        if not line.strip() or line.startswith("#"):
            # Former versions wrote more after it.
            comment += f"{line}\n" if line.strip() and not line.startswith(_HEADER_LINES) else ""
            continue
        match = _LINE.fullmatch(line)
        if match is None or (match[1] == "  " and (not rows or match[2] in rows[-1])):
            return None
        try:
            value = json.decode(match[3])
        except (ValueError, RecursionError):
            return None
        if match[1] == "- ":
            rows.append({_COMMENT: comment} if comment else {})
            comment = ""
        rows[-1][match[2]] = value
    return rows


def _rows(text: str, path: str, rows: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Return the entries as mappings, by the YAML parser unless they are known."""
    if rows is not None:
        return rows
    from qmd.config.yaml_nodes import Node, compose

    def value_of(node: Node) -> Any:
        if node.kind == "list":
            return [value_of(item) for item in node.items]
        return node.text if node.kind == "text" else None

    root = compose(text, path)
    if root is None or root.kind == "null":
        return []
    if root.kind != "list" or any(item.kind != "mapping" for item in root.items):
        raise _broken(path, "not a list of queries with their documents")
    return [{entry.key.text: value_of(entry.value) for entry in item.entries} for item in root.items]


def _entry(row: Mapping[str, Any], number: int, path: str) -> MarkEntry:
    query = row.get("query")
    if not isinstance(query, str) or not query.strip() or len(query) > MAX_QUERY:
        raise _broken(path, f"entry {number} needs a 'query' of at most {MAX_QUERY:,} characters")
    unknown = [key for key in row if key not in ("query", _COMMENT, *KINDS)]
    if unknown:
        raise _broken(path, f"entry {number} has an unknown key '{unknown[0][:40]}'")
    files: dict[MarkKind, tuple[str, ...]] = {}
    for kind in KINDS:
        value = row.get(kind, [])
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(map(_is_path, values)) or len(values) > MAX_DOCUMENTS:
            raise _broken(path, f"entry {number}: '{kind}' must list at most {MAX_DOCUMENTS} paths")
        if values:
            files[kind] = tuple(dict.fromkeys(values))
    _require_unicode(query, *(file for listed in files.values() for file in listed), path=path)
    return MarkEntry(query, files, row.get(_COMMENT, ""))


def _is_path(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_PATH and "\0" not in value


def _require_unicode(*texts: str, path: str) -> None:
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise _broken(path, "it contains half a character") from error


def _broken(path: str, reason: str) -> ConfigError:
    return ConfigError(f"{path}: {reason}.", "correct or remove the file; no pin or mark counts meanwhile")
