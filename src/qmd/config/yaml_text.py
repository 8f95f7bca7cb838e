"""Edit a YAML text in place: an edit changes the lines of one entry, all other bytes stay.

Writing the parsed values back would lose comments, quotes and indentation. Libraries that keep comments
attach each to the value above it, so removing a collection would remove the heading comment of the next one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from qmd.config.yaml_nodes import Node, YamlEntry, broken, compose
from qmd.errors import ConfigError

KeyPath: TypeAlias = tuple[str, ...]
Value: TypeAlias = "str | bool | float | Mapping[str, Value] | Sequence[str]"

_BARE_KEY = re.compile(r"[^\W\d][\w-]*")
_BARE_PATH = re.compile(r"~?(/[A-Za-z0-9_.-]+)+")
_WORDS_WITH_MEANING = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# JSON allows these unescaped; YAML forbids them or reads them as line ends.
_TO_ESCAPE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_ONLY_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:#[^\n]*)?")
_BLANK_LINE = re.compile(r"[ \t]*\r?\n")


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

    def keys(self, key_path: KeyPath) -> list[str]:
        """Return the keys of the mapping at `key_path`, or [] if it is no mapping."""
        node = self._node(key_path)
        return [entry.key.text for entry in node.entries] if node else []

    def put(self, key_path: KeyPath, value: Value) -> str:
        """Set the value at `key_path`; create the key and its parent mappings if they are missing."""
        above, key = key_path[:-1], key_path[-1]
        parent = self._node(above)
        if above and (parent is None or not parent.entries):
            return self.put(above, {key: value})
        if parent is None or parent.kind != "mapping":
            return self._insert_lines(len(self._text), _block({key: value}, "", self._step()))
        entry = parent.get(key)
        if entry is not None:
            return self._replace(entry, value, parent.flow)
        if not parent.flow:
            return self._add_lines(parent, {key: value})
        at, comma = (parent.entries[-1].value.end, ", ") if parent.entries else (parent.start + 1, "")
        return self._splice(at, at, comma + _flow({key: value})[1:-1])

    def delete(self, key_path: KeyPath) -> str:
        """Remove the key at `key_path` with its value; keep the comments above it."""
        parent, entry = self._entry(key_path)
        if parent.flow:
            number = parent.entries.index(entry)
            following = parent.entries[number + 1 : number + 2]
            if following:
                return self._splice(entry.key.start, following[0].key.start, "")
            start = parent.entries[number - 1].value.end if number else entry.key.start
            return self._splice(start, entry.value.end, "")
        start = self._text.rfind("\n", 0, entry.key.start) + 1
        if self._text[start : entry.key.start].strip():
            raise self._layout_error(entry)
        end = self._line_end(entry.value.end)
        # If the entry stood between two blank lines, leave one.
        blank = _BLANK_LINE.match(self._text, end)
        if blank and (start == 0 or self._text[:start].endswith(("\n\n", "\n\r\n"))):
            end = blank.end()
        return self._splice(start, end, "")

    def rename(self, key_path: KeyPath, new: str) -> str:
        """Rename the key at `key_path`; keep its position, value and comments."""
        parent, entry = self._entry(key_path)
        return self._splice(entry.key.start, entry.key.end, quoted(new) if parent.flow else _key(new))

    def _replace(self, entry: YamlEntry, value: Value, flow: bool) -> str:
        old = entry.value
        if isinstance(value, (str, bool, float)) or flow:
            space = " " if old.alias or old.start == old.end else ""
            return self._splice(old.start, old.end, space + _flow(value))
        rest = self._line_end(old.end)
        comment = self._text[old.end : rest].rstrip()
        step = self._step()
        lines = _block(value, " " * entry.key.column + step, step)
        return self._splice(entry.colon, rest, comment + "\n" + lines)

    def _add_lines(self, parent: Node, added: Mapping[str, Value]) -> str:
        *_, last = parent.entries
        lines = _block(added, " " * parent.entries[0].key.column, self._step())
        at = self._line_end(last.value.end)
        if parent is self._root and _ONLY_COMMENTS.fullmatch(self._text, at):
            # The comments belong to the entries above, or are a template to fill in.
            at = len(self._text)
        elif len(parent.entries) > 1:
            gap = self._text[parent.entries[-2].value.end : last.key.start]
            if re.search(r"\n[ \t]*\r?\n", gap):
                lines = "\n" + lines
        return self._insert_lines(at, lines)

    def _insert_lines(self, at: int, lines: str) -> str:
        if at and self._text[at - 1] != "\n":
            lines = "\n" + lines
        return self._splice(at, at, lines)

    def _splice(self, start: int, end: int, text: str) -> str:
        if self._crlf:
            text = re.sub(r"(?<!\r)\n", "\r\n", text)
        return self._mark + self._text[:start] + text + self._text[end:]

    def _node(self, key_path: KeyPath) -> Node | None:
        node = self._root
        for key in key_path:
            entry = node.get(key) if node else None
            if entry is None:
                return None
            if entry.value.alias:
                raise self._layout_error(entry)
            node = entry.value
        return node

    def _entry(self, key_path: KeyPath) -> tuple[Node, YamlEntry]:
        parent = self._node(key_path[:-1])
        entry = parent.get(key_path[-1]) if parent else None
        if parent is None or entry is None:
            raise KeyError(key_path)
        return parent, entry

    def _step(self) -> str:
        """Return the spaces by which the file indents."""
        for entry in self._root.entries if self._root else ():
            if entry.value.entries and not entry.value.flow:
                return " " * max(entry.value.entries[0].key.column - entry.key.column, 1)
        return "  "

    def _line_end(self, position: int) -> int:
        """Return the start of the next line, or `position` if a line starts there."""
        if position and self._text[position - 1] == "\n":
            return position
        newline = self._text.find("\n", position)
        return len(self._text) if newline < 0 else newline + 1

    def _layout_error(self, entry: YamlEntry) -> ConfigError:
        error = broken(self._path, entry.key.line, "qmd cannot edit this layout")
        error.hint = "edit the file by hand"
        return error


def _block(value: Mapping[str, Value] | Sequence[str], margin: str, step: str) -> str:
    """Return a value as lines that start with `margin`."""
    if not isinstance(value, Mapping):
        return "".join(f"{margin}- {quoted(item)}\n" for item in value)
    lines = ""
    for key, item in value.items():
        if isinstance(item, (str, bool, float)):
            lines += f"{margin}{_key(key)}: {_flow(item)}\n"
        else:
            lines += f"{margin}{_key(key)}:\n" + _block(item, margin + step, step)
    return lines


def _flow(value: Value) -> str:
    """Return a value in one line, with braces and brackets."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.10g}"
        case str():
            return value if _BARE_PATH.fullmatch(value) else quoted(value)
        case Mapping():
            return "{" + ", ".join(f"{quoted(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(quoted, value)) + "]"


def _key(text: str) -> str:
    bare = _BARE_KEY.fullmatch(text) and text.lower() not in _WORDS_WITH_MEANING
    return text if bare else quoted(text)


def quoted(value: str | list[str]) -> str:
    """Return a text in quotes, or a list of them in brackets."""
    # JSON is YAML, except for the characters escaped here.
    return _TO_ESCAPE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
