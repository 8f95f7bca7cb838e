"""Bundles: fetched models in one file, for machines that fetch nothing.

A bundle is a plain tar archive. Each model's file stands in it as it does in the cache
(`models/owner/repository/file.gguf`), and at its end `manifest.json` says what they are. `tar` can read it;
reading one here takes nothing on trust.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from qmd.config.files import locked
from qmd.errors import ConflictError, ModelError, SourceError
from qmd.models.catalog import ModelCard
from qmd.models.fetching import OnBytes
from qmd.models.store import PARTIAL, locate_pulled, parse_remote

FORMAT = 1
MANIFEST = "manifest.json"

#: No manifest is longer, and no bundle has more files.
_MOST_BYTES, _MOST_MODELS = 1_000_000, 1000
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A model in a bundle; `size` in bytes, `license` empty where nobody said it."""

    name: str
    source: str
    size: int
    sha256: str
    license: str

    @property
    def member(self) -> str:
        """Its file's name in the archive."""
        remote = parse_remote(self.source)
        return f"models/{remote.owner}/{remote.repo}/{remote.file}"


@dataclass(frozen=True, slots=True)
class Imported:
    """A model that is here. `fresh`: it was not before."""

    entry: Entry
    path: Path
    fresh: bool


def export(cards: Sequence[ModelCard], bundle: Path, cache_dir: Path, on_bytes: OnBytes) -> list[Entry]:
    """Put the files of fetched models into a new bundle; `on_bytes` counts those of all models.

    Raises `ModelError` for a model that is not here, `ConflictError` where there is a file of that name,
    `SourceError` where it cannot be written; then there is no bundle.
    """
    files = [locate_pulled(card.source, cache_dir) for card in cards]
    for card, file in zip(cards, files, strict=True):
        if not file.is_file():
            raise ModelError(f"Model '{card.name}' is not here", f"qmd pull {card.source}")
    if os.path.lexists(bundle):
        raise ConflictError(f"{bundle} exists already", "Name another file, or delete that one.")
    count = _Count(on_bytes, sum(file.stat().st_size for file in files))
    _check_space(bundle.parent, count.total)
    with _written(bundle) as raw, tarfile.open(fileobj=raw, mode="w:", format=tarfile.GNU_FORMAT) as archive:
        entries = [_add(archive, card, file, count) for card, file in zip(cards, files, strict=True)]
        manifest = {"format": FORMAT, "models": [asdict(entry) for entry in entries]}
        data = json.dumps(manifest, ensure_ascii=False, indent=2).encode()
        archive.addfile(_member(MANIFEST, len(data)), io.BytesIO(data))
    return entries


def read(bundle: Path) -> list[Entry]:
    """What a bundle has, once all of it but the models' bytes has been checked.

    Raises `SourceError` for a file that cannot be read, `ModelError` for what is no bundle of ours, or one
    that holds anything else than it says.
    """
    with _opened(bundle) as archive:
        return list(_checked(archive, bundle))


def import_(bundle: Path, cache_dir: Path, on_bytes: OnBytes) -> list[Imported]:
    """Put the models of a bundle where `pull` would have; each is there once its checksum is right.

    Those that are here already are passed over, so that an import that was interrupted goes on. Raises as
    `read` does, `ModelError` for bytes that are not what their checksum says, `ConflictError` where another
    file is in a model's place, `BusyError` where another process fetches it.
    """
    with _opened(bundle) as archive:
        members = _checked(archive, bundle)
        missing = [entry for entry in members if not locate_pulled(entry.source, cache_dir).exists()]
        _check_space(cache_dir, sum(entry.size for entry in missing))
        count = _Count(on_bytes, sum(entry.size for entry in members))
        return [
            _settle(archive, member, entry, locate_pulled(entry.source, cache_dir), count)
            for entry, member in members.items()
        ]


# -- writing -----------------------------------------------------------------------------------------------


def _add(archive: tarfile.TarFile, card: ModelCard, file: Path, count: _Count) -> Entry:
    with file.open("rb") as data:
        source = _Hashed(data, count)
        size = os.fstat(data.fileno()).st_size
        entry = Entry(card.name, card.source, size, "", card.license)
        archive.addfile(_member(entry.member, size), source)
    return Entry(card.name, card.source, size, source.hexdigest(), card.license)


def _member(name: str, size: int) -> tarfile.TarInfo:
    """A file's header: the same for the same content, whoever writes it."""
    found = tarfile.TarInfo(name)
    found.size, found.mode = size, 0o644
    return found


@contextmanager
def _written(path: Path) -> Iterator[IO[bytes]]:
    """A new file that is in its place once it is whole."""
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


# -- reading -----------------------------------------------------------------------------------------------


class _Careful(io.FileIO):
    """A file of which little is read at a time: headers may claim to be of any length."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= _BLOCK:
            raise tarfile.ReadError("a header of impossible length")
        return super().read(size) or b""


@contextmanager
def _opened(bundle: Path) -> Iterator[tarfile.TarFile]:
    try:
        with _Careful(bundle) as file, tarfile.open(fileobj=file, mode="r:") as archive:
            yield archive
    except (tarfile.TarError, RecursionError, OverflowError) as error:
        raise _no_bundle(bundle, str(error)) from error
    except OSError as error:
        raise SourceError(f"{error.filename or bundle}: {error.strerror or error}") from error


def _checked(archive: tarfile.TarFile, bundle: Path) -> dict[Entry, tarfile.TarInfo]:
    """Each entry of the manifest and its member: plain files, of the sizes it says, and nothing else."""
    members: dict[str, tarfile.TarInfo] = {}
    for member in archive:
        if member.type != tarfile.REGTYPE or member.sparse is not None or member.size < 0:
            raise _no_bundle(bundle, f"'{member.name}' is no plain file")
        if member.name in members or len(members) > _MOST_MODELS:
            raise _no_bundle(bundle, f"'{member.name}' is there twice, or one of too many")
        members[member.name] = member
    manifest = members.pop(MANIFEST, None)
    if manifest is None:
        raise _no_bundle(bundle, f"it has no {MANIFEST}, or is cut short")
    found: dict[Entry, tarfile.TarInfo] = {}
    for entry in _entries(archive, manifest, bundle):
        held = members.pop(entry.member, None)
        if held is None or held.size != entry.size:
            raise _no_bundle(bundle, f"'{entry.member}' is not there, or not of the size it says")
        found[entry] = held
    for name in members:
        raise _no_bundle(bundle, f"'{name}' is not in its {MANIFEST}")
    return found


def _entries(archive: tarfile.TarFile, manifest: tarfile.TarInfo, bundle: Path) -> Iterable[Entry]:
    data = archive.extractfile(manifest)
    if data is None or manifest.size > _MOST_BYTES:
        raise _no_bundle(bundle, f"its {MANIFEST} is too long")
    try:
        said = json.loads(data.read(manifest.size))
    except (ValueError, RecursionError) as error:
        raise _no_bundle(bundle, f"its {MANIFEST} is no JSON") from error
    match said:
        case {"format": int(version), "models": [*_]} if version > FORMAT:
            raise ModelError(f"{bundle}: a bundle of format {version}", "Upgrade qmd-python.")
        case {"format": 1, "models": [*models]}:
            return [_entry(each, bundle) for each in models]
    raise _no_bundle(bundle, f"its {MANIFEST} names no models")


def _entry(said: Any, bundle: Path) -> Entry:
    match said:
        case {
            "name": str(name),
            "source": str(source),
            "size": int(size),
            "sha256": str(digest),
            "license": str(license),
        } if size > 0 and source.startswith("hf:") and source.casefold().endswith(".gguf"):
            parse_remote(source)
            return Entry(name, source, size, digest, license)
    raise _no_bundle(bundle, f"its {MANIFEST} has an entry that makes no sense")


def _settle(
    archive: tarfile.TarFile, member: tarfile.TarInfo, entry: Entry, target: Path, count: _Count
) -> Imported:
    """Have one model in its place."""
    with locked(str(target), timeout=0):
        if target.exists():
            with target.open("rb") as file:
                held = _copied(_Hashed(file, count), None)
            if held != entry.sha256:
                raise ConflictError(
                    f"{target} is another file than the bundle's", "Delete it to have the bundle's."
                )
            return Imported(entry, target, fresh=False)
        data = archive.extractfile(member)
        assert data is not None  # a plain file
        with _written(target) as file:
            if _copied(_Hashed(data, count), file) != entry.sha256:
                raise ModelError(
                    f"{entry.source}: what the bundle has is not what its checksum says",
                    "Copy the bundle again, or make it anew.",
                )
    return Imported(entry, target, fresh=True)


# -- bytes -------------------------------------------------------------------------------------------------


class _Count:
    """Bytes done, of all that there are."""

    def __init__(self, on_bytes: OnBytes, total: int) -> None:
        self.total = total
        self._done = 0
        self._on_bytes = on_bytes

    def add(self, size: int) -> None:
        self._done += size
        self._on_bytes(self._done, self.total)


class _Hashed(io.RawIOBase):
    """What is read from a file, counted and hashed on its way."""

    def __init__(self, file: IO[bytes], count: _Count) -> None:
        self._file = file
        self._count = count
        self._digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(min(size, _BLOCK) if size >= 0 else _BLOCK)
        self._digest.update(data)
        self._count.add(len(data))
        return data

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def _copied(source: _Hashed, target: IO[bytes] | None) -> str:
    """Read a file to its end, into another where there is one; its SHA-256."""
    while data := source.read(_BLOCK):
        if target is not None:
            target.write(data)
    return source.hexdigest()


def _check_space(folder: Path, needed: int) -> None:
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if needed > free:
        lacking = f"{needed // 1_000_000:,} MB are needed, and {free // 1_000_000:,} MB are free"
        raise ModelError(f"There is no room on the disk: {lacking}", f"Make room on the disk of {folder}.")


def _no_bundle(bundle: Path, reason: str) -> ModelError:
    return ModelError(f"{bundle}: not a bundle of models: {reason}", "'qmd models export' makes one.")
