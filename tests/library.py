"""Three collections for the tests of servers."""

from __future__ import annotations

import hashlib

from tests.users import User

MEETING = "# Meeting\n" + "".join(f"line {number}\n" for number in range(2, 140)) + "the last line\n"
#: (collection, path) to text.
LIBRARY = {
    ("notes", "meeting.md"): MEETING,
    ("notes", "2025/ meeting.md"): "# Last year\n\nBudget and travel.\n",
    ("notes", "2025/plan.md"): "# Plan\n\nThe kestrel budget.\n\n## Travel\n\nTrains only.\n",
    ("notes", "数据库.md"): "# 数据库备份\n\n备份数据库，每天一次。\n",
    ("notes", "big.md"): "# Big\n\n" + "a heavy line of text\n" * 730,
    ("notes", "odd #1?.md"): "# Odd name\n\nZebra.\n",
    ("work", "report.md"): "# Report\n\nOne kestrel, at the end of a long report.\n",
    **{("crowd", f"bird{n:02}.md"): f"# Kestrel {n}\n\nkestrel kestrel {n}\n" for n in range(30)},
}


def docid(collection: str, path: str) -> str:
    return "#" + hashlib.sha256(LIBRARY[collection, path].encode()).hexdigest()[:6]


def add_library(user: User) -> User:
    """Index the library for a user."""
    for (collection, path), text in LIBRARY.items():
        file = user.home / "library" / collection / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for collection in dict.fromkeys(name for name, _ in LIBRARY):
        user.ok("collection", "add", str(user.home / "library" / collection), "--name", collection)
    user.ok("context", "add", "qmd://notes/2025", "Notes of 2025")
    return user


def embed_library(user: User) -> User:
    """Index the library for a user, with vectors and more contexts."""
    add_library(user)
    user.ok("context", "add", "/", "Everything here")
    user.ok("context", "add", "qmd://notes", "Personal notes")
    user.ok("embed", "-q")
    return user


#: Notes with fields, links and sections: (collection, path) to text.
VAULT = {
    ("notes", "plan.md"): "---\nstatus: draft\npriority: 2\ndate: 2026-03-01\ntags: [work/planning]\n---\n"
    "# Plan\n\nSee [[Budget]], [how we run it](ops/run.md) and [[Missing]]. The kestrel flies.\n",
    ("notes", "Budget.md"): "---\nstatus: published\npriority: 1\ndate: 2024-05-01\ntags: [work]\n---\n"
    "# Budget\n\nThe kestrel costs more than in the [[plan#Plan|plan]].\n",
    ("notes", "ops/run.md"): "---\nstatus: draft\ndate: 2025-01-01\n---\n# Operations\n\n## Backups\n\n"
    "Every night.\n\n### Restoring\n\nRestore the kestrel from the tape.\n\n## Deploy\n\nSee #work.\n",
    ("work", "report.md"): "---\nstatus: secret\ndate: 2023-01-01\n---\n# Report\n\nOne kestrel. [[plan]]\n",
    **{("links", f"{number:02}.md"): f"# Note {number}\n\nSee [[00]] and [[01]].\n" for number in range(30)},
    ("links", "hub.md"): "# Hub\n\n" + "".join(f"- [[{number:02}]]\n" for number in range(30)),
}


def add_vault(user: User) -> User:
    """Index the vault for a user."""
    for (collection, path), text in VAULT.items():
        file = user.home / "vault" / collection / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for collection in dict.fromkeys(name for name, _ in VAULT):
        user.ok("collection", "add", str(user.home / "vault" / collection), "--name", collection)
    return user
