"""Values of front matter that look like numbers, dates or booleans: shown, found and followed as written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.users import MakeUser, User

NOTES = {
    "release.md": "---\nversion: 1.10\ncode: 007\nsize of it: 1e5\nready: true\ndue: 2024-3-7\n"
    "seen: 2024-03-07T10:00:00+02:00\nanswer: no\ntags: [1234567, 1e10, 2024-3-7, true, 7]\n"
    "author: 7654321\naliases: [8888888, 2024-4-1]\n---\n# Release\n\nA heron.\n",
    "quoted.md": '---\nversion: "1.10"\ntags: ["1234567"]\n---\n# Quoted\n\nA heron.\n',
    "links.md": "# Links\n\nSee [[8888888]] and [[2024-4-1]], not the heron.\n",
    "0012.md": "---\nsuperseded_by: 0013\n---\n# Old decision\n\nA crane.\n",
    "0013.md": "---\nstatus: accepted\n---\n# New decision\n\nA crane.\n",
    "202401151228.md": "---\nsuperseded_by: 202401151230\n---\n# Old card\n\nA stork.\n",
    "202401151230.md": "# New card\n\nA stork.\n",
    "2023-1-5.md": "---\nsuperseded_by: 2023-1-6\n---\n# Old day\n\nAn egret.\n",
    "2023-1-6.md": "# New day\n\nAn egret.\n",
    "offer.md": "---\nvalid_until: 20240101\n---\n# Offer\n\nA bittern.\n",
    "toml.md": "+++\nauthor = 1234567\ntags = [9876543]\nvalid_until = 20240101\n+++\n# Toml\n\nA rail.\n",
    "json.md": '{"author": 1234567, "tags": [9876543]}\n\n# Json\n\nA rail.\n',
}


@pytest.fixture(scope="module")
def keeper(make_user: MakeUser) -> User:
    """A user with such notes. Shared: tests only read."""
    user = make_user("writer")
    folder = user.home / "vault"
    folder.mkdir()
    for path, text in NOTES.items():
        (folder / path).write_text(text, encoding="utf-8")
    user.ok("collection", "add", str(folder), "--name", "vault")
    return user


def printed(user: User, *args: str) -> Any:
    return json.loads(user.ok(*args, "--json"))


def found(user: User, *args: str) -> list[str]:
    return sorted(row["file"].removeprefix("qmd://vault/") for row in printed(user, *args))


def test_tags_are_listed_and_found_as_written(keeper: User) -> None:
    tags = {row["tag"]: row["documents"] for row in printed(keeper, "tags")}
    assert tags == {"1234567": 2, "9876543": 2, "1e10": 1, "2024-3-7": 1, "true": 1, "7": 1}
    assert found(keeper, "search", "heron tag:1234567") == ["quoted.md", "release.md"]
    assert found(keeper, "search", "heron", "--tag", "2024-3-7") == ["release.md"]
    assert "#1234567" not in keeper.ok("search", "heron tag:1e10", "--facets", "tag")
    assert "1234567 1" in keeper.ok("search", "heron tag:1e10", "--facets", "tag")


def test_author_is_a_name_also_if_it_looks_like_a_number(keeper: User) -> None:
    authors = {row["value"]: row["documents"] for row in printed(keeper, "fields", "author")}
    assert authors == {"1234567": 2, "7654321": 1}
    assert found(keeper, "search", "heron author:7654321") == ["release.md"]
    assert found(keeper, "search", "rail", "--author", "1234567") == ["json.md", "toml.md"]


def test_fields_show_values_as_written_and_give_programs_their_types(keeper: User) -> None:
    for field, text, value in (
        ("code", "007", 7),
        ("size of it", "1e5", 100000),
        ("due", "2024-3-7", "2024-03-07"),
        ("seen", "2024-03-07T10:00:00+02:00", "2024-03-07T10:00:00"),
        ("ready", "true", True),
        ("answer", "no", "no"),
    ):
        assert [line.split()[0] for line in keeper.ok("fields", field).splitlines()] == ["Value", text]
        assert [row["value"] for row in printed(keeper, "fields", field)] == [value]
    values = {row["value"]: row["documents"] for row in printed(keeper, "fields", "version")}
    assert values == {1.1: 1, "1.10": 1}
    assert "1.10 1, 1.10 1" in keeper.ok("fields")
    assert "1.10" in keeper.ok("why", "vault/release.md", "heron").split()


def test_filters_compare_written_values_by_their_type(keeper: User) -> None:
    for condition in (
        "code=7",
        "code=007",
        "size of it>99999",
        "due=2024-03-07",
        "due<2024-04",
        "version>=1.1",
    ):
        assert "release.md" in found(keeper, "search", "heron", "--where", condition), condition
    assert found(keeper, "search", "heron [version:1.10]") == ["quoted.md", "release.md"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("0012.md", "0013.md"), ("202401151228.md", "202401151230.md"), ("2023-1-5.md", "2023-1-6.md")],
)
def test_superseding_document_is_found_by_what_is_written(keeper: User, old: str, new: str) -> None:
    (hit,) = [row for row in printed(keeper, "search", "state:superseded") if row["file"].endswith(old)]
    assert hit["state"] == {"name": "superseded", "by": f"vault/{new}"}


def test_compact_date_ends_validity(keeper: User) -> None:
    assert found(keeper, "search", "state:expired") == ["offer.md", "toml.md"]


def test_links_lead_to_aliases_as_written(keeper: User) -> None:
    links = {row["target"]: row["to"] for row in printed(keeper, "links", "vault/links.md")}
    assert links == dict.fromkeys(("8888888", "2024-4-1"), "qmd://vault/release.md")
    assert found(keeper, "search", "8888888") == ["links.md", "release.md"]


def test_doctor_finds_nothing_wrong_with_written_values(keeper: User) -> None:
    checks = json.loads(keeper.invoke("doctor", "--json").stdout)
    assert [each for each in checks if each["level"] == "problem"] == []
