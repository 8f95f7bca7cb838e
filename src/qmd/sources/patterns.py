"""Globs with `**`, `*`, `?`, `[...]` and `{a,b}`, and comma-separated lists of globs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from qmd.errors import UsageError
from qmd.types import DEFAULT_PATTERN

Matcher = Callable[[str], bool]
"""Returns whether a path matches. The path has forward slashes and is in NFC."""

_MAX_ALTERNATIVES = 1000
_MAX_GLOBSTARS = 4  # one more multiplies the time of a match by the depth of the path


def compile_pattern(pattern: str) -> Matcher:
    """Compile a comma-separated list of globs to a function that tests paths.

    Matching is case-sensitive, except that the suffixes `.MD`, `.Md` and `.mD` also match as `.md`. `*` does
    not match a slash. Names with a leading dot are not special. Raises `UsageError` if the pattern is invalid
    or too complex.
    """
    parts = split_pattern(pattern)
    if parts == (DEFAULT_PATTERN,):
        return lambda path: path.endswith((".md", ".MD", ".Md", ".mD"))
    return either_case(compile_globs(parts))


def split_pattern(pattern: str) -> tuple[str, ...]:
    """Split a comma-separated list and strip the parts. Commas in braces and brackets do not separate."""
    parts, start, depth = [], 0, 0
    for match in re.finditer(r"\\.|\[[^\]]*\]|[{},]", pattern):
        match match[0]:
            case "{":
                depth += 1
            case "}":
                depth = max(depth - 1, 0)
            case "," if depth == 0:
                parts.append(pattern[start : match.start()])
                start = match.end()
    parts.append(pattern[start:])
    return tuple(part.strip() for part in parts if part.strip())


def compile_globs(globs: tuple[str, ...]) -> Matcher:
    """Return a function that tests whether a path matches any of `globs`, case-sensitively."""
    from wcmatch import glob

    flags = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.FORCEUNIX | glob.CASE
    expressions: list[str] = []
    for part in globs:
        relative = unicodedata.normalize("NFC", part).removeprefix("./").lstrip("/")
        relative = re.sub(r"(?:\*\*/)+", "**/", relative)
        if relative.count("**") > _MAX_GLOBSTARS:
            raise UsageError(
                f"too many '**' in the pattern {_excerpt(part)}",
                f"Use at most {_MAX_GLOBSTARS}, or several patterns separated by commas.",
            )
        try:
            expressions += glob.translate(relative, flags=flags, limit=_MAX_ALTERNATIVES)[0]
        except Exception as error:  # the exceptions of wcmatch are not public
            raise UsageError(f"cannot read the pattern {_excerpt(part)}: {error}") from error
    try:
        compiled = re.compile("|".join(expressions) or r"(?!)")
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"cannot read the pattern {_excerpt(', '.join(globs))}: {error}") from error
    fullmatch = compiled.fullmatch
    return lambda path: fullmatch(path) is not None


def either_case(matches: Matcher) -> Matcher:
    """Return a matcher that also accepts `.MD`, `.Md` and `.mD` if `matches` accepts `.md`."""

    def matches_either(path: str) -> bool:
        if matches(path):
            return True
        return path[-3:] in (".MD", ".Md", ".mD") and matches(path[:-3] + ".md")

    return matches_either


def _excerpt(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 100 else pattern[:100] + "…")
