"""Users of the command line: each has a home folder and notes in three languages."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

from msgspec import Struct, field

from qmd.cli.start import run

#: Notes with names that need escaping in a shell, a URL, a CSV field, an XML attribute or a glob.
FILES = {
    "deploy.md": "# Deploying the service\n\nDeploy with `make deploy`. The cache decides performance.\n\n"
    "## Rollback\n\nRun `make rollback` to return to the last release.\n",
    "2026/old notes.md": "# Old\n\nThe performance review of 2025, and what it led to.\n",
    "数据库 迁移.md": "# 数据库迁移指南\n\n数据库迁移需要先备份数据。迁移工具支持回滚。\n",
    "検索#1.md": "# 全文検索について\n\n日本語の検索は二文字ずつ索引されます。検索エンジンの性能。\n",
    "100%20 done.md": "# Percent\n\nA name that looks encoded: performance of escapes.\n",
    'say "quoted" & <tagged>.md': '# Quoted "title" & <b>\n\nOdd characters & performance <of> "markup".\n',
    "[x] done {a,b}.md": "# Brackets\n\nBrackets and braces and their performance.\n",
    "lists, with, commas.md": "# Commas\n\nCommas, in a name, and performance.\n",
    "emoji 🎉.md": "# Party 🎉\n\nThe performance of the band.\n",
    "a:12.md": "# Colon\n\nA name with a colon. Performance.\n",
    "it's.md": "# Apostrophe\n\nIt's about performance too.\n",
}
#: How the names of variables begin that would lead a test to files of whoever runs it.
_OF_TOOLS = ("QMD_", "XDG_", "CLAUDE_", "CODEX_", "GEMINI_")


class Result(Struct):
    """What a command in this process has written, and its exit code."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


class User(Struct):
    """A user of the command line.

    `run` starts the real program, with the Python at `python`; `invoke` and `call` call it in this process.
    """

    home: Path
    notes: Path
    environ: dict[str, str] = field(default_factory=dict)
    python: str = sys.executable

    def run(
        self, *args: str | bytes, stdin: bytes | None = None, cwd: Path | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        found = subprocess.run(
            [self.python, "-m", "qmd", *args],
            input=stdin if stdin is not None else b"",
            capture_output=True,
            env={**self.environ, **environ},
            cwd=cwd or self.home,
            check=False,
            timeout=120,
        )
        out, err = found.stdout.decode(), found.stderr.decode()
        return subprocess.CompletedProcess(found.args, found.returncode, out, err)

    def invoke(self, *args: str, input: str | bytes | None = None, **environ: str) -> Result:
        ours = {**self.environ, **environ}
        # Without variables of the environment in which the tests run.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_TOOLS)}
        data = input.encode() if isinstance(input, str) else input or b""
        stdin = TextIOWrapper(BytesIO(data), encoding="utf-8")
        # What is written is returned as it is, ends of lines too.
        outputs = [TextIOWrapper(BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
        with (
            patch.dict(os.environ, kept | ours, clear=True),
            patch.multiple(sys, stdin=stdin, stdout=outputs[0], stderr=outputs[1]),
        ):
            exit_code = run(args)
        for stream in outputs:
            stream.seek(0)
        return Result(exit_code, *(stream.read() for stream in outputs))

    def call(
        self, *args: str, stdin: bytes = b"", cwd: Path | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Do the same as `run` in this process, which saves half a second."""
        with contextlib.chdir(cwd or self.home):
            result = self.invoke(*args, input=stdin, **environ)
        return subprocess.CompletedProcess(args, result.exit_code, result.stdout, result.stderr)

    def on_terminal(self, answer: str, *args: str, cwd: Path | None = None) -> str:
        """Return the output of a command on a terminal, where `answer` is typed."""
        import pty
        import termios

        ours, theirs = pty.openpty()
        flags = termios.tcgetattr(theirs)
        flags[3] &= ~termios.ECHO  # typed text is not echoed
        termios.tcsetattr(theirs, termios.TCSANOW, flags)
        os.write(ours, answer.encode())
        with subprocess.Popen(
            [self.python, "-m", "qmd", *args],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={"NO_COLOR": "1", **self.environ},
            cwd=cwd or self.home,
        ) as process:
            os.close(theirs)
            seen = b""
            # Reading fails if the other end is closed.
            with contextlib.suppress(OSError):
                while data := os.read(ours, 65536):
                    seen += data
            process.wait(60)
        os.close(ours)
        return seen.decode().replace("\r\n", "\n")

    def ok(self, *args: str, input: str | None = None) -> str:
        """Return the output of a command. The test fails if the command does."""
        result = self.invoke(*args, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout


MakeUser = Callable[[str], User]


def make_home(home: Path, models: Path) -> User:
    """Make a user who has the notes and the prepared models, but no index."""
    notes = home / "notes"
    for path, text in FILES.items():
        file = notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    cache = home / "cache" / "qmd"
    cache.mkdir(parents=True)
    (cache / "models").symlink_to(models)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("QMD_", "XDG_"))}
    for unwanted in ("NO_COLOR", "COLUMNS", "LINES", "INDEX_PATH", "_QMD_COMPLETE"):
        environ.pop(unwanted, None)
    environ |= {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONUTF8": "1",
        # Servers watch only in the tests of watching.
        "QMD_WATCH": "0",
        # A pager would wait for keys.
        "PAGER": "cat",
        "TERM": "xterm-256color",
        "TZ": "UTC",
    }
    return User(home, notes, environ)
