"""The store applies filters on authors and dates before any limit, so no document loses its place."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct
from numpy.typing import NDArray

from qmd.store.sqlite.scope_filter import MAX_LISTED
from qmd.store.sqlite.store import SqliteStore
from qmd.store.values import DocumentChange, Embedded, Scope, VectorSet
from qmd.text.filters import from_options
from qmd.text.query import parse
from qmd.types import Chunk, Collection, Config, Document, Fingerprint, SourceText

EMBEDDER = "test"
COLLECTIONS = ("one", "two", "three")
#: So many documents that some filters pass more of them than are listed one by one.
DOCUMENTS = MAX_LISTED + 700
#: Common words, so that a query has many matches. Each document also has a word of its own.
WORDS = ("heron", "kestrel", "falcon", "osprey", "harrier", "buzzard", "merlin", "kite")

FILTERS = [
    {},
    {"author": "ann"},
    {"author": "É"},
    {"author": "nobody"},
    {"after": "2024-01-01"},
    {"after": "2000-01-01"},
    {"before": "2000-01-02T10:00:00"},
    {"after": "2020-01-01", "before": "2020-01-02"},
    {"after": "2020-01-02", "before": "2020-01-01"},
    {"author": "Ann", "after": "2010-01-01", "before": "2012-01-01T00:00:00"},
]


class Case(Struct, frozen=True):
    """Collections and filters of a search."""

    collections: tuple[str, ...]
    filters: dict[str, str]

    @property
    def scope(self) -> Scope:
        return Scope(self.collections, from_options(self.filters))

    def __str__(self) -> str:
        return f"{','.join(self.collections)}-{self.filters}"


class Library(Struct, frozen=True):
    """A store with known documents by id, and the vectors of their texts by hash."""

    store: SqliteStore
    documents: dict[int, Document]
    vectors: dict[str, NDArray[np.float32]]

    def passing(self, case: Case) -> set[int]:
        """Return the documents that pass, computed without the store."""
        author, after, before = (case.filters.get(name) for name in ("author", "after", "before"))
        return {
            number
            for number, each in self.documents.items()
            if each.collection in case.collections
            and (author is None or _folded(each.author) == _folded(author))
            and (after is None or each.date >= after)
            and (before is None or each.date < before)
        }


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def changed(number: int, text: str) -> DocumentChange:
    """Return the document of a number: `Ann` and `ANN` wrote most, `é` in two forms few."""
    author = ("Ann", "ANN", "Bob", "")[number % 4]
    if number % 100 == 7:
        author = "é" if number % 200 == 7 else "e\u0301"
    date = f"{2000 + number % 25:04}-01-0{1 + number % 3}T10:00:00"
    source = SourceText(text, hashlib.sha256(text.encode()).hexdigest(), f"Title {number}")
    return DocumentChange(f"{number:05}.md", Fingerprint(len(text), number, number), source, author, date)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("store")
    store = SqliteStore(str(folder / "index.sqlite"))
    store.collections.sync(
        Config("", "1", {name: Collection(name, str(folder / name)) for name in COLLECTIONS})
    )
    chance = np.random.default_rng(1)
    for at, name in enumerate(COLLECTIONS):
        batch = []
        for number in range(at, DOCUMENTS, len(COLLECTIONS)):
            # Every tenth text also belongs to another document, by another author.
            own = number if number % 10 else number - number % 40
            words = [word for place, word in enumerate(WORDS) if own * 2654435761 >> place & 1]
            batch.append(changed(number, f"{' '.join(words)} {'heron ' * (own % 7)} own{own} parrot\n"))
        store.documents.apply(name, batch, [])
    documents = {each.id: each for each in store.documents.listing()}
    vectors: dict[str, NDArray[np.float32]] = {}
    waiting = store.pending.texts(EMBEDDER, Scope(COLLECTIONS), 0, DOCUMENTS)
    hashes = {text: documents[number].hash for number, text in store.documents.texts(list(documents)).items()}
    for at in range(0, len(waiting), 500):
        batch = []
        for each in waiting[at : at + 500]:
            matrix = chance.standard_normal((2, 16)).astype(np.float32)
            matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
            # Rounded as in the store.
            vectors[hashes[each.text]] = matrix.astype(np.float16).astype(np.float32)
            chunks = [Chunk(number, 0, 1, 1, 1) for number in range(2)]
            batch.append(Embedded(each.content, chunks, matrix, [[1], [2]]))
        store.vectors.add(VectorSet(EMBEDDER, EMBEDDER), batch)
    store.documents.refresh_statistics(force=True)
    yield Library(store, documents, vectors)
    store.close()


CASES = [Case(names, filters) for names in (COLLECTIONS, ("one", "three")) for filters in FILTERS]
CASES += [Case((), {"author": "Ann"}), Case(("two",), {"before": "2001"})]


@pytest.fixture(scope="module")
def unfiltered(library: Library) -> dict[str, list[tuple[int, float]]]:
    """Queries and all their results without filters."""
    queries = ("kestrel", "heron falcon merlin", "own40 heron", "parrot", "kestrel -heron", "parr", "own4*")
    found = {
        text: library.store.lexical.search(parse(text), Scope(COLLECTIONS), DOCUMENTS) for text in queries
    }
    return {text: [(each.document, each.score) for each in all.matches] for text, all in found.items()}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_lexical_search_filters_its_unfiltered_results(
    library: Library, unfiltered: dict[str, list[tuple[int, float]]], case: Case
) -> None:
    passing = library.passing(case)
    for text, everything in unfiltered.items():
        expected = [(number, score) for number, score in everything if number in passing]
        found = library.store.lexical.search(parse(text), case.scope, DOCUMENTS)
        assert [(each.document, each.score) for each in found.matches] == expected, text
        first = library.store.lexical.search(parse(text), case.scope, 10).matches
        assert {each.document for each in first} <= passing
        assert [each.score for each in first] == pytest.approx([score for _, score in expected[:10]]), text


@pytest.mark.parametrize("case", CASES, ids=str)
def test_vector_search_returns_the_nearest_documents_that_pass(library: Library, case: Case) -> None:
    question = np.random.default_rng(2).standard_normal(16).astype(np.float32)
    question /= np.linalg.norm(question)
    nearest = {
        number: float((library.vectors[library.documents[number].hash] @ question).max())
        for number in library.passing(case)
    }
    found = library.store.vectors.search(EMBEDDER, question, case.scope, 10)
    assert [each.similarity for each in found] == pytest.approx(sorted(nearest.values(), reverse=True)[:10])
    assert all(each.similarity == pytest.approx(nearest[each.document]) for each in found)
    assert len({each.document for each in found}) == len(found)


@pytest.mark.parametrize(
    "case", [Case(COLLECTIONS, {"author": "Ann"}), Case(("one",), {"after": "2024"})], ids=str
)
def test_pending_counts_texts_within_the_filter(library: Library, case: Case) -> None:
    texts = {library.documents[number].hash for number in library.passing(case)}
    assert library.store.pending.count("another", case.scope) == len(texts)
    assert library.store.pending.count(EMBEDDER, case.scope) == 0
    waiting = library.store.pending.texts("another", case.scope, 0, DOCUMENTS)
    assert {hashlib.sha256(each.text.encode()).hexdigest() for each in waiting} == texts


def test_text_of_two_authors_is_found_for_each(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "index.sqlite"))
    store.collections.sync(Config("", "1", {"one": Collection("one", str(tmp_path))}))
    text = SourceText("a heron\n", hashlib.sha256(b"a heron\n").hexdigest(), "Heron")
    day = "2024-01-01T00:00:00"
    both = [DocumentChange(f"{name}.md", Fingerprint(1, 1, 1), text, name, day) for name in ("Ann", "Bob")]
    store.documents.apply("one", both, [])
    (content,) = [each.content for each in store.pending.texts(EMBEDDER, Scope(("one",)), 0, 10)]
    vector = np.eye(1, 16, dtype=np.float32)
    store.vectors.add(
        VectorSet(EMBEDDER, EMBEDDER), [Embedded(content, [Chunk(0, 0, 1, 1, 1)], vector, [[1]])]
    )

    def authors(scope: Scope) -> list[list[str]]:
        matches = (
            store.lexical.search(parse("heron"), scope, 10).matches,
            store.vectors.search(EMBEDDER, vector[0], scope, 10),
        )
        return [
            [each.author for each in store.documents.by_id([match.document for match in found]).values()]
            for found in matches
        ]

    def by(author: str) -> Scope:
        return Scope(("one",), from_options({"author": author}))

    assert authors(Scope(("one",))) == [["Ann", "Bob"]] * 2
    assert authors(by("ann")) == [["Ann"]] * 2
    assert authors(by("BOB")) == [["Bob"]] * 2
    # Only the author changes. The text is the same, so it is not indexed again.
    assert (
        store.documents.apply(
            "one", [DocumentChange("Ann.md", Fingerprint(1, 2, 1), text, "Eve", day)], []
        ).updated
        == 0
    )
    assert authors(by("ann")) == [[], []]
    assert authors(by("eve")) == [["Eve"]] * 2
    store.close()
