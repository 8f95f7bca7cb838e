"""A YAML document as a tree of nodes with their positions in the text.

Reading needs the positions to name the line of an error, editing needs them to change one entry only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from qmd.errors import ConfigError

# Aliases repeat nodes. Without a limit, a few lines of nested aliases could expand to gigabytes.
MAX_ALIASED_NODES = 10_000
# The parser takes seconds for larger documents; a configuration has a few levels and some thousand values.
MAX_DEPTH = 50
MAX_NODES = 20_000
MAX_ANCHORS = 1_000

Kind = Literal["text", "null", "bool", "number", "other"]

_KINDS: dict[str, Kind] = {
    "str": "text",
    # The core schema of YAML 1.2 has no dates.
    "timestamp": "text",
    "value": "text",
    "null": "null",
    "bool": "bool",
    "int": "number",
    "float": "number",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A node at characters [start, end) of the text; `line` counts from 1, `column` from 0.

    If the document has an alias (`*name`), `alias` is true and the position is that of the anchor.
    """

    start: int
    end: int
    line: int
    column: int
    alias: bool


@dataclass(frozen=True, slots=True)
class Scalar(Node):
    text: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    items: tuple[Node, ...]
    flow: bool


@dataclass(frozen=True, slots=True)
class Mapping(Node):
    entries: tuple[Entry, ...]
    flow: bool

    def get(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key.text == key), None)


@dataclass(frozen=True, slots=True)
class Entry:
    key: Scalar
    value: Node


def compose(text: str, path: str) -> Node | None:
    """Parse the YAML document in `text`; None if it is empty.

    Args:
        text: the document, without a byte-order mark.
        path: the file name for error messages.

    Raises:
        ConfigError: with `path:line: reason`, if the text is not YAML 1.2, has duplicate or merge keys, is
            nested too deeply or expands too far.
    """
    # Imported on use, because most commands do not parse the file.
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    class BoundedComposer(Composer):
        """A composer that stops at the limits on depth, nodes and anchors."""

        depth = nodes = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.depth += 1
            self.nodes += 1
            line = self.parser.peek_event().start_mark.line + 1
            for count, limit, reason in (
                (self.depth, MAX_DEPTH, "nested too deeply"),
                (self.nodes, MAX_NODES, "too many values"),
                (len(self.anchors), MAX_ANCHORS, "too many anchors"),
            ):
                if count > limit:
                    raise broken(path, line, f"{reason}, more than {limit:,}")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    try:
        # Never the C parser: it reads YAML 1.1 and saves less than half a millisecond.
        yaml = YAML(typ="safe", pure=True)
        yaml.Composer = BoundedComposer
        # YAML allows an anchor to be redefined; do not print a warning.
        yaml.composer.warn_double_anchors = False
        root = yaml.compose(text)
        return None if root is None else _Converter(text, path).convert(root)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise broken(path, line, "contains a character that YAML does not allow") from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if error.context_mark and mark.index >= len(text.rstrip()):
            # An error at the end of the file comes from a bracket or quote opened before.
            mark = error.context_mark
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        raise broken(path, mark.line + 1 if mark else 1, " ".join(reason.split())) from error
    except RecursionError as error:
        raise broken(path, 1, "nested too deeply") from error
    except (YAMLError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # The parser raises plain Python exceptions for some malformed directives, tags and escapes.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise broken(path, 1, f"not valid YAML: {reason}") from error


def broken(path: str, line: int, reason: str) -> ConfigError:
    """Return the error for a line of the file."""
    return ConfigError(f"{path}:{line}: {reason}", "Correct the file, then run the command again.")


class _Converter:
    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path
        self._seen: set[int] = set()
        self._aliased = 0

    def convert(self, node: Any, inside_alias: bool = False) -> Node:
        alias = id(node) in self._seen
        self._seen.add(id(node))
        if alias or inside_alias:
            self._aliased += 1
            if self._aliased > MAX_ALIASED_NODES:
                raise broken(self._path, node.start_mark.line + 1, "aliases repeat too many values")
        inside = alias or inside_alias
        start, end = node.start_mark.index, node.end_mark.index
        line, column = node.start_mark.line + 1, node.start_mark.column
        match node.id:
            case "scalar":
                if node.style in ("|", ">"):
                    end = self._block_scalar_end(start, end)
                return Scalar(start, end, line, column, alias, node.value, _kind(node))
            case "sequence":
                items = tuple(self.convert(item, inside) for item in node.value)
                return Sequence(start, end, line, column, alias, items, bool(node.flow_style))
            case _:
                entries = self._entries(node, inside)
                return Mapping(start, end, line, column, alias, entries, bool(node.flow_style))

    def _entries(self, node: Any, inside_alias: bool) -> tuple[Entry, ...]:
        entries: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            key = self.convert(key_node, inside_alias)
            if not isinstance(key, Scalar):
                raise broken(self._path, key.line, "a key must be text")
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise broken(self._path, key.line, "merge keys (<<) are not part of YAML 1.2")
            if key.text in entries:
                first = entries[key.text].key.line
                raise broken(self._path, key.line, f"duplicate key {key.text!r}, first on line {first}")
            value = self.convert(value_node, inside_alias)
            if isinstance(value, Scalar) and value.start == value.end:
                # The parser places a missing value at the start of the next token.
                value = replace(value, start=key.end, end=key.end, line=key.line)
            entries[key.text] = Entry(key, value)
        return tuple(entries.values())

    def _block_scalar_end(self, start: int, end: int) -> int:
        # The parser's end includes the following blank lines; only `+` makes them part of the value.
        header = self._text[start:end].split("\n", 1)[0]
        if "+" in header.split("#", 1)[0]:
            return end
        return start + len(self._text[start:end].rstrip())


def _kind(node: Any) -> Kind:
    return _KINDS.get(node.tag.removeprefix("tag:yaml.org,2002:"), "other")
