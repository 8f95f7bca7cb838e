"""The file of API keys."""

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


def test_find_returns_only_the_matching_key(keys: Keys) -> None:
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


def test_key_file_is_private_and_has_only_digests(keys: Keys, file: Path) -> None:
    tokens = [keys.add("one"), keys.add("two")]
    assert not any(token.removeprefix(PREFIX) in file.read_text(encoding="utf-8") for token in tokens)
    file.chmod(0o644)
    keys.add("three")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_changes_by_another_process_take_effect_at_once(keys: Keys, file: Path) -> None:
    other = Keys(str(file), "/index.sqlite")
    assert not keys.any()
    token = other.add("one")
    assert keys.any() and keys.find(token) is not None
    other.remove("one")
    assert keys.find(token) is None


def test_keys_belong_to_one_index(keys: Keys, file: Path) -> None:
    token = keys.add("one")
    elsewhere = Keys(str(file), "/other.sqlite")
    assert elsewhere.find(token) is None
    elsewhere.add("one")
    assert keys.find(token) is not None


def test_concurrent_additions_keep_all_keys(file: Path) -> None:
    def add(number: int) -> str:
        return Keys(str(file), "/index.sqlite").add(f"key{number}")

    with ThreadPoolExecutor(8) as threads:
        tokens = list(threads.map(add, range(16)))
    keys = Keys(str(file), "/index.sqlite")
    assert {key.name for token in tokens if (key := keys.find(token))} == {f"key{n}" for n in range(16)}


@pytest.mark.parametrize("name", ["", "a b", "-a", ".a", "a/b", "a" * 65, "a\n", "é"])
def test_add_refuses_an_invalid_name(keys: Keys, file: Path, name: str) -> None:
    with pytest.raises(UsageError):
        keys.add(name)
    assert not file.exists()


def test_add_refuses_a_taken_name_and_remove_an_unknown_one(keys: Keys) -> None:
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
def test_invalid_key_file_refuses_all_keys(keys: Keys, file: Path, content: str) -> None:
    file.parent.mkdir()
    file.write_text(content, encoding="utf-8")
    for call in (lambda: keys.find("x"), keys.any, lambda: keys.add("two")):
        with pytest.raises(ConfigError):
            call()
    assert file.read_text(encoding="utf-8") == content


def test_other_content_of_the_key_file_is_kept(keys: Keys, file: Path) -> None:
    file.parent.mkdir()
    file.write_text(json.dumps({"more": 1, "indexes": {"/index.sqlite": {"one": GOOD}}}), encoding="utf-8")
    assert keys.all() == (Key("one", "0" * 64, created="2026"),)
    keys.add("two")
    assert json.loads(file.read_text(encoding="utf-8"))["more"] == 1
    assert [each.name for each in keys.all()] == ["one", "two"]
