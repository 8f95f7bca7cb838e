"""Only one module starts processes, because it keeps modules of the working folder out of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import qmd

ROOT = Path(qmd.__file__).parent
#: Names that start a process or name the interpreter, as modules or as attributes of modules.
STARTERS = {
    *("subprocess", "multiprocessing", "pty", "webbrowser", "pdb", "runpy", "anyio.to_process"),
    *("asyncio.subprocess", "concurrent.futures.process"),
}
NAMES = {
    *("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile", "executable"),
    *(
        "create_subprocess_exec",
        "create_subprocess_shell",
        "ProcessPoolExecutor",
        "open_process",
        "run_process",
    ),
    *(f"{kind}{ending}" for kind in ("exec", "spawn") for ending in "l le lp lpe v ve vp vpe".split()),
}
MODULES = {"os", "sys", "asyncio", "concurrent.futures", "futures", "anyio"}
#: Constants and types, which start no process.
HARMLESS = {
    *("subprocess.DEVNULL", "subprocess.PIPE", "subprocess.Popen", "subprocess.TimeoutExpired"),
    *("multiprocessing.connection.Connection", "multiprocessing.connection.wait"),
}
#: The module that starts processes.
ALLOWED = {
    ("processes.py", "subprocess"),
    ("processes.py", "multiprocessing"),
    ("processes.py", "webbrowser"),
}


def starters(tree: ast.AST) -> Iterator[str]:
    """Yield the names in a module with which it could start a process."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body.clear()
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [f"{node.value.id}.{node.attr}"]
        for name in names:
            module, _, attribute = name.rpartition(".")
            known = any(name == each or name.startswith(f"{each}.") for each in STARTERS)
            if (known and name not in HARMLESS) or (module in MODULES and attribute in NAMES):
                yield name


def found(path: Path) -> set[tuple[str, str]]:
    """Return the starters in a file, except those that are allowed."""
    place = path.relative_to(ROOT).as_posix()
    names = starters(ast.parse(path.read_text(encoding="utf-8")))
    pairs = {(place, name) for name in names}
    return {(file, name) for file, name in pairs if (file, name.partition(".")[0]) not in ALLOWED}


def test_only_the_processes_module_starts_processes() -> None:
    everything = {pair for path in ROOT.rglob("*.py") for pair in found(path)}
    assert everything == {("processes.py", "sys.executable")}


def test_popen_is_called_only_in_the_processes_module() -> None:
    calls = {
        path.name
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Popen"
    }
    assert calls == {"processes.py"}


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess",
        "from multiprocessing import get_context",
        "from concurrent.futures import ProcessPoolExecutor",
        "import os\nos.execvp('python', ['python'])",
        "import sys\nwords = [sys.executable, '-m', 'qmd']",
        "from sys import executable",
        "async def f():\n    await anyio.run_process('python')",
    ],
)
def test_starters_finds_every_way_to_start_a_process(code: str) -> None:
    assert list(starters(ast.parse(code)))
