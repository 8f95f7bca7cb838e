"""A YAML document as a tree of nodes with their positions in the text.

Reading needs the positions to name the line of an error, editing needs them to change one entry only.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from qmd.errors import ConfigError

# Aliases repeat nodes. Without a limit, a few lines of nested aliases could expand to gigabytes.
MAX_ALIASED_NODES = 10_000
# The parser takes seconds for larger documents; a configuration has a few levels and some thousand values.
MAX_DEPTH = 50
MAX_NODES = 20_000
MAX_ANCHORS = 1_000

Kind = Literal["text", "null", "bool", "number", "other", "list", "mapping"]

_TAG = "tag:yaml.org,2002:"
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
_COLON = re.compile(r"\s*:")
_ALIAS = re.compile(r"\s*\*[^\s,\[\]{}]+")
_COMMENTS = re.compile(r"[ \t]*(?:#[^\n]*)?\r?\n?")


class Node(Struct, frozen=True):
    """A node at characters [start, end) of the text; `line` counts from 1, `column` from 0.

    `start` and `end` are the same if the value is missing, as in `key:`. If the document has an alias
    (`*name`), `alias` is true and the line is that of the anchor. A list has `items`, a mapping has
    `entries`, any other node has a `text`.
    """

    kind: Kind
    start: int
    end: int
    line: int
    column: int
    alias: bool
    flow: bool = False
    text: str = ""
    items: tuple[Node, ...] = ()
    entries: tuple[Entry, ...] = ()

    def get(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key.text == key), None)


class Entry(Struct, frozen=True):
    key: Node
    value: Node
    #: The position after the colon.
    colon: int


def compose(text: str, path: str) -> Node | None:
    """Parse the YAML document in `text`, which has no byte-order mark; None if it is empty.

    Raises `ConfigError` with `path:line: reason`, if the text is not YAML 1.2, has duplicate or merge keys,
    is nested too deeply or expands too far.
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
        inside = alias or inside_alias
        mark = node.start_mark
        self._aliased += inside
        if self._aliased > MAX_ALIASED_NODES:
            raise broken(self._path, mark.line + 1, "aliases repeat too many values")
        kind = _KINDS.get(node.tag.removeprefix(_TAG), "other")
        new = Node(kind, mark.index, node.end_mark.index, mark.line + 1, mark.column, alias)
        if node.id == "scalar":
            return replace(new, text=node.value, end=self._scalar_end(node))
        # The parser's end of a block includes the comments that follow.
        flow = bool(node.flow_style)
        if node.id == "sequence":
            items = tuple(self.convert(item, inside) for item in node.value)
            end = new.end if flow else self._block_end(items[-1], new.end)
            return replace(new, kind="list", items=items, flow=flow, end=end)
        entries = self._entries(node, inside)
        end = new.end if flow else entries[-1].value.end
        return replace(new, kind="mapping", entries=entries, flow=flow, end=end)

    def _entries(self, node: Any, inside_alias: bool) -> tuple[Entry, ...]:
        entries: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            key = self.convert(key_node, inside_alias)
            if key.kind in ("list", "mapping"):
                raise broken(self._path, key.line, "a key must be text")
            if key_node.tag == _TAG + "merge":
                raise broken(self._path, key.line, "merge keys (<<) are not part of YAML 1.2")
            if key.text in entries:
                first = entries[key.text].key.line
                raise broken(self._path, key.line, f"duplicate key {key.text!r}, first on line {first}")
            value = self.convert(value_node, inside_alias)
            match = _COLON.match(self._text, key.end)
            colon = match.end() if match else key.end
            if value.alias:
                match = _ALIAS.match(self._text, colon)
                value = replace(value, start=colon, end=match.end() if match else colon)
            elif value.start == value.end:
                # The parser places a missing value at the start of the next token.
                value = replace(value, start=colon, end=colon, line=key.line)
            entries[key.text] = Entry(key, value, colon)
        return tuple(entries.values())

    def _scalar_end(self, node: Any) -> int:
        start, end = node.start_mark.index, node.end_mark.index
        header, _, _ = self._text[start:end].partition("\n")
        # The parser's end of a block includes the blank lines below; only `+` makes them part of the value.
        is_block = node.style in ("|", ">") and "+" not in header.split("#", 1)[0]
        return start + len(self._text[start:end].rstrip()) if is_block else int(end)

    def _block_end(self, last: Node, parsed_end: int) -> int:
        """Return the end of a list in lines, whose last item may be an alias or missing."""
        if not last.alias and last.start < last.end:
            return last.end
        lines = self._text[:parsed_end].splitlines(keepends=True)
        while lines and _COMMENTS.fullmatch(lines[-1]):
            lines.pop()
        return len("".join(lines).rstrip())
