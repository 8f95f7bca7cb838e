"""Globs match like those of wcmatch, and matching is fast for any glob."""

from __future__ import annotations

import re

from hypothesis import example, given, strategies as st
from wcmatch import glob as wcmatch

from qmd.text.globs import compile_globs

_FLAGS = wcmatch.GLOBSTAR | wcmatch.BRACE | wcmatch.DOTGLOB | wcmatch.FORCEUNIX | wcmatch.CASE
_PIECES = st.sampled_from(
    "a b ab . é * ** ? / **/ /**/ [ab] [!a] [b-é] [z-a] []a] [ ] {a,b} {a,b/} { } \\a \\* [\\]] [a/b] - "
    "[[:alpha:]] [[:digit:]a] + $".split()
)
_NAMES = st.text("ab.é-[]*\\{+$\n1", min_size=1, max_size=5).filter(lambda name: name not in (".", ".."))
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)


@given(st.lists(_PIECES, min_size=1, max_size=7).map("".join), st.lists(_PATHS, min_size=1, max_size=20))
@example("**/a/**/b*a*b/**", ["a/b", "a/x/bab/y", "bab/a/bab", "a/a/bbab/", "a/bab/a/bab/c"])
@example("**/*a?b*[ab]", ["aab", "x/aabb", "aaba/b", "aaabab"])
def test_globs_match_like_those_of_wcmatch(glob: str, paths: list[str]) -> None:
    normal = glob.removeprefix("./").lstrip("/")
    expected = [re.compile(one) for one in wcmatch.translate(normal, flags=_FLAGS)[0]]
    matches = compile_globs((glob,))
    assert [path for path in paths if matches(path)] == [
        path for path in paths if any(one.fullmatch(path) for one in expected)
    ]
