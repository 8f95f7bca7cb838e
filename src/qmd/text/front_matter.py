"""Read the fields of a document from its front matter (YAML).

No YAML tag constructs an object: the nodes are read one by one, and every size is limited. What is left out
is named. Plain values follow YAML 1.2: `true` and `false` are booleans, `yes` is a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

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
#: What most front matter consists of: `key: text`, `key: [a, b]`, or `key:` and lines with `- a`. Texts start
#: with a letter or digit and have no `: `. It means the same in YAML, whose parser takes longer.
_WORD = r"\w[\w ./+\-]*+"
_TEXT = r"\w(?:[\w ./+\-,?=&%~()!'\"*@$;|]++|:(?=[\w/]))*+"
_ENTRY = re.compile(
    rf"(?P<key>\w[\w .\-]{{0,98}}):(?:[ ]++(?P<one>{_TEXT})"
    rf"|[ ]++\[[ ]*+(?P<flow>{_WORD}(?:,[ ]*+{_WORD})*+)\][ ]*+"
    rf"|(?P<block>\n(?P<indent>[ ]*+)-[ ]++{_WORD}(?:\n(?P=indent)-[ ]++{_WORD})*+)|[ ]*+)(?:\n|\Z)"
)
_MAX_SIMPLE = 4_000  # characters
_SEPARATORS = re.compile(r"[\s,]+")
#: Nodes that are read at most, aliases counted each time.
_MAX_NODES = 50_000


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
    entries: Iterable[tuple[str, Value]] | None = _simple_entries(text)
    if entries is None:
        root = _compose(text, result)
        entries = [] if root is None else _entries(root, "", result)
    return collect(entries, result)


def collect(entries: Iterable[tuple[str, Value]], result: FrontMatter | None = None) -> FrontMatter:
    """Return the fields of (name, value) pairs, within the limits. `result` is added to if it is given."""
    result = result or FrontMatter()
    found: dict[str, list[Value]] = {}
    for key, value in entries:
        name = field_name(key)
        if name in RESERVED:
            result.omitted.append(f"field {key}, which describes the file")
            continue
        if name not in found and len(found) >= MAX_KEYS:
            result.omitted.append(f"field {key}: more than {MAX_KEYS} fields")
            continue
        found.setdefault(name, []).append(value)
    for name, values in found.items():
        result.fields[name] = _limited(name, _tags(values) if name == "tag" else values, result)
    return result


def _simple_entries(text: str) -> list[tuple[str, Value]] | None:
    """Return (name, value) of the values in front matter of the form of `_ENTRY`; None if it has another."""
    found: list[tuple[str, Value]] = []
    at = 0
    while at < len(text) <= _MAX_SIMPLE:
        match = _ENTRY.match(text, at)
        if match is None:
            return None
        at = match.end()
        key, one, flow, block, _ = match.groups()
        if one:
            items = [one]
        elif flow:
            items = flow.split(",")
        else:
            items = [line.lstrip(" ")[1:] for line in block.split("\n")[1:]] if block else []
        if name := _name(key):
            found += [(name, value) for item in items if (value := _short_scalar(item)) is not None]
    return found if at == len(text) else None


def _compose(text: str, result: FrontMatter) -> yaml.Node | None:
    import yaml

    # Only the nodes are read, so no types need to be resolved.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = getattr(error, "problem", None) or "invalid"
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 2}" if mark is not None else ""
        result.omitted.append(f"front matter that is not valid YAML{where}: {problem}")
        return None
    return root


def _entries(root: yaml.Node, prefix: str, result: FrontMatter) -> Iterator[tuple[str, Value]]:
    """Yield (name, value) of a mapping, of lists each value, of a mapping inside it `name.key`."""
    import yaml

    if not isinstance(root, yaml.MappingNode):
        return
    room = _MAX_NODES
    for key_node, node in root.value[: _MAX_NODES // 10]:
        key = _name(key_node.value) if isinstance(key_node, yaml.ScalarNode) else None
        if key is None:
            continue
        name = prefix + key
        if isinstance(node, yaml.MappingNode):
            if prefix and name != "qmd.metadata":
                result.omitted.append(f"field {name}: nested too deeply")
            else:
                # The block of tobi/qmd: its names count as fields themselves.
                yield from _entries(node, "" if name == "qmd.metadata" else f"{name}.", result)
            continue
        for item in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            room -= 1
            if room < 0:
                result.omitted.append(f"field {name}: the front matter has too many values")
                return
            if not isinstance(item, yaml.ScalarNode):
                result.omitted.append(f"field {name}: nested too deeply")
                break
            value = scalar(item.value, plain=not item.style)
            if value is not None:
                yield name, value


@lru_cache(maxsize=1000)
def _name(key: str) -> str | None:
    name = fold(" ".join(key.split()))
    return name if 0 < len(name) <= MAX_KEY_LENGTH else None


def scalar(text: str, *, plain: bool = True) -> Value | None:
    """Return the value of a YAML scalar; None for null. A quoted scalar is a text or a date."""
    text = text.strip()
    if plain:
        if (word := text.lower()) in _CONSTANTS:
            return _CONSTANTS[word]
        if _NUMBER.fullmatch(text):
            return float(text)
    return (dates.canonical(text) or text) if text else None


#: Only for `_simple_entries`, whose texts are short: a cache of long ones would take much memory.
_short_scalar = lru_cache(maxsize=2000)(scalar)


def _tags(values: list[Value]) -> list[Value]:
    """Return tags without `#`. A text may hold several, with commas or spaces between them."""
    return [
        tag.strip("#/")
        for value in values
        for tag in _SEPARATORS.split(value if isinstance(value, str) else f"{value:g}")
        if tag.strip("#/")
    ]


def _limited(name: str, values: list[Value], result: FrontMatter) -> tuple[Value, ...]:
    if len(values) == 1 and not (isinstance(values[0], str) and len(values[0]) > MAX_VALUE_LENGTH):
        return (values[0],)
    # 1, 1.0 and True are equal, but not the same value.
    values = [value for _, value in dict.fromkeys((type(value), value) for value in values)]
    if len(values) > MAX_VALUES:
        result.omitted.append(f"field {name}: {len(values) - MAX_VALUES:,} of {len(values):,} values")
    kept: list[Value] = []
    for value in values[:MAX_VALUES]:
        if isinstance(value, str) and len(value) > MAX_VALUE_LENGTH:
            result.omitted.append(f"field {name}: the end of a value of {len(value):,} characters")
            value = value[:MAX_VALUE_LENGTH]
        kept.append(value)
    return tuple(kept)
