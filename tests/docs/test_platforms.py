"""docs/platforms.md: its tables are those that `tools/make_platforms_docs.py` has measured."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "make_platforms_docs.py"


def test_platforms_page_has_the_measured_tables() -> None:
    if not TOOL.exists():
        pytest.skip("the tools are not in the source distribution")
    spec = importlib.util.spec_from_file_location("make_platforms_docs", TOOL)
    assert spec and spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = tool.PAGE.read_text(encoding="utf-8")
    assert text == tool.page(text, tool.kept())
    assert set(tool.kept()["core"]) == set(tool.PLATFORMS)
