"""Files of a clone at the paths that commands write: links with the names of temporary files, and pipes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.users import User

SKILL = "skill install --target claude --project"
SETTINGS = "mcp install --client claude --project"


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (SKILL, ".claude/skills/qmd/SKILL.md"),
        (SETTINGS, ".mcp.json"),
        ("backup b.sqlite", "b.sqlite"),
        ("backup p.qmd --portable", "p.qmd"),
    ],
)
def test_temporary_files_do_not_follow_links_of_a_clone(
    owner: User, tmp_path: Path, command: str, file: str
) -> None:
    clone, victim = tmp_path / "clone", tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    path = clone / file
    path.parent.mkdir(parents=True)
    # The process in which `call` runs the command, and the next process id.
    for number in (os.getpid(), os.getpid() + 1):
        for ending in ("tmp", "tmp.age"):
            path.with_name(f"{path.name}.{number}.{ending}").symlink_to(victim)
    done = owner.call(*command.split(), cwd=clone)
    assert done.returncode == 0, done.stderr
    assert victim.read_text(encoding="utf-8") == "precious"
    assert path.is_file() and not path.is_symlink()


@pytest.mark.parametrize(
    ("command", "file"), [(SKILL, ".claude/skills/qmd/SKILL.md"), (SETTINGS, ".mcp.json")]
)
def test_settings_file_that_is_a_pipe_is_refused(
    owner: User, tmp_path: Path, command: str, file: str
) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(tmp_path / file)
    for words in (command, command.replace("install", "uninstall")):
        done = owner.run(*words.split(), cwd=tmp_path)
        assert (done.returncode != 0, done.stdout) == (True, ""), done
        assert file in done.stderr
    assert (tmp_path / file).is_fifo()
