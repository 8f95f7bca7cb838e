"""A YAML document as a tree of nodes with their positions in the text.

Reading needs the positions to name the line of an error, editing needs them to change one entry only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, cast

import yaml
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

#: Kinds of values by their tag.
_TAGS: dict[str, Kind] = {
    "tag:yaml.org,2002:str": "text",
    "tag:yaml.org,2002:timestamp": "text",
    "tag:yaml.org,2002:value": "text",
    "tag:yaml.org,2002:null": "null",
    "tag:yaml.org,2002:bool": "bool",
    "tag:yaml.org,2002:int": "number",
    "tag:yaml.org,2002:float": "number",
}
#: Kinds of values without quotes and tag, in the core schema of YAML 1.2: `no` and dates are texts.
_PLAIN = re.compile(
    r"(?P<null>|~|null|Null|NULL)"
    r"|(?P<bool>true|True|TRUE|false|False|FALSE)"
    r"|(?P<number>[-+]?(?:0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+)"
    r"|[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9_]+(?:[eE][-+][0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
    r"|(?P<other><<)"
)
_NO_ALIAS = "a text that begins with * needs quotes"
_COLON = re.compile(r"\s*:")


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
    alias: bool = False
    flow: bool = False
    text: str = ""
    items: tuple[Node, ...] = ()
    entries: tuple[YamlEntry, ...] = ()

    def get(self, key: str) -> YamlEntry | None:
        return next((entry for entry in self.entries if entry.key.text == key), None)


class YamlEntry(Struct, frozen=True):
    key: Node
    value: Node
    #: The position after the colon.
    colon: int


def compose(text: str, path: str) -> Node | None:
    """Parse the YAML document in `text`, which has no byte-order mark; None if it is empty.

    Raises `ConfigError` with `path:line: reason`, if the text is not YAML 1.2, has duplicate or merge keys,
    is nested too deeply or expands too far.
    """
    try:
        return _Composer(text, path).document()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise broken(path, line, "contains a character that YAML does not allow") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark and error.context_mark and mark.index >= len(text.rstrip()):
            # An error at the end of the file comes from a bracket or quote opened before.
            mark = error.context_mark
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        if error.context == "while scanning an alias":
            reason = _NO_ALIAS
        raise broken(path, mark.line + 1 if mark else 1, " ".join(reason.split())) from error
    except (yaml.YAMLError, ArithmeticError, ValueError) as error:
        # The parser raises plain Python exceptions for some escapes.
        raise broken(path, 1, f"not valid YAML: {' '.join(str(error).split())}") from error


def broken(path: str, line: int, reason: str) -> ConfigError:
    """Return the error for a line of the file."""
    return ConfigError(f"{path}:{line}: {reason}", "correct the file, then run the command again")


class _Composer:
    """Makes nodes of a parser's events, and stops at the limits."""

    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path
        # Never the C parser: it explains errors less, and not every installation has it.
        self._events: Iterator[Any] = yaml.parse(text, Loader=yaml.SafeLoader)
        self._nodes = self._aliased = self._anchored = 0
        #: Complete nodes by anchor, and how many nodes an alias of them repeats.
        self._anchors: dict[str, tuple[Node, int]] = {}

    def document(self) -> Node | None:
        """Return the top node of the only document; None if there is none."""
        root = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise self._broken(event, "another document begins; the file may have one only")
                root = self._node(next(self._events), 1)
        return root

    def _node(self, event: Any, depth: int) -> Node:
        self._nodes += 1
        for count, limit, reason in (
            (depth, MAX_DEPTH, "nested too deeply"),
            (self._nodes, MAX_NODES, "too many values"),
            (self._anchored, MAX_ANCHORS, "too many anchors"),
        ):
            if count > limit:
                raise self._broken(event, f"{reason}, more than {limit:,}")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        before = self._nodes + self._aliased
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._list(event, depth + 1)
        else:
            node = self._mapping(event, depth + 1)
        if event.anchor is not None:
            self._anchored += 1
            self._anchors[event.anchor] = node, self._nodes + self._aliased - before + 1
        return node

    def _alias(self, event: Any, depth: int) -> Node:
        if event.anchor not in self._anchors:
            raise self._broken(event, f"found undefined alias {event.anchor!r}; {_NO_ALIAS}")
        node, size = self._anchors[event.anchor]
        self._aliased += size
        if self._aliased > MAX_ALIASED_NODES:
            raise self._broken(event, "aliases repeat too many values")
        if depth + _levels_below(node) > MAX_DEPTH:
            raise self._broken(event, f"nested too deeply, more than {MAX_DEPTH:,}")
        return replace(node, alias=True, start=event.start_mark.index, end=event.end_mark.index)

    def _scalar(self, event: Any) -> Node:
        start, end = event.start_mark.index, event.end_mark.index
        if event.style in ("|", ">"):
            # The parser's end of a block includes the blank lines below; only `+` makes them part of it.
            header, _, _ = self._text[start:end].partition("\n")
            if "+" not in header.split("#", 1)[0]:
                end = start + len(self._text[start:end].rstrip())
        return replace(_at(event, _kind(event), end), text=event.value)

    def _list(self, start: Any, depth: int) -> Node:
        items = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth))
        return replace(_collection(start, "list", event, items), items=tuple(items))

    def _mapping(self, start: Any, depth: int) -> Node:
        entries: dict[str, YamlEntry] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth)
            if key.kind in ("list", "mapping"):
                raise broken(self._path, key.line, "a key must be text")
            if key.kind == "other" and key.text == "<<":
                raise broken(self._path, key.line, "merge keys (<<) are not part of YAML 1.2")
            if key.text in entries:
                first = entries[key.text].key.line
                raise broken(self._path, key.line, f"duplicate key {key.text!r}, first on line {first}")
            value = self._node(next(self._events), depth)
            match = _COLON.match(self._text, key.end)
            colon = match.end() if match else key.end
            if value.start == value.end:
                # Without a colon, the parser places a missing value at the start of the next token.
                value = replace(value, start=colon, end=colon, line=key.line)
            entries[key.text] = YamlEntry(key, value, colon)
        found = tuple(entries.values())
        values = [entry.value for entry in found]
        return replace(_collection(start, "mapping", event, values), entries=found)

    def _broken(self, event: Any, reason: str) -> ConfigError:
        return broken(self._path, event.start_mark.line + 1, reason)


def _at(event: Any, kind: Kind, end: int) -> Node:
    mark = event.start_mark
    return Node(kind, mark.index, end, mark.line + 1, mark.column)


def _collection(start: Any, kind: Kind, end: Any, children: list[Node]) -> Node:
    """Return the node from the event `start` to the event `end`, without its children."""
    if start.flow_style:
        return replace(_at(start, kind, end.end_mark.index), flow=True)
    # The parser's end of a block includes the comments that follow.
    return _at(start, kind, children[-1].end)


def _levels_below(node: Node) -> int:
    children = (*node.items, *(entry.value for entry in node.entries))
    return max((1 + _levels_below(child) for child in children), default=0)


def _kind(event: Any) -> Kind:
    plain, _ = event.implicit
    if plain:
        match = _PLAIN.fullmatch(event.value)
        return cast(Kind, match.lastgroup) if match else "text"
    return "text" if event.tag is None else _TAGS.get(event.tag, "other")
