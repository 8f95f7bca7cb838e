"""Rules that decide which files of a folder belong to its collection."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct

from qmd.errors import SourceError
from qmd.sources.clone import Clone, work_tree
from qmd.sources.formats import registry
from qmd.sources.git_history import LateError, ignored
from qmd.sources.paths import is_inside
from qmd.sources.patterns import compile_pattern, either_case, split_pattern
from qmd.text.globs import Matcher, compile_globs
from qmd.types import DEFAULT_PATTERN, Collection

VENDOR_FOLDERS = frozenset({"node_modules", ".git", ".cache", "vendor", "dist", "build"})
#: Folders in which programs keep former versions and what was deleted, by the end of their path. Most others
#: are hidden, such as `.trash` of Obsidian.
BACKUP_FOLDERS = ("logseq/bak", "logseq/version-files", "$RECYCLE.BIN", "#recycle", "@eaDir")
_BACKUPS = tuple(f"/{folder}" for folder in BACKUP_FOLDERS)


#: How files of Office begin that lock an open one.
_LOCK = "~$"
#: Stands for a glob of git's own.
_GITIGNORE = ".gitignore"
#: The most ignored paths of a clone that are kept for scans at which git does not answer.
_MOST_KEPT = 10_000
#: Seconds that git has for all clones of a scan, and after which a clone that took longer is asked again.
_TIMEOUT, _AGAIN = 10.0, 600.0
#: When clones that took too long are asked again, by their top folders.
_late: dict[str, float] = {}
#: Paths that git ignores, by the path of the folder of their clone, all relative to the collection.
Ignored: TypeAlias = dict[str, tuple[str, ...]]


class _Ignore(Struct, frozen=True):
    glob: str
    matches: Matcher
    folders_only: bool
    negated: bool


class Exclusion(Struct, frozen=True):
    """The reason why a path is excluded, and the setting of the collection that causes it, if any."""

    reason: str
    setting: str | None = None


class Rules:
    """The compiled rules of a collection. Paths are relative to the collection, with forward slashes, in NFC.

    Ignore globs work as in `.gitignore`. A glob without a slash matches names at any depth (`*.tmp.md`), a
    glob with a slash matches paths from the root (`drafts/**`), a trailing slash matches only folders
    (`archive/`), and a leading `!` is an exception. If a folder is excluded, so is everything in it. Raises
    `UsageError` if the pattern or a glob is invalid.

    `last` is what git ignored at the last scan, which counts if git does not answer, and `ignored` what it
    ignores now.
    """

    def __init__(self, collection: Collection, last: Ignored | None = None) -> None:
        self.last = last or {}
        self.ignored: Ignored = {}
        self.matches = compile_pattern(collection.pattern) if collection.pattern else _by_suffix(collection)
        if collection.ocr:
            self.matches = _with_pictures(self.matches)
        self._collection = collection
        self._by_default = collection.pattern == DEFAULT_PATTERN and not collection.formats
        self._gitignored: set[str] = set()
        self._left = _TIMEOUT
        self._ignores = [_compile_ignore(part) for glob in collection.ignore for part in split_pattern(glob)]

    def read_gitignore(self, folder: str, path: str = "") -> None:
        """Leave out what git ignores in a folder, if the collection says so and the folder is in a clone.

        Args:
            folder: The folder, without links.
            path: Its path in the collection.

        Raises `SourceError` if git cannot be run or fails, and `LateError` if it takes too long. Then what it
        ignored at the last scan is left out, if that is known.
        """
        if not self._collection.gitignore:
            return
        top = work_tree(folder)
        if top is not None:
            try:
                paths = _inside(self._ignored_by_git(top, os.path.relpath(folder, top)), top, folder, path)
                if len(paths) <= _MOST_KEPT:
                    self.ignored[path] = paths
            except SourceError:
                if path in self.last:
                    self.ignored[path] = self.last[path]
                    self._gitignored.update(self.last[path])
                raise
            self._gitignored.update(paths)

    def _ignored_by_git(self, top: str, folder: str) -> list[str]:
        began = time.monotonic()
        if self._left <= 0 or _late.get(top, 0.0) > began:
            raise LateError("git took too long")
        try:
            return ignored(Clone(top), folder, self._left)
        except LateError:
            _late[top] = time.monotonic() + _AGAIN
            raise
        finally:
            self._left -= time.monotonic() - began

    def gitignored(self) -> list[str]:
        """Return the paths of the files and folders that git ignores."""
        return sorted(path for path in self._gitignored if self._ignored(path, True) is _GITIGNORE)

    def folder_excluded(self, name: str, path: str) -> bool:
        """Return whether the folder `path`, with the last segment `name`, is excluded with its content."""
        return (
            name[0] == "."
            or name in VENDOR_FOLDERS
            or f"/{path}".endswith(_BACKUPS)
            or self._ignored(path, True) is not None
        )

    def ignores(self, folder: str) -> bool:
        """Return whether an ignore glob excludes the folder with its content."""
        return self._ignored(folder, True) is not None

    def path_excluded(self, folder: str) -> bool:
        """Return whether the folder, or one above it, is excluded with its content."""
        path = ""
        for name in folder.split("/") if folder else ():
            path += name
            if self.folder_excluded(name, path):
                return True
            path += "/"
        return False

    def file_excluded(self, name: str, path: str) -> bool:
        """Return whether the file `path`, with the last segment `name`, is excluded."""
        if name[0] == "." or name[:2] == _LOCK or not self.matches(path):
            return True
        return bool(self._ignores or self._gitignored) and self._ignored(path, False) is not None

    def unknown(self, name: str, path: str) -> bool:
        """Return whether the excluded file `path` may be missed, and is not ignored.

        No format reads it, or it is a document that only the default pattern leaves out.
        """
        ending = registry.suffix(name)
        may_be = registry.is_unknown(ending) or (self._by_default and registry.is_document(ending))
        return may_be and name[0] != "." and name[:2] != _LOCK and self._ignored(path, False) is None

    def exclusion(self, path: str) -> Exclusion | None:
        """Return the first rule that excludes the file `path`; None if the file belongs to the collection."""
        *folders, name = path.split("/")
        parent = ""
        for folder in folders:
            parent += folder
            if folder in VENDOR_FOLDERS:
                return Exclusion(f"folder '{folder}' is always excluded")
            if f"/{parent}".endswith(_BACKUPS):
                return Exclusion(f"folder '{parent}' has former versions and deleted files")
            if folder.startswith("."):
                return Exclusion(f"hidden folder '{folder}'")
            if glob := self._ignored(parent, True):
                return _by_glob(glob)
            parent += "/"
        if name.startswith("."):
            return Exclusion(f"hidden file '{name}'")
        if name.startswith(_LOCK):
            return Exclusion(f"'{name}' locks a file that is open in Office")
        if glob := self._ignored(path, False):
            return _by_glob(glob)
        if not self.matches(path):
            if self._collection.pattern:
                return Exclusion(f"does not match the pattern '{self._collection.pattern}'", "pattern")
            return Exclusion(f"has none of the {self._collection.selection}", "formats")
        return None

    def _ignored(self, path: str, is_folder: bool) -> str | None:
        glob = _GITIGNORE if path in self._gitignored else None
        for rule in self._ignores:
            could_change = rule.negated is (glob is not None) and (is_folder or not rule.folders_only)
            if could_change and rule.matches(path):
                glob = None if rule.negated else rule.glob
        return glob


def exclusion(collection: Collection, relative_path: str) -> Exclusion | None:
    """Return the rule that excludes a file from a collection; None if the file belongs to the collection.

    The disk is only accessed to resolve links.
    """
    path = unicodedata.normalize("NFC", relative_path).strip("/")
    rules = Rules(collection)
    root = os.path.realpath(collection.path)
    with suppress(SourceError):
        rules.read_gitignore(root)
        folder = os.path.realpath(os.path.dirname(f"{root}/{path}"))
        if collection.gitignore and (top := work_tree(folder)) and is_inside(top, root) and top != root:
            rules.read_gitignore(top, os.path.relpath(top, root).replace(os.sep, "/"))
    excluded = rules.exclusion(path)
    if excluded is not None or "\0" in path:
        return excluded
    real = os.path.realpath(f"{root}/{relative_path.strip('/')}")
    if not is_inside(real, root):
        return Exclusion("a link to a file outside the collection")
    target = unicodedata.normalize("NFC", real[len(root) :].strip(os.sep).replace(os.sep, "/"))
    if target in ("", path):
        return None
    if not os.path.exists(real):
        return Exclusion(f"a link to '{target}', which does not exist")
    if rules.exclusion(target) is None:
        return Exclusion(f"a link to '{target}', which is indexed instead")
    return None


def _inside(listed: Iterable[str], top: str, folder: str, path: str) -> tuple[str, ...]:
    """Return the paths in the collection of those below the top of a clone that are in a folder of it."""
    found = []
    for name in listed:
        inside = os.path.join(top, name)
        # A folder that is ignored as a whole was added on purpose.
        if is_inside(inside, folder) and inside != folder:
            within = unicodedata.normalize("NFC", os.path.relpath(inside, folder).replace(os.sep, "/"))
            found.append(f"{path}/{within}" if path else within)
    return tuple(found)


def _by_glob(glob: str) -> Exclusion:
    if glob is _GITIGNORE:
        return Exclusion("git ignores it", "gitignore")
    return Exclusion(f"ignore glob '{glob}'", "ignore")


def _by_suffix(collection: Collection) -> Matcher:
    """Return a function that tests whether a path has a suffix of the formats of a collection."""
    endings = registry.suffixes(collection.formats)
    return lambda path: registry.suffix(path) in endings


def _with_pictures(matches: Matcher) -> Matcher:
    """Return a function that tests whether a path is that of a picture, or matches."""
    return lambda path: registry.suffix(path) in registry.PICTURES or matches(path)


def _compile_ignore(glob: str) -> _Ignore:
    body = glob.removeprefix("!").removeprefix("./")
    anchored, folders_only = "/" in body.rstrip("/"), False
    for ending in ("/**/*", "/**", "/"):
        if body.endswith(ending):
            body, folders_only = body.removesuffix(ending).rstrip("/"), True
            break
    matches = compile_globs((body.lstrip("/") if anchored else "**/" + body,))
    return _Ignore(glob, either_case(matches), folders_only, glob.startswith("!"))
