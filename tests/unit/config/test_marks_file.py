"""The file of pins and marks: it can be read back, is limited, and is replaced atomically."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from qmd.config import marks_file
from qmd.config.marks_file import MarkEntry
from qmd.config.paths import marks_path
from qmd.errors import ConfigError

texts = st.text(min_size=1, max_size=40).filter(lambda text: bool(text.strip()) and "\0" not in text)
paths = st.lists(texts, min_size=1, max_size=3, unique=True).map(tuple)
entries = st.lists(
    st.builds(MarkEntry, texts, st.dictionaries(st.sampled_from(marks_file.KINDS), paths, min_size=1)),
    max_size=4,
)


def _ordered(entry: MarkEntry) -> tuple[str, list[tuple[str, tuple[str, ...]]]]:
    return entry.query, sorted(entry.files.items())


@given(entries)
def test_marks_file_can_be_read_back_with_and_without_the_parser(written: list[MarkEntry]) -> None:
    data = marks_file._written(tuple(written))
    fast = marks_file.parse(data, "marks")
    assert [*map(_ordered, fast)] == [*map(_ordered, written)]
    # A comment after a value is YAML, but `_written` never writes one.
    slow = marks_file.parse(data + b"  # by hand\n" if written else data, "marks")
    assert slow == fast


def test_marks_file_written_by_hand_is_read(tmp_path: Path) -> None:
    text = "- query: how do I deploy\n  pin: ops/deploy.md\n  bad:\n    - old/deploy.md   # outdated\n"
    (entry,) = marks_file.parse(text.encode(), "marks")
    assert entry == MarkEntry("how do I deploy", {"pin": ("ops/deploy.md",), "bad": ("old/deploy.md",)})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- [", "marks:1: "),
        ("a: b", "not a list of queries"),
        ("- query: ''", "entry 1 needs a 'query'"),
        ("- pin: a.md", "entry 1 needs a 'query'"),
        ("- query: a\n  pni: a.md", "unknown key 'pni'"),
        ("- query: a\n  pin: {a: b}", "'pin' must list"),
        ('- query: "a"\n  pin: ["a\\u0000"]', "'pin' must list"),
        (f"- query: {'a' * 1001}", "at most 1,000 characters"),
        ("- query: a\n  good: [" + ", ".join(f"{n}.md" for n in range(21)) + "]", "at most 20 paths"),
        ('- query: "\\ud800"', "half a character"),
        ("- query: " + "[" * 100_000, "nested too deeply"),
        ('- query: "a"\n' * 1_001, "more than 1,000 queries"),
    ],
)
def test_broken_marks_file_is_an_error_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match="marks") as caught:
        marks_file.parse(text.encode(), "marks")
    assert reason in caught.value.message


def test_marks_file_that_is_too_large_or_not_utf_8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "index.marks.yaml"
    path.write_bytes(b"#" * (marks_file.MAX_BYTES + 1))
    with pytest.raises(ConfigError, match="larger than 200 kB"):
        marks_file.read(str(path))
    with pytest.raises(ConfigError, match="line 2: not UTF-8"):
        marks_file.parse(b"\n\xff", "marks")


def test_edit_of_marks_keeps_comments_and_a_failed_one_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "index.marks.yaml"
    before = b'# mine\n- query: "a"\n  pin: ["x.md"]\n'
    path.write_bytes(before)
    marks_file.edit(str(path), lambda entries: (*entries, MarkEntry("b", {"good": ("y.md",)})))
    assert b'# mine\n- query: "a"\n' in path.read_bytes()
    after = path.read_bytes()
    with pytest.raises(ConfigError):
        marks_file.edit(str(path), lambda entries: (*entries, MarkEntry("x" * 1_001, {"pin": ("y.md",)})))
    assert path.read_bytes() == after


def test_edit_of_marks_replaces_the_heading_of_former_versions(tmp_path: Path) -> None:
    path = tmp_path / "index.marks.yaml"
    first, second = marks_file._HEADER.splitlines()
    path.write_text(f"{first}\n{second} Marks also count for similar queries.\n", encoding="utf-8")
    marks_file.edit(str(path), lambda _: (MarkEntry("herons", {"pin": ("a.md",)}),))
    assert path.read_text(encoding="utf-8") == f'{marks_file._HEADER}- query: "herons"\n  pin: ["a.md"]\n'


def test_marks_path_is_beside_the_configuration() -> None:
    assert marks_path("/a/index.yml") == "/a/index.marks.yaml"
    assert marks_path("/a/work.v2.yml") == "/a/work.v2.marks.yaml"
