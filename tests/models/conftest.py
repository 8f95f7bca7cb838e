"""One converted model for all of these tests, kept between runs under the system's temporary folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from qmd.config.settings import Settings
from qmd.models.catalog import LATE_INTERACTION, MULTILINGUAL_E5_SMALL
from qmd.models.e5 import load_embedder, load_reranker
from qmd.models.e5.embedder import E5Embedder
from qmd.models.e5.model import shared_model
from qmd.models.e5.reranker import LateInteractionReranker
from qmd.models.e5.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def e5_cache() -> Path:
    return Path(tempfile.gettempdir()) / "qmd-tests-cache" / "qmd"


@pytest.fixture(scope="session")
def embedder(e5_cache: Path) -> E5Embedder:
    return load_embedder(MULTILINGUAL_E5_SMALL, cache_dir=e5_cache, settings=Settings(threads=2))


@pytest.fixture
def reranker(e5_cache: Path, embedder: E5Embedder) -> LateInteractionReranker:
    return load_reranker(LATE_INTERACTION, cache_dir=e5_cache, settings=Settings(threads=2))


@pytest.fixture(scope="session")
def tokenizer(e5_cache: Path, embedder: E5Embedder) -> Tokenizer:
    return shared_model(e5_cache, 2).tokenizer
