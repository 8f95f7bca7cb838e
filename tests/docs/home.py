"""The home folder of a user who has everything that the pages of docs/ mention."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from pathlib import Path

from tests.repositories import Repository
from tests.transcripts import UUID, claude, codex, lines
from tests.users import User

ROOT = Path(__file__).parents[2]
OPS = """# Operations

How we deploy the service to kubernetes, and restore a backup.

## Backups

Every night a dump. Performance is fine; we keep the release notes of 2026 and the rate limit of clients.

### Restoring

Load the nightly dump.
"""
PLAN = """---
status: draft
priority: 2
tags: [work]
author: ann
---
# Plan

The quarterly planning and its budget. See [[ops]] and [[nowhere]].
"""
#: Documents by path in the home folder. The number gives holidays.md the docid #a1b2c3.
FILES = {
    "notes/a.md": "# A\n\nFirst.\n",
    "notes/b.md": "# B\n\nSecond.\n",
    "notes/holidays.md": "# Holidays\n\nThe office is closed in the weeks of note 2707029.\n",
    "notes/meeting.md": "# Meeting\n\n" + "".join(f"line {number}\n" for number in range(3, 150)),
    "notes/ops.md": OPS,
    "notes/plan.md": PLAN,
    "notes/2026/review.md": "# Review of 2026\n\nSee [[plan]].\n",
    "notes/ops/backup.md": "# Backups\n\nHow backups are restored: load the dump.\n",
    "notes/ops/deploy.md": "# Deploy\n\nHow do I deploy? With make.\n\n## Rollback\n\nWith make rollback.\n",
    "notes/ops/checklist.md": "# Checklist\n\nDeploy step by step.\n",
    "notes/archive/2019.md": "# Deploy in 2019\n\nBy hand.\n",
    "notes/recipes/soup.md": "# Soup\n\nWater and salt.\n",
    "notes/work/suppliers.md": "# Suppliers\n\nA meeting.\n",
    # Sessions of Claude Code and Codex.
    f".claude/projects/-work-shop/{UUID}.jsonl": lines(claude(project="/work/shop")),
    f".codex/sessions/2026/03/08/rollout-2026-03-08T09-00-00-{UUID}.jsonl": lines(codex()),
    "draft.md": 'In an emergency: "Load the nightly dump" (notes/ops.md:11).\n',
    "drafts/plan.md": "# Draft\n\nNot indexed: the quarterly planning.\n",
    "journals/2026-05-01.md": "# May\n\nSpring.\n",
    "journal/today.md": "# Today\n\nRain.\n",
    "handbook/index.md": "# Handbook\n\nRules.\n",
    "handbook/access.md": "# Access\n\nTo get access to the cluster, ask the operators.\n",
    "docs/guide.md": "# Guide\n\nRead it.\n",
    "work/list.md": "# List\n\nThe release notes for 2026.\n",
    "papers/report.txt": "A report about a kestrel.\n",
    "reports/report.txt": "Another report.\n",
    "code/app/README.md": "# App\n\nCode.\n",
    "contacts/ann.vcf": "BEGIN:VCARD\nFN:Ann\nEMAIL:ann@example.com\nNOTE:Met at the harbour.\nEND:VCARD\n",
    "afdian/q9adg/motions/2020-12-15_20_10_39_一个小打算.md": "# 一个小打算\n\n今年想写一百篇短文。\n",
    "afdian/q9adg/motions/2022-04-01_08_00_00_疫情.md": "# 疫情\n\n疫情中的关键词。\n",
    "beir/scifact/corpus.jsonl": '{"_id": "1", "title": "Birds", "text": "Kestrels fly."}\n'
    '{"_id": "2", "title": "Fish", "text": "Herrings swim."}\n',
    "beir/scifact/queries.jsonl": '{"_id": "q", "text": "which birds fly"}\n',
    "beir/scifact/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq\t1\t1\n",
    "questions.json": json.dumps(
        {"version": 1, "queries": [{"id": "q", "query": "rollback", "expected_files": ["ops/deploy.md"]}]}
    ),
}
COLLECTIONS = ("notes", "work", "docs", "journals", "journal", "handbook")
_PROJECT = "collections: {app: {path: ., update: make docs}}\n"
_QMD = """#!/bin/sh
exec "{python}" -m qmd "$@"
"""
#: Downloads nothing: checks that packages and extras exist, and installs folders.
_PIP = """#!{python}
import os, re, sys
from importlib.metadata import metadata

command, package = sys.argv[1:]
assert command == "install"
if package.startswith("./"):
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    options += ["--target", os.environ["HOME"] + "/site"]
    os.execv(sys.executable, [sys.executable, "-m", "pip", "install", *options, package])
name, extra = re.fullmatch(r"(\\.|[\\w-]+)(?:\\[(\\w+)\\])?", package).groups()
assert extra is None or extra in metadata("qmd-python" if name == "." else name).get_all("Provides-Extra")
"""


def furnish(user: User) -> None:
    """Write the files and programs of a user's home folder, without an index."""
    shutil.rmtree(user.notes)
    for path, text in FILES.items():
        file = user.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    repository = Repository(user.home / "notes")
    repository.commit("2024-05-01T10:00:00Z", "Begin", {})
    repository.git("clone", "-q", "--bare", ".", str(user.home / "notes.git"))
    for words in (
        ("remote", "add", "origin", str(user.home / "notes.git")),
        ("fetch", "-q", "origin"),
        ("branch", "-q", "-u", "origin/main"),
    ):
        repository.git(*words)
    shutil.copytree(ROOT / "examples", user.home / "examples")
    (user.home / "bin").mkdir()
    for name, script in (("qmd", _QMD), ("pip", _PIP)):
        program = user.home / "bin" / name
        program.write_text(script.format(python=sys.executable), encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (user.home / ".config" / "fish" / "completions").mkdir(parents=True)
    (user.home / "cache").rename(user.home / ".cache")
    user.environ |= {
        "XDG_CACHE_HOME": str(user.home / ".cache"),
        "XDG_CONFIG_HOME": str(user.home / ".config"),
        "PATH": f"{user.home / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{user.home / 'site'}{os.pathsep}{user.environ['PYTHONPATH']}",
        # The browser: it opens nothing.
        "BROWSER": "true",
        "CLAUDE_CONFIG_DIR": "",
        "CODEX_HOME": "",
    }


def index(user: User) -> None:
    """Index and embed the user's files in two indexes, and back these up."""
    for name in COLLECTIONS:
        user.ok("collection", "add", str(user.home / name), "--name", name)
    user.ok("collection", "add", str(user.home / "afdian"), "--name", "archive")
    user.ok("context", "add", "qmd://notes/work", "Meetings with suppliers")
    config = user.home / ".config" / "qmd" / "index.yml"
    config.write_text(
        f"archive: {user.home / 'afdian'}\n" + config.read_text(encoding="utf-8"), encoding="utf-8"
    )
    user.ok("embed", "-q")
    user.ok("pin", "how do I deploy", "ops/deploy.md")
    user.ok("pin", "holidays", "holidays.md")
    user.ok("mark", "how do I deploy", "archive/2019.md", "bad")
    user.ok("mark", "how do I deploy", "ops/deploy.md", "good")
    for name in ("app", "site"):
        project = user.home / "code" / name
        (project / ".qmd").mkdir(parents=True)
        (project / ".qmd" / "index.yml").write_text(_PROJECT, encoding="utf-8")
        assert user.run("trust", "--yes", cwd=project).returncode == 0
    user.ok("--index", "work", "collection", "add", str(user.home / "work"), "--name", "work")
    for name, arguments in (
        ("notes.sqlite", ()),
        ("qmd-index-20261122-081500.sqlite", ()),
        ("work.sqlite", ("--index", "work")),
    ):
        user.ok(*arguments, "backup", str(user.home / name))
