"""Keys of `index.yml` that nothing reads: most likely misspelt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from qmd.config.index_yml import decode, digest
from qmd.config.schema import read_config
from qmd.config.yaml_nodes import Entry, Mapping, Node, Sequence, compose
from qmd.errors import ConfigError

#: Where keys have a meaning of their own: at the top, below `models`, and in each collection.
_MODELS, _COLLECTIONS = "models", "collections"


def unread_keys(data: bytes, path: str) -> list[tuple[int, str]]:
    """(line, key) of the keys without a meaning in the file's bytes, which `parse` has accepted.

    There is no list of keys to keep in step: a key that is read refuses a value that it cannot have.
    """
    root = compose(decode(data, path).removeprefix("\ufeff"), path)
    if not isinstance(root, Mapping):
        return []
    return [
        (trail[-1].key.line, ".".join(entry.key.text for entry in trail))
        for trail in _trails(root)
        if _accepts_anything(root, trail, path)
    ]


def _trails(root: Mapping) -> Iterator[tuple[Entry, ...]]:
    """The way from the top to each key that stands where keys have a meaning."""
    for entry in root.entries:
        yield (entry,)
        inner = entry.value.entries if isinstance(entry.value, Mapping) else ()
        for child in inner:
            if entry.key.text == _MODELS:
                yield entry, child
            elif entry.key.text == _COLLECTIONS and isinstance(child.value, Mapping):
                yield from ((entry, child, field) for field in child.value.entries)


def _accepts_anything(root: Mapping, trail: tuple[Entry, ...], path: str) -> bool:
    """Whether the file is still read with a list in a list as the key's value, which no key can have."""
    node = trail[-1].value
    inner = Sequence(node.start, node.end, node.line, node.column, False, (), True)
    try:
        read_config(_with(root, trail, replace(inner, items=(inner,))), path, digest(b""))
    except ConfigError:
        return False
    return True


def _with(node: Node, trail: tuple[Entry, ...], value: Node) -> Node:
    """The tree with another value at the end of a trail."""
    if not trail or not isinstance(node, Mapping):
        return value
    changed = replace(trail[0], value=_with(trail[0].value, trail[1:], value))
    return replace(node, entries=tuple(changed if each is trail[0] else each for each in node.entries))
