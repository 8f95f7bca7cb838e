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
    """Return the error for a bundle, and check that nothing was imported."""
    result = user.invoke("models", "import", str(bundle))
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) <= 2
    models = user.home / "own" / "qmd" / "models"
    assert [path for path in models.rglob("*") if path.is_file() and path.suffix != ".lock"] == []
    return result.stderr


def test_import_copies_the_exported_models(bundle: Path, receiver: User) -> None:
    output = receiver.ok("models", "import", str(bundle))
    for source, content in zip(SOURCES, CONTENTS, strict=True):
        assert place(receiver, source).read_bytes() == content
        assert hashlib.sha256(content).hexdigest()[:12] in output
        assert str(place(receiver, source)) in output


def test_import_skips_existing_models(bundle: Path, receiver: User) -> None:
    receiver.ok("models", "import", str(bundle))
    place(receiver, SOURCES[1]).unlink()
    output = receiver.ok("models", "import", str(bundle)).splitlines()
    assert output[0] == f"small is already installed: {place(receiver, SOURCES[0])}"
    assert output[1].startswith("Imported other (")
    assert place(receiver, SOURCES[1]).read_bytes() == CONTENTS[1]


def test_import_does_not_overwrite_another_file(bundle: Path, receiver: User) -> None:
    place(receiver, SOURCES[0]).parent.mkdir(parents=True)
    place(receiver, SOURCES[0]).write_bytes(b"mine")
    result = receiver.invoke("models", "import", str(bundle))
    assert result.exit_code == 1
    assert "differs from the file in the bundle" in result.stderr
    assert place(receiver, SOURCES[0]).read_bytes() == b"mine"


def test_a_bundle_is_a_plain_tar_archive(bundle: Path, tmp_path: Path) -> None:
    with tarfile.open(bundle, "r:") as archive:
        archive.extractall(tmp_path, filter="data")
    output = json.loads((tmp_path / MANIFEST).read_text(encoding="utf-8"))
    assert output["format"] == 1
    assert output["models"][0] == {
        "name": "small",
        "source": SOURCES[0],
        "size": len(CONTENTS[0]),
        "sha256": hashlib.sha256(CONTENTS[0]).hexdigest(),
        "license": "",
    }
    assert (tmp_path / "models" / SOURCES[0].removeprefix("hf:")).read_bytes() == CONTENTS[0]


def test_export_is_reproducible(sender: User, bundle: Path) -> None:
    again = sender.home / "again.tar"
    sender.ok("models", "export", str(again), *SOURCES)
    assert again.read_bytes() == bundle.read_bytes()


def test_export_without_a_name_exports_the_configured_models(sender: User, tmp_path: Path) -> None:
    sender.environ["QMD_RERANK_MODEL"] = SOURCES[1]
    path = tmp_path / "models.tar"
    assert sender.ok("models", "export", str(path)).endswith(f"Exported 1 model to {path}\n")
    with tarfile.open(path, "r:") as archive:
        assert archive.getnames() == ["models/someone/some-models/folder/other.gguf", MANIFEST]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to export: these models come with the program"),
        (("word2vec",), "Unknown model 'word2vec'"),
        (("embeddinggemma-300M-Q8_0",), "Model 'embeddinggemma-300M-Q8_0' is not downloaded"),
        (("hf:someone/../x.gguf",), "is not a model file"),
    ],
)
def test_a_failed_export_leaves_no_file(
    sender: User, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = sender.invoke("models", "export", str(tmp_path / "models.tar"), *arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_export_does_not_overwrite_a_file(sender: User, bundle: Path) -> None:
    before = bundle.read_bytes()
    assert "already exists" in sender.invoke("models", "export", str(bundle), SOURCES[0]).stderr
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
    ("members", "message"),
    [
        ([member(MODEL, b"model")], "it has no manifest.json, or is truncated"),
        ([member("../evil.gguf", b"model"), manifest()], "'../evil.gguf' is not listed in manifest.json"),
        ([member("/etc/evil.gguf", b"model"), manifest()], "is not listed in manifest.json"),
        ([member(MODEL, b"model"), manifest(entry("hf:a/../b.gguf"))], "is not a model file"),
        (
            [member(MODEL, b"model"), manifest(entry("hf:../../evil.gguf"))],
            "is not a model file",
        ),
        ([member(MODEL, b"model"), manifest(entry("/etc/evil.gguf"))], "an invalid entry"),
        ([member(MODEL, b"model"), manifest(entry("hf:a/b/c.sh"))], "an invalid entry"),
        ([member(MODEL, type=tarfile.SYMTYPE, linkname="/etc/passwd"), manifest()], "is not a regular file"),
        ([member(MODEL, type=tarfile.LNKTYPE, linkname=MANIFEST), manifest()], "is not a regular file"),
        ([member("models", type=tarfile.DIRTYPE), manifest()], "is not a regular file"),
        ([member(MODEL, b"mode"), manifest(entry())], "is missing, or has another size than manifest.json"),
        ([manifest(entry())], "is missing, or has another size than manifest.json"),
        ([member(MODEL, b"model"), member(MODEL, b"model"), manifest(entry())], "is in it twice"),
        ([member(MODEL, b"model"), manifest(entry(), entry())], "is missing, or has another size"),
        ([member(MODEL, b"model"), member("more", b""), manifest(entry())], "'more' is not listed in"),
        ([member(MODEL, b"model"), manifest(entry(sha256="0" * 64))], "does not match its checksum"),
        ([member(MODEL, b"model"), manifest(entry(size="5"))], "an invalid entry"),
        ([member(MANIFEST, b"{")], "is not valid JSON"),
        ([member(MANIFEST, b"[" * 100_000)], "is not valid JSON"),
        ([member(MANIFEST, b"[]")], "lists no models"),
        ([member(MANIFEST, b'{"format": 2, "models": []}')], "bundle format 2 is not supported"),
        ([member(MANIFEST, b" " * 1_000_001)], "is too long"),
        ([member(MODEL, b"model", pax_headers={"size": "-1024"}), manifest(entry())], "not a model bundle"),
        ([member("a" * 3_000_000, b""), manifest()], "a header of invalid length"),
    ],
)
def test_import_refuses_an_invalid_bundle_entirely(
    receiver: User, tmp_path: Path, members: list[Member], message: str
) -> None:
    assert message in refused(receiver, made(tmp_path / "models.tar", *members))
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
def test_import_of_a_damaged_bundle_is_a_one_line_error(
    receiver: User, bundle: Path, spoil: Callable[[bytes], bytes]
) -> None:
    bundle.write_bytes(spoil(bundle.read_bytes()))
    output = refused(receiver, bundle)
    assert "not a model bundle" in output or "does not match its checksum" in output


def test_import_of_a_missing_bundle_is_a_one_line_error(receiver: User, tmp_path: Path) -> None:
    assert "No such file" in refused(receiver, tmp_path / "none.tar")
    assert "Is a directory" in refused(receiver, tmp_path)


def test_import_refuses_a_compressed_bundle(receiver: User, bundle: Path, tmp_path: Path) -> None:
    packed = tmp_path / "models.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(bundle, "models.tar")
    assert "not a model bundle" in refused(receiver, packed)


def test_models_takes_formats_but_its_subcommands_do_not(sender: User) -> None:
    assert [row["role"] for row in json.loads(sender.ok("models", "--json"))] == ["embed", "rerank", "expand"]
    result = sender.invoke("models", "--json", "export", "x.tar")
    assert result.exit_code == 2
    assert "are for 'qmd models' itself" in result.stderr


def test_index_exports_and_imports_models(sender: User, receiver: User, tmp_path: Path) -> None:
    path, steps = str(tmp_path / "models.tar"), []
    with qmd.open_index(environ=sender.environ) as index:
        (sent,) = index.export_models(path, SOURCES[:1])
    with qmd.open_index(environ=receiver.environ) as index:
        (imported,) = index.import_models(path, on_bytes=lambda done, total: steps.append((done, total)))
    assert (imported.entry, imported.fresh) == (sent, True)
    assert steps[-1] == (len(CONTENTS[0]), len(CONTENTS[0]))


def test_import_continues_after_it_was_killed(bundle: Path, receiver: User) -> None:
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
    output = receiver.ok("models", "import", str(bundle))
    assert "small is already installed" in output
    assert place(receiver, SOURCES[1]).read_bytes() == CONTENTS[1]
