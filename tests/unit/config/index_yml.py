"""Parsing of index.yml in tests."""

from __future__ import annotations

from textwrap import dedent

import pytest

from qmd.config.index_yml import parse
from qmd.errors import ConfigError
from qmd.types import Config

FILE = "/conf/index.yml"


def read(text: str, path: str = FILE) -> Config:
    return parse(dedent(text).encode(), path)


def reason(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else dedent(text).encode()
    with pytest.raises(ConfigError) as caught:
        parse(data, FILE)
    assert caught.value.message.startswith(FILE + ":")
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value.message.removeprefix(FILE + ":")
