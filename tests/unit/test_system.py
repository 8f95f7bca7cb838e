"""`qmd.system`: both modules keep the same promises. That of Windows has a stand-in for `msvcrt`."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import qmd
from qmd import system
from qmd.errors import QmdError
from qmd.system import posix, windows

#: Locks a file until it is closed, as `msvcrt.locking` locks a byte of it.
STAND_IN = """
import fcntl
LK_NBLCK = 2
def locking(file, mode, size):
    assert mode == LK_NBLCK
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
"""
#: Modules that Windows does not have.
MISSING = ("fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "syslog", "inotify_simple")

#: What `os` does not have there.
ABSENT = (
    "O_NOFOLLOW O_CLOEXEC O_NONBLOCK O_NOCTTY O_DIRECTORY fork getuid geteuid fchmod pread pwrite nice "
    "eventfd sched_getaffinity mkfifo getpgid killpg setsid"
)


@pytest.fixture(params=["posix", "windows"])
def module(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (tmp_path / "msvcrt.py").write_text(STAND_IN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "msvcrt", raising=False)
    return {"posix": posix, "windows": windows}[request.param]


def locks_elsewhere(module: ModuleType, path: Path, folder: Path, *, shared: bool) -> bool:
    """Return whether another process can lock a file."""
    code = (
        f"import os; from {module.__name__} import try_lock; "
        f"print(try_lock(os.open({str(path)!r}, os.O_RDWR), shared={shared}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.strip() == "True"


def test_modules_have_the_same_functions() -> None:
    modules = {"sys", "here", "locks", "posix", "windows"}
    names = {name for name in vars(system) if not name.startswith("_")} - modules
    for name in names - {"NO_LINK"}:
        assert inspect.signature(getattr(posix, name)) == inspect.signature(getattr(windows, name)), name
    assert isinstance(posix.NO_LINK, int)
    assert isinstance(windows.NO_LINK, int)


@pytest.mark.parametrize("shared", [False, True])
def test_try_lock_keeps_other_processes_out(module: ModuleType, tmp_path: Path, shared: bool) -> None:
    path = tmp_path / "held"
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    assert module.try_lock(file)
    assert not locks_elsewhere(module, path, tmp_path, shared=shared)
    os.close(file)
    assert locks_elsewhere(module, path, tmp_path, shared=shared)


def test_publish_replaces_a_file_by_a_locked_one(module: ModuleType, tmp_path: Path) -> None:
    path, temporary = tmp_path / "state", tmp_path / "state.tmp"
    path.write_bytes(b"an older and longer text")
    draft = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    file = module.publish(draft, str(temporary), str(path), b"new")
    assert path.read_bytes() == b"new"
    assert module.read_start(file, 100) == b"new"
    assert not temporary.exists()
    assert not locks_elsewhere(module, path, tmp_path, shared=True)
    module.write_start(file, b"NE")
    assert path.read_bytes() == b"NEw"
    os.close(file)


def test_windows_starts_no_server_in_the_background() -> None:
    with pytest.raises(QmdError, match="Windows"):
        windows.share_with_child(0)


def test_windows_branches_change_no_limits() -> None:
    assert windows.raise_file_limit(4096) == 4096
    windows.limit_reading(1)
    windows.limit_time(1)
    windows.lower_priority(5)


def test_only_the_system_package_imports_modules_of_one_system() -> None:
    root = Path(qmd.__file__).parent
    for path in root.rglob("*.py"):
        if path.parent.name == "system":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            forbidden = {"fcntl", "resource", "pwd", "grp", "termios", "msvcrt", "winreg"} & {*names}
            assert not forbidden, f"{path}: {forbidden}"


@pytest.mark.slow
def test_every_module_can_be_imported_as_on_windows() -> None:
    """Without the modules and names that Windows lacks, every module can still be imported."""
    root = Path(qmd.__file__).parent
    names = sorted(
        ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for path in root.rglob("*.py")
        if path.name not in ("__main__.py", "__init__.py", "posix.py", "llm_tools.py")
    )
    code = f"""
import importlib, os, sys
names = {names!r}
for name in names: importlib.import_module(name)  # what other packages import stays as it is
for name in [name for name in sys.modules if name.split(".")[0] == "qmd"]: del sys.modules[name]
for name in {MISSING!r}: sys.modules[name] = None
for name in {ABSENT!r}.split(): delattr(os, name)
os.supports_dir_fd.clear()
sys.platform = "win32"
for name in names: importlib.import_module(name)
from qmd import system
assert system.try_lock.__module__ == "qmd.system.windows"
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
