"""How other programs call qmd: the words, the environment, and what they read of the output.

The programs were written for tobi/qmd. What they pass and read was taken from their sources; the readers here
are written anew and read no more than those do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

import pytest
from msgspec import Struct

from tests.users import User

pytestmark = pytest.mark.models
BACKUP: Final = "qmd://notes/ops/backup.md"
TYPED: Final = "intent: operations\nlex: restore backup\nvec: how are backups restored\nhyde: On restoring"


class Call(Struct, frozen=True):
    """A call of qmd by another program, and a check of what it reads of stdout."""

    program: str
    words: tuple[str, ...]
    reads: Callable[[str], object]
    environ: dict[str, str] = {}


def hits(read: Callable[[list[dict[str, Any]]], bool]) -> Callable[[str], bool]:
    """Read the results of a search: an array of objects with these fields, the right document first."""

    def check(text: str) -> bool:
        found = json.loads(text)
        row = found[0]
        fields = {"docid": str, "score": float, "file": str, "title": str}
        return all(isinstance(row[name], kind) for name, kind in fields.items()) and read(found)

    return check


def matches(*patterns: str) -> Callable[[str], bool]:
    """Search for patterns, each of which captures something."""
    return lambda text: all(re.search(pattern, text, re.MULTILINE) for pattern in patterns)


FIRST = hits(lambda found: found[0]["file"] == BACKUP and bool(found[0]["snippet"]))
#: As a URL: the collection is the host, and the path begins with a slash.
AS_URL = hits(lambda found: re.fullmatch(r"qmd://([^/]+)/(.+)", found[0]["file"]) is not None)
LISTED = matches(r"^(\S+)\s+\(qmd://([^/]+)/\)\s*\n\s+Pattern:\s+(.+)\n\s+Files:\s+(\d+)")
_CONTEXTS = r"^\s*Contexts:\s*(\d+)$"
_INTENT = ("--json", "-c", "notes", "-n", "5", "--intent", "ops")
COLOURLESS = {"NO_COLOR": "1"}

CALLS = [
    # OpenClaw before 2026.9: XDG folders of its own, and one or several collections.
    Call("openclaw", ("search", "backup", "--json", "-n", "6", "-c", "notes"), AS_URL, COLOURLESS),
    Call("openclaw", ("query", "backup", "--json", "-n", "6", "-c", "notes", "--no-rerank"), AS_URL),
    Call("openclaw", ("search", "backup", "--json", "-n", "6", "-c", "notes", "-c", "more"), FIRST),
    Call("openclaw", ("search", "zyzzyva", "--json", "-n", "6"), lambda text: json.loads(text) == []),
    Call(
        "openclaw",
        ("collection", "list", "--json"),
        lambda text: {"name", "path", "pattern"} <= set(json.loads(text)[0]),
    ),
    Call("openclaw", ("status",), matches(r"(?:^|\n)\s*Vectors:\s*(\d+)\b")),
    Call("openclaw", ("update",), lambda text: True),
    # obsidian-qmd by GoBeromsu.
    Call("obsidian-qmd", ("--help",), bool),
    Call("obsidian-qmd", ("collection", "list"), matches(r"^(.+?)\s+\(qmd://.+/\)\s*$")),
    Call(
        "obsidian-qmd",
        ("collection", "show", "notes"),
        matches(
            r"^Collection:\s*notes$",
            r"^\s*Path:\s*(/.+)$",
            r"^\s*Pattern:\s*(\S+)$",
            r"^\s*Contexts:\s*(\d+)$",
        ),
    ),
    Call("obsidian-qmd", ("search", "backup", "-c", "notes", "--json", "-n", "10"), FIRST),
    Call("obsidian-qmd", ("vsearch", "restore a backup", "-c", "notes", "--json", "-n", "10"), FIRST),
    Call("obsidian-qmd", ("query", TYPED, "-c", "notes", "--json", "-n", "10"), FIRST),
    # obsidian-qmd by achekulaev: the index comes first, and the JSON may have text before it.
    Call("obsidian-qmd 2", ("--index", "openclaw-main", "search", "backup", "--json"), FIRST),
    Call(
        "obsidian-qmd 2",
        ("status",),
        matches(r"Total:\s+(\d+)\s+files?\s+indexed", r"Vectors:\s+(\d+)\s+embedded", r"qmd://notes/"),
    ),
    # obsidian-qmd by StevenWolfe: an intent with every kind of search.
    Call(
        "obsidian-qmd 3", ("search", "backup", "--json", "-c", "notes", "-n", "5", "--intent", "ops"), FIRST
    ),
    Call("obsidian-qmd 3", ("query", "backup", *_INTENT), FIRST),
    Call(
        "obsidian-qmd 3",
        ("status",),
        matches(r"^ {2}(\S+)\s+\(qmd://", r"^ {4}Files:\s+(\d+) \(updated (.+?)\)"),
    ),
    # qmd-gui: a format by its long name, and the query after "--".
    Call("qmd-gui", ("--version",), matches(r"(\d+\.\d+\.\d+)")),
    Call("qmd-gui", ("search", "--format", "json", "-c", "notes", "-n", "5", "--", "backup"), FIRST),
    Call(
        "qmd-gui",
        ("query", "--format", "json", "-c", "notes", "-C", "20", "--no-rerank", "--explain", "--", TYPED),
        hits(lambda found: found[0]["file"] == BACKUP and bool(found[0]["explain"])),
    ),
    Call(
        "qmd-gui",
        ("vsearch", "--format", "json", "--min-score", "0.1", "--all", "--intent", "ops", "--", "backup"),
        FIRST,
    ),
    Call("qmd-gui", ("collection", "list"), LISTED),
    Call(
        "qmd-gui",
        ("collection", "show", "notes"),
        matches(r"^\s+Include:\s+(yes.*)$", r"^\s+Contexts:\s+(\d+)"),
    ),
    Call(
        "qmd-gui",
        ("status",),
        matches(
            r"^Index:\s+(.+)$",
            r"^Size:\s+(.+)$",
            r"Total:\s+(\d+)\s+files indexed",
            r"Vectors:\s+(\d+)\s+embedded",
            r"^\s{2}(\S+)\s+\(qmd://([^/]+)/\)\n\s+Pattern:\s+(.+)\n\s+Files:\s+(\d+)(?:\s+\(updated\s+(.+)\))?\n"
            r"\s+Contexts:\s+(\d+)",
            r"Embedding:\s+(\S+)",
            r"Reranking:\s+(\S+)",
        ),
    ),
    Call("qmd-gui", ("context", "list"), matches(r"^notes\n\s{2}/ \(root\)\n\s{4}(.+)$")),
    Call("qmd-gui", ("ls", "notes"), matches(r"^(\d+)\s+B\s{2}(.+?)\s{2}(notes/ops/backup\.md)$")),
    Call("qmd-gui", ("pull", "--refresh"), bool),
    Call("qmd-gui", ("cleanup", "--dry-run"), bool),
    Call("qmd-gui", ("mcp", "stop"), bool),
    # The extension for Raycast: colours and paths as a shell has them.
    Call("raycast", ("search", "backup", "-n", "10", "-c", "notes", "--min-score", "0.1", "--json"), FIRST),
    Call("raycast", ("query", "backup", "-n", "10", "--line-numbers", "--all", "--json"), FIRST),
    Call(
        "raycast",
        ("status",),
        matches(r"QMD Status", r"^Documents$", r"^Collections$", r"^\s+Updated:\s+(.+)$"),
    ),
    Call("raycast", ("collection", "list"), matches(r"^(\S+)\s+\(qmd://\S+\)", r"^\s+Pattern:\s+(.+)$")),
    Call(
        "raycast",
        ("context", "list"),
        matches(r"^Configured Contexts", r"^\s{2}(\S+)\s+\([^)]+\)\n\s{4}(.+)$"),
    ),
    Call("raycast", ("get", BACKUP, "--full"), matches(r"^# Backups$")),
    # qmd-auto-context: the first words of lines, and what follows a label.
    Call("qmd-auto-context", ("collection", "list"), matches(r"^(notes)\b")),
    Call("qmd-auto-context", ("collection", "show", "notes"), matches(r"^ *Path: +(/\S+)$")),
    # Scripts in Python, of which many begin like these.
    Call("scripts", ("query", "--help"), bool),
    Call("scripts", ("query", "lex:backup\nvec:backup", "--json", "-n", "8"), FIRST),
    Call("scripts", ("query", "backup", "--collection", "notes", "--json", "-n", "8"), FIRST),
    Call("scripts", ("query", "-c", "notes", "-n", "20", "--json", "backup"), FIRST),
    Call(
        "scripts",
        ("search", "backup", "-c", "notes", "-n", "10"),
        matches(r"^(?:qmd://)?(notes/ops/backup\.md)"),
    ),
    # Pickers for Neovim.
    Call("nvim", ("query", "backup", "-n", "25", "--json"), FIRST),
    Call(
        "nvim",
        ("vsearch", "--json", "restore a backup"),
        hits(lambda found: found[0]["docid"].startswith("#")),
    ),
    Call(
        "nvim",
        ("search", "--files", "--all", "backup"),
        matches(r"^#(\w{6}),[\d.]+,qmd://notes/ops/backup\.md"),
    ),
]


@pytest.fixture(scope="module")
def called(host: User) -> User:
    """A user whose index has contexts, and a second collection."""
    (host.home / "more").mkdir()
    (host.home / "more" / "a.md").write_text("# More\n\nNothing else.\n", encoding="utf-8")
    host.ok("collection", "add", str(host.home / "more"), "--name", "more")
    host.ok("context", "add", "qmd://notes", "--", "Notes of the team")
    host.ok("embed", "-q")
    return host


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.program}: {' '.join(call.words[:3])}")
def test_call_is_answered_as_the_program_reads_it(called: User, call: Call) -> None:
    done = called.call(*call.words, **call.environ)
    assert done.returncode == 0, done.stderr
    assert call.reads(done.stdout), done.stdout
