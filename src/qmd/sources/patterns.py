"""Comma-separated lists of globs."""

from __future__ import annotations

import re

from qmd.text.globs import Matcher, compile_globs
from qmd.types import DEFAULT_PATTERN


def compile_pattern(pattern: str) -> Matcher:
    """Compile a comma-separated list of globs to a function that tests paths.

    Matching is that of `compile_globs`, but the suffixes `.MD`, `.Md` and `.mD` also match as `.md`. Raises
    `UsageError` if the pattern is too long or too complex.
    """
    parts = split_pattern(pattern)
    if parts == (DEFAULT_PATTERN,):
        return lambda path: path.endswith((".md", ".MD", ".Md", ".mD"))
    return either_case(compile_globs(parts))


def split_pattern(pattern: str) -> tuple[str, ...]:
    """Split a comma-separated list and strip the parts. Commas in braces and brackets do not separate."""
    parts, start, depth, inside = [], 0, 0, 0
    last = pattern.rfind("]")
    for match in re.finditer(r"\\.|[\[{},]", pattern):
        at = match.start()
        match match[0]:
            case _ if at < inside:
                pass
            case "[" if at < last:
                inside = pattern.index("]", at)
            case "{":
                depth += 1
            case "}":
                depth = max(depth - 1, 0)
            case "," if depth == 0:
                parts.append(pattern[start:at])
                start = match.end()
    parts.append(pattern[start:])
    return tuple(part.strip() for part in parts if part.strip())


def either_case(matches: Matcher) -> Matcher:
    """Return a matcher that also accepts `.MD`, `.Md` and `.mD` if `matches` accepts `.md`."""

    def matches_either(path: str) -> bool:
        if matches(path):
            return True
        return path[-3:] in (".MD", ".Md", ".mD") and matches(path[:-3] + ".md")

    return matches_either
