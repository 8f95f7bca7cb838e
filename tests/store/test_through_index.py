"""The Python API on every store: the same answers as on SQLite."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import qmd
from qmd.errors import ConfigError, ConflictError, QmdError, UsageError
from qmd.installation import install_command
from tests import milvus
from tests.conftest import Notes
from tests.store.material import TEXTS

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "notes"


@pytest.fixture
def index(tmp_path: Path, url: str | None, environ: dict[str, str]) -> Iterator[qmd.Index]:
    """An empty index on the store under test."""
    with qmd.open_index(tmp_path / "tested.sqlite", store=url, environ=environ) as opened:
        yield opened


@pytest.fixture
def sqlite(tmp_path: Path, environ: dict[str, str]) -> Iterator[qmd.Index]:
    with qmd.open_index(tmp_path / "compared.sqlite", environ=environ) as opened:
        yield opened


def _assert_alike(got: qmd.SearchResponse, wanted: qmd.SearchResponse) -> None:
    """Check that both have the same documents in the same order, scores within 1e-3, and the same stages."""
    assert [(hit.file, hit.snippet) for hit in got.hits] == [(hit.file, hit.snippet) for hit in wanted.hits]
    assert [hit.score for hit in got.hits] == pytest.approx([hit.score for hit in wanted.hits], abs=1e-3)
    assert _ran(got) == _ran(wanted)


def _ran(response: qmd.SearchResponse) -> dict[str, str]:
    return {stage.stage: stage.status for stage in response.stages}


@pytest.mark.parametrize("kind", milvus.KINDS, indirect=True)
def test_index_on_milvus_behaves_like_one_on_sqlite(
    index: qmd.Index, sqlite: qmd.Index, notes: Notes
) -> None:
    folder = notes({name: text for name, text in TEXTS.items() if name != "long.md"})
    for each in (index, sqlite):
        report = each.add_collection(str(folder), "mine")
        assert (report.added, report.problems) == (11, [])
        each.add_collection(str(EXAMPLES), "examples")
        assert each.status().needs_embedding == 19
        each.embed()
        each.add_context("qmd://mine/ops", "how the service is run")

    def searches() -> None:
        for query in ("how do we release", "数据库 恢复", "backup -restore"):
            for collections in ((), ("mine",)):
                for way in ("search", "vsearch", "query"):
                    got, wanted = (
                        getattr(each, way)(query, collections=collections) for each in (index, sqlite)
                    )
                    _assert_alike(got, wanted)

    searches()
    for reference in ("mine/ops/deploy.md", "march.md", "qmd://mine/笔记/部署.md"):
        assert _told(index, reference) == _told(sqlite, reference)
    assert [page.document.file for page in index.multi_get("mine/ops/*.md").items] == [
        page.document.file for page in sqlite.multi_get("mine/ops/*.md").items
    ]
    assert [each.file for each in index.documents("mine/meetings")] == [
        each.file for each in sqlite.documents("mine/meetings")
    ]

    (folder / "ops" / "deploy.md").write_text(
        "# Shipping\n\nPelicans carry the release now.", encoding="utf-8"
    )
    (folder / "ops" / "backup.md").rename(folder / "dumps.md")
    (folder / "code" / "foo_bar.md").unlink()
    for each in (index, sqlite):
        each.rename_collection("mine", "ours")
        with pytest.raises(ConflictError):
            each.rename_collection("ours", "examples")
        reports = {report.collection: report for report in each.update()}
        assert (reports["ours"].added, reports["ours"].updated, reports["ours"].removed) == (1, 1, 2)
        assert each.status().needs_embedding == 1
        each.embed()
    for query in ("pelicans release", "nightly dump", "foo_bar"):
        _assert_alike(index.query(query), sqlite.query(query))

    for each in (index, sqlite):
        assert each.remove_collection("examples") == 8
        each.update()
        each.cleanup()
        assert each.cleanup(dry_run=True).items == ()
    kept, others = index.status(), sqlite.status()
    assert (kept.total_documents, kept.needs_embedding, kept.has_vector_index) == (10, 0, True)
    assert [each.chunks for each in kept.vectors] == [each.chunks for each in others.vectors]
    assert [finding for finding in index.doctor() if finding.level == "problem"] == []


def test_equal_scores_are_in_the_order_of_paths_however_documents_were_indexed(
    index: qmd.Index, notes: Notes, kind: str
) -> None:
    count = 150 if kind == "sqlite" else 12
    names = [f"n{number:03}.md" for number in range(count)]
    text = "# Heron\n\nThe heron stands in the water.\n"
    index.add_collection(str(notes(dict.fromkeys(names[count // 2 :], text))), "mine")
    notes(dict.fromkeys(names, text))
    index.update()
    index.embed()
    for way in ("search", "vsearch", "query"):
        found = getattr(index, way)("heron water", limit=7, fold=False).hits
        assert [hit.path for hit in found] == names[:7], way


def test_documents_of_one_date_are_in_the_order_of_paths(index: qmd.Index, notes: Notes) -> None:
    text = "---\ndate: 2024-05-01\ntag: bird\n---\nHeron.\n"
    folder = notes({"b.md": text})
    index.add_collection(str(folder), "mine")
    notes({"a.md": text})
    index.update()
    assert [hit.path for hit in index.search("tag:bird", fold=False).hits] == ["a.md", "b.md"]


def test_name_with_the_words_as_typed_is_before_others_with_their_terms(
    index: qmd.Index, notes: Notes
) -> None:
    text = "All of it is here.\n"
    index.add_collection(str(notes({"Sets.md": text, "Settings.md": text})), "mine")
    assert [hit.path for hit in index.search("setting").hits] == ["Settings.md", "Sets.md"]
    assert [hit.path for hit in index.search("set").hits] == ["Sets.md", "Settings.md"]


def test_long_texts_are_in_one_order_with_the_same_passages_on_every_store(
    index: qmd.Index, sqlite: qmd.Index, notes: Notes
) -> None:
    filler = "The committee met on the usual day and wrote down what everybody had said.\n\n"
    near = "The kiwi tree and the mango grow beside the heron.\n\n"
    folder = notes(
        {
            "near.md": f"{filler * 60}{near}{filler * 300}",
            "apart.md": f"The kiwi is green.\n\n{filler * 100}A tree.\n\n{filler * 90}Mangoes, herons.\n\n"
            f"{filler * 90}A mango, a heron.\n",
            "short.md": f"{filler * 12}A mango and a kiwi, both green.\n",
        }
    )
    for each in (index, sqlite):
        each.add_collection(str(folder), "mine")
    for query in ("kiwi mango", "kiwi mango heron tree", "green kiw* tree", '"the mango" heron committee'):
        _assert_alike(index.search(query, passages=3), sqlite.search(query, passages=3))


def test_states_are_the_same_on_every_store(index: qmd.Index, notes: Notes) -> None:
    folder = notes(
        {
            "old.md": "---\nsuperseded_by: '[[new]]'\n---\n# Heron\n\nThe heron stands.\n",
            "new.md": "# Egret\n\nWhite birds.\n",
            "gone.md": "---\nexpires: 2020-01-01\n---\n# Heron\n\nA heron flies.\n",
        }
    )
    index.add_collection(str(folder), "mine")
    hits = index.search("heron").hits
    lines = {hit.path: hit.state.line for hit in hits}
    assert lines == {
        "new.md": "current",
        "old.md": "superseded by mine/new.md",
        "gone.md": "expired on 2020-01-01",
    }
    assert [*lines].index("new.md") + 1 == [*lines].index("old.md")
    assert [hit.path for hit in index.search("heron", state="expired").hits] == ["gone.md"]
    assert index.search("heron", current=True).hits == ()
    (folder / "new.md").write_text("# Egret\n\nA heron.\n", encoding="utf-8")
    (folder / "old.md").unlink()
    index.update()
    assert [hit.path for hit in index.search("heron", current=True).hits] == ["new.md"]


def _told(index: qmd.Index, reference: str) -> tuple[str, str, str | None]:
    page = index.get(reference)
    return page.document.file, page.text, page.context


@pytest.mark.milvus
@pytest.mark.parametrize("place", ["config", "variable", "argument"])
def test_store_is_named_by_configuration_variable_or_argument(
    tmp_path: Path, environ: dict[str, str], notes: Notes, place: str
) -> None:
    folder = notes({"a.md": "pelicans"})
    url = f"milvus://{tmp_path}/named.db"
    config = Path(environ["XDG_CONFIG_HOME"]) / "qmd" / "index.yml"
    config.parent.mkdir(parents=True)
    config.write_text(f"collections:\n  n:\n    path: {folder}\n", encoding="utf-8")
    if place == "config":
        config.write_text(f"store: {url}\n" + config.read_text(encoding="utf-8"), encoding="utf-8")
    variables = environ | ({"QMD_STORE": url} if place == "variable" else {})
    with qmd.open_index(environ=variables, store=url if place == "argument" else None) as index:
        assert index.status().index == url
        assert not (tmp_path / "named.db").exists()
        index.update()
        assert [hit.file for hit in index.search("pelicans").hits] == ["n/a.md"]
    assert (tmp_path / "named.db").exists()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://host/db", "not a known kind of store"),
        ("/some/file.db", "not the address of a store"),
        ("milvus://user:secret@host/db", "may not contain a user"),
        ("milvus://host:port/db", "cannot be read"),
        ("milvus://host/a/b", "not a valid database name"),
        ("milvus:relative.db", "neither a server nor an absolute path"),
        ("milvus://host/db?x=1", "must end with the database"),
    ],
)
def test_invalid_store_address_is_an_error_without_its_secret(
    tmp_path: Path, environ: dict[str, str], url: str, said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        qmd.open_index(tmp_path / "index.sqlite", store=url, environ=environ)
    assert said in caught.value.message
    assert "secret" not in caught.value.in_one_line()
    assert caught.value.hint


@pytest.mark.milvus
def test_unreachable_milvus_server_is_an_error(tmp_path: Path, environ: dict[str, str]) -> None:
    variables = environ | {"QMD_MILVUS_TOKEN": "hush:hush"}
    with pytest.raises(QmdError) as caught:
        qmd.open_index(tmp_path / "index.sqlite", store="milvus://127.0.0.1:1/db", environ=variables)
    assert "cannot reach Milvus at milvus://127.0.0.1:1/db" in caught.value.message
    assert "hush" not in caught.value.in_one_line()


@pytest.mark.skipif(milvus.INSTALLED, reason="the extra 'milvus' is installed")
def test_missing_milvus_extra_is_named_in_the_error(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(QmdError) as caught:
        qmd.open_index(tmp_path / "index.sqlite", store="milvus://127.0.0.1:1/db", environ=environ)
    assert caught.value.hint == install_command("milvus")


@contextmanager
def _running(script: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process and wait for its first line. It ends when its standard input does."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.communicate()


_ANOTHER_PROGRAM = """
import sys
from milvus_lite.adapter.grpc.server import start_server_in_thread
server, database, port = start_server_in_thread(sys.argv[1], host="127.0.0.1", port=0)
print(flush=True)
sys.stdin.read()
server.stop(0).wait()
database.close()
"""

_SAME_PROGRAM = """
import sys, qmd
with qmd.open_index(sys.argv[1], store=sys.argv[2], environ={"HOME": sys.argv[3]}) as index:
    index.add_collection(sys.argv[4], "theirs")
    print(flush=True)
    sys.stdin.read()
"""


@pytest.mark.milvus
def test_milvus_file_of_another_program_is_busy_with_a_hint(tmp_path: Path, environ: dict[str, str]) -> None:
    url = f"milvus://{tmp_path}/index.db"
    with _running(_ANOTHER_PROGRAM, str(tmp_path / "index.db")):
        with pytest.raises(qmd.BusyError) as caught:
            qmd.open_index(tmp_path / "index.sqlite", store=url, environ=environ)
        assert "milvus-lite server" in (caught.value.hint or "")
    with qmd.open_index(tmp_path / "index.sqlite", store=url, environ=environ) as index:
        assert index.status().total_documents == 0


@pytest.mark.milvus
@pytest.mark.parametrize("end", [signal.SIGKILL, None], ids=["killed", "ended"])
def test_milvus_file_served_by_another_process_is_shared(
    tmp_path: Path, environ: dict[str, str], notes: Notes, end: signal.Signals | None
) -> None:
    url, folder = f"milvus://{tmp_path}/index.db", notes({"a.md": "pelicans"})
    arguments = (str(tmp_path / "index.sqlite"), url, str(tmp_path / "home"), str(folder))
    with (
        _running(_SAME_PROGRAM, *arguments) as process,
        qmd.open_index(tmp_path / "index.sqlite", store=url, environ=environ) as index,
    ):
        assert [hit.file for hit in index.search("pelicans").hits] == ["theirs/a.md"]
        (folder / "b.md").write_text("herons", encoding="utf-8")
        index.update()
        assert index.embed().texts == 2
        if end is None:
            process.communicate()
        else:
            os.kill(process.pid, end)
            process.wait()
        assert [hit.file for hit in index.search("herons").hits] == ["theirs/b.md"]
        (folder / "b.md").write_text("storks", encoding="utf-8")
        index.update()
        assert [hit.file for hit in index.vsearch("storks").hits] == ["theirs/a.md"]
        assert [hit.file for hit in index.search("storks").hits] == ["theirs/b.md"]


@pytest.mark.milvus
@pytest.mark.parametrize("kept", [0, 100], ids=["empty", "half written"])
def test_incomplete_milvus_index_files_are_built_again(
    tmp_path: Path, environ: dict[str, str], notes: Notes, kept: int
) -> None:
    url = f"milvus://{tmp_path}/index.db"
    with qmd.open_index(tmp_path / "index.sqlite", store=url, environ=environ) as index:
        index.add_collection(str(notes({"a.md": "pelicans"})), "birds")
        index.update()
    files = [*(tmp_path / "index.db").rglob("indexes/*")]
    assert files
    for file in files:
        os.truncate(file, kept)
    with qmd.open_index(tmp_path / "index.sqlite", store=url, environ=environ) as index:
        assert [hit.file for hit in index.search("pelicans").hits] == ["birds/a.md"]


def test_project_may_not_choose_a_store_without_approval(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    from msgspec.structs import replace

    from qmd.config.locations import locate
    from qmd.engine.index import Index
    from qmd.engine.workspace import open_workspace

    folder = notes(
        {"a.md": "pelicans", ".qmd/index.yml": "store: milvus://elsewhere:1/db\ncollections: {}\n"}
    )
    locations = locate(None, environ, str(folder))
    assert locations.project == str(folder)
    with Index(open_workspace(locations, environ)) as index:
        assert index.status().index == locations.index
        assert [(each.kind, each.value) for each in index.trust.unapproved()] == [
            ("store", "milvus://elsewhere:1/db")
        ]
    approved = environ | {"QMD_TRUST_LOCAL_CONFIG": "1"}
    if milvus.INSTALLED:
        with pytest.raises(QmdError, match="elsewhere"):
            Index(open_workspace(replace(locations), approved))


def test_anchors_of_source_files_are_kept_by_every_store(index: qmd.Index, notes: Notes) -> None:
    cells = [{"cell_type": "markdown", "source": text} for text in ("# Birds", "A heron.", "An ibis.")]
    folder = notes({"a.ipynb": json.dumps({"cells": cells}), "b.md": "An egret."})
    index.add_collection(str(folder), "mine", formats=["notebook", "markdown"])
    (hit,) = index.search("ibis").hits
    assert hit.anchor is not None
    assert (hit.anchor.kind, hit.anchor.value) == ("cell", 3)
    assert index.search("egret").hits[0].anchor is None
    page = index.get("mine/a.ipynb:c2-3")
    assert (page.text, page.anchor and page.anchor.value) == ("A heron.\n\nAn ibis.", 2)
    with pytest.raises(UsageError, match="cell"):
        index.get("mine/a.ipynb:c4")
