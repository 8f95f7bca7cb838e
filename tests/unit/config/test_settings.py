from __future__ import annotations

import pytest

from qmd.config.settings import Settings, environment_settings, resolve
from qmd.errors import ConfigError
from qmd.types import Config, Models

EMPTY = Config("f", "d")
FULL = Config(
    "f", "d", editor_uri="file-uri", models=Models("file-e", "file-r", "file-g"), ranking="contract"
)
ENVIRON = {
    "QMD_RANKING": "tuned",
    "QMD_EMBED_MODEL": "env-e",
    "QMD_RERANK_MODEL": "env-r",
    "QMD_GENERATE_MODEL": "env-g",
    "QMD_EDITOR_URI": "env-uri",
    "QMD_THREADS": "3",
    "QMD_SQLITE_BUSY_TIMEOUT": "500",
}


def test_resolve_without_settings_returns_the_defaults() -> None:
    assert resolve(EMPTY, {}) == Settings(busy_timeout_ms=120_000)


def test_file_settings_take_precedence_over_defaults() -> None:
    assert resolve(FULL, {}) == Settings("contract", "file-e", "file-r", "file-g", "file-uri")


def test_environment_takes_precedence_over_the_file() -> None:
    assert resolve(FULL, ENVIRON) == Settings("tuned", "env-e", "env-r", "env-g", "env-uri", 3, 500)


def test_empty_variables_are_ignored() -> None:
    assert resolve(FULL, dict.fromkeys(ENVIRON, " ")) == resolve(FULL, {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("QMD_RANKING", "best"),
        ("QMD_RANKING", "Tuned"),
        ("QMD_THREADS", "0"),
        ("QMD_THREADS", "-1"),
        ("QMD_THREADS", "1.5"),
        ("QMD_THREADS", "many"),
        ("QMD_THREADS", "٣"),
        ("QMD_THREADS", "9" * 5000),
        ("QMD_EMBED_LEASE", "0"),
        ("QMD_EMBED_LEASE", "3601"),
        ("QMD_SQLITE_BUSY_TIMEOUT", "-5"),
        ("QMD_SQLITE_BUSY_TIMEOUT", "2147483648"),
        ("QMD_SQLITE_BUSY_TIMEOUT", "1e3"),
    ],
)
def test_invalid_value_is_an_error_that_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name) as caught:
        resolve(EMPTY, {name: value})
    assert caught.value.hint is not None
    assert name in caught.value.hint


def test_busy_timeout_can_be_zero() -> None:
    assert resolve(EMPTY, {"QMD_SQLITE_BUSY_TIMEOUT": "0"}).busy_timeout_ms == 0


def test_environment_settings_lists_known_and_misspelt_variables() -> None:
    environ = {
        "QMD_THREADS": "2",
        "QMD_RANKNG": "x",
        "INDEX_PATH": "/i",
        "PATH": "/bin",
        "QMD_EDITOR_URI": "",
    }
    assert environment_settings(environ) == [("INDEX_PATH", "/i"), ("QMD_RANKNG", "x"), ("QMD_THREADS", "2")]


def test_environment_settings_hides_secrets() -> None:
    assert environment_settings({"QMD_OPENAI_API_KEY": "hush", "QMD_TOKEN": "hush"}) == [
        ("QMD_OPENAI_API_KEY", "(set)"),
        ("QMD_TOKEN", "(set)"),
    ]


def test_environment_settings_hides_a_store_address_with_a_password() -> None:
    assert environment_settings({"QMD_STORE": "milvus://me:hush@host/db"}) == [("QMD_STORE", "(set)")]
    assert environment_settings({"QMD_STORE": "milvus://host/db"}) == [("QMD_STORE", "milvus://host/db")]
