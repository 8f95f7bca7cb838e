"""Every command block of docs/ is run, except those with `<!-- not run: REASON -->` above them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from tests.docs import home
from tests.docs.home import ROOT
from tests.users import MakeUser, User
from tests.waiting import PATIENCE

pytestmark = [pytest.mark.slow, pytest.mark.models]

PAGES = sorted((ROOT / "docs").glob("*.md"))
#: Blocks that other tests run, by page: the language and the start of the block.
ELSEWHERE = {
    "tutorial.md": ("sh", ""),  # tests/edge/cli/test_tutorial.py, which compares the output too
    "http.md": ("sh", "curl "),  # tests/edge/http/test_docs.py
    "integrations.md": ("python", ""),  # tests/neighbours
    "plugins.md": ("python", '"""Contacts'),  # the package that is installed here
}
#: Every block of this page starts with the same files and index. On other pages each block continues the one
#: before.
SEPARATE = "cli.md"
_FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^>]+?) -->\n\n)?```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
#: Quoted text in a line of a shell, and characters with a meaning for the shell.
_QUOTED = re.compile(r"\$?'[^']*'|\"[^\"]*\"")
_SHELL = re.compile(r"[|<>$;&`\\*]")
#: Commands that start servers, read from standard input or replace the process's files.
_APART = re.compile(r"qmd( --index \w+)? (open|server|mcp|watch|restore|archive mcp|completion)\b")


class Block(Struct, frozen=True):
    """A block of commands. `reason` is given if it is not run."""

    page: str
    line: int
    language: str
    code: str
    reason: str | None

    @property
    def elsewhere(self) -> bool:
        language, start = ELSEWHERE.get(self.page, ("", ""))
        return language == self.language and self.code.startswith(start)


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page.name,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            found["code"],
            found["reason"],
        )
        for found in _FENCE.finditer(text)
    ]


BLOCKS = {
    page.name: [block for block in blocks(page) if block.language in ("sh", "python")] for page in PAGES
}


def words(line: str, folder: Path) -> list[str]:
    """Return the arguments of a command as bash splits them."""
    plain = re.sub(r"\$'([^']*)'", lambda match: shlex.quote(match[1].replace("\\n", "\n")), line)
    return [re.sub("^~(?=/)", str(folder), word) for word in shlex.split(plain)][1:]


def run(user: User, block: Block) -> None:
    """Run a block. If it has only commands of qmd, they are called in this process, which is faster."""
    lines = [re.sub(r"\s+# .*", "", line) for line in block.code.splitlines()]
    simple = all(
        line.startswith("qmd ") and not _SHELL.search(_QUOTED.sub("", line)) and not _APART.match(line)
        for line in lines
    )
    if block.language == "sh" and simple:
        for line in lines:
            result = user.invoke(*words(line, user.home))
            assert result.exit_code == 0, f"{line}\n{result.output}"
        return
    command = [sys.executable, "-c"] if block.language == "python" else ["bash", "-eu", "-c"]
    # The first argument is the text of a launcher.
    done = subprocess.run(
        [*command, any_port(block.code), "page", "backup"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env=user.environ,
        cwd=user.home,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"{block.code}\n{done.stdout}\n{done.stderr}"


def any_port(code: str) -> str:
    """Replace ports by free ones, because several tests run simultaneously."""
    code = re.sub(r" --port \d+", "", code)
    return re.sub(
        r"^(qmd (?:--index \w+ )?(?:open|server|mcp --http))(?! (?:stop|status|keys|install|uninstall))\b",
        r"\1 --port 0",
        code,
        flags=re.M,
    )


Begin = Callable[[Block], User]


@pytest.fixture(scope="module")
def prepared(make_user: MakeUser) -> tuple[User, Path]:
    """A user, and a folder with two states of their home: `empty` has no index, `indexed` has one."""
    user = make_user("documented")
    home.furnish(user)
    states = user.home.with_name(f"{user.home.name}-states")
    shutil.copytree(user.home, states / "empty", symlinks=True)
    home.index(user)
    shutil.copytree(user.home, states / "indexed", symlinks=True)
    return user, states


@pytest.fixture
def begin(prepared: tuple[User, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Put the home folder into the state in which a page starts: without an index if the page makes one."""
    user, states = prepared

    def start(block: Block) -> User:
        new = re.match(r"(pip .*\n)?(qmd (add|collection add)|cd ~/code|import qmd)", block.code)
        shutil.rmtree(user.home)
        shutil.copytree(states / ("empty" if new else "indexed"), user.home, symlinks=True)
        # Only a project has settings to approve.
        monkeypatch.chdir(
            user.home / "code" / "site" if re.match("qmd (project )?trust", block.code) else user.home
        )
        if block.code.startswith("qmd server keys remove"):
            user.ok("keys", "add", "agent")
        return user

    yield start
    for command in ("server", "mcp"):
        user.invoke(command, "stop")
        user.invoke("--index", "work", command, "stop")
    monkeypatch.undo()


@pytest.mark.parametrize("page", [page for page in BLOCKS if page != SEPARATE])
def test_blocks_of_a_docs_page_run_in_order(begin: Begin, page: str) -> None:
    listed = [block for block in BLOCKS[page] if block.reason is None and not block.elsewhere]
    user = begin(listed[0]) if listed else None
    for block in listed:
        assert user
        run(user, block)


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS[SEPARATE] if block.reason is None],
    ids=lambda block: f"line {block.line}",
)
def test_examples_of_the_cli_reference_run(begin: Begin, block: Block) -> None:
    run(begin(block), block)


def test_most_docs_blocks_run_and_the_others_give_a_reason() -> None:
    listed = [block for page in BLOCKS.values() for block in page]
    left_out = [block for block in listed if block.reason is not None]
    assert all(len(str(block.reason)) > 10 for block in left_out)
    assert len(left_out) < len(listed) / 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_docs_pages_show_commands_only_in_shell_blocks(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        if block.language not in ("sh", "text"):
            assert not re.search(r"^(\$ )?(qmd|pip|curl) ", block.code, re.MULTILINE), block
    assert not re.search(r"^    (qmd|pip) ", re.sub(_FENCE, "", text), re.MULTILINE)
