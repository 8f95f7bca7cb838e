"""Read the fields of a document from its front matter (YAML).

No YAML tag constructs an object: the nodes are read one by one, and every size is limited. What is left out
is named. Plain values follow YAML 1.2: `true` and `false` are booleans, `yes` is a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from qmd.text import dates
from qmd.text.predicates import Value, field_name, fold

if TYPE_CHECKING:
    import yaml

MAX_CHARACTERS = 64_000
MAX_KEYS = 200
MAX_VALUES = 100
MAX_VALUE_LENGTH = 500
MAX_KEY_LENGTH = 100
#: Fields that front matter cannot set, because they describe the file.
RESERVED = frozenset({"collection", "path", "file", "ext", "size", "format"})

_NUMBER = re.compile(r"[-+]?(?:\d{1,15}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,2})?", re.ASCII)
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
#: What most lines of front matter are: `key: text`, `key: [a, b]`, `key:`, or `- a`. Texts start with a
#: letter or digit and have no `: `. It means the same in YAML, whose parser takes longer.
_WORD = r"\w[\w ./+\-]*+"
_TEXT = r"\w(?:[\w ./+\-,?=&%~()!'\"*@$;|]++|:(?=[\w/]))*+"
_LINE = re.compile(
    rf"(?P<key>\w[\w .\-]{{0,98}}):(?:[ ]++(?P<one>{_TEXT})"
    rf"|[ ]++\[[ ]*+(?P<flow>{_WORD}(?:,[ ]*+{_WORD})*+)\][ ]*+|(?P<open>)|[ ]++)"
    rf"|(?P<indent>[ ]*+)-[ ]++(?P<item>{_WORD})"
)
_MAX_LINE = 500  # characters of such a line
_MAX_LINES = 200  # lines of such front matter
_SEPARATORS = re.compile(r"[\s,]+")
#: Nodes that are read at most, aliases counted each time.
_MAX_NODES = 50_000
#: Mappings inside each other.
_MAX_DEPTH = 8
#: Levels of YAML that are read at all.
_MAX_LEVELS = 1000
#: Kinds of lines that are no items: `key: value`, and `key:`, which items may follow.
_COMPLETE, _OPEN = -1, -2
#: The name of a field, and values.
_Entry: TypeAlias = tuple[str, tuple[Value, ...]]


@dataclass(slots=True)
class FrontMatter:
    """Fields by name, and what was left out, a sentence each."""

    fields: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    omitted: list[str] = field(default_factory=list)


def read(text: str) -> FrontMatter:
    """Return the fields of a front matter, given without its `---` lines. Never raises an exception."""
    result = FrontMatter()
    if len(text) > MAX_CHARACTERS:
        result.omitted.append(f"front matter of more than {MAX_CHARACTERS:,} characters")
        return result
    entries: Iterable[_Entry] | None = _simple_entries(text)
    if entries is None:
        root = _compose(text, result)
        entries = [] if root is None else _entries(root, result)
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
        if name == "tag":
            values = _tags(values)
        result.fields[name] = values if _is_short(values) else _limited(name, values, result)
    return result


def _simple_entries(text: str) -> list[_Entry] | None:
    """Return the entries of front matter all of whose lines `_line` reads, else None."""
    lines = text.removesuffix("\n").split("\n", _MAX_LINES) if text else []
    if len(lines) > _MAX_LINES or len(max(lines, key=len, default="")) > _MAX_LINE:
        return None
    found: list[_Entry] = []
    name, before = "", _COMPLETE
    for line in lines:
        entry = _line(line)
        if entry is None:
            return None
        kind, key, values = entry
        if kind < 0:
            name = key
        elif before not in (_OPEN, kind):
            return None
        before = kind
        if name and values:
            found.append((name, values))
    return found


#: Lines such as `draft: false` are in many documents.
@lru_cache(maxsize=4000)
def _line(line: str) -> tuple[int, str, tuple[Value, ...]] | None:
    """Return the kind, name and values of a line of the form of `_LINE`; None if it has another.

    The kind of an item of a list is its indent; it has no name.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    key, one, flow, opened, indent, item = match.groups()
    found = [scalar(each) for each in flow.split(",")] if flow else [scalar(one or item or "")]
    values = tuple([value for value in found if value is not None])
    if item:
        return len(indent), "", values
    return _COMPLETE if opened is None else _OPEN, field_name(_name(key)), values


def _compose(text: str, result: FrontMatter) -> yaml.Node | None:
    import yaml

    # Only the nodes are read, so no types need to be resolved.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        if len(text) > _MAX_LEVELS and _depth(text, loader) > _MAX_LEVELS:
            result.omitted.append(f"front matter nested deeper than {_MAX_LEVELS} levels")
            return None
        root = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = getattr(error, "problem", None) or "invalid"
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 2}" if mark is not None else ""
        result.omitted.append(f"front matter that is not valid YAML{where}: {problem}")
        return None
    return root


def _depth(text: str, loader: Any) -> int:
    """Return the depth of YAML without recursion. Composing some thousand levels would end the process."""
    import yaml

    depth = deepest = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        deepest = max(deepest, depth)
    return deepest


def _entries(root: yaml.Node, result: FrontMatter) -> Iterator[_Entry]:
    """Yield the entries of a mapping, and those of mappings inside it as `name.key`."""
    import yaml

    room = _MAX_NODES

    def entries(mapping: yaml.MappingNode, prefix: str, depth: int) -> Iterator[_Entry]:
        nonlocal room
        for key_node, node in mapping.value:
            room -= 1
            if room < 0:
                result.omitted.append("the end of a front matter with too many values")
                return
            key = _name(key_node.value) if isinstance(key_node, yaml.ScalarNode) else ""
            if not key:
                continue
            name = prefix + key
            if len(name) > MAX_KEY_LENGTH:
                result.omitted.append(f"field {name[:MAX_KEY_LENGTH]}...: a name of {len(name)} characters")
            elif not isinstance(node, yaml.MappingNode):
                values = tuple(items(node, name))
                if values:
                    yield field_name(name), values
            elif depth == _MAX_DEPTH:
                result.omitted.append(f"field {name}: nested too deeply")
            else:
                # The block of tobi/qmd: its names count as fields themselves.
                inner = "" if name == "qmd.metadata" else f"{name}."
                yield from entries(node, inner, depth + 1)

    def items(node: yaml.Node, name: str) -> Iterator[Value]:
        nonlocal room
        for item in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            room -= 1
            if room < 0:
                result.omitted.append(f"field {name}: the front matter has too many values")
                return
            if not isinstance(item, yaml.ScalarNode):
                result.omitted.append(f"field {name}: nested too deeply")
                return
            value = scalar(item.value, plain=not item.style)
            if value is not None:
                yield value

    if isinstance(root, yaml.MappingNode):
        yield from entries(root, "", 1)


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
        if _NUMBER.fullmatch(text):
            return float(text)
    return (dates.canonical(text) or text) if text else None


def _tags(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return tags without `#`. A text may hold several, with commas or spaces between them."""
    return tuple(
        tag.strip("#/")
        for value in values
        for tag in _SEPARATORS.split(value if isinstance(value, str) else f"{value:g}")
        if tag.strip("#/")
    )


def _is_short(values: tuple[Value, ...]) -> bool:
    """Return whether there is one value, within the limits."""
    return len(values) == 1 and not (isinstance(values[0], str) and len(values[0]) > MAX_VALUE_LENGTH)


def _limited(name: str, values: tuple[Value, ...], result: FrontMatter) -> tuple[Value, ...]:
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
