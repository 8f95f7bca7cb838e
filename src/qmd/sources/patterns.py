"""Globs: `**`, `*`, `?`, `[...]`, `{a,b}`, and comma lists of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from qmd.errors import UsageError
from qmd.types import DEFAULT_PATTERN

Matcher = Callable[[str], bool]
"""Says whether a path with forward slashes, in NFC, matches."""

_MAX_ALTERNATIVES = 1000
_MAX_GLOBSTARS = 4  # each one more multiplies the time of a match by the depth of the path


def compile_pattern(pattern: str) -> Matcher:
    """A function that says whether a path matches `pattern`: any part of its comma list, any braces.

    Case counts, except that a path ending in `.MD` or `.Md` counts as ending in `.md`. `*` stops at a slash,
    names with a leading dot are names like any other. Raises UsageError for a pattern that cannot be read.
    """
    parts = split_pattern(pattern)
    if parts == (DEFAULT_PATTERN,):
        return _is_markdown
    return either_case(compile_globs(parts))


def split_pattern(pattern: str) -> tuple[str, ...]:
    """The parts of a comma list, without blanks around them; commas in braces and brackets do not count."""
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
    """A function that says whether a path matches any of `globs`, exactly."""
    from wcmatch import glob

    flags = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.FORCEUNIX | glob.CASE
    expressions: list[str] = []
    for part in globs:
        relative = unicodedata.normalize("NFC", part).removeprefix("./").lstrip("/")
        relative = re.sub(r"(?:\*\*/)+", "**/", relative)
        if relative.count("**") > _MAX_GLOBSTARS:
            raise UsageError(f"too many '**' in the pattern {_shown(part)}", "Use fewer, or a comma list.")
        try:
            expressions += glob.translate(relative, flags=flags, limit=_MAX_ALTERNATIVES)[0]
        except Exception as error:  # the parser's own errors are not public names
            raise UsageError(f"cannot read the pattern {_shown(part)}: {error}") from error
    try:
        compiled = re.compile("|".join(expressions) or r"(?!)")
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"cannot read the pattern {_shown(', '.join(globs))}: {error}") from error
    fullmatch = compiled.fullmatch
    return lambda path: fullmatch(path) is not None


def either_case(matches: Matcher) -> Matcher:
    """`matches`, for which `.MD` counts as `.md`."""

    def matches_either(path: str) -> bool:
        if matches(path):
            return True
        return path[-3:] in (".MD", ".Md", ".mD") and matches(path[:-3] + ".md")

    return matches_either


def _is_markdown(path: str) -> bool:
    return path.endswith((".md", ".MD", ".Md", ".mD"))


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 100 else pattern[:100] + "…")
