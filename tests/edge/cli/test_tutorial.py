"""The commands of docs/tutorial.md and of the samples in the README print the output that is shown."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from qmd.features.page import missing
from tests.users import User
from tests.waiting import PATIENCE

README = Path(__file__).parents[3] / "README.md"
PAGE = README.parent / "docs" / "tutorial.md"

pytestmark = [pytest.mark.slow, pytest.mark.models]


def test_sample_searches_of_the_readme_print_what_it_shows(user: User) -> None:
    text = README.read_text(encoding="utf-8")
    user.ok("collection", "add", str(README.parent / "examples/notes"), "--name", "notes")
    user.ok("embed", "-q")
    samples = re.findall(r"^\$ qmd (.*)\n((?:(?!\$|```|\.\.\.).*\n)+)", text, re.MULTILINE)
    assert [command.split()[0] for command, _ in samples] == ["query", "query", "cite"]
    for command, shown in samples:
        printed = user.call(*shlex.split(command), cwd=README.parent).stdout
        scores = [re.findall(r"^Score: (\d+)%$", each, re.MULTILINE) for each in (shown, printed)]
        assert all(abs(int(score) - int(found)) <= 2 for score, found in zip(*scores, strict=True)), printed
        assert [line for line in shown.splitlines() if "Score" not in line and line not in printed] == []


def test_tutorial_commands_print_what_the_page_says(user: User) -> None:
    assert not missing()
    programs = user.home / "bin"
    programs.mkdir()
    qmd = programs / "qmd"
    qmd.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m qmd "$@"\n', encoding="utf-8")
    qmd.chmod(0o755)
    # The page is opened by a browser that does nothing, at a free port.
    environ = user.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "BROWSER": "true"}
    blocks = re.findall(
        r"^```(sh|text)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert [language for language, _ in blocks].count("sh") >= 10
    printed = ""
    try:
        for language, block in blocks:
            if language == "sh":
                script = block.replace("qmd open ", "qmd open --port 0 ")
                done = subprocess.run(
                    ["sh", "-eu", "-c", script],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    encoding="utf-8",
                    env=environ,
                    cwd=user.home,
                    check=False,
                    timeout=PATIENCE,
                )
                assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
                printed = done.stdout
            else:
                for line in block.splitlines():
                    assert line in printed, f"{line!r} is not in:\n{printed}"
    finally:
        user.run("server", "stop")
    assert not (user.home / "qmd-tutorial").exists()
