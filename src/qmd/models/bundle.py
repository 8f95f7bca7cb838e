"""Bundles: downloaded models in one file, for machines without a network.

A bundle is an uncompressed tar archive that `tar` can read. Its members have the same paths as in the cache
(`models/owner/repository/file.gguf`); the last member, `manifest.json`, describes them. A bundle is untrusted
input: everything in it is checked before it is used.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from qmd.config.atomic import locked
from qmd.errors import ConflictError, ModelError, SourceError
from qmd.models.catalog import ModelCard
from qmd.models.downloads import (
    PARTIAL,
    OnBytes,
    cached_path,
    check_space,
    locate,
    parse_source,
    sha256,
)

FORMAT = 1
MANIFEST = "manifest.json"

#: The longest manifest, and the most files in a bundle.
_MAX_MANIFEST, _MAX_MODELS = 1_000_000, 1000
_BLOCK = 1 << 20
_Counter = Callable[[int], None]


class BundledModel(Struct, frozen=True):
    """A model in a bundle; `size` is in bytes, `license` is empty if it is not known."""

    name: str
    source: str
    size: int
    sha256: str
    license: str

    @property
    def member(self) -> str:
        """The name of its file in the archive."""
        return "/".join(("models", *parse_source(self.source)))


class ImportedModel(Struct, frozen=True):
    """A model of a bundle on this machine. `fresh` is True if this import added it."""

    entry: BundledModel
    path: Path
    fresh: bool


def export(
    cards: Sequence[ModelCard], bundle: Path, cache_dir: Path, on_bytes: OnBytes
) -> list[BundledModel]:
    """Write the files of downloaded models into a new bundle. An error leaves no partial bundle.

    Raises `ModelError` if a model is not downloaded or the disk is full, `ConflictError` if the file exists,
    and `SourceError` if it cannot be written.
    """
    files = [locate(card, cache_dir) for card in cards]
    if os.path.lexists(bundle):
        raise ConflictError(f"{bundle} already exists", "Choose another file name, or delete the file.")
    total = sum(file.stat().st_size for file in files)
    check_space(bundle.parent, total)
    progress = _counter(on_bytes, total)
    with (
        _replacing(bundle) as output,
        tarfile.open(fileobj=output, mode="w:", format=tarfile.GNU_FORMAT) as archive,
    ):
        entries = [_add(archive, card, file, progress) for card, file in zip(cards, files, strict=True)]
        manifest = {"format": FORMAT, "models": [to_builtins(entry) for entry in entries]}
        data = json.dumps(manifest, ensure_ascii=False, indent=2).encode()
        archive.addfile(_header(MANIFEST, len(data)), io.BytesIO(data))
    return entries


def import_(bundle: Path, cache_dir: Path, on_bytes: OnBytes) -> list[ImportedModel]:
    """Copy the models of a bundle into the cache. Each file appears after its checksum was verified.

    Existing models are skipped, so an interrupted import can be repeated. Raises `SourceError` if the bundle
    cannot be read, `ModelError` if it is invalid or a checksum is wrong, `ConflictError` if another file has
    the path of a model, and `BusyError` if another process is downloading one of the models.
    """
    with _opened(bundle) as archive:
        members = _checked(archive, bundle)
        paths = {entry: cached_path(entry.source, cache_dir) for entry in members}
        check_space(cache_dir, sum(entry.size for entry, path in paths.items() if not path.exists()))
        progress = _counter(on_bytes, sum(entry.size for entry in members))
        return [
            _import_one(archive, member, entry, paths[entry], progress) for entry, member in members.items()
        ]


def _add(archive: tarfile.TarFile, card: ModelCard, file: Path, progress: _Counter) -> BundledModel:
    with file.open("rb") as data:
        reader = _HashingReader(data, progress)
        entry = BundledModel(card.name, card.source, os.fstat(data.fileno()).st_size, "", card.license)
        archive.addfile(_header(entry.member, entry.size), reader)
    return replace(entry, sha256=reader.hexdigest())


def _header(name: str, size: int) -> tarfile.TarInfo:
    """Return a member's header without a time or an owner: equal models make equal bundles."""
    header = tarfile.TarInfo(name)
    header.size, header.mode = size, 0o644
    return header


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that is renamed to `path` at the end, or removed after an error."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


class _BoundedFile(io.FileIO):
    """A file that refuses long reads, because a tar header can claim any length."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= _BLOCK:
            raise tarfile.ReadError("a header of invalid length")
        return super().read(size) or b""


@contextmanager
def _opened(bundle: Path) -> Iterator[tarfile.TarFile]:
    try:
        with _BoundedFile(bundle) as file, tarfile.open(fileobj=file, mode="r:") as archive:
            yield archive
    except (tarfile.TarError, RecursionError, OverflowError) as error:
        raise _invalid(bundle, str(error)) from error
    except OSError as error:
        raise SourceError(f"{error.filename or bundle}: {error.strerror or error}") from error


def _checked(archive: tarfile.TarFile, bundle: Path) -> dict[BundledModel, tarfile.TarInfo]:
    """Return the models and their members, which must be exactly the regular files of the manifest."""
    members: dict[str, tarfile.TarInfo] = {}
    for member in archive:
        if member.type != tarfile.REGTYPE or member.sparse is not None or member.size < 0:
            raise _invalid(bundle, f"'{member.name}' is not a regular file")
        if member.name in members:
            raise _invalid(bundle, f"'{member.name}' is in it twice")
        if len(members) > _MAX_MODELS:
            raise _invalid(bundle, f"it has more than {_MAX_MODELS} files")
        members[member.name] = member
    manifest = members.pop(MANIFEST, None)
    if manifest is None:
        raise _invalid(bundle, f"it has no {MANIFEST}, or is truncated")
    checked: dict[BundledModel, tarfile.TarInfo] = {}
    for entry in _entries(archive, manifest, bundle):
        listed = members.pop(entry.member, None)
        if listed is None or listed.size != entry.size:
            raise _invalid(bundle, f"'{entry.member}' is missing, or has another size than {MANIFEST} says")
        checked[entry] = listed
    for name in members:
        raise _invalid(bundle, f"'{name}' is not listed in {MANIFEST}")
    return checked


def _entries(archive: tarfile.TarFile, manifest: tarfile.TarInfo, bundle: Path) -> list[BundledModel]:
    data = archive.extractfile(manifest)
    if data is None or manifest.size > _MAX_MANIFEST:
        raise _invalid(bundle, f"{MANIFEST} is too long")
    try:
        content = json.loads(data.read(manifest.size))
    except (ValueError, RecursionError) as error:
        raise _invalid(bundle, f"{MANIFEST} is not valid JSON") from error
    match content:
        case {"format": int(version), "models": [*_]} if version > FORMAT:
            raise ModelError(f"{bundle}: bundle format {version} is not supported", "Upgrade qmd-python.")
        case {"format": 1, "models": [*models]}:
            return [_entry(model, bundle) for model in models]
    raise _invalid(bundle, f"{MANIFEST} lists no models")


def _entry(model: Any, bundle: Path) -> BundledModel:
    match model:
        case {
            "name": str(name),
            "source": str(source),
            "size": int(size),
            "sha256": str(digest),
            "license": str(license),
        } if size > 0 and source.startswith("hf:") and source.casefold().endswith(".gguf"):
            parse_source(source)
            return BundledModel(name, source, size, digest, license)
    raise _invalid(bundle, f"{MANIFEST} has an invalid entry")


def _import_one(
    archive: tarfile.TarFile, member: tarfile.TarInfo, entry: BundledModel, target: Path, progress: _Counter
) -> ImportedModel:
    with locked(str(target), timeout=0):
        if target.exists():
            if sha256(target) != entry.sha256:
                raise ConflictError(
                    f"{target} exists and differs from the file in the bundle",
                    "Delete it to import the file from the bundle.",
                )
            progress(entry.size)
            return ImportedModel(entry, target, fresh=False)
        data = archive.extractfile(member)
        assert data is not None  # a regular file
        reader = _HashingReader(data, progress)
        with _replacing(target) as file:
            shutil.copyfileobj(reader, file, _BLOCK)
            if reader.hexdigest() != entry.sha256:
                raise ModelError(
                    f"{entry.source}: the file in the bundle does not match its checksum",
                    "Copy the bundle again, or export it again.",
                )
    return ImportedModel(entry, target, fresh=True)


def _counter(on_bytes: OnBytes, total: int) -> _Counter:
    """Return a function that adds to the bytes of all models."""
    done = 0

    def add(size: int) -> None:
        nonlocal done
        done += size
        on_bytes(done, total)

    return add


class _HashingReader:
    """Reads a file, counts its bytes and computes its SHA-256."""

    def __init__(self, file: IO[bytes], progress: _Counter) -> None:
        self._file = file
        self._progress = progress
        self._digest = hashlib.sha256()

    def read(self, size: int = _BLOCK, /) -> bytes:
        data = self._file.read(size)
        self._digest.update(data)
        self._progress(len(data))
        return data

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def _invalid(bundle: Path, reason: str) -> ModelError:
    return ModelError(f"{bundle}: not a model bundle: {reason}", "Create one with 'qmd models export'.")
