"""Tables of built-in parts, and parts of plugins."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import qmd
from qmd import plugins
from qmd.errors import ConfigError, ModelError, PluginError
from qmd.models import registry as models
from qmd.store.opening import open_store
from tests.conftest import Notes
from tests.packages import install

Install = Callable[[str, str, dict[str, str], str], None]

FORMAT = """
from qmd.types import Extracted, Link
name, version, media_type = "card", 1, "text/plain"
def extract(file):
    first, _, rest = file.text().partition("\\n")
    return Extracted(rest, "", {"Colour": first, "date": "2024-03-07", "path": ("x",), "legs": (4,)},
                     (Link("b.md", "", 1, "wikilink"),))
"""
CLASS = """
class _Cards:
    name, version, media_type = "Contact", 1, "text/plain"
    extract = staticmethod(extract)
Cards = _Cards()
"""
STORE = """
from qmd.store.sqlite.store import SqliteStore
def open_box(url, environ):
    return SqliteStore(url.removeprefix("box://"))
"""
BACKEND = """
from qmd.models.catalog import Installation, ModelCard
def card(spec, role):
    return ModelCard(spec.partition(":")[2], role, "words", spec) if role == "embed" else None
def remote_host(spec):
    return "words.example.com" if spec.endswith("far") else None
def load(card, *, cache_dir, settings, progress):
    return card.name
def inspect(card, cache_dir, *, thorough):
    return Installation("ready")
def leftovers(cache_dir, before):
    return []
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package for this process; see `install`."""
    modules = set(sys.modules)

    def forget() -> None:
        plugins.entries.cache_clear()
        plugins._load.cache_clear()

    def add(package: str, group: str, parts: dict[str, str], code: str) -> None:
        monkeypatch.syspath_prepend(install(tmp_path / package, package, group, parts, code))
        forget()

    yield add
    forget()
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> plugins.Table:
    monkeypatch.setattr(plugins, "TABLES", {})
    return plugins.Table("qmd.tests", {"own": "textwrap:dedent", "module": "textwrap"}, Callable)


def test_load_returns_builtin_parts_and_none_for_an_unknown_name(table: plugins.Table) -> None:
    import textwrap

    assert table.load("own") is textwrap.dedent
    assert table.load("module") is textwrap
    assert table.load("other") is None


def test_load_prefers_the_builtin_part_to_that_of_a_package(table: plugins.Table, installed: Install) -> None:
    installed("extra", "qmd.tests", {"own": ":part", "more": ":part"}, "def part(): return 'extra'\n")
    part = table.load("more")
    assert part is not None
    assert part() == "extra"
    assert table.load("own").__module__ == "textwrap"  # type: ignore[union-attr]
    assert table.names() == ["own", "module", "more"]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import nothing_of_this_name\ndef part(): ...\n", "ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("", "AttributeError"),
        ("part = 3\n", "lacks what docs/plugins.md asks for"),
    ],
)
def test_load_names_a_broken_package(
    table: plugins.Table, installed: Install, code: str, reason: str
) -> None:
    installed("bad-one", "qmd.tests", {"more": ":part"}, code)
    for _ in range(2):
        with pytest.raises(PluginError, match=r"the package 'bad-one 1\.0' is broken") as caught:
            table.load("more")
        assert reason in caught.value.message
        assert caught.value.hint
    assert table.load("own") is not None


def test_format_plugin_gives_text_fields_and_links(
    index: qmd.Index, notes: Notes, installed: Install
) -> None:
    installed("cards", "qmd.formats", {"card": ""}, FORMAT)
    folder = notes({"a.CARD": "Blue\r\npelicans fly\n", "b.md": "pelicans\n"})
    index.add_collection(str(folder), name="n", pattern="**/*")
    (hit,) = index.search("pelicans [colour:blue]").hits
    assert (hit.file, hit.title) == ("n/a.CARD", "a")
    assert index.get("a.CARD").text == "pelicans fly\n"
    for query in ("[format:card]", "[date:2024-03]", "[legs:4]"):
        assert [hit.file for hit in index.search(query).hits] == ["n/a.CARD"], query
    assert [hit.file for hit in index.search("[format:markdown]").hits] == ["n/b.md"]
    assert [link.to for link in index.links("a.CARD")] == ["n/b.md"]
    assert [finding.message for finding in index.doctor() if finding.level == "problem"] == []


def test_format_plugin_says_the_media_type_of_its_files(
    index: qmd.Index, notes: Notes, installed: Install
) -> None:
    installed("cards", "qmd.formats", {"card": ""}, f"{FORMAT}\nsource_type = 'text/vcard'\n")
    index.add_collection(str(notes({"a.card": "blue\npelicans\n"})), pattern="**/*")
    page = index.get("a.card")
    assert (page.media_type, page.source_type) == ("text/plain", "text/vcard")


def test_changed_format_plugin_reads_its_files_again(
    index: qmd.Index, notes: Notes, installed: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.card": "blue\npelicans\n", "b.md": "storks\n"})
    index.add_collection(str(folder), name="n", pattern="**/*")
    assert index.search("blue").hits
    installed("cards", "qmd.formats", {"card": ""}, FORMAT)
    (report,) = index.update()
    assert (report.updated, report.unchanged) == (1, 1)
    assert not index.search("blue").hits
    (report,) = index.update()
    assert (report.updated, report.unchanged) == (0, 2)
    monkeypatch.setattr(sys.modules["cards"], "version", 2)
    module = Path(str(sys.modules["cards"].__file__))
    module.write_text(FORMAT.replace("(rest,", "('herons',"), encoding="utf-8")
    (report,) = index.update()
    assert (report.updated, report.unchanged) == (1, 1)
    assert index.search("herons").hits


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def extract(file): raise KeyError('x')", "the format 'card' of 'cards 1.0' failed (KeyError: 'x')"),
        ("def extract(file): return None", "the format 'card' of 'cards 1.0' failed (AttributeError"),
        ("def extract(file): return Extracted('a', '', {}, ('b',))", "links must be of the type"),
        ("def extract(file): import os; os._exit(1)", "'cards 1.0' failed (its reader crashed"),
        ("def extract(file): bytearray(1 << 40)", "too large (needs too much memory)"),
        ("def extract(file): open(__file__, 'a')", "'cards 1.0' failed (PermissionError"),
        ("def extract(file): import socket; socket.create_connection(('127.0.0.1', 9))", "PermissionError"),
        (
            "from qmd.sources.formats.base import Unreadable\ndef extract(file): raise Unreadable('no card')",
            "cannot read a.card: no card",
        ),
        ("del extract", "the package 'cards 1.0' is broken"),
        ("1/0", "the package 'cards 1.0' is broken (qmd.formats: card): ZeroDivisionError"),
    ],
)
def test_failing_format_plugin_leaves_out_only_its_files(
    index: qmd.Index, notes: Notes, installed: Install, code: str, reason: str
) -> None:
    installed("cards", "qmd.formats", {"card": ""}, f"{FORMAT}\n{code}\n")
    index.add_collection(str(notes({"b.md": "pelicans\n"})), name="n", pattern="**/*")
    notes({"a.card": "blue\npelicans\n"})
    (report,) = index.update()
    ((path, problem),) = report.problems
    assert path == "a.card"
    assert reason in problem
    assert [hit.file for hit in index.search("pelicans").hits] == ["n/b.md"]


def test_format_plugin_is_selected_by_name_or_suffix(
    index: qmd.Index, notes: Notes, installed: Install
) -> None:
    installed("cards", "qmd.formats", {"card": ":Cards", "crd": ":Cards"}, f"{FORMAT}\n{CLASS}")
    installed("torn", "qmd.formats", {"torn": ""}, "1/0")
    folder = notes({"a.card": "blue\npelicans\n", "b.crd": "red\npelicans\n", "c.md": "pelicans\n"})
    added = [index.add_collection(str(folder), name="n", formats=["contact"]).added]
    for formats in (["crd"], ["all"]):
        index.remove_collection("n")
        added.append(index.add_collection(str(folder), name="n", formats=formats).added)
    assert added == [2, 1, 3]
    with pytest.raises(qmd.UsageError, match="there is no format 'contacts'") as caught:
        index.add_collection(str(folder), name="m", formats=["contacts"])
    hint = caught.value.hint or ""
    assert "did you mean 'contact'?" in hint
    assert "card" not in hint.replace("did you mean", "").split(", ")
    assert "the package 'torn 1.0' is broken" in hint


def test_store_plugin_is_opened_by_its_scheme(
    tmp_path: Path, installed: Install, notes: Notes, environ: dict[str, str]
) -> None:
    installed("boxes", "qmd.stores", {"box": ":open_box"}, STORE)
    with qmd.open_index(store=f"box://{tmp_path}/box.sqlite", environ=environ) as index:
        index.add_collection(str(notes({"a.md": "pelicans"})))
        assert index.search("pelicans").hits
    assert (tmp_path / "box.sqlite").exists()
    with pytest.raises(ConfigError, match="'crate' is not a known kind of store") as caught:
        open_store("", "crate://x", {})
    assert "milvus://" in (caught.value.hint or "")
    assert "box://" in (caught.value.hint or "")


def test_copy_store_keeps_fields_of_a_format_plugin(
    tmp_path: Path, index: qmd.Index, notes: Notes, installed: Install, environ: dict[str, str]
) -> None:
    installed("cards", "qmd.formats", {"card": ""}, FORMAT)
    index.add_collection(
        str(notes({"a.card": "blue\npelicans\n", "b.md": "storks\n"})), name="n", pattern="**/*"
    )
    copy = tmp_path / "copy.sqlite"
    index.copy_store(index.status().index, str(copy))
    with closing(open_store(str(copy), None, {})) as store:
        card, note = store.documents.listing()
        fields = store.fields.of([card.id, note.id])
        assert fields[card.id]["colour"] == ("blue",)
        assert fields[card.id]["format"] == ("card",)
        assert fields[note.id]["format"] == ("markdown",)
        assert [link.target for link in store.fields.links([card.id])[card.id]] == ["b.md"]


def test_model_plugin_is_named_by_its_backend(tmp_path: Path, installed: Install) -> None:
    installed("words", "qmd.models", {"words": ""}, BACKEND)
    assert models.load("words:near", "embed", cache_dir=tmp_path) == "near"
    assert models.stable_name("words:near", "embed") == "words:near"
    assert models.remote_host("words:near") is None
    assert models.remote_host("words:far") == "words.example.com"
    with pytest.raises(ModelError, match="Unknown model 'words:near' for the role 'rerank'"):
        models.load("words:near", "rerank", cache_dir=tmp_path)
    with pytest.raises(ModelError, match="Unknown model 'other:near'"):
        models.load("other:near", "embed", cache_dir=tmp_path)


def test_broken_model_plugin_is_a_model_error(tmp_path: Path, installed: Install) -> None:
    installed("words", "qmd.models", {"words": ""}, "def load(): ...\n")
    with pytest.raises(ModelError, match=r"the package 'words 1\.0' is broken"):
        models.load("words:near", "embed", cache_dir=tmp_path)
