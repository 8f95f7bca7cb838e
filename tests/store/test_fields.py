"""Authors, dates, fields and links in every store."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import pytest
from msgspec.structs import replace

from qmd.errors import StoreError
from qmd.store.base import Store
from qmd.store.values import Retention, Scope
from qmd.text.date_filters import with_days
from qmd.text.dates import of_mtime
from qmd.text.filters import from_options
from qmd.text.predicates import Among, Comparison, Not
from qmd.text.query import parse
from qmd.text.values import shown
from tests.store.material import (
    EMBEDDER,
    Opens,
    assert_alike,
    changed,
    config,
    dense_rows,
    embed,
    everything,
    lexical_rows,
    vector,
)


def test_relative_dates_mean_days_of_the_user_also_for_files_without_a_date(store: Store) -> None:
    store.collections.sync(config("a", "b"))
    moments = [
        datetime(2026, 11, day, hour, tzinfo=UTC) for day, hour in ((23, 15), (23, 16), (24, 15), (24, 16))
    ]
    changes = []
    for number, moment in enumerate(moments):
        nanoseconds = int(moment.timestamp()) * 10**9
        file = changed(f"file-{number}.md", f"file {number}", version=nanoseconds, date=of_mtime(nanoseconds))
        stated = changed(
            f"stated-{number}.md", f"stated {number}", date=moment.replace(tzinfo=None).isoformat()
        )
        changes += [file, stated]
    store.documents.apply("a", changes, [])
    now = datetime(2026, 11, 25, 1, tzinfo=timezone(timedelta(hours=8)))

    def found(condition: str) -> list[str]:
        where = with_days(from_options({"where": condition}), now)
        newest = store.fields.newest(replace(everything(), where=where), 9)
        return sorted(document.path[:-3] for document in store.documents.by_id(newest).values())

    # A day of a file begins at four in the afternoon of the day before, in UTC.
    assert found("date=today") == ["file-3"]
    assert found("date=yesterday") == ["file-1", "file-2", "stated-2", "stated-3"]
    assert found("date<yesterday") == ["file-0", "stated-0", "stated-1"]
    assert found("date>=2026-11-24") == ["file-2", "file-3", "stated-2", "stated-3"]
    assert found("modified=yesterday") == ["file-1", "file-2"]
    # What is kept of a filter is kept for its days, so an open store moves on at midnight.
    embed(store)
    where = from_options({"where": "date=today"})
    assert where is not None
    by_day = [
        len(dense_rows(store, vector("x"), replace(everything(), where=with_days(where, now + later)), 9))
        for later in (timedelta(0), timedelta(hours=23), timedelta(0), timedelta(days=-1))
    ]
    assert by_day == [1, 0, 1, 4]


def test_searches_filter_by_author_and_dates(store: Store) -> None:
    store.collections.sync(config("a", "b"))
    store.documents.apply(
        "a",
        [
            changed("1.md", "pelican one", author="Ana Gómez", date="2024-05-01"),
            changed("2.md", "pelican two", author="JUN", date="2024-06-01T12:00:00"),
            changed("3.md", "pelican three", date="2025-01-01T00:00:00"),
        ],
        [],
    )
    embed(store)

    def found(**narrow: str) -> list[str]:
        scope = replace(everything(), where=from_options(narrow))
        by_words = sorted(
            row[1] for row in lexical_rows(store, store.lexical.search(parse("pelican"), scope, 9))
        )
        assert by_words == sorted(row[1] for row in dense_rows(store, vector("x"), scope, 9))
        return by_words

    assert found() == ["a/1.md", "a/2.md", "a/3.md"]
    assert found(author="ana gómez") == ["a/1.md"]
    assert found(author="Jun") == ["a/2.md"]
    assert found(after="2024-05-01") == ["a/1.md", "a/2.md", "a/3.md"]
    assert found(after="2024-05-02") == ["a/2.md", "a/3.md"]
    assert found(before="2024-06-01") == ["a/1.md"]
    assert found(after="2024-06-01", before="2024-06-02") == ["a/2.md"]
    document = store.documents.find("a", "1.md")
    assert document is not None
    assert (document.author, document.date) == ("Ana Gómez", "2024-05-01")
    # Another author of the same text needs no new vectors, and applies immediately.
    store.documents.apply("a", [changed("1.md", "pelican one", author="Petra", date="2024-05-01")], [])
    assert store.pending.count(EMBEDDER, everything()) == 0
    assert (found(author="petra"), found(author="ana gómez")) == (["a/1.md"], [])


FIELDS = {
    "plan.md": "---\nstatus: Draft\npriority: 2\ntags: [work/planning, home]\naliases: [Q1 plan, Übersicht]\n"
    "due: 2026-03-01\nauthor: [Ann, Bob Low]\n---\n# Plan\n\n"
    "See [[Budget]], [[notes/old|old]] and #finance.\n",
    "budget.md": "---\nstatus: draft\npriority: 10\nreviewed: true\n---\n\n[plan](plan.md) [site](https://a.org)\n",
    "notes/old.md": "---\nstatus: done\npriority: high\ntags: work\n---\n\nBack to [[Q1 plan]].\n",
    "notes/homework.md": "---\ntags: homework\ndue: 2026-04-02 10:00\n---\n\nPelicans and numbers.\n",
    "readme.txt": "no fields\n",
    "many.md": "---\nkeys: ["
    + ", ".join(f"'{number} {'語' * 300}'" for number in range(90))
    + "]\n---\n\n"
    + " ".join(f"[[target {number}]]" for number in range(5_000)),
}

FILTERS = [
    {"where": "status=draft"},
    {"where": ["priority>=2", "status!=done"]},
    {"where": "priority=high"},
    {"tag": "work"},
    {"tag": "work/planning"},
    {"path": "notes/"},
    {"path": "**/*.md"},
    {"author": "bob"},
    {"after": "2024", "where": "reviewed"},
    {"before": "2024-05-03"},
    {"where": "due<2026-04", "before": "2025"},
    {"where": "keys~語"},
    {"author": "bob low"},
    {"where": "size>1000"},
    {"where": "collection=b"},
    {"where": "title~plan"},
    {"filter": {"operator": "not", "operands": [{"field": "tag", "operator": "exists"}]}},
    {"where": "status=nothing"},
    {"where": "nosuch"},
]


def fill_fields(store: Store, *, many: bool = False) -> None:
    """Index documents with fields and links, two of them in another collection."""
    texts = {path: text for path, text in FIELDS.items() if many or path != "many.md"}
    store.collections.sync(config("a", "b"))
    rows = [
        changed(path, text, date=f"2024-05-0{number}T00:00:00", author="Eve" if "old" in path else "")
        for number, (path, text) in enumerate(texts.items(), 1)
    ]
    store.documents.apply("a", rows, [])
    store.documents.apply("b", [replace(rows[0], path="copy of plan.md"), rows[4]], [])


def told_of_fields(store: Store) -> dict[str, object]:
    """Return the fields and links of a store, without ids."""
    files = {document.id: document.file for document in store.documents.listing()}
    ids = [*files]
    names = ("budget", "plan", "q1 plan", "target 4999", "https://a.org", "nothing")
    told: dict[str, object] = {}
    for options in FILTERS:
        scope = replace(everything(), where=from_options(options))
        listed = sorted(files[document] for document in store.fields.newest(scope, 100))
        assert store.fields.count(scope) == len(listed)
        told[str(options)] = listed
    for scope in (everything(), everything("b"), Scope(("a", "b"), from_options({"tag": "work"}))):
        summaries = store.fields.summaries(scope)
        told[f"summaries {scope}"] = summaries
        if scope.where is None:
            names_there = frozenset(each.name for each in summaries)
            asked = [*names_there, "nothing", "path"]
            assert store.fields.existing(scope.collections, asked) == names_there
        told[f"values {scope}"] = [store.fields.values(scope, each.name, 4) for each in summaries]
    stated = [
        Comparison("status", "eq", "draft"),
        Comparison("keys", "prefix", "89 "),
        Comparison("due", "exists"),
        Comparison("nothing", "exists"),
    ]
    for collections in (("a",), ("b", "none"), ("a", "b")):
        found = store.fields.stated(collections, stated)
        told[f"stated {collections}"] = {files[document]: fields for document, fields in found.items()}
        assert store.fields.stated(collections, stated[3:]) == {}
    for name in ("tag", "year", "collection", "priority", "nothing"):
        told[f"facet {name}"] = store.fields.facet(ids, name, 3)
    told["newest"] = [files[document] for document in store.fields.newest(everything("a"), 2)]
    told["changed last"] = [document.file for document in store.documents.changed_last(["a", "none"], 2)]
    told["fields"] = {
        files[document]: {name: Counter(map(repr, values)) for name, values in fields.items()}
        for document, fields in store.fields.of([*ids, 999]).items()
    }
    told["links"] = {files[document]: links for document, links in store.fields.links(ids).items()}
    told["linking"] = [
        sorted(files[document] for document in store.fields.linking(collection, [name]))
        for collection in ("a", "b", "none")
        for name in names
    ]
    told["targets"] = [
        [(path, sorted(aliases)) for _, path, aliases in store.fields.targets(collection)]
        for collection in ("a", "b", "none")
    ]
    return told


@pytest.mark.slow
def test_fields_and_links_equal_those_of_sqlite(store: Store, oracle: Store, opens: Opens) -> None:
    for each in (store, oracle):
        fill_fields(each, many=True)
    before = told_of_fields(store)
    assert before == told_of_fields(oracle)
    assert before["{'author': 'bob'}"] == ["a/plan.md", "b/copy of plan.md"]
    assert before["{'where': 'status=draft'}"] == ["a/budget.md", "a/plan.md", "b/copy of plan.md"]

    for each in (store, oracle):
        edited = changed("plan.md", "---\nstatus: done\n---\n\n[[readme]]", version=2, date="2026-01-01")
        again = changed("many.md", FIELDS["many.md"], version=2, date="2024-05-06T00:00:00")
        each.documents.apply("a", [edited, again], ["budget.md"])
    after = told_of_fields(store)
    assert after == told_of_fields(oracle) == told_of_fields(opens())
    assert after["{'where': 'status=draft'}"] == ["b/copy of plan.md"]

    for each in (store, oracle):
        each.collections.remove("a")
        each.documents.prune()
    assert told_of_fields(store) == told_of_fields(oracle)


def test_values_dropped_by_another_opened_store_are_added_again(store: Store, opens: Opens) -> None:
    store.collections.sync(config("a"))
    drafts, other = from_options({"where": "status=draft"}), opens()
    for number in (1, 2):
        store.documents.apply("a", [changed(f"{number}.md", "---\nstatus: draft\n---\n\nA pelican.")], [])
        assert store.fields.count(Scope(("a",), drafts)) == 1

        other.documents.apply("a", [changed("b.md", f"Version {number}.", version=number)], [f"{number}.md"])
        other.upkeep.clear(Retention(("a",), None, datetime.now(UTC) + timedelta(days=1)), lambda _: None)
        assert store.fields.values(Scope(("a",)), "status", 9) == []


def test_count_follows_changes_by_this_store_and_by_another(store: Store, opens: Opens) -> None:
    store.collections.sync(config("a"))
    scope, counted = Scope(("a",)), [store.fields.count(Scope(("a",)))]
    for writer, path in ((store, "1.md"), (opens(), "2.md")):
        writer.documents.apply("a", [changed(path, "A pelican.")], [])
        counted.append(store.fields.count(scope))
    store.documents.apply("a", [], ["1.md", "2.md"])
    assert [*counted, store.fields.count(scope)] == [0, 1, 2, 0]


def test_values_of_a_failed_batch_are_added_with_the_next(store: Store) -> None:
    store.collections.sync(config("a"))
    draft = changed("1.md", "---\nstatus: draft\n---\n\nA pelican.")
    unwritable = replace(changed("2.md", "Two."), date="\ud800")
    with pytest.raises((UnicodeError, StoreError)):
        store.documents.apply("a", [draft, unwritable], [])
    store.documents.apply("a", [draft], [])
    assert store.fields.count(Scope(("a",), from_options({"where": "status=draft"}))) == 1


@pytest.mark.slow
def test_field_filters_equal_those_of_sqlite(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill_fields(each)
        embed(each)
    for options in FILTERS:
        scope = replace(everything(), where=from_options(options))
        for query in ("plan", "see -budget"):
            got, wanted = (each.lexical.search(parse(query), scope, 9) for each in (store, oracle))
            assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))
        got_, wanted_ = (dense_rows(each, vector("x"), scope, 3) for each in (store, oracle))
        assert_alike(got_, wanted_)
        pending = [each.pending.count("another", scope) for each in (store, oracle)]
        assert pending[0] == pending[1]


def test_searches_can_be_limited_to_listed_documents(store: Store) -> None:
    fill_fields(store)
    embed(store)
    ids = {document.file: document.id for document in store.documents.listing()}
    listed = Among((ids["a/plan.md"], ids["a/readme.txt"]), "link:x")
    for where, passing in ((listed, {"a/plan.md", "a/readme.txt"}), (Not(listed), set(ids))):
        scope = Scope(("a", "b"), where)
        found = {row[1] for row in dense_rows(store, vector("x"), scope, 99)}
        assert found == (passing if where is listed else passing - {"a/plan.md", "a/readme.txt"})
        assert store.fields.count(scope) == len(found)
    assert store.fields.count(Scope(("a",), Among((), "link:y"))) == 0


def test_lexical_search_matches_aliases_like_titles(store: Store, oracle: Store) -> None:
    for each in (store, oracle):
        fill_fields(each)
    for query in ("Q1", '"q1 plan"', "übersicht", '"übersicht plan"'):
        got, wanted = (each.lexical.search(parse(query), everything("a"), 9) for each in (store, oracle))
        assert_alike(lexical_rows(store, got), lexical_rows(oracle, wanted))
    assert lexical_rows(store, store.lexical.search(parse("übersicht"), everything("a"), 9))


def test_values_are_kept_as_they_are_written(store: Store) -> None:
    store.collections.sync(config("a", "b"))
    heads = [
        "version: 1.10\ncode: 007\ndue: 2024-3-7",
        "version: 1.1\ncode: 7\ndue: 2024-03-07",
        "version: 1.10",
    ]
    files = [changed(f"{number}.md", f"---\n{head}\n---\n") for number, head in enumerate(heads)]
    store.documents.apply("a", files[:2], [])
    store.documents.apply("a", files[2:], [])
    documents = store.documents.by_id(store.fields.newest(everything(), 9))
    found = {
        document.path: {name: shown(values[0]) for name, values in store.fields.of([key])[key].items()}
        for key, document in documents.items()
    }
    assert [found[f"{number}.md"]["version"] for number in range(3)] == ["1.10", "1.1", "1.10"]
    assert [found[f"{number}.md"]["code"] for number in range(2)] == ["007", "7"]
    assert [found[f"{number}.md"]["due"] for number in range(2)] == ["2024-3-7", "2024-03-07"]
    # Equal values are one, however they are written.
    for field, number in (("version", 3), ("code", 2), ("due", 2)):
        assert [each.documents for each in store.fields.values(everything(), field, 9)] == [number]
