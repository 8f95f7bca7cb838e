"""The error if the package of the default model is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from qmd.errors import ModelError
from qmd.models.e5 import package


def test_missing_weights_error_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "PACKAGE", "qmd_no_such_package")
    with pytest.raises(ModelError) as caught:
        package.locate_weights(tmp_path)
    hint = caught.value.hint or ""
    assert "qmd pull embed" in hint
    assert "QMD_EMBED_MODEL" in hint
    assert "'qmd search' needs none" in hint
