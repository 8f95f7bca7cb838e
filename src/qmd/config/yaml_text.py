"""Edit a YAML text in place: an edit changes the lines of one entry, all other bytes stay.

A round trip through ruamel.yaml would lose comments. It attaches a comment to the value above it, so removing
a collection also removes the heading comment of the next one. It drops all comments if the file has no
entries yet, and commented-out examples below an empty key. It also replaces the user's indentation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence as SequenceABC
from typing import TypeAlias

from qmd.config.yaml_nodes import Entry, Mapping, Node, Scalar, Sequence, broken, compose
from qmd.errors import ConfigError

KeyPath: TypeAlias = tuple[str, ...]
Value: TypeAlias = "str | bool | MappingABC[str, Value] | SequenceABC[str]"

_BARE_KEY = re.compile(r"[^\W\d][\w-]*")
_BARE_PATH = re.compile(r"~?(/[A-Za-z0-9_.-]+)+")
_WORDS_WITH_MEANING = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# JSON allows these unescaped; YAML forbids them or reads them as line ends.
_TO_ESCAPE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_EMPTY_OR_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:#[^\n]*)?")


class YamlText:
    """The text of one YAML document, with methods that return an edited text.

    A `key_path` lists the keys from the top-level mapping down. An edit raises `ConfigError` if the layout
    does not allow it. The caller must parse the result to check its meaning.
    """

    def __init__(self, text: str, path: str) -> None:
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        self._crlf = "\r\n" in text
        self._path = path
        self._text = text.removeprefix("\ufeff")
        self._root = compose(self._text, path)

    def __str__(self) -> str:
        return self._mark + self._text

    def keys(self, key_path: KeyPath) -> list[str]:
        """Return the keys of the mapping at `key_path`, or [] if it is no mapping."""
        node = self._node(key_path)
        return [entry.key.text for entry in node.entries] if isinstance(node, Mapping) else []

    def put(self, key_path: KeyPath, value: Value) -> str:
        """Set the value at `key_path`; create the key and its parent mappings if they are missing."""
        parent_path, key = key_path[:-1], key_path[-1]
        parent = self._node(parent_path)
        if not isinstance(parent, Mapping):
            if parent_path:
                return self.put(parent_path, {key: value})
            return self._insert_lines(len(self._text), _block_entry(key, value, 0, self._step()))
        if not parent.entries:
            if parent_path:
                return self.put(parent_path, {key: value})
            return self._splice(parent.start + 1, parent.start + 1, _flow_entry(key, value))
        entry = parent.get(key)
        if entry is not None:
            return self._replace(entry, value, parent)
        if parent.flow:
            end = self._end(parent.entries[-1])
            return self._splice(end, end, ", " + _flow_entry(key, value))
        return self._add_lines(parent, key, value, is_root=not parent_path)

    def delete(self, key_path: KeyPath) -> str:
        """Remove the key at `key_path` with its value; keep the comments above it."""
        parent, entry = self._entry(key_path)
        if parent.flow:
            return self._delete_from_flow(parent, entry)
        start = self._text.rfind("\n", 0, entry.key.start) + 1
        if self._text[start : entry.key.start].strip():
            raise self._layout_error(entry.key)
        end = self._line_end(self._end(entry))
        # If the entry stood between two blank lines, leave one.
        blank = re.compile(r"[ \t]*\r?\n").match(self._text, end)
        if blank and (start == 0 or self._text[:start].endswith(("\n\n", "\n\r\n"))):
            end = blank.end()
        return self._splice(start, end, "")

    def rename(self, key_path: KeyPath, new: str) -> str:
        """Rename the key at `key_path`; keep its position, value and comments."""
        parent, entry = self._entry(key_path)
        return self._splice(entry.key.start, entry.key.end, _quoted(new) if parent.flow else _key(new))

    def _replace(self, entry: Entry, value: Value, parent: Mapping) -> str:
        old = entry.value
        start = self._after_colon(entry)
        end = self._end(entry)
        if isinstance(value, (str, bool)) or parent.flow:
            if not old.alias and old.start < old.end:
                return self._splice(old.start, end, _flow(value))
            return self._splice(start, end, " " + _flow(value))
        lines = _block(value, entry.key.column + self._step(), self._step())
        rest = self._line_end(end)
        comment = self._text[end:rest].rstrip()
        return self._splice(start, rest, comment + "\n" + lines)

    def _add_lines(self, parent: Mapping, key: str, value: Value, is_root: bool) -> str:
        lines = _block_entry(key, value, parent.entries[0].key.column, self._step())
        at = self._line_end(self._end(parent.entries[-1]))
        if is_root and _EMPTY_OR_COMMENTS.fullmatch(self._text, at):
            # Only comments follow: they belong to the entries above, or are a template to fill in.
            at = len(self._text)
        elif len(parent.entries) > 1:
            gap = self._text[self._end(parent.entries[-2]) : parent.entries[-1].key.start]
            if re.search(r"\n[ \t]*\r?\n", gap):
                lines = "\n" + lines
        return self._insert_lines(at, lines)

    def _insert_lines(self, at: int, lines: str) -> str:
        if at and self._text[at - 1] != "\n":
            lines = "\n" + lines
        return self._splice(at, at, lines)

    def _delete_from_flow(self, parent: Mapping, entry: Entry) -> str:
        number = parent.entries.index(entry)
        if number + 1 < len(parent.entries):
            return self._splice(entry.key.start, parent.entries[number + 1].key.start, "")
        start = self._end(parent.entries[number - 1]) if number else entry.key.start
        return self._splice(start, self._end(entry), "")

    def _splice(self, start: int, end: int, text: str) -> str:
        if self._crlf:
            text = re.sub(r"(?<!\r)\n", "\r\n", text)
        return self._mark + self._text[:start] + text + self._text[end:]

    def _node(self, key_path: KeyPath) -> Node | None:
        node = self._root
        for key in key_path:
            entry = node.get(key) if isinstance(node, Mapping) else None
            if entry is None:
                return None
            if entry.value.alias:
                raise self._layout_error(entry.key)
            node = entry.value
        return node

    def _entry(self, key_path: KeyPath) -> tuple[Mapping, Entry]:
        parent = self._node(key_path[:-1])
        entry = parent.get(key_path[-1]) if isinstance(parent, Mapping) else None
        if not isinstance(parent, Mapping) or entry is None:
            raise KeyError(key_path)
        return parent, entry

    def _step(self) -> int:
        """Return the number of columns by which the file indents."""
        if isinstance(self._root, Mapping):
            for entry in self._root.entries:
                if isinstance(entry.value, Mapping) and entry.value.entries and not entry.value.flow:
                    return max(entry.value.entries[0].key.column - entry.key.column, 1)
        return 2

    def _end(self, entry: Entry) -> int:
        """Return the end of an entry's value: the position after its last character."""
        node = entry.value
        if node.alias:
            return self._match_end(r"\s*\*[^\s,\[\]{}]+", entry)
        if isinstance(node, Scalar) and node.start == node.end:
            return self._after_colon(entry)
        if isinstance(node, Mapping) and not node.flow:
            return self._end(node.entries[-1])
        if isinstance(node, Sequence) and not node.flow:
            return self._sequence_end(node)
        return node.end

    def _sequence_end(self, node: Sequence) -> int:
        last = node.items[-1]
        if isinstance(last, Scalar) and not last.alias and last.start < last.end:
            return last.end
        # The parser's end includes the comments that follow.
        lines = self._text[: node.end].splitlines(keepends=True)
        while lines and _EMPTY_OR_COMMENTS.fullmatch(lines[-1]):
            lines.pop()
        return len("".join(lines).rstrip())

    def _after_colon(self, entry: Entry) -> int:
        return self._match_end("", entry)

    def _match_end(self, pattern: str, entry: Entry) -> int:
        match = re.compile(r"\s*:" + pattern).match(self._text, entry.key.end)
        if match is None:
            raise self._layout_error(entry.key)
        return match.end()

    def _line_end(self, position: int) -> int:
        """Return the start of the next line, or `position` if a line starts there."""
        if position and self._text[position - 1] == "\n":
            return position
        newline = self._text.find("\n", position)
        return len(self._text) if newline < 0 else newline + 1

    def _layout_error(self, node: Node) -> ConfigError:
        error = broken(self._path, node.line, "qmd cannot edit this layout")
        error.hint = "Edit the file by hand."
        return error


def _block_entry(key: str, value: Value, indent: int, step: int) -> str:
    margin = " " * indent
    if isinstance(value, (str, bool)):
        return f"{margin}{_key(key)}: {_scalar(value)}\n"
    return f"{margin}{_key(key)}:\n" + _block(value, indent + step, step)


def _block(value: MappingABC[str, Value] | SequenceABC[str], indent: int, step: int) -> str:
    if isinstance(value, MappingABC):
        return "".join(_block_entry(key, item, indent, step) for key, item in value.items())
    return "".join(f"{' ' * indent}- {_quoted(item)}\n" for item in value)


def _flow_entry(key: str, value: Value) -> str:
    return f"{_quoted(key)}: {_flow(value)}"


def _flow(value: Value) -> str:
    if isinstance(value, (str, bool)):
        return _scalar(value)
    if isinstance(value, MappingABC):
        return "{" + ", ".join(_flow_entry(key, item) for key, item in value.items()) + "}"
    return "[" + ", ".join(_quoted(item) for item in value) + "]"


def _key(text: str) -> str:
    bare = _BARE_KEY.fullmatch(text) and text.lower() not in _WORDS_WITH_MEANING
    return text if bare else _quoted(text)


def _scalar(value: str | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if _BARE_PATH.fullmatch(value) else _quoted(value)


def _quoted(text: str) -> str:
    # A JSON string is a double-quoted YAML scalar, except for the characters escaped here.
    return _TO_ESCAPE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))
