"""Read the fields of a document from its front matter (YAML).

No YAML tag constructs an object: the nodes are read one by one, and every size is limited. What is left out
is named. Plain values follow YAML 1.2: `true` and `false` are booleans, `yes` is a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
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
    root = _compose(text, result)
    if root is None:
        return result
    return collect(_entries(root, "", result), result)


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
        key = _name(key_node)
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


def _name(node: yaml.Node) -> str | None:
    name = fold(" ".join(str(node.value).split())) if isinstance(node.value, str) else ""
    return name if 0 < len(name) <= MAX_KEY_LENGTH else None


def scalar(text: str, *, plain: bool = True) -> Value | None:
    """Return the value of a YAML scalar; None for null. A quoted scalar is a text or a date."""
    text = text.strip()
    if plain:
        if text.lower() in ("", "~", "null"):
            return None
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        if _NUMBER.fullmatch(text):
            return float(text)
    return (dates.canonical(text) or text) if text else None


def _tags(values: list[Value]) -> list[Value]:
    """Return tags without `#`. A text may hold several, with commas or spaces between them."""
    return [
        tag.strip("#/")
        for value in values
        for tag in _SEPARATORS.split(value if isinstance(value, str) else f"{value:g}")
        if tag.strip("#/")
    ]


def _limited(name: str, values: list[Value], result: FrontMatter) -> tuple[Value, ...]:
    unique = list(dict.fromkeys((type(value), value) for value in values))
    if len(unique) > MAX_VALUES:
        result.omitted.append(f"field {name}: {len(unique) - MAX_VALUES:,} of {len(unique):,} values")
    kept: list[Value] = []
    for _, value in unique[:MAX_VALUES]:
        if isinstance(value, str) and len(value) > MAX_VALUE_LENGTH:
            result.omitted.append(f"field {name}: the end of a value of {len(value):,} characters")
            value = value[:MAX_VALUE_LENGTH]
        kept.append(value)
    return tuple(kept)
