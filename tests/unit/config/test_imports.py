"""What the modules of the start-up path may load."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pathlib", "yaml", "filelock", "platformdirs", "hashlib", "json", "urllib", "logging", "asyncio")


def loaded_by(module: str) -> set[str]:
    code = f"import {module}, sys; print(*sys.modules)"
    # -S: what site packages load by themselves is not ours to count.
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in found.stdout.split()}


@pytest.mark.parametrize("module", ["paths", "validate", "contexts", "settings", "index_yml"])
def test_a_module_that_reading_commands_need_loads_nothing_heavy(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    assert loaded_by(f"qmd.config.{module}").isdisjoint(HEAVY)


@pytest.mark.parametrize("module", ["editing", "atomic"])
def test_the_lock_and_the_parser_are_loaded_on_use(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    assert loaded_by(f"qmd.config.{module}").isdisjoint({"filelock"})


def test_the_digest_can_be_compared_before_the_schema_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    code = "import sys; from qmd.config import index_yml; index_yml.read_bytes('x'); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert {"qmd.config.schema", "qmd.config.yaml_nodes"}.isdisjoint(found.stdout.split())
