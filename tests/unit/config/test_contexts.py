from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from qmd.config.contexts import (
    context_for,
    context_uri,
    list_contexts,
    normalise_prefix,
    parse_context_target,
)
from qmd.errors import UsageError
from qmd.types import Collection, Config

CONTEXTS = {"": "root", "talk": "talks", "talk/2024": "of 2024", "talk/2024/a.md": "the file"}
CONFIG = Config("f", "d", {"notes": Collection("notes", "/n", context=CONTEXTS)}, global_context="all")

segments = st.text(st.characters(exclude_characters="/", exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    lambda segment: segment not in (".", "..")
)
prefixes = st.lists(segments, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("other.md", "all\n\nroot"),
        ("talk", "all\n\nroot\n\ntalks"),
        ("talk/x.md", "all\n\nroot\n\ntalks"),
        ("talks/x.md", "all\n\nroot"),
        ("talk.md", "all\n\nroot"),
        ("talk/2024/b.md", "all\n\nroot\n\ntalks\n\nof 2024"),
        ("talk/2024/a.md", "all\n\nroot\n\ntalks\n\nof 2024\n\nthe file"),
        ("a/talk/x.md", "all\n\nroot"),
        ("", "all\n\nroot"),
        ("/talk/x.md", "all\n\nroot\n\ntalks"),
    ],
)
def test_context_for_joins_the_texts_of_all_ancestors(path: str, expected: str) -> None:
    assert context_for(CONFIG, "notes", path) == expected


def test_context_for_an_unknown_collection_is_the_global_context() -> None:
    assert context_for(CONFIG, "elsewhere", "x.md") == "all"


def test_context_for_a_path_without_texts_is_none() -> None:
    config = Config("f", "d", {"notes": Collection("notes", "/n", context={"a": "x"})})
    assert context_for(config, "notes", "b/c.md") is None


def test_context_for_normalises_decomposed_paths() -> None:
    config = Config("f", "d", {"notes": Collection("notes", "/n", context={"été": "summer"})})
    assert context_for(config, "notes", "e\u0301te\u0301/x.md") == "summer"


@given(st.dictionaries(prefixes, st.text("xyz", min_size=1)), prefixes)
def test_context_for_equals_its_definition(context: dict[str, str], path: str) -> None:
    context = {normalise_prefix(prefix): text for prefix, text in context.items()}
    path = normalise_prefix(path)
    config = Config("f", "d", {"notes": Collection("notes", "/n", context=context)})
    covering = sorted(
        (prefix for prefix in context if prefix == "" or path == prefix or path.startswith(prefix + "/")),
        key=len,
    )
    expected = "\n\n".join(context[prefix] for prefix in covering) or None
    assert context_for(config, "notes", path) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/", (None, "")),
        ("qmd://", (None, "")),
        ("qmd:///", (None, "")),
        ("qmd://notes", ("notes", "")),
        ("qmd://notes/", ("notes", "")),
        ("qmd://notes/work/", ("notes", "work")),
        ("qmd://notes//work/./a", ("notes", "work/a")),
        ("qmd://notes/my%20talks", ("notes", "my talks")),
        ("qmd://notes/a%2Fb", ("notes", "a/b")),
        ("qmd://%E7%AC%94%E8%AE%B0/x", ("笔记", "x")),
        ("qmd://笔记/工作", ("笔记", "工作")),
        ("qmd://notes/100%", ("notes", "100%")),
    ],
)
def test_parse_context_target_returns_collection_and_folder(
    text: str, expected: tuple[str | None, str]
) -> None:
    assert parse_context_target(text) == expected


@pytest.mark.parametrize("text", ["", "notes", "./notes", "/home/ada", "http://x", "qmd:/x", "qmd://a/%FF"])
def test_parse_context_target_refuses_invalid_targets(text: str) -> None:
    with pytest.raises(UsageError):
        parse_context_target(text)


def test_list_contexts_goes_from_global_to_folders() -> None:
    assert list_contexts(CONFIG) == [
        ("qmd://", "all"),
        ("qmd://notes", "root"),
        ("qmd://notes/talk", "talks"),
        ("qmd://notes/talk/2024", "of 2024"),
        ("qmd://notes/talk/2024/a.md", "the file"),
    ]


@given(segments, prefixes)
def test_context_uri_can_be_parsed_back(collection: str, prefix: str) -> None:
    uri = context_uri(collection, normalise_prefix(prefix))
    assert parse_context_target(uri) == (normalise_prefix(collection), normalise_prefix(prefix))
