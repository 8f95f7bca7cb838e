"""Read the fields of a document from its front matter: YAML, TOML or JSON.

No YAML tag constructs an object: the nodes are read one by one, and every size is limited. What is left out
is named. Plain values follow YAML 1.2: `true` and `false` are booleans, `yes` is a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct, field

from qmd.text.head import head_of
from qmd.text.predicates import TAG, field_name
from qmd.text.regex import lazy
from qmd.text.values import Value, date_or_text, fold, number, shown

MAX_CHARACTERS = 64_000
MAX_KEYS = 200
MAX_VALUES = 100
MAX_VALUE_LENGTH = 500
MAX_KEY_LENGTH = 100
#: Fields that front matter cannot set, because they describe the file.
RESERVED = frozenset({"collection", "path", "file", "ext", "size", "format"})

_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
#: Most lines of front matter: `key: text`, `key: [a, b]`, `key:`, or `- a`. Texts start with a
#: letter or digit and have no `: `. It means the same in YAML, whose parser takes longer.
_WORD = r"\w[\w ./+\-]*+"
_TEXT = r"\w(?:[\w ./+\-,?=&%~()!'\"*@$;|]++|:(?=[\w/]))*+"
_LINE = lazy(
    rf"(?P<key>\w[\w .\-]{{0,98}}):(?:[ ]++(?P<one>{_TEXT})"
    rf"|[ ]++\[[ ]*+(?P<flow>{_WORD}(?:,[ ]*+{_WORD})*+)\][ ]*+|(?P<open>)|[ ]++)"
    rf"|(?P<indent>[ ]*+)-[ ]++(?P<item>{_WORD})"
)
_MAX_LINE = 500  # characters of such a line
_MAX_LINES = 200  # lines of such front matter
_SEPARATORS = lazy(r"[\s,]+")
#: Nodes that are read at most, aliases counted each time.
_MAX_NODES = 50_000
#: Mappings inside each other.
_MAX_DEPTH = 8
#: Levels of YAML that are read at all.
_MAX_LEVELS = 1000
#: Kinds of lines that are no items: `key: value`, and `key:`, which items may follow.
_COMPLETE, _OPEN = -1, -2
_MAX_DOTS = 100  # in a line of TOML; its reader takes quadratic time for the parts of a key
#: Entries of front matter that are read one by one if one of them is invalid.
_MAX_APART = 400
_NEXT_KEY = lazy(r"\n(?=[^ \t\n#-]|-[^ \t\n])")
#: An entry that people write and YAML refuses, such as `title: Part 1: the start`. Comments may follow.
_TEXT_ENTRY = lazy(
    r"[\"']?(\w[\w .\-]{0,98}+)[\"']?[ \t]*+:[ \t]++(?![\[\]{},&*!%@`|>\"'#]|[-?:] )([^\n]*+)"
    r"(?:\n[ \t]*+(?:#[^\n]*+)?+)*+"
)
_COMMENT = lazy(r"[ \t]#")
#: Fields that are also kept as they are written, unless they are a list.
_STATED = ("title",)
#: Fields whose values are names, also those that look like numbers, dates or booleans.
_NAMES = frozenset({TAG, "alias", "author"})
#: The name of a field, and values.
_Entry: TypeAlias = tuple[str, tuple[Value, ...]]


class FrontMatter(Struct):
    """Fields by name, and the omissions, a sentence each.

    `stated` has the title as it is written, and `body` is where the text goes on. `room` is
    how many nodes may still be read.
    """

    fields: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    omitted: list[str] = field(default_factory=list)
    stated: dict[str, str] = field(default_factory=dict)
    body: int = 0
    room: int = _MAX_NODES


def of(text: str) -> FrontMatter:
    """Return the front matter of a document. Never raises an exception."""
    head = head_of(text)
    if head.kind == "lines":
        result = _of_lines(text, head.start)
    else:
        result = read(text[head.start : head.end], head.kind) if head.kind else FrontMatter()
    result.body = head.body
    return result


def _of_lines(text: str, start: int) -> FrontMatter:
    """Return the fields in lines that begin at a position."""
    from qmd.text import header_lines  # few texts have them

    result, header = FrontMatter(), header_lines.header_of(text, start)
    lines = [*header_lines.entries(header.lines)] if header else []
    result.stated |= {name: written[0] for name, written in reversed(lines) if name in _STATED and written}
    return collect(((field_name(_name(name)), _scalars(name, written)) for name, written in lines), result)


def _scalars(name: str, written: Iterable[str]) -> tuple[Value, ...]:
    """Return the values of a field that is written in plain text."""
    if field_name(name) in _NAMES:
        return tuple(written)
    return tuple(value for value in map(scalar, written) if value is not None)


def read(text: str, kind: str = "YAML") -> FrontMatter:
    """Return the fields of a front matter, given without the lines around it. Never raises an exception."""
    result = FrontMatter()
    if len(text) > MAX_CHARACTERS:
        result.omitted.append(f"front matter of more than {MAX_CHARACTERS:,} characters")
        beginning = text[:MAX_CHARACTERS].rpartition("\n")[0]
        return collect(_apart(beginning, result) if kind == "YAML" else [], result)
    entries: Iterable[_Entry] | None = _simple_entries(text, result) if kind == "YAML" else None
    if entries is None:
        root = _compose(text, result) if kind == "YAML" else _load(text, kind, result)
        if root is not None:
            entries = _Entries(result).of(root)
        else:
            entries = _apart(text, result) if kind == "YAML" else []
    return collect(entries, result)


def collect(entries: Iterable[_Entry], result: FrontMatter | None = None) -> FrontMatter:
    """Return the fields of entries, named as by `field_name`, within the limits.

    `result` is added to if it is given.
    """
    result = result or FrontMatter()
    found: dict[str, tuple[Value, ...]] = {}
    for name, values in entries:
        if name in found:
            found[name] += values
        elif name in RESERVED:
            result.omitted.append(f"field {name}, which describes the file")
        elif len(found) >= MAX_KEYS:
            result.omitted.append(f"field {name}: more than {MAX_KEYS} fields")
        else:
            found[name] = values
    for name, values in found.items():
        if name in _NAMES:
            values = tuple(map(shown, values))
            if name == TAG:
                values = tuple(filter(None, map(bare_tag, map(str, values))))
        result.fields[name] = _limited(name, values, result)
    return result


def _simple_entries(text: str, result: FrontMatter) -> list[_Entry] | None:
    """Return the entries of front matter all of whose lines `_line` reads, else None."""
    lines = text.removesuffix("\n").split("\n", _MAX_LINES) if text else []
    if len(lines) > _MAX_LINES or len(max(lines, key=len, default="")) > _MAX_LINE:
        return None
    found: list[_Entry] = []
    stated: dict[str, str] = {}
    name, before = "", _COMPLETE
    for line in lines:
        entry = _line(line)
        if entry is None:
            return None
        kind, key, values, written, listed = entry
        if kind < 0:
            name = key
        elif before not in (_OPEN, kind):
            return None
        before = kind
        if name and values:
            found.append((name, values))
            if name in _STATED and not listed:
                stated.setdefault(name, written)
    result.stated = stated | result.stated
    return found


#: Lines such as `draft: false` are in many documents.
@lru_cache(maxsize=4000)
def _line(line: str) -> tuple[int, str, tuple[Value, ...], str, bool] | None:
    """Return the kind, name, values, first value as it is written, and whether they are a list.

    None stands for a line that has not the form of `_LINE`.

    The kind of an item of a list is its indent; it has no name.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    key, one, flow, opened, indent, item = match.groups()
    texts = flow.split(",") if flow else [one or item or ""]
    found = [scalar(each) for each in texts]
    values = tuple([value for value in found if value is not None])
    if item:
        return len(indent), "", values, item, True
    name = field_name(_name(key))
    if name == TAG and one:
        values = _tags(values)
    return _COMPLETE if opened is None else _OPEN, name, values, texts[0], bool(flow)


class _Node(NamedTuple):
    """A mapping, sequence or scalar with the attributes that the nodes of YAML have."""

    id: str
    value: Any
    style: str | None = None


def _compose(text: str, result: FrontMatter) -> Any:
    """Return the first node of YAML; None if it is not valid."""
    import yaml

    # Only the nodes are read, so no types need to be resolved.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        # Composing some thousand levels would end the process, and the parser takes quadratic time for them.
        depth = 0
        for event in yaml.parse(text, Loader=loader) if len(text) > _MAX_LEVELS else ():
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_LEVELS:
                result.omitted.append(f"front matter nested deeper than {_MAX_LEVELS} levels")
                return None
        return yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = getattr(error, "problem", None) or "invalid"
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 2}" if mark is not None else ""
        result.omitted.append(f"front matter that is not valid YAML{where}: {problem}")
        return None


def _apart(text: str, result: FrontMatter) -> Iterator[_Entry]:
    """Yield the entries of invalid YAML that are valid by themselves, or a line of text."""
    for entry in _NEXT_KEY.split(text, _MAX_APART)[:_MAX_APART]:
        simple = _simple_entries(entry, result)
        if simple is not None:
            yield from simple
        elif match := _TEXT_ENTRY.fullmatch(entry):
            name, written = field_name(_name(match[1])), _COMMENT.split(match[2], 1)[0].strip()
            value = scalar(written)
            if name and value is not None:
                if name in _STATED:
                    result.stated.setdefault(name, written)
                yield name, _tags((value,)) if name == TAG else (value,)
        elif (root := _compose(entry, FrontMatter())) is not None:
            yield from _Entries(result).of(root)


def _load(text: str, kind: str, result: FrontMatter) -> _Node | None:
    """Return TOML or JSON as nodes; None if it is not valid."""
    try:
        if kind == "JSON":
            return _node(json.loads(text))
        import tomllib

        if any(line.count(".") > _MAX_DOTS for line in text.split("\n")):
            result.omitted.append(f"front matter that has more than {_MAX_DOTS} dots in a line of TOML")
            return None
        return _node(tomllib.loads(text))
    except (ValueError, RecursionError) as error:
        result.omitted.append(f"front matter that is not valid {kind}: {error}")
    return None


def _node(value: Any) -> _Node:
    if isinstance(value, dict):
        return _Node("mapping", [(_node(key), _node(each)) for key, each in value.items()])
    if isinstance(value, list):
        return _Node("sequence", [*map(_node, value)])
    if isinstance(value, str):
        return _Node("scalar", value, style='"')
    # JSON writes null, true and false as YAML does, and str the rest.
    return _Node("scalar", json.dumps(value) if value is None or isinstance(value, bool) else str(value))


class _Entries(NamedTuple):
    """Reads the entries of a mapping, and those of mappings inside it as `name.key`."""

    result: FrontMatter

    def of(self, mapping: Any, prefix: str = "", depth: int = 1) -> Iterator[_Entry]:
        """Yield the entries of a mapping whose names begin with `prefix`; none of anything else."""
        result = self.result
        for key_node, node in mapping.value if mapping.id == "mapping" else ():
            if not self._has_room("the end of a front matter with too many values"):
                return
            key = _name(key_node.value) if key_node.id == "scalar" else ""
            if not key:
                continue
            name = prefix + key
            if len(name) > MAX_KEY_LENGTH:
                result.omitted.append(f"field {name[:MAX_KEY_LENGTH]}...: a name of {len(name)} characters")
            elif node.id != "mapping":
                stored = field_name(name)
                if values := tuple(self._items(node, name)):
                    is_text = stored == TAG and node.id != "sequence"
                    yield stored, _tags(values) if is_text else values
                # A list of mappings by name: `authors.name` of several authors.
                for item in node.value if node.id == "sequence" and depth < _MAX_DEPTH else ():
                    yield from self.of(item, f"{name}.", depth + 1)
            elif depth == _MAX_DEPTH:
                result.omitted.append(f"field {name}: nested too deeply")
            else:
                # The block of tobi/qmd: its names count as fields themselves.
                inner = "" if name == "qmd.metadata" else f"{name}."
                yield from self.of(node, inner, depth + 1)

    def _has_room(self, omission: str) -> bool:
        self.result.room -= 1
        if self.result.room < 0:
            self.result.omitted.append(omission)
        return self.result.room >= 0

    def _items(self, node: Any, name: str) -> Iterator[Value]:
        is_list = node.id == "sequence"
        for item in node.value if is_list else [node]:
            if not self._has_room(f"field {name}: the front matter has too many values"):
                return
            # An author is a name, and no link.
            if (linked := _wikilink(item) if is_list else "") and field_name(name) != "author":
                yield linked
            elif item.id == "scalar":
                value = scalar(item.value, plain=not item.style)
                if value is not None:
                    if not is_list and (stored := field_name(name)) in _STATED:
                        self.result.stated.setdefault(stored, item.value)
                    yield value
            elif not (item.id == "mapping" and is_list):
                self.result.omitted.append(f"field {name}: nested too deeply")
                return


def _wikilink(item: Any) -> str:
    """Return `[[name]]` that was written without quotes, which YAML takes for a list in a list; else ""."""
    while item.id == "sequence" and len(item.value) == 1:
        item = item.value[0]
        if item.id == "scalar":
            return f"[[{item.value}]]"
    return ""


def _name(key: str) -> str:
    """Return a key as names of fields are compared; "" if it is empty or too long."""
    name = fold(" ".join(key.split()))
    return name if len(name) <= MAX_KEY_LENGTH else ""


def scalar(text: str, *, plain: bool = True) -> Value | None:
    """Return the value of a YAML scalar; None for null. A quoted scalar is a text or a date."""
    text = text.strip()
    if plain:
        if (word := text.lower()) in _CONSTANTS:
            return _CONSTANTS[word]
        if (found := number(text)) is not None:
            return found
    return date_or_text(text) if text else None


def _tags(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the tags in a text, with commas or spaces between them, without `#`."""
    parts = chain.from_iterable(_SEPARATORS.split(shown(value)) for value in values)
    return tuple(filter(None, map(bare_tag, parts)))


def bare_tag(tag: str) -> str:
    """Return a tag without the signs around it. `C#` is one without `#` before it."""
    tag = tag.strip("/ ")
    return tag.strip("#/ ") if tag[:1] == "#" else tag


def _limited(name: str, values: tuple[Value, ...], result: FrontMatter) -> tuple[Value, ...]:
    """Return the values within the limits, each once."""
    if len(values) == 1 and not (isinstance(values[0], str) and len(values[0]) > MAX_VALUE_LENGTH):
        return values  # most are so
    # 1, 1.0 and True are equal, but not the same value.
    values = tuple(value for _, value in dict.fromkeys((type(value), value) for value in values))
    if len(values) > MAX_VALUES:
        result.omitted.append(f"field {name}: {len(values) - MAX_VALUES:,} of {len(values):,} values")
    kept: list[Value] = []
    for value in values[:MAX_VALUES]:
        if isinstance(value, str) and len(value) > MAX_VALUE_LENGTH:
            result.omitted.append(f"field {name}: the end of a value of {len(value):,} characters")
            value = value[:MAX_VALUE_LENGTH]
        kept.append(value)
    return tuple(kept)
