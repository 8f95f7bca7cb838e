"""`models export` and `models import`: fetched models in a file, for machines that fetch nothing."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import qmd
from tests.users import MakeUser, User

SOURCES = ("hf:someone/some-models/small.gguf", "hf:someone/some-models/folder/other.gguf")
CONTENTS = (bytes(range(256)) * 4000, b"another model" * 100_000)
MANIFEST = "manifest.json"


def place(user: User, source: str) -> Path:
    """Where a model's file lies."""
    return user.home / "own" / "qmd" / "models" / source.removeprefix("hf:")


def on_its_own(user: User) -> User:
    """A user whose cache no other test sees."""
    user.environ["XDG_CACHE_HOME"] = str(user.home / "own")
    return user


@pytest.fixture
def sender(make_user: MakeUser) -> User:
    """A user with two fetched models."""
    user = on_its_own(make_user("sender"))
    for source, content in zip(SOURCES, CONTENTS, strict=True):
        place(user, source).parent.mkdir(parents=True, exist_ok=True)
        place(user, source).write_bytes(content)
    return user


@pytest.fixture
def receiver(make_user: MakeUser) -> User:
    """A user with no models."""
    return on_its_own(make_user("receiver"))


@pytest.fixture
def bundle(sender: User) -> Path:
    path = sender.home / "models.tar"
    sender.ok("models", "export", str(path), *SOURCES)
    return path


def refused(user: User, bundle: Path) -> str:
    """What is said of a bundle that is not taken, and that nothing came of it."""
    result = user.invoke("models", "import", str(bundle))
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) <= 2
    models = user.home / "own" / "qmd" / "models"
    assert [path for path in models.rglob("*") if path.is_file() and path.suffix != ".lock"] == []
    return result.stderr


def test_models_go_from_one_machine_to_another(bundle: Path, receiver: User) -> None:
    said = receiver.ok("models", "import", str(bundle))
    for source, content in zip(SOURCES, CONTENTS, strict=True):
        assert place(receiver, source).read_bytes() == content
        assert hashlib.sha256(content).hexdigest()[:12] in said
        assert str(place(receiver, source)) in said


def test_an_import_passes_over_what_is_here(bundle: Path, receiver: User) -> None:
    receiver.ok("models", "import", str(bundle))
    place(receiver, SOURCES[1]).unlink()
    said = receiver.ok("models", "import", str(bundle)).splitlines()
    assert said[0] == f"small is here already: {place(receiver, SOURCES[0])}"
    assert said[1].startswith("Imported other (")
    assert place(receiver, SOURCES[1]).read_bytes() == CONTENTS[1]


def test_another_file_in_a_model_s_place_is_left_alone(bundle: Path, receiver: User) -> None:
    place(receiver, SOURCES[0]).parent.mkdir(parents=True)
    place(receiver, SOURCES[0]).write_bytes(b"mine")
    result = receiver.invoke("models", "import", str(bundle))
    assert result.exit_code == 1
    assert "is another file than the bundle's" in result.stderr
    assert place(receiver, SOURCES[0]).read_bytes() == b"mine"


def test_any_tar_can_read_a_bundle(bundle: Path, tmp_path: Path) -> None:
    with tarfile.open(bundle, "r:") as archive:
        archive.extractall(tmp_path, filter="data")
    said = json.loads((tmp_path / MANIFEST).read_text(encoding="utf-8"))
    assert said["format"] == 1
    assert said["models"][0] == {
        "name": "small",
        "source": SOURCES[0],
        "size": len(CONTENTS[0]),
        "sha256": hashlib.sha256(CONTENTS[0]).hexdigest(),
        "license": "",
    }
    assert (tmp_path / "models" / SOURCES[0].removeprefix("hf:")).read_bytes() == CONTENTS[0]


def test_the_same_models_make_the_same_bundle(sender: User, bundle: Path) -> None:
    again = sender.home / "again.tar"
    sender.ok("models", "export", str(again), *SOURCES)
    assert again.read_bytes() == bundle.read_bytes()


def test_without_a_name_the_models_of_the_configuration_are_exported(sender: User, tmp_path: Path) -> None:
    sender.environ["QMD_RERANK_MODEL"] = SOURCES[1]
    path = tmp_path / "models.tar"
    assert sender.ok("models", "export", str(path)).endswith(f"Exported 1 model to {path}\n")
    with tarfile.open(path, "r:") as archive:
        assert archive.getnames() == ["models/someone/some-models/folder/other.gguf", MANIFEST]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "nothing to export: these models come with the program"),
        (("word2vec",), "Unknown model 'word2vec'"),
        (("embeddinggemma-300M-Q8_0",), "Model 'embeddinggemma-300M-Q8_0' is not here"),
        (("hf:someone/../x.gguf",), "names no file"),
    ],
)
def test_what_cannot_be_exported_leaves_no_file(
    sender: User, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    result = sender.invoke("models", "export", str(tmp_path / "models.tar"), *arguments)
    assert result.exit_code == 1
    assert told in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_export_takes_no_other_file_s_place(sender: User, bundle: Path) -> None:
    before = bundle.read_bytes()
    assert "exists already" in sender.invoke("models", "export", str(bundle), SOURCES[0]).stderr
    assert bundle.read_bytes() == before
    missing = sender.home / "no-such-folder" / "models.tar"
    assert "cannot be written" in sender.invoke("models", "export", str(missing), SOURCES[0]).stderr


Member = tuple[tarfile.TarInfo, bytes]


def member(name: str, data: bytes = b"", **fields: Any) -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def manifest(*entries: dict[str, Any]) -> Member:
    return member(MANIFEST, json.dumps({"format": 1, "models": list(entries)}).encode())


def entry(source: str = SOURCES[0], data: bytes = b"model", **fields: Any) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    made = {"name": "x", "source": source, "size": len(data), "sha256": digest, "license": ""}
    return made | fields


def made(path: Path, *members: Member) -> Path:
    with tarfile.open(path, "w:", format=tarfile.PAX_FORMAT) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return path


MODEL = "models/someone/some-models/small.gguf"


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ([member(MODEL, b"model")], "it has no manifest.json, or is cut short"),
        ([member("../evil.gguf", b"model"), manifest()], "'../evil.gguf' is not in its manifest.json"),
        ([member("/etc/evil.gguf", b"model"), manifest()], "is not in its manifest.json"),
        ([member(MODEL, b"model"), manifest(entry("hf:a/../b.gguf"))], "names no file"),
        ([member(MODEL, b"model"), manifest(entry("hf:../../evil.gguf"))], "names no file"),
        ([member(MODEL, b"model"), manifest(entry("/etc/evil.gguf"))], "an entry that makes no sense"),
        ([member(MODEL, b"model"), manifest(entry("hf:a/b/c.sh"))], "an entry that makes no sense"),
        ([member(MODEL, type=tarfile.SYMTYPE, linkname="/etc/passwd"), manifest()], "is no plain file"),
        ([member(MODEL, type=tarfile.LNKTYPE, linkname=MANIFEST), manifest()], "is no plain file"),
        ([member("models", type=tarfile.DIRTYPE), manifest()], "is no plain file"),
        ([member(MODEL, b"mode"), manifest(entry())], "is not there, or not of the size it says"),
        ([manifest(entry())], "is not there, or not of the size it says"),
        ([member(MODEL, b"model"), member(MODEL, b"model"), manifest(entry())], "is there twice"),
        ([member(MODEL, b"model"), manifest(entry(), entry())], "is not there, or not of the size"),
        ([member(MODEL, b"model"), member("more", b""), manifest(entry())], "'more' is not in its"),
        ([member(MODEL, b"model"), manifest(entry(sha256="0" * 64))], "not what its checksum says"),
        ([member(MODEL, b"model"), manifest(entry(size="5"))], "an entry that makes no sense"),
        ([member(MANIFEST, b"{")], "is no JSON"),
        ([member(MANIFEST, b"[" * 100_000)], "is no JSON"),
        ([member(MANIFEST, b"[]")], "names no models"),
        ([member(MANIFEST, b'{"format": 2, "models": []}')], "a bundle of format 2"),
        ([member(MANIFEST, b" " * 1_000_001)], "is too long"),
        ([member(MODEL, b"model", pax_headers={"size": "-1024"}), manifest(entry())], "not a bundle"),
        ([member("a" * 3_000_000, b""), manifest()], "a header of impossible length"),
    ],
)
def test_a_bundle_that_lies_is_refused_whole(
    receiver: User, tmp_path: Path, members: list[Member], told: str
) -> None:
    assert told in refused(receiver, made(tmp_path / "models.tar", *members))
    assert not (tmp_path / "evil.gguf").exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: b"no archive at all" * 100,
        lambda data: data[:300],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-12_000],
        lambda data: data[:600] + b"\xff" + data[601:],
    ],
    ids=["empty", "text", "part of a header", "half", "without its end", "one byte"],
)
def test_a_damaged_bundle_is_one_clear_line(
    receiver: User, bundle: Path, spoil: Callable[[bytes], bytes]
) -> None:
    bundle.write_bytes(spoil(bundle.read_bytes()))
    said = refused(receiver, bundle)
    assert "not a bundle of models" in said or "not what its checksum says" in said


def test_a_bundle_that_is_not_there_is_one_clear_line(receiver: User, tmp_path: Path) -> None:
    assert "No such file" in refused(receiver, tmp_path / "none.tar")
    assert "Is a directory" in refused(receiver, tmp_path)


def test_a_compressed_bundle_is_no_bundle(receiver: User, bundle: Path, tmp_path: Path) -> None:
    packed = tmp_path / "models.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(bundle, "models.tar")
    assert "not a bundle of models" in refused(receiver, packed)


def test_models_alone_is_what_it_was_and_formats_are_its_own(sender: User) -> None:
    assert [row["role"] for row in json.loads(sender.ok("models", "--json"))] == ["embed", "rerank", "expand"]
    result = sender.invoke("models", "--json", "export", "x.tar")
    assert result.exit_code == 2
    assert "stands for 'qmd models' alone" in result.stderr


def test_programs_carry_models_too(sender: User, receiver: User, tmp_path: Path) -> None:
    path, steps = str(tmp_path / "models.tar"), []
    with qmd.open_index(environ=sender.environ) as index:
        (sent,) = index.export_models(path, SOURCES[:1])
    with qmd.open_index(environ=receiver.environ) as index:
        (found,) = index.import_models(path, on_bytes=lambda done, total: steps.append((done, total)))
    assert (found.entry, found.fresh) == (sent, True)
    assert steps[-1] == (len(CONTENTS[0]), len(CONTENTS[0]))


def test_an_import_that_is_killed_goes_on_where_it_was(bundle: Path, receiver: User) -> None:
    code = (
        "import os, sys, qmd\n"
        "with qmd.open_index() as index:\n"
        f"    stop = lambda done, total: done > {len(CONTENTS[0])} and os._exit(9)\n"
        "    index.import_models(sys.argv[1], on_bytes=stop)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, str(bundle)], env=receiver.environ, cwd=receiver.home, check=False
    )
    assert killed.returncode == 9
    assert place(receiver, SOURCES[0]).read_bytes() == CONTENTS[0]
    assert not place(receiver, SOURCES[1]).exists()
    said = receiver.ok("models", "import", str(bundle))
    assert "small is here already" in said
    assert place(receiver, SOURCES[1]).read_bytes() == CONTENTS[1]
