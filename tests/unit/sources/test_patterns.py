from __future__ import annotations

import pytest

from qmd.errors import UsageError
from qmd.sources.patterns import compile_pattern, split_pattern


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (
            "**/*.md",
            ["a.md", "x/y/a.md", "A.MD", "x/a.Md", "a b\n.md"],
            ["a.txt", "a.md.bak", "a.md\n", "md"],
        ),
        ("*.md", ["a.md", "a.MD"], ["x/a.md"]),
        ("docs/*.md", ["docs/a.md"], ["docs/x/a.md", "a.md", "Docs/a.md"]),
        ("docs/**/*.md", ["docs/a.md", "docs/x/y/a.md"], ["a.md", "x/docs/a.md"]),
        ("docs/**", ["docs/a.md", "docs/x/a.txt"], ["a.md"]),
        ("./docs/*.md", ["docs/a.md"], ["x.md"]),
        ("**/*.{md,txt}", ["a.md", "x/a.txt", "a.MD"], ["a.TXT", "a.org"]),
        ("**/*.md, **/*.txt", ["a.md", "x/a.txt"], ["a.org"]),
        ("{notes,docs}/**/*.md,*.org", ["notes/a.md", "docs/x/a.md", "a.org"], ["other/a.md", "x/a.org"]),
        ("**/README*", ["README", "x/README.md"], ["readme.md"]),
        ("**/[a-c]?.md", ["ab.md", "x/cz.md"], ["db.md", "a.md"]),
        ("**/[!a]*.md", ["b.md"], ["a.md"]),
        ("**/*.MD", ["a.MD"], ["a.md"]),
        ("**/caf\u0065\u0301.md", ["café.md"], ["cafe.md"]),
        ("数据/**", ["数据/文.md"], ["文.md"]),
        (r"a\*b.md", ["a*b.md"], ["axb.md"]),
        ("**/**/**/**/**/**/*.md", ["a.md", "x/y/a.md"], ["a.txt"]),
        ("a[b.md", ["a[b.md"], ["ab.md"]),
        ("a{b.md", ["a{b.md"], ["ab.md"]),
        ("!a.md", ["!a.md"], ["b.md"]),
        ("**/.*.md", ["x/.a.md"], ["x/a.md"]),
        ("", [], ["", "a.md"]),
        (" , ", [], ["a.md"]),
    ],
)
def test_compile_pattern_matches_the_expected_paths(
    pattern: str, matching: list[str], others: list[str]
) -> None:
    matches = compile_pattern(pattern)
    assert [path for path in matching if not matches(path)] == []
    assert [path for path in others if matches(path)] == []


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("a,b", ("a", "b")),
        (" a , ,b,", ("a", "b")),
        ("{a,b},c", ("{a,b}", "c")),
        ("{a,{b,c}},d", ("{a,{b,c}}", "d")),
        ("[,],a", ("[,]", "a")),
        (r"a\,b,c", (r"a\,b", "c")),
        ("a},b", ("a}", "b")),
        ("", ()),
    ],
)
def test_split_pattern_splits_commas_outside_braces(pattern: str, parts: tuple[str, ...]) -> None:
    assert split_pattern(pattern) == parts


@pytest.mark.parametrize(
    "pattern", ["**/a/" * 250 + "*.md", "{a,b}" * 20, "{1..100000}.md", "{a,b}" * 9 + "c" * 99]
)
def test_compile_pattern_refuses_exploding_patterns(pattern: str) -> None:
    with pytest.raises(UsageError, match="pattern"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["*a" * 30 + "b", "[a-z]*" * 30 + "!", "**/a/" * 40 + "*b", "**?" * 40 + "Z"]
)
def test_patterns_with_many_stars_are_matched_quickly(pattern: str) -> None:
    assert not compile_pattern(pattern)("a" * 250)
    assert not compile_pattern(pattern)("a/" * 40 + "c")
