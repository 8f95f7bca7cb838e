"""The file of keys: nothing in it opens anything, and nobody else reads it."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from qmd.errors import ConfigError, ConflictError, NotFoundError, UsageError
from qmd.server.keys import PREFIX, Key, Keys


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "keys.json"


@pytest.fixture
def keys(file: Path) -> Keys:
    return Keys(str(file), "/index.sqlite")


def test_a_key_is_found_again_and_no_other_is(keys: Keys) -> None:
    assert keys.find("anything") is None
    token = keys.add("laptop", ["notes", "notes", "work"], read_only=True)
    assert token.startswith(PREFIX) and len(token) == len(PREFIX) + 43
    found = keys.find(token)
    assert found is not None
    assert (found.name, found.collections, found.read_only) == ("laptop", ("notes", "work"), True)
    for other in (
        "",
        token[:-1],
        token + "=",
        token.lower(),
        token.removeprefix(PREFIX),
        found.digest,
        "\ud800",
    ):
        assert keys.find(other) is None
    assert keys.add("second") != token
    assert [each.name for each in keys.all()] == ["laptop", "second"]


def test_the_file_holds_no_key_and_only_its_user_reads_it(keys: Keys, file: Path) -> None:
    tokens = [keys.add("one"), keys.add("two")]
    assert not any(token.removeprefix(PREFIX) in file.read_text(encoding="utf-8") for token in tokens)
    file.chmod(0o644)
    keys.add("three")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_another_process_changes_counts_at_once(keys: Keys, file: Path) -> None:
    other = Keys(str(file), "/index.sqlite")
    assert not keys.any()
    token = other.add("one")
    assert keys.any() and keys.find(token) is not None
    other.remove("one")
    assert keys.find(token) is None


def test_keys_of_other_indexes_are_not_these(keys: Keys, file: Path) -> None:
    token = keys.add("one")
    elsewhere = Keys(str(file), "/other.sqlite")
    assert elsewhere.find(token) is None
    elsewhere.add("one")
    assert keys.find(token) is not None


def test_all_keys_made_at_once_are_kept(file: Path) -> None:
    def add(number: int) -> str:
        return Keys(str(file), "/index.sqlite").add(f"key{number}")

    with ThreadPoolExecutor(8) as threads:
        tokens = list(threads.map(add, range(16)))
    keys = Keys(str(file), "/index.sqlite")
    assert {key.name for token in tokens if (key := keys.find(token))} == {f"key{n}" for n in range(16)}


@pytest.mark.parametrize("name", ["", "a b", "-a", ".a", "a/b", "a" * 65, "a\n", "é"])
def test_a_name_is_a_word(keys: Keys, file: Path, name: str) -> None:
    with pytest.raises(UsageError):
        keys.add(name)
    assert not file.exists()


def test_a_name_is_taken_once_and_removed_once(keys: Keys) -> None:
    keys.add("one")
    with pytest.raises(ConflictError):
        keys.add("one")
    keys.remove("one")
    with pytest.raises(NotFoundError):
        keys.remove("one")


GOOD: dict[str, Any] = {"sha256": "0" * 64, "collections": None, "read_only": False, "created": "2026"}


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"indexes": []}',
        '{"indexes": {"/index.sqlite": []}}',
        *(
            json.dumps({"indexes": {"/index.sqlite": {"one": entry}}})
            for entry in (
                None,
                GOOD | {"sha256": "short"},
                GOOD | {"collections": "notes"},
                GOOD | {"collections": [1]},
                GOOD | {"read_only": "no"},
                {name: value for name, value in GOOD.items() if name != "collections"},
            )
        ),
    ],
)
def test_a_broken_file_lets_nobody_in(keys: Keys, file: Path, content: str) -> None:
    file.parent.mkdir()
    file.write_text(content, encoding="utf-8")
    for call in (lambda: keys.find("x"), keys.any, lambda: keys.add("two")):
        with pytest.raises(ConfigError):
            call()
    assert file.read_text(encoding="utf-8") == content


def test_what_else_the_file_holds_is_left_alone(keys: Keys, file: Path) -> None:
    file.parent.mkdir()
    file.write_text(json.dumps({"more": 1, "indexes": {"/index.sqlite": {"one": GOOD}}}), encoding="utf-8")
    assert keys.all() == (Key("one", "0" * 64, created="2026"),)
    keys.add("two")
    assert json.loads(file.read_text(encoding="utf-8"))["more"] == 1
    assert [each.name for each in keys.all()] == ["one", "two"]
