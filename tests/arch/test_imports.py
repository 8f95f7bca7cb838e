"""The modules that a command may import. Start-up is fast because most of the program is not imported."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import qmd
import qmd.engine
from qmd.engine.parts import PARTS, Part

#: Beyond the standard library.
SEARCH_MAY_IMPORT = {"qmd", "apsw", "Stemmer", "msgspec"}
HELP_MAY_IMPORT = {"qmd"}
#: Modules of the standard library that a search does not need and that are slow to import.
HEAVY = {
    "asyncio",
    "concurrent.futures",
    "ctypes",
    "csv",
    "difflib",
    "email",
    "http",
    "importlib.metadata",
    "logging",
    "multiprocessing",
    "pathlib",
    "pickle",
    "platform",
    "shlex",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "unittest",
    "urllib.request",
    "xml",
    "zipfile",
}
#: Modules of qmd for embedding, reading files and maintaining an index.
OTHER_WORK = (
    *(
        "qmd.models.e5",
        "qmd.engine.indexing.scan",
        "qmd.sources.read",
        "qmd.text.chunking",
        "qmd.text.extraction",
    ),
    *("qmd.store.sqlite.backup", "qmd.store.sqlite.integrity"),
)
#: What only an error needs.
GUESSING = {"qmd.cli.guesses", "qmd.text.synonyms"}
#: The command ends its process with `os._exit`, so that is replaced to print the imported modules first.
_CODE = """
import json, os, sys
os._exit = sys.exit
before = set(sys.modules)
from qmd.__main__ import main
try:
    main()
except SystemExit:
    pass
print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)
"""


#: What loading all commands imports, as their help does. `why` knows the kinds of traces, which are structs.
_LOAD_COMMANDS = """
import json, sys
before = set(sys.modules)
from qmd.cli.commands import LOADABLE
for name in LOADABLE.builtin:
    if name != "why":
        LOADABLE.load(name)
print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)
"""


def imported_by(home: Path, *args: str, code: str = _CODE) -> set[str]:
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
    }
    # -S: modules that site packages import by themselves do not count.
    found = subprocess.run(
        [sys.executable, "-S", "-c", code, *args], capture_output=True, text=True, env=environ, check=False
    )
    assert found.returncode == 0, found.stderr
    modules: list[str] = json.loads(found.stderr.splitlines()[-1])
    return set(modules)


def third_party(modules: set[str]) -> set[str]:
    names = {module.partition(".")[0] for module in modules} - set(sys.stdlib_module_names)
    # Extensions compiled by Cython register helper modules under names of their own.
    return {name for name in names if not name.startswith(("_cython", "cython_runtime"))}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with an index of one file, and its vectors."""
    home = tmp_path_factory.mktemp("home")
    notes = home / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nwords to find\n", encoding="utf-8")
    imported_by(home, "add", str(notes))
    return home


@pytest.mark.parametrize("args", [["--help"], ["search", "--help"], ["collection", "--help"]], ids=str)
def test_help_imports_no_other_package(home: Path, args: list[str]) -> None:
    modules = imported_by(home, *args)
    assert third_party(modules) == HELP_MAY_IMPORT
    assert modules.isdisjoint(HEAVY)
    assert modules.isdisjoint(GUESSING)
    assert not any(name.startswith(("qmd.engine", "qmd.store", "qmd.config")) for name in modules)


def test_help_of_every_command_imports_no_other_package(home: Path) -> None:
    modules = imported_by(home, code=_LOAD_COMMANDS)
    assert third_party(modules) == HELP_MAY_IMPORT
    assert not any(name.startswith(("qmd.engine", "qmd.store", "qmd.config")) for name in modules)


@pytest.mark.parametrize(
    "args", [["search", "words"], ["search", "words", "--json"], ["search", "words", "--csv"]], ids=str
)
def test_search_imports_only_the_modules_it_needs(home: Path, args: list[str]) -> None:
    modules = imported_by(home, *args)
    assert third_party(modules) == SEARCH_MAY_IMPORT
    assert modules.isdisjoint(HEAVY | GUESSING)
    assert not any(name.startswith(OTHER_WORK) for name in modules)


@pytest.mark.parametrize("flag", ["--version", "-v"])
def test_version_flag_imports_only_the_version(home: Path, flag: str) -> None:
    modules = imported_by(home, flag)
    assert {name for name in modules if name.startswith("qmd")} == {"qmd", "qmd._version", "qmd.__main__"}
    assert third_party(modules) == {"qmd"}
    assert modules.isdisjoint({"typing", "re", "enum", "collections", "functools"})


def test_reading_commands_import_no_models(home: Path) -> None:
    for args in (
        *(["get", "a.md"], ["multi-get", "notes/a.md"], ["ls", "notes"], ["context", "list"]),
        *(["ls"], ["collection", "list"], ["collection", "show", "notes"]),
    ):
        modules = imported_by(home, *args)
        assert third_party(modules) <= SEARCH_MAY_IMPORT | {"typing_extensions"}
        assert not any(name.startswith("qmd.models.e5") for name in modules)


def test_update_without_a_change_imports_nothing_that_reads_files_apart(home: Path) -> None:
    modules = imported_by(home, "update")
    assert modules.isdisjoint({"subprocess", "pathlib", "traceback", "shutil", "urllib.parse", "logging"})


def test_index_has_every_method_of_its_parts() -> None:
    """`Index` names the methods of its parts, which it imports on use."""
    for module in pkgutil.walk_packages(qmd.engine.__path__, "qmd.engine."):
        importlib.import_module(module.name)
    parts = {part for part in Part.__subclasses__() if part.__module__ != Part.__module__}
    core = {part for part in parts if part.__module__.startswith("qmd.engine.")}
    added = {PARTS.load(name) for name in PARTS.builtin}
    assert all(hasattr(qmd.Index, name) for part in core for name in vars(part) if not name.startswith("_"))
    members = [name for part in core | added for name in vars(part) if not name.startswith("__")]
    names = [name for name in members if name != "_rules"]
    assert len(names) == len(set(names))


def test_a_server_loads_the_sdk_of_mcp_only_when_it_is_asked() -> None:
    code = "import sys, qmd.cli.serving; print(*sorted({'mcp', 'pydantic', 'numpy'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


#: Counts the modules, patterns and classes of a run, without those of the interpreter's own start.
_COUNT = """
import builtins, json, os, re, sys
os._exit = sys.exit
counts = {"modules": -len(sys.modules), "patterns": 0, "classes": 0}
def counted(name, function):
    def call(*args, **named):
        counts[name] += 1
        return function(*args, **named)
    return call
re._compiler.compile = counted("patterns", re._compiler.compile)
builtins.__build_class__ = counted("classes", builtins.__build_class__)
from qmd.__main__ import main
try:
    main()
except SystemExit:
    pass
counts["modules"] += len(sys.modules)
print(json.dumps(sorted(f"{name} {number}" for name, number in counts.items())), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("args", "modules", "patterns", "classes"),
    [
        (["search", "words"], 196, 10, 320),
        (["update"], 196, 6, 335),
    ],
    ids=str,
)
def test_start_stays_in_its_budget(
    home: Path, args: list[str], modules: int, patterns: int, classes: int
) -> None:
    counts = dict(each.split() for each in imported_by(home, *args, code=_COUNT))
    assert int(counts["modules"]) <= modules, counts
    assert int(counts["patterns"]) <= patterns, counts
    assert int(counts["classes"]) <= classes, counts


def test_client_of_a_server_loads_neither_parsers_nor_engine() -> None:
    code = (
        "import sys, re; before = set(sys.modules)\n"
        "import qmd.cli.start, qmd.config.paths, qmd.server.discovery, _socket\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    found = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    loaded = set(found.stdout.split())
    assert third_party(loaded) == {"qmd"}
    assert loaded.isdisjoint({"qmd.cli.options", "qmd.cli.running", "json", "socket", "inspect"})
    assert len(loaded) <= 40


def modules_with(pattern: str) -> list[str]:
    sources = Path(qmd.__file__).parent
    found = [file for file in sources.rglob("*.py") if re.search(pattern, file.read_text("utf-8"), re.M)]
    return sorted(file.relative_to(sources).as_posix() for file in found)


def test_one_module_imports_the_parser_of_markdown() -> None:
    assert modules_with(r"^\s*(?:import|from) pyromark") == ["text/markdown/parser.py"]


#: Modules that look for signs of Markdown: its reader, the page, what people's answers are checked by, and
#: writers of Markdown. Others take the structure that the reader has made.
MAY_LOOK_FOR_MARKS = (
    *("text/markdown/", "text/outline.py", "text/body_properties.py", "text/dates/written.py"),
    "text/header_lines.py",
    *("features/page/", "features/evidence/", "features/formats/", "sources/formats/writing.py"),
    *("config/marks_file.py", "features/agents/recall.py", "features/secrets/names.py"),
)


def test_modules_after_the_reader_look_for_no_marks() -> None:
    found = modules_with(r"""`\{3|#\{1,6\}|\\\[\\\[|~\{3|["']```""")
    assert [path for path in found if not path.startswith(MAY_LOOK_FOR_MARKS)] == []
