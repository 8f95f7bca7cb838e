"""Which paths of a folder belong to its collection."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass

from qmd.sources.patterns import Matcher, compile_globs, compile_pattern, either_case, split_pattern
from qmd.types import Collection

VENDOR_FOLDERS = frozenset({"node_modules", ".git", ".cache", "vendor", "dist", "build"})


@dataclass(frozen=True, slots=True)
class _Ignore:
    glob: str
    matches: Matcher
    folders_only: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Why a path is left out, in words. `setting`: the collection's key that says so; None: always so."""

    reason: str
    setting: str | None = None


class Rules:
    """A collection's rules, compiled. Paths are relative to the root, with forward slashes, in NFC.

    Ignore globs mean what they mean in a `.gitignore`: without a slash a name at any depth (`*.tmp.md`), with
    one a path from the root (`drafts/**`), with one at the end only folders (`archive/`), with `!` in front
    an exception; a folder that is left out takes with it all that it holds. Raises UsageError for a glob
    that cannot be read.
    """

    def __init__(self, collection: Collection) -> None:
        self.matches = compile_pattern(collection.pattern)
        self._pattern = collection.pattern
        self._ignores = [_compile_ignore(part) for glob in collection.ignore for part in split_pattern(glob)]

    def folder_excluded(self, name: str, path: str) -> bool:
        """Whether the folder `path`, whose last segment is `name`, is left out with all that it holds."""
        return name[0] == "." or name in VENDOR_FOLDERS or self._ignored(path, True) is not None

    def file_excluded(self, name: str, path: str) -> bool:
        return name[0] == "." or not self.matches(path) or self._ignored(path, False) is not None

    def why(self, path: str) -> Exclusion | None:
        """The rule that leaves the file `path` out; None where none does."""
        *folders, name = path.split("/")
        parent = ""
        for folder in folders:
            parent += folder
            if folder in VENDOR_FOLDERS:
                return Exclusion(f"folder '{folder}' is always left out")
            if folder.startswith("."):
                return Exclusion(f"hidden folder '{folder}'")
            if glob := self._ignored(parent, True):
                return Exclusion(f"ignore glob '{glob}'", "ignore")
            parent += "/"
        if name.startswith("."):
            return Exclusion(f"hidden file '{name}'")
        if glob := self._ignored(path, False):
            return Exclusion(f"ignore glob '{glob}'", "ignore")
        if not self.matches(path):
            return Exclusion(f"does not match the pattern '{self._pattern}'", "pattern")
        return None

    def _ignored(self, path: str, is_folder: bool) -> str | None:
        found = None
        for rule in self._ignores:
            could_change = rule.negated is (found is not None) and (is_folder or not rule.folders_only)
            if could_change and rule.matches(path):
                found = None if rule.negated else rule.glob
        return found


def why_excluded(collection: Collection, relative_path: str) -> str | None:
    """Which rule leaves `relative_path` out of the collection, in words; as `exclusion`."""
    found = exclusion(collection, relative_path)
    return found.reason if found is not None else None


def exclusion(collection: Collection, relative_path: str) -> Exclusion | None:
    """Which rule leaves `relative_path` out of the collection; None where none does.

    Looks at the disk only to see where links lead. Raises UsageError for a pattern or an ignore glob that
    cannot be read.
    """
    path = unicodedata.normalize("NFC", relative_path).strip("/")
    rules = Rules(collection)
    found = rules.why(path)
    if found is not None or "\0" in path:
        return found
    root = os.path.realpath(collection.path)
    real = os.path.realpath(f"{root}/{relative_path.strip('/')}")
    if not is_inside(real, root):
        return Exclusion("a link that leads out of the collection")
    target = unicodedata.normalize("NFC", real[len(root) :].strip(os.sep).replace(os.sep, "/"))
    if target in ("", path):
        return None
    if not os.path.exists(real):
        return Exclusion(f"a link to '{target}', which is not there")
    if rules.why(target) is None:
        return Exclusion(f"a link to '{target}', which is listed instead")
    return None


def is_inside(path: str, root: str) -> bool:
    """Whether the real path `path` is the real folder `root` or lies in it."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _compile_ignore(glob: str) -> _Ignore:
    body = glob.removeprefix("!").removeprefix("./")
    anchored, folders_only = "/" in body.rstrip("/"), False
    for ending in ("/**/*", "/**", "/"):
        if body.endswith(ending):
            body, folders_only = body.removesuffix(ending).rstrip("/"), True
            break
    matches = compile_globs((body.lstrip("/") if anchored else "**/" + body,))
    return _Ignore(glob, either_case(matches), folders_only, glob.startswith("!"))
