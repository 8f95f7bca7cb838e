from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from qmd.text.uris import MAX_LINE, encode_path, is_uri, parse_uri, split_location, to_uri


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("notes/a b.md", "qmd://notes/a%20b.md"),
        ("notes/2025/ meeting.md", "qmd://notes/2025/%20meeting.md"),
        ("notes/100%.md", "qmd://notes/100%25.md"),
        ("notes/a%20b.md", "qmd://notes/a%2520b.md"),
        ("notes/a#b?c:d@e.md", "qmd://notes/a%23b%3Fc%3Ad%40e.md"),
        ("notes/-_.!~*'().md", "qmd://notes/-_.!~*'().md"),
        ("notes/café/数.md", "qmd://notes/caf%C3%A9/%E6%95%B0.md"),
        ("notes/😀\n.md", "qmd://notes/%F0%9F%98%80%0A.md"),
    ],
)
def test_to_uri_encodes_each_segment_like_encode_uri_component(path: str, uri: str) -> None:
    assert to_uri(path) == uri
    assert parse_uri(uri) == path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("qmd://notes%2Fa%20b.md", "notes/a b.md"),
        ("qmd://notes/a b.md", "notes/a b.md"),
        ("QMD://notes/A.md", "notes/A.md"),
        ("qmd:////notes//a.md/", "notes/a.md"),
        ("qmd://notes/./a.md", "notes/a.md"),
        ("qmd://notes/100%/5%2.md", "notes/100%/5%2.md"),
        ("qmd://notes/cafe%CC%81.md", "notes/café.md"),
        ("qmd://notes/%FF.md", "notes/\ufffd.md"),
        ("qmd://", ""),
    ],
)
def test_parse_uri_accepts_addresses_typed_by_hand(uri: str, path: str) -> None:
    assert parse_uri(uri) == path


def test_parse_uri_keeps_parent_segments_and_nul() -> None:
    assert parse_uri("qmd://notes/../../etc/passwd") == "notes/../../etc/passwd"
    assert parse_uri("qmd://notes/%2E%2E/a%00.md") == "notes/../a\0.md"


def test_parse_uri_refuses_other_references() -> None:
    assert not is_uri("notes/a.md")
    with pytest.raises(ValueError, match="not a qmd:// address"):
        parse_uri("notes/a.md")


@given(st.lists(st.text(min_size=1).filter(lambda part: "/" not in part and part != "."), min_size=1))
def test_to_uri_and_parse_uri_round_trip(segments: list[str]) -> None:
    path = "/".join(segments)
    assert to_uri(path).isascii()
    assert parse_uri(to_uri(path)) == unicodedata.normalize("NFC", path)


@given(st.text(st.characters()))
def test_encoding_and_decoding_never_fail(text: str) -> None:
    encode_path(text + "\ud800")
    parse_uri("qmd://" + text + "%")


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("a.md", ("a.md", None, None)),
        ("a.md:10", ("a.md", 10, None)),
        ("a.md:10:5", ("a.md", 10, 5)),
        ("a.md:0:0", ("a.md", 0, 0)),
        ("a.md:3-5", ("a.md", 3, 3)),
        ("a:1:3-3", ("a:1", 3, 1)),
        ("a.md:5-3", ("a.md", 5, -1)),
        ("a-b.md:3-x", ("a-b.md:3-x", None, None)),
        ("a.md-5", ("a.md-5", None, None)),
        ("a:1:2:3", ("a:1", 2, 3)),
        ("qmd://notes/a.md:7", ("qmd://notes/a.md", 7, None)),
        ("#abc123:7:2", ("#abc123", 7, 2)),
        ("a.md:", ("a.md:", None, None)),
        ("a.md:x", ("a.md:x", None, None)),
        ("a.md:-1", ("a.md:-1", None, None)),
        ("a.md:1:x", ("a.md:1:x", None, None)),
        ("a.md::5", ("a.md:", 5, None)),
        ("a.md:１", ("a.md:１", None, None)),
        (":5", (":5", None, None)),
        ("", ("", None, None)),
        ("a.md:007", ("a.md", 7, None)),
        ("a.md:" + "9" * 100_000, ("a.md", MAX_LINE, None)),
        ("a.md:" + "0" * 100_000 + "3", ("a.md", 3, None)),
    ],
)
def test_split_location_returns_line_and_count(
    reference: str, parts: tuple[str, int | None, int | None]
) -> None:
    assert split_location(reference) == parts


@given(st.text())
def test_split_location_accepts_any_reference(reference: str) -> None:
    path, first, count = split_location(reference)
    assert reference.startswith(path)
    assert first is None or 0 <= first <= MAX_LINE
    assert count is None or -MAX_LINE < count <= MAX_LINE + 1
