"""Prefixes of words in a large SQLite index."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from qmd.store.base import Store
from qmd.store.sqlite.store import SqliteStore
from qmd.store.sqlite.terms import COMMON_FROM
from qmd.text.query import parse
from tests.store.material import everything, fill

NAMED = ["bagpipe.md", "bamboo.md", "old/basalt.md"]
BAKED = [f"{number}.md" for number in range(8)]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with the prefix `ba` in the paths of long documents, and more often in other texts."""
    store = SqliteStore(str(tmp_path_factory.mktemp("large") / "index.sqlite"))
    texts = {f"{number}.md": f"kilo {number}" for number in range(COMMON_FROM)}
    texts |= dict.fromkeys(NAMED, "kilo " + "more " * 5_000)
    texts |= {path: f"kilo {'bakery baker bake ' * 9} {path}" for path in BAKED}
    fill(store, texts)
    yield store
    store.close()


@pytest.mark.parametrize("query", ["ba*", "ba", "kilo ba*", "ba* -nothing"])
def test_short_prefix_is_found_in_paths_before_texts(large: Store, query: str) -> None:
    def found(limit: int) -> list[str]:
        matches = large.lexical.search(parse(query), everything(), limit).matches
        paths = large.documents.by_id([match.document for match in matches])
        return [paths[match.document].path for match in matches]

    assert sorted(found(3)) == sorted(NAMED)
    assert len(found(2)) == 2
    more = found(len(NAMED) + len(BAKED))
    assert sorted(more[:3]) == sorted(NAMED)
    assert sorted(more[3:]) == sorted(BAKED)


def test_longer_prefix_is_found_by_score(large: Store) -> None:
    matches = large.lexical.search(parse("bake*"), everything(), 99).matches
    assert len(matches) == len(BAKED)
