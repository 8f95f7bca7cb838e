"""A restricted index answers exactly like an index that contains only the visible collections."""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings, strategies as st
from msgspec import to_builtins

import qmd
from qmd.store.base import Store
from qmd.store.opening import open_store
from qmd.store.values import LexicalMatches, Scope
from qmd.text.query import parse
from tests.store.material import changed, config, everything

#: When all files were written, in seconds.
_WRITTEN = 1_750_000_000
VISIBLE, HIDDEN = ("a", "c"), ("b", "d")
#: Few words, so that documents and queries share them. Several have the same prefix.
WORDS = (
    "milestones hunter hunters hunter2 hunter3 hunted heron heronry water deploy deployment deploying the of "
    "部署服务 备份数据库"
).split()
QUERIES = (
    "milestones hunter2",
    "milestones hunter3",
    "hunt*",
    "h*",
    '"heron water"',
    '"milestones hunt"*',
    "heron -water",
    "deploy",
    "dep",
    "部署 数据",
    "the of",
    "nothinglikethis",
)
REFERENCES = (
    "a/0.md",
    "b/0.md",
    "0.md",
    "1.md",
    "sub/0.md",
    "b/nothing.md",
    "d/0.mx",
    "qmd://b/0.md",
    "qmd://d",
    "*.md",
    "b/*.md",
    "a/0.md, b/0.md, 1.md, none.md",
)

#: Filters alone or with a word. Some name fields, values and documents that may only be in hidden
#: collections.
FILTERS = (
    "[status]",
    "[status:draft]",
    "[status:drfat]",
    "[status:draf] [priority>=2]",
    "[priority>=2]",
    "[secret]",
    "[secert:1]",
    "-[status:done] tag:work",
    "tag:wrok",
    "link:0.md",
    "link:b/0.md",
    "link:1.md",
    "link:hunter2.md",
    "path:sub/",
    "title:heron after:2024",
    "[alias:Q1]",
    "heron [status:done]",
    "hunter [nothing:1]",
    "deploy tag:work/plan",
)
FIELDS = ("status", "Priority", "tag", "alias", "secret", "secert", "author", "ext", "year", "nothing", "")

bodies = st.lists(st.sampled_from((*WORDS, "#work", "#hunter2")), min_size=1, max_size=12)
links = st.lists(
    st.sampled_from(
        ["[[0]]", "[[1|one]]", "[a](sub/0.md)", "[[hunter2]]", "![[heron]]", "[[Q1]]", "[[b/0]]"]
    ),
    max_size=3,
)
front_matters = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["draft", "Draft", "done", "DRÁFT"]),
        "priority": st.sampled_from(["1", "2", "high", "[2, low]"]),
        "tags": st.sampled_from(["[work]", "[work/plan, Hunter3]", "work"]),
        "aliases": st.sampled_from(["[Q1]", "[Q2, q1]"]),
        "secret": st.sampled_from(["1", "hunter2"]),
        "date": st.sampled_from(["2023-05-01", "2024-05-01", "2025-05-01"]),
        "author": st.sampled_from(["Ann", "ann", "Bee"]),
    },
)


def _text(fields: Mapping[str, str], words: Sequence[str], links: Sequence[str]) -> str:
    header = "".join(f"{name}: {value}\n" for name, value in fields.items())
    header = f"---\n{header}---\n" if header else ""
    return f"{header}# {words[0].lstrip('#')}\n\n{' '.join((*words, *links))}.\n\n## Below\n\n{words[-1]}\n"


texts = st.builds(_text, front_matters, bodies, links)
folders = st.dictionaries(
    st.sampled_from(["0.md", "1.md", "2.md", "sub/0.md", "heron.md", "hunter2.md"]), texts, max_size=6
)
libraries = st.fixed_dictionaries(dict.fromkeys((*VISIBLE, *HIDDEN), folders))


# Shrinking would take minutes, because an example makes two indexes and asks them hundreds of questions.
@pytest.mark.slow
@settings(
    max_examples=4,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(files=libraries, again=st.booleans())
@example(
    # `hunter 2` in the second document is another spelling of `hunter2`.
    files={
        "a": {"0.md": _text({}, ["hunter2"], []), "2.md": _text({}, ["hunter"], [])},
        "b": {},
        "c": {},
        "d": {},
    },
    again=False,
)
def test_restricted_index_answers_like_an_index_without_hidden_collections(
    environ: dict[str, str], files: dict[str, dict[str, str]], again: bool
) -> None:
    if again:
        # Visible texts also occur in a hidden collection.
        files["b"] = {**files["a"], **files["b"]}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        root = Path(folder)
        _write(root, files)
        whole = opened.enter_context(qmd.open_index(root / "whole.sqlite", environ=environ))
        alone = opened.enter_context(qmd.open_index(root / "alone.sqlite", environ=environ))
        # Hidden collections are indexed before and between the visible ones.
        for name in ("b", "a", "d", "c"):
            whole.add_collection(str(root / name), name)
        for name in ("a", "c"):
            alone.add_collection(str(root / name), name)
        whole.embed()
        alone.embed()
        # The restricted index must not reuse an answer that the whole index has cached.
        whole.query("milestones hunter2", limit=None)
        restricted = whole.limited(VISIBLE)
        for got, wanted in zip(_answers(restricted, files), _answers(alone, files), strict=True):
            assert got == wanted


def _write(root: Path, files: Mapping[str, Mapping[str, str]]) -> None:
    for collection, texts in files.items():
        (root / collection).mkdir()
        for name, text in texts.items():
            path = root / collection / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            # Clocks of files are coarse: two files have the same time in one index and not in the other.
            os.utime(path, (_WRITTEN, _WRITTEN))


def _answers(index: qmd.Index, files: Mapping[str, Mapping[str, str]]) -> Iterator[object]:
    """Yield the answer or error of every operation, without times and paths."""
    for query in QUERIES:
        for limit, names in ((None, ()), (None, ("a",)), (1, ())):
            more: dict[str, Any] = {"limit": limit, "collections": names, "explain": True, "full": True}
            yield query, "search", _told(lambda: index.search(query, **more))  # noqa: B023 - called at once
        more = {"limit": None, "collections": (), "explain": True, "full": True}
        yield query, "vsearch", _told(lambda: index.vsearch(query, min_score=0, **more))  # noqa: B023
        yield query, "query", _told(lambda: index.query(query, **more))  # noqa: B023
    yield from _answers_on_fields(index)
    yield _told(lambda: index.search("heron", collections=["b"]))
    yield _told(lambda: index.search("heron", collections=["nowhere"]))
    digests = [f"#{_digest(text)[:6]}" for each in files.values() for text in each.values()]
    for reference in (*REFERENCES, *digests):
        yield reference, "get", _told(lambda: index.get(reference))  # noqa: B023
        yield reference, "multi_get", _told(lambda: index.multi_get(reference))  # noqa: B023
        yield reference, "documents", _told(lambda: index.documents(reference))  # noqa: B023
        yield reference, "similar", _told(lambda: index.similar(reference, explain=True))  # noqa: B023
        yield reference, "unlinked", _told(lambda: index.similar(reference, unlinked=True))  # noqa: B023
        yield reference, "links", _told(lambda: index.links(reference))  # noqa: B023
        yield reference, "backlinks", _told(lambda: index.backlinks(reference))  # noqa: B023
        yield reference, "outline", _told(lambda: index.outline(reference)[1])  # noqa: B023
        yield reference, "section", _told(lambda: index.get(f"{reference}#below"))  # noqa: B023
    yield _told(index.authors)
    yield _told(index.documents)
    yield _told(index.contexts)
    status = index.status()
    yield status.total_documents, status.needs_embedding, status.has_vector_index
    yield [(each.name, each.documents, each.bytes) for each in status.collections]


def _answers_on_fields(index: qmd.Index) -> Iterator[object]:
    """Yield the answers about fields, filters and links."""
    more: dict[str, Any] = {"facets": FIELDS, "limit": None, "explain": True}
    for query in (*FILTERS, *QUERIES):
        yield query, "search", _told(lambda: index.search(query, **more))  # noqa: B023 - called at once
    for query in FILTERS:
        yield query, "query", _told(lambda: index.query(query, **more))  # noqa: B023
        yield query, "filtered", _told(lambda: index.query("heron water", where="status", **more))
    for names in ((), ("a",), ("c", "a"), ("b",), ("nowhere",)):
        yield names, "fields", _told(lambda: index.fields(names))  # noqa: B023
        yield names, "narrowed", _told(lambda: index.fields(names, tag="work"))  # noqa: B023
        yield names, "unresolved", _told(lambda: index.unresolved_links(names))  # noqa: B023
        yield names, "orphans", _told(lambda: {"names": index.orphans(names)})  # noqa: B023
        for name in FIELDS:
            yield names, name, _told(lambda: index.field_values(name, names))  # noqa: B023
    for where in ("status=draft", "secret", "secert=1", "priority>1"):
        yield where, _told(lambda: index.documents(where=where))  # noqa: B023


def _told(ask: Callable[[], Any]) -> object:
    try:
        answer = ask()
    except qmd.QmdError as error:
        return type(error), {key: value for key, value in vars(error).items() if key != "args"}, str(error)
    if isinstance(answer, list | tuple):
        return [_timeless(to_builtins(each)) for each in answer]
    return _timeless(answer if isinstance(answer, dict) else to_builtins(answer))


def _timeless(value: Any) -> Any:
    """Return a value without times and ids."""
    if isinstance(value, dict):
        left_out = ("milliseconds", "id")
        return {key: _timeless(each) for key, each in value.items() if key not in left_out}
    if isinstance(value, (list, tuple)):
        return [_timeless(each) for each in value]
    return value


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


# -- large indexes, in which searches do not score all documents -------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    """Two stores of more than 4,000 documents: with many hidden documents, and with only the visible ones."""
    draw = random.Random(7)
    words = [f"w{number}" for number in range(400)]
    weights = [1 / (number + 1) for number in range(len(words))]

    def documents(count: int) -> dict[str, str]:
        return {
            f"{number}.md": " ".join(draw.choices(words, weights, k=draw.randint(3, 25)))
            for number in range(count)
        }

    files = {"b": documents(2_000), "a": documents(4_500), "d": documents(2_000), "c": documents(300)}
    folder = tmp_path_factory.mktemp("large")
    with ExitStack() as opened:
        stores = []
        for names in (("b", "a", "d", "c"), ("a", "c")):
            store = open_store(str(folder / f"{'-'.join(names)}.sqlite"), None, {})
            opened.callback(store.close)
            store.collections.sync(config(*names))
            for name in names:
                store.documents.apply(name, [changed(path, text) for path, text in files[name].items()], [])
            store.documents.refresh_statistics(force=True)
            stores.append(store)
        yield stores[0], stores[1]


@pytest.mark.parametrize("limit", [5, 200])
@pytest.mark.parametrize("scope", [("a", "c"), ("c",)], ids=str)
@pytest.mark.parametrize(
    "query",
    [
        "w1",
        "w1 w2",
        "w1 w2 w3 w90",
        "w300 w200 w1",
        "w1 w2 w3 w4 w5 w6 w7 w8",
        "w3*",
        "w1 w2 -w3",
        '"w1 w2"',
        "w399 w",
        "zz w398",
    ],
)
def test_restricted_search_takes_the_same_candidates(
    large: tuple[Store, Store], query: str, scope: tuple[str, ...], limit: int
) -> None:
    whole, alone = large
    within = Scope(scope, population=("a", "c"))
    restricted = _rows(whole, whole.lexical.search(parse(query), within, limit))
    assert restricted == _rows(alone, alone.lexical.search(parse(query), Scope(scope), limit))
    assert restricted == _rows(alone, alone.lexical.search(parse(query), within, limit))


def _rows(store: Store, found: LexicalMatches) -> object:
    files = store.documents.by_id([match.document for match in found.matches])
    return (
        [(files[match.document].file, match.score, match.tier) for match in found.matches],
        found.bound,
        found.idf,
    )


def test_whole_index_keeps_its_own_statistics(large: tuple[Store, Store]) -> None:
    whole, _ = large
    everywhere = whole.lexical.search(parse("w1 w90"), everything("a"), 5)
    counted = whole.lexical.search(parse("w1 w90"), Scope(("a",), population=("a", "b", "c", "d")), 5)
    assert everywhere == counted
    assert everywhere.idf != whole.lexical.search(parse("w1 w90"), Scope(("a",), population=("a",)), 5).idf


def test_hidden_documents_do_not_change_statistics(large: tuple[Store, Store]) -> None:
    """Changes of hidden collections have no effect on statistics, and changes of visible ones do."""
    whole, _ = large
    within = Scope(("c",), population=("c",))
    before = whole.lexical.search(parse("w1"), within, 5)
    whole.documents.apply("d", [changed("new.md", "w1 w1 w1")], [])
    assert whole.lexical.search(parse("w1"), within, 5) == before
    whole.documents.apply("c", [changed("new.md", "nothing of it")], [])
    assert whole.lexical.search(parse("w1"), within, 5).idf != before.idf
    assert Counter(whole.documents.manifest("c"))["new.md"]
