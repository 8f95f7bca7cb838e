"""One converted model for all of these tests, kept between runs in the system's temporary folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from qmd.models.e5.embedder import E5Embedder, load_embedder
from qmd.models.e5.reranker import LateInteractionReranker
from qmd.models.e5.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def e5_cache() -> Path:
    return Path(tempfile.gettempdir()) / "qmd-tests-cache" / "qmd"


@pytest.fixture(scope="session")
def embedder(e5_cache: Path) -> E5Embedder:
    return load_embedder(e5_cache, threads=2)


@pytest.fixture
def reranker(embedder: E5Embedder) -> LateInteractionReranker:
    return LateInteractionReranker(embedder)


@pytest.fixture(scope="session")
def tokenizer(embedder: E5Embedder) -> Tokenizer:
    return embedder.tokenizer
