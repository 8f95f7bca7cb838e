"""Every store selects the documents that a predicate matches, for arbitrary documents and predicates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from qmd.store.base import Store
from qmd.store.opening import open_store
from qmd.store.values import DocumentChange, Scope
from qmd.text import dates
from qmd.text.extraction import stored_fields
from qmd.text.predicates import Among, And, Comparison, Not, Or, Predicate, Written, matches
from qmd.text.query import parse
from qmd.text.values import Value
from qmd.types import Collection, Config, Fingerprint, SourceText

TEXTS = (
    "work",
    "Work",
    "work/meeting",
    "homework",
    "é",
    "e\u0301",
    "É",
    "ß",
    "SS",
    "2",
    "10",
    "true",
    '"\\',
    "語",
)
DATES = ("2024-06-01", "2024-06-01T10:00:00", "2024-06-30", "2025-01-01T00:00:00")
NUMBERS = (-1.0, 0.0, 1.0, 2.0, 10.0, 1e9)
NAMES = ("status", "tag", "priority", "due", "author", "alias")
FILE_NAMES = ("collection", "path", "file", "ext", "title", "date", "modified", "size", "format", "nothing")
OPERATORS = ("eq", "lt", "lte", "gt", "gte", "prefix", "suffix", "contains", "glob", "word", "exists")
PATHS = ("a.md", "Work/b.md", "work/meeting/c.TXT", "é")
COLLECTIONS = ("one", "two")

VALUES: st.SearchStrategy[Value] = st.sampled_from([*TEXTS, *DATES, *NUMBERS, True, False])
OPERANDS: st.SearchStrategy[Value] = st.one_of(
    VALUES,
    st.sampled_from(
        ["2024", "2024-06", "w", "work/*", "**", "?", "", "one", "markdown", "md", "a.md", "1e9", "inf"]
    ),
    st.sampled_from([*TEXTS, *DATES, "2024-06", "1.0", "-1", "false"]).map(Written),
)
FIELDS = st.dictionaries(
    st.sampled_from(NAMES), st.lists(VALUES, min_size=1, max_size=3).map(tuple), max_size=4
)
DOCUMENT = st.tuples(
    FIELDS, st.sampled_from(DATES[1:]), st.sampled_from(["", "Ann", "É"]), st.sampled_from(TEXTS)
)
DOCUMENTS = st.lists(DOCUMENT, min_size=len(PATHS), max_size=len(PATHS))
COMPARISONS = st.builds(
    Comparison, st.sampled_from([*NAMES, *FILE_NAMES]), st.sampled_from(OPERATORS), OPERANDS
)
#: Numbers of documents, which become ids.
LISTED = st.lists(st.integers(0, len(PATHS) - 1), max_size=3).map(lambda found: Among(tuple(found), "link:x"))
PREDICATES: st.SearchStrategy[Predicate] = st.recursive(
    COMPARISONS | LISTED,
    lambda inner: (
        inner.map(Not)
        | st.lists(inner, min_size=1, max_size=3).map(lambda found: And(tuple(found)))
        | st.lists(inner, min_size=1, max_size=3).map(lambda found: Or(tuple(found)))
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    yield from opened(str(tmp_path_factory.mktemp("store") / "index.sqlite"), None)


@pytest.fixture(scope="module")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    yield from opened("", f"milvus://{tmp_path_factory.mktemp('store')}/index.db")


def opened(path: str, url: str | None) -> Iterator[Store]:
    store = open_store(path, url, {})
    store.collections.sync(Config("", "1", {name: Collection(name, f"/{name}") for name in COLLECTIONS}))
    yield store
    store.close()


def select(store: Store, documents: list[tuple[object, ...]], predicates: list[Predicate]) -> None:
    """Replace the documents of a store, and compare the selections of predicates."""
    expected = index(store, documents)
    ids = {each.path: each.id for each in store.documents.listing()}
    for predicate in predicates:
        where = with_ids(predicate, [ids[path] for path in PATHS])
        scope = Scope(COLLECTIONS, where)
        passing = {
            ids[path] for path, fields in expected.items() if matches(where, {**fields, "id": (ids[path],)})
        }
        assert set(store.fields.newest(scope, 100)) == passing, where
        assert store.fields.count(scope) == len(passing)
        found = store.lexical.search(parse("heron"), scope, 100)
        assert {match.document for match in found.matches} == passing, where


def index(store: Store, documents: list[tuple[object, ...]]) -> dict[str, dict[str, tuple[Value, ...]]]:
    """Store documents, half of them in each collection, and return their fields by path."""
    expected: dict[str, dict[str, tuple[Value, ...]]] = {}
    for number, (path, (given_fields, date, author, title)) in enumerate(zip(PATHS, documents, strict=True)):
        fields: Mapping[str, tuple[Value, ...]] = given_fields  # type: ignore[assignment]
        source = SourceText("heron", hashlib.sha256(b"heron").hexdigest(), str(title), fields=fields)
        # Each call has a new version, as a later scan would find.
        index.version += 1_000_000_000  # type: ignore[attr-defined]
        stamp = Fingerprint(10**number, index.version, number)  # type: ignore[attr-defined]
        collection = COLLECTIONS[number % 2]
        store.documents.apply(collection, [DocumentChange(path, stamp, source, str(author), str(date))], [])
        expected[path] = {
            **stored_fields(fields, path, str(author)),
            "collection": (collection,),
            "path": (path,),
            "file": (path.rpartition("/")[2],),
            "title": (str(title),),
            "date": (str(date),),
            "modified": (dates.of_mtime(stamp.mtime_ns),),
            "size": (float(stamp.size),),
        }
    return expected


index.version = 0  # type: ignore[attr-defined]


def with_ids(predicate: Predicate, ids: list[int]) -> Predicate:
    """Replace the numbers of documents by their ids."""
    match predicate:
        case Among(documents, written):
            return Among(tuple(ids[number] for number in documents), written)
        case Not(operand):
            return Not(with_ids(operand, ids))
        case And(operands):
            return And(tuple(with_ids(operand, ids) for operand in operands))
        case Or(operands):
            return Or(tuple(with_ids(operand, ids) for operand in operands))
    return predicate


FEW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@settings(FEW, max_examples=50)
@given(documents=DOCUMENTS, predicates=st.lists(PREDICATES, min_size=1, max_size=10))
def test_sqlite_selects_the_documents_that_a_predicate_matches(
    sqlite: Store, documents: list[tuple[object, ...]], predicates: list[Predicate]
) -> None:
    select(sqlite, documents, predicates)


@pytest.mark.milvus
@settings(FEW, max_examples=12)
@given(documents=DOCUMENTS, predicates=st.lists(PREDICATES, min_size=3, max_size=10))
def test_milvus_selects_the_documents_that_a_predicate_matches(
    milvus: Store, documents: list[tuple[object, ...]], predicates: list[Predicate]
) -> None:
    select(milvus, documents, predicates)
