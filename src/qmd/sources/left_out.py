"""Folders and links that a collection leaves out although they hold documents, so that its owner is told."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from shlex import quote

from msgspec.structs import replace

from qmd.errors import SourceError
from qmd.sources.paths import is_inside, printable
from qmd.sources.rules import VENDOR_FOLDERS, Rules
from qmd.text.wording import plural, visible
from qmd.types import Collection

#: Folders of programs, which nobody misses.
_OF_PROGRAMS = frozenset(
    ".git .hg .svn .cache node_modules .venv .tox .nox .eggs .pytest_cache .mypy_cache .ruff_cache .Trash "
    ".Trashes .Spotlight-V100 .qmd .claude".split()
)
#: The most entries that are looked at, of a collection and of each of these folders.
_MOST, _MOST_WITHIN = 100_000, 2_000
#: The most folders that are named of each kind.
_NAMED = 3


def left_out(collection: Collection) -> list[str]:
    """Describe what a collection leaves out that has documents, in a line with the command that indexes it.

    Folders that are hidden or that programs make, and links that lead out of the collection, with the command
    that adds the first of them; and what git ignores. What `ignore` names is left out on purpose.
    """
    rules = Rules(collection)
    with suppress(SourceError):  # the scan has said why
        rules.read_gitignore(os.path.realpath(collection.path))
    found: dict[str, list[tuple[str, str]]] = {}
    for kind, path, folder in _found(collection, rules):
        found.setdefault(kind, []).append((path, folder))
    lines = []
    if ignored := list(_ignored(collection, rules)):
        command = f"qmd collection gitignore {quote(visible(collection.name))} off"
        lines.append(f"left out: {_named('path', ignored)}, which git ignores. To index them: {command}")
    if found:
        phrases = [_named(kind, [path for path, _ in items]) for kind, items in found.items()]
        first = next(iter(found.values()))[0][1]
        added = quote(visible(printable(first)))
        lines.append(f"left out: {', '.join(phrases)}. To index one: qmd add {added}")
    return lines


def _named(kind: str, paths: Sequence[str]) -> str:
    """Return how many paths there are, and the first of them."""
    named = ", ".join(visible(printable(path)) for path in paths[:_NAMED])
    more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    noun, beside, place = kind.partition(" of ") if " of " in kind else kind.partition(" outside")
    return f"{plural(len(paths), noun)}{beside}{place} ({named}{more})"


def _ignored(collection: Collection, rules: Rules) -> Iterator[str]:
    """Yield the paths that git ignores and that have documents."""
    every = Rules(replace(collection, gitignore=False))
    root = os.path.realpath(collection.path)
    for path in rules.gitignored()[:_MOST_WITHIN]:
        folder, _, name = path.rpartition("/")
        absolute = os.path.join(root, path)
        if every.path_excluded(folder) or os.path.islink(absolute):
            continue
        if os.path.isdir(absolute):
            if not every.folder_excluded(name, path) and holds(every, absolute, path):
                yield f"{path}/"
        elif not every.file_excluded(name, path):
            yield path


def _found(collection: Collection, rules: Rules) -> Iterator[tuple[str, str, str]]:
    """Yield the kind of each, its path in the collection, and the folder that would be added."""
    root = os.path.realpath(collection.path)
    seen = 0
    for folder, names, files in os.walk(root):
        inside = [] if folder == root else [os.path.relpath(folder, root).replace(os.sep, "/")]
        going = []
        for name in sorted(names):
            path = "/".join((*inside, unicodedata.normalize("NFC", name)))
            absolute = os.path.join(folder, name)
            if os.path.islink(absolute):
                target = os.path.realpath(absolute)
                if name[0] != "." and not is_inside(target, root) and holds(rules, target, path):
                    yield "linked folder outside", path, target
            elif not rules.folder_excluded(name, path):
                going.append(name)
            elif name in _OF_PROGRAMS or rules.ignores(path):
                continue
            elif (name[0] == "." or name in VENDOR_FOLDERS) and holds(rules, absolute, path):
                yield "hidden folder" if name[0] == "." else "folder of programs", path, absolute
        for name in sorted(files):
            absolute = os.path.join(folder, name)
            path = "/".join((*inside, unicodedata.normalize("NFC", name)))
            if (target := _outside(absolute, root)) and not rules.file_excluded(name, path):
                yield "linked file outside", path, os.path.dirname(target)
        seen += len(names) + len(files)
        if seen > _MOST:
            return
        names[:] = going


def _outside(absolute: str, root: str) -> str:
    """Return the file outside of a folder that a link in it leads to; "" if it is no such link."""
    if not (os.path.islink(absolute) and os.path.isfile(absolute)):
        return ""
    target = os.path.realpath(absolute)
    return "" if is_inside(target, root) else target


def holds(rules: Rules, folder: str, path: str) -> bool:
    """Return whether a folder, with this path in the collection, has a file that its pattern selects."""
    seen = 0
    for place, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in _OF_PROGRAMS]
        within = os.path.relpath(place, folder).replace(os.sep, "/")
        prefix = path if within == "." else f"{path}/{within}"
        if any(name[0] != "." and rules.matches(f"{prefix}/{name}") for name in files):
            return True
        seen += len(names) + len(files)
        if seen > _MOST_WITHIN:
            return False
    return False
