"""Globs with `**`, `*`, `?`, `[...]` and `{a,b}`, compiled so that matching takes linear time.

The part between two stars has a fixed length, and that between two `**` a fixed number of folders.
So its first match is as good as any later one, and atomic groups keep to it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from qmd.errors import UsageError
from qmd.text.regex import lazy

#: Returns whether a path matches. The path has forward slashes and is in NFC.
Matcher = Callable[[str], bool]

#: The most characters of a glob, and the most globs that its braces stand for.
MAX_LENGTH, MAX_ALTERNATIVES = 1000, 1000
_MAX_SIZE = 20_000  # characters of all alternatives
_TOKEN = lazy(
    r"(?P<stars>\*++)|\\(?P<escaped>.?)|\[(?P<negated>[!^]?+)(?P<items>\]?+(?:\[:\w++:\]|\\.|[^\]\\])*+)\]"
    r"|(?P<other>.)",
    re.DOTALL,
)
_ITEM = lazy(r"\[:(?P<kind>\w++):\]|\\?+(?P<low>.)(?:-\\?+(?P<high>.))?+", re.DOTALL)
_KINDS = {
    "alpha": "A-Za-z",
    "digit": "0-9",
    "alnum": "A-Za-z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
}


def compile_globs(globs: Sequence[str]) -> Matcher:
    """Return a function that tests whether a path matches any of `globs`, case-sensitively.

    `*` and `?` do not match a slash, and `**` is special only between slashes. Names with a leading dot are
    not special. Raises `UsageError` if a glob is too long or stands for too many.
    """
    expanded = [one for glob in globs for one in _expand(glob)]
    if sum(map(len, expanded)) > _MAX_SIZE:
        raise UsageError(
            f"the pattern {_excerpt(', '.join(globs))} stands for too many globs", "write a shorter one"
        )
    fullmatch = re.compile("|".join(map(_expression, expanded)) or r"(?!)", re.DOTALL).fullmatch
    return lambda path: fullmatch(path) is not None


def _expand(glob: str) -> Sequence[str]:
    """Return the globs that the braces of a glob stand for."""
    normal = unicodedata.normalize("NFC", glob).removeprefix("./").lstrip("/")
    if len(normal) > MAX_LENGTH:
        raise UsageError(f"the pattern {_excerpt(glob)} is longer than {MAX_LENGTH:,} characters")
    if "{" not in normal:
        return (normal,)
    import bracex

    try:
        return bracex.expand(normal, keep_escapes=True, limit=MAX_ALTERNATIVES)
    except (bracex.ExpansionLimitException, RecursionError) as error:
        raise UsageError(
            f"the pattern {_excerpt(glob)} stands for too many globs",
            f"use braces that stand for at most {MAX_ALTERNATIVES:,}",
        ) from error


def _expression(glob: str) -> str:
    """Return the regular expression of a glob without braces."""
    *folders, name = glob.split("/")
    runs: list[list[str]] = [[]]
    for segment in [*filter(None, folders), name]:
        if segment == "**":
            runs.append([])
        else:
            runs[-1].append(_segment(segment))
    first, *others = ("".join(f"{segment}/" for segment in run) for run in runs)
    if not others:
        return first[:-1]
    *inner, last = others
    start = first + "".join(rf"(?>(?:[^/]*+/)*?{run})" for run in inner if run)
    return start + (rf"(?:[^/]*+/)*?{last[:-1]}\Z" if last else ".*+")


def _segment(glob: str) -> str:
    """Return the regular expression of the part of a glob between two slashes."""
    pieces = [""]
    for token in _TOKEN.finditer(glob):
        if token["stars"]:
            pieces.append("")
        else:
            pieces[-1] += _character(token)
    first, *others = pieces
    if not others:
        return first
    *inner, last = others
    end = rf"(?>[^/]*?{last}(?![^/]))" if last else "[^/]*+"
    return first + "".join(rf"(?>[^/]*?{piece})" for piece in inner if piece) + end


def _character(token: re.Match[str]) -> str:
    """Return the regular expression of a token that stands for one character."""
    if token["items"] is None:
        return "[^/]" if token["other"] == "?" else re.escape(token["escaped"] or token["other"] or "")
    items = "".join(_KINDS.get(item["kind"], "") or _range(item) for item in _ITEM.finditer(token["items"]))
    if token["negated"]:
        return f"[^/{items}]"
    return f"(?!/)[{items}]" if items else r"(?!)"


def _range(item: re.Match[str]) -> str:
    """Return a character or a range as part of a character class; "" for a range without characters."""
    low, high = item["low"] or "", item["high"]
    if high is None:
        return re.escape(low)
    return f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""


def _excerpt(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 100 else pattern[:100] + "…")
