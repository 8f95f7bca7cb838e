"""The modules that the start-up path may import."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pathlib", "yaml", "platformdirs", "hashlib", "json", "urllib", "logging", "asyncio")


def loaded_by(module: str) -> set[str]:
    code = f"import {module}, sys; print(*sys.modules)"
    # -S: modules that site packages import by themselves do not count.
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in found.stdout.split()}


@pytest.mark.parametrize("module", ["paths", "validate", "contexts", "settings", "index_yml"])
def test_config_modules_of_reading_commands_import_nothing_heavy(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    assert loaded_by(f"qmd.config.{module}").isdisjoint(HEAVY)


def test_read_bytes_does_not_import_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    code = "import sys; from qmd.config import index_yml; index_yml.read_bytes('x'); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert {"qmd.config.schema", "qmd.config.yaml_nodes"}.isdisjoint(found.stdout.split())
