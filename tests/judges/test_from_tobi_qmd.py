"""docs/from-tobi-qmd.md says what is so: each command on it is run with tobi/qmd 2.8.3 and with ours."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from filelock import FileLock

from qmd.cli.commands import ALIASES, names
from tests.clients import Client
from tests.judges.calls import ROOT, SCRIPT, Judges
from tests.users import MakeUser, User
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "from-tobi-qmd.md").read_text(encoding="utf-8")
FILES = {
    "notes/deploy.md": "# Deploying\n\nDeploy with make. The cache decides performance.\n",
    "notes/journal/a.md": "# Monday\n\nThe multi-agent plan: src/lib/i18n.ts and user@example.com.\n",
    "notes/SYNTAX.md": "# Syntax\n\nWords.\n",
    "notes/zh.md": "# 数据库\n\n数据库迁移指南。\n",
    "notes/a,b.md": "# Commas\n\ncommas here\n",
    "notes/medium.md": "# Medium\n\n" + "word " * 6000 + "\n",
    "notes/code.md": "```\n# code\n```\n\nUnderlined\n==========\n\nx\n",
    "talks/t.md": "# Talk\n\nperformance of a band\n",
    "talkshow/s.md": "# Show\n\nA show about trains.\n",
}


class Answer(NamedTuple):
    """What a command answers: its exit code, and a pattern in what it prints."""

    code: int
    pattern: str = ""


class Case(NamedTuple):
    """A command line, and what both programs answer. `said` is on the page; "" for what is the same."""

    line: str
    peer: Answer
    ours: Answer
    said: str = ""


def same(line: str, code: int = 0, pattern: str = "") -> Case:
    return Case(line, Answer(code, pattern), Answer(code, pattern))


def differs(said: str, line: str, peer: Answer, ours: Answer) -> Case:
    return Case(line, peer, ours, said)


#: In this order, because later commands see what earlier ones have made.
CASES = [
    same("collection add notes --name notes"),
    same("collection add talks"),
    same("collection add talkshow"),
    same("collection add notes --name again", 1),
    differs("`collection add PATH`", "collection add", Answer(1, "Usage"), Answer(0, "lib")),
    differs("`collection add PATH`", "collection remove lib", Answer(1), Answer(0)),
    same("collection list", 0, r"notes[\s\S]*talks"),
    same("collection show notes", 0, r"Pattern:\s+\*\*/\*\.md"),
    same("collection info notes", 0, "notes"),
    same("collection exclude talkshow"),
    same("collection include talkshow"),
    same("collection update-cmd notes echo hi"),
    same("collection rename talkshow show"),
    same("context add qmd://talks 'All talks'"),
    same("context add / Everything"),
    same("context list", 0, "All talks"),
    same("context rm qmd://notes", 1),
    same("update", 0, "notes"),
    same("ls", 0, r"notes[\s\S]*talks"),
    same("ls notes/journal", 0, "notes/journal/a.md"),
    same("ls nowhere", 1),
    same("search performance --json -c notes -c talks", 0, "qmd://talks/t.md"),
    same("search performance --full", 0, "The cache decides"),
    same("search performance --all --json", 0, "deploy.md"),
    same("search performance --min-score 0.999 --json", 0, r"^\[\]"),
    same("search performance --full-path", 0, r"\./notes/deploy\.md:3"),
    same("search performance -c nowhere", 1),
    same("search performance -n 1 --csv", 0, "docid,score,file,title,context,line,snippet"),
    same("search performance --files", 0, r"#\w{6},0\.\d+,qmd://"),
    same("search performance --format json", 0, '"docid"'),
    same("query 'lex: performance' -C 5 --no-rerank --intent why --json", 0, "deploy.md"),
    same("query 'lex: performance' --no-rerank --explain", 0, "1"),
    same("deep-search 'lex: performance' --no-rerank --json", 0, "deploy.md"),
    same("get notes/deploy.md:1:1", 0, "# Deploying"),
    same("get nothing.md", 1),
    same("multi-get 'notes/*.md' --json", 0, "# Deploying"),
    same("multi-get 'nothing/*.md'", 1),
    same("status", 0, r"index\.sqlite"),
    same("cleanup"),
    same("--index work collection add talks --name talks"),
    same("mcp stop"),
    # Other sides of these would download models, or wait for a client.
    *(same(f"{command} --help", 0, "qmd") for command in ("embed", "bench", "mcp", "pull", "skill")),
    differs("exit code 1 for wrong usage", "nonsense", Answer(1), Answer(2)),
    differs(
        "unknown flags are ignored", "search performance --bogus", Answer(0), Answer(2, "no such option")
    ),
    *(
        differs("`-n 0`, `-n abc`", f"search performance -n {value}", Answer(0, "t.md"), Answer(2))
        for value in ("0", "abc")
    ),
    differs(
        "`context check` names what is not described",
        "context check",
        Answer(1, "Unknown subcommand"),
        Answer(0, "qmd context add qmd://notes "),
    ),
    differs("`ls notes/jour` lists", "ls notes/jour", Answer(0, "journal/a.md"), Answer(1)),
    differs("`get TAX.md` is not", "get TAX.md", Answer(0, "Syntax"), Answer(1)),
    differs(
        "prints a header and line numbers",
        "get notes/deploy.md",
        Answer(0, r"^qmd://notes/deploy\.md  #533f59\n(.*\n)?---\n\n1: # Deploying"),
        Answer(0, r"^# Deploying\n\nDeploy"),
    ),
    differs("`get` past the end", "get notes/deploy.md:99", Answer(0, "99: \n"), Answer(2)),
    differs(
        "`get --json` prints text", "get notes/deploy.md --json", Answer(0, "^qmd:"), Answer(0, '"body"')
    ),
    differs(
        "splits names at commas", "multi-get notes/a,b.md", Answer(0, "not found"), Answer(0, "commas here")
    ),
    differs(
        "above 64 kB", "multi-get notes/medium.md --json", Answer(0, "word word"), Answer(0, '"skipped"')
    ),
    differs(
        "quoted where they hold", "multi-get 'notes/a*.md' --files", Answer(0, ",a,b"), Answer(0, '"qmd:')
    ),
    differs("`update --pull` does", "update --pull", Answer(0), Answer(0)),
    differs(
        "all words must be", "search performance nothinglikeit --json", Answer(0, r"^\[\]"), Answer(0, "t.md")
    ),
    *(
        differs("`src/lib/i18n.ts`, `user@", f"search {text} --json", Answer(0, r"^\[\]"), Answer(0, "a.md"))
        for text in ("'\"multi-agent\"'", "src/lib/i18n.ts", "user@example.com")
    ),
    differs("simplified and traditional", "search 數據庫 --json", Answer(0, r"^\[\]"), Answer(0, "zh.md")),
    differs("the name of a collection", "search notes --json", Answer(0, "SYNTAX"), Answer(0, r"^\[\]")),
    differs(
        "titles: the first `#`", "search x --json -c notes", Answer(0, '"code'), Answer(0, '"Underlined')
    ),
    differs(
        "`vsearch` without vectors", "vsearch performance --json", Answer(0, r"^\[\]"), Answer(1, "qmd embed")
    ),
    differs("`vsearch` without vectors", "vector-search performance", Answer(0, "No results"), Answer(1)),
    differs("snippets begin with `@@ -3,4 @@`", "search cache", Answer(0, "@@ -"), Answer(0, "# Deploying")),
    differs(
        "XML without a root", "search cache --xml", Answer(0, "^<file"), Answer(0, "^<.xml.*\n<results>")
    ),
    differs(
        "`?index=NAME` in addresses",
        "--index work search performance --json",
        Answer(0, r"t\.md\?index=work"),
        Answer(0, r't\.md"'),
    ),
    differs(
        "JSON of `multi-get`", "multi-get notes/zh.md --json", Answer(0, '"docid"'), Answer(0, "total_lines")
    ),
    *(
        differs("`--no-line-numbers`, `--no-gpu`", line, Answer(0), Answer(2, "no such option"))
        for line in ("get notes/zh.md --no-line-numbers", "embed --max-docs-per-batch 3 --help")
    ),
    differs("`trust` of your own", "trust", Answer(0, "never gated"), Answer(1)),
    differs("`skills`", "skills", Answer(0), Answer(2)),
    differs("`search --intent`", "search cache --intent why", Answer(0), Answer(2)),
    differs("`context` on `talk`", "search trains --json", Answer(0, "Everything"), Answer(0, "Everything")),
    same("collection remove show"),
    differs("`collection rename`", "collection rename notes texts", Answer(0), Answer(0)),
    differs("keeps Chinese", "search 数据 --json", Answer(0, r"^\[\]"), Answer(0, "zh.md")),
    same("init"),
    differs("`doctor`: always exit code 0", "doctor", Answer(0), Answer(0)),
]

LEX = [{"type": "lex", "query": "performance"}]


class Request(NamedTuple):
    """A request, and what both programs answer: the status, and a pattern in the body."""

    method: str
    path: str
    fields: Any
    peer: Answer
    ours: Answer
    said: str = ""


FOUND = Answer(200, r'^\{"results":\s*\[\{.*"file":\s*"qmd://')
REQUESTS = [
    Request("GET", "/health", None, Answer(200, '"status":\\s*"ok"'), Answer(200, '"status":\\s*"ok"')),
    *(
        Request("POST", path, {"searches": LEX, "rerank": False, **more}, FOUND, FOUND)
        for path in ("/query", "/search")
        for more in ({}, {"collections": ["talks"], "limit": 1, "minScore": 0, "intent": "why"})
    ),
    Request("POST", "/query", {"searches": LEX, "rerank": False, "candidateLimit": 5}, FOUND, FOUND),
    Request(
        *("POST", "/query", {"query": "lex: performance", "rerank": False}),
        Answer(400, "searches"),
        FOUND,
        "`searches` only",
    ),
    Request(
        *("POST", "/query", {"searches": LEX, "rerank": False, "bogus": 1}),
        FOUND,
        Answer(400, '"detail".*bogus'),
        "fields that are not known are ignored",
    ),
    Request(
        *("POST", "/query", {"searches": LEX, "rerank": False, "collections": ["nowhere"]}),
        Answer(200, r'"results":\s*\[\]'),
        Answer(404, '"detail".*nowhere'),
        "so are collections that are not known",
    ),
    Request("POST", "/query", "no object", Answer(400), Answer(400, '"status_code"'), "400 to 503"),
]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Duel:
    """Both programs, each with a home folder and the same files."""

    node: Path
    peer: Path
    user: User
    other: User

    def ask(self, line: str) -> tuple[Answer, Answer]:
        ours = self.user.run(*shlex.split(line), cwd=self.user.home / "lib")
        command = [self.node, self.peer / "node_modules/@tobilu/qmd/dist/cli/qmd.js", *shlex.split(line)]
        peer = subprocess.run(
            command,
            cwd=self.other.home / "lib",
            env=self.other.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=PATIENCE,
        )
        return Answer(peer.returncode, peer.stdout + peer.stderr), Answer(
            ours.returncode, ours.stdout + ours.stderr
        )

    @contextmanager
    def serving(self) -> Iterator[tuple[Client, Client]]:
        """Clients of the HTTP servers of the peer and of ours."""
        program = self.peer / "node_modules/@tobilu/qmd/dist/cli/qmd.js"
        commands = ([self.node, program], [sys.executable, "-m", "qmd"])
        ports = free_port(), free_port()
        running = [
            subprocess.Popen(
                [*command, "mcp", "--http", "--port", str(port)],
                cwd=user.home,  # there is no project in it
                env={**user.environ, "PWD": str(user.home)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command, user, port in zip(commands, (self.other, self.user), ports, strict=True)
        ]
        try:
            for port, process in zip(ports, running, strict=True):
                until(lambda port=port: listens(port), alive=lambda process=process: process.poll() is None)
            yield Client(ports[0]), Client(ports[1])
        finally:
            for process in running:
                process.terminate()
                process.wait()


@pytest.fixture(scope="module")
def duel(make_user: MakeUser, judges: Judges, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with FileLock(tmp_path_factory.getbasetemp().parent / "peer.lock"):
        done = subprocess.run(["sh", SCRIPT, "peer"], capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        message = f"tobi/qmd cannot be installed: {' '.join(done.stderr.split())}"
        if os.environ.get("QMD_JUDGES") == "required":
            pytest.fail(message)
        pytest.skip(message[:300])
    users = make_user("duel-ours"), make_user("duel-peer")
    for user in users:
        for path, text in FILES.items():
            file = user.home / "lib" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        # tobi/qmd takes this for the current folder.
        user.environ |= {"NO_COLOR": "1", "PWD": str(user.home / "lib")}
    (node,) = judges.folder.glob("node_modules/node-*/bin/node")
    yield Duel(node, Path(done.stdout.strip()), *users)


@pytest.fixture(scope="module")
def answers(duel: Duel) -> list[tuple[Answer, Answer]]:
    """What both programs answer to all cases."""
    return [duel.ask(case.line) for case in CASES]


def spans(text: str) -> list[str]:
    """The commands that a text names, without the arguments that stand for others."""
    known = {*names(), *ALIASES, "skills"}
    found = []
    for span in re.findall(r"`([^`\n]+)`", text):
        words = span.removeprefix("qmd ").split()
        if words and words[0] in known:
            found.append(" ".join(word for word in words if not word.isupper()))
    return found


def test_each_command_that_the_page_names_is_run_with_both_programs() -> None:
    compared = PAGE[PAGE.index("## The same") : PAGE.index("## Over HTTP")]
    compared = compared.replace("`collection` (`", "`collection` (").replace("`context` (`", "`context` (")
    # What is new here has no counterpart.
    lines = [line for line in compared.splitlines() if not line.startswith("| | ")]
    run = [case.line for case in CASES]
    missing = [name for name in spans("\n".join(lines)) if not any(_runs(line, name) for line in run)]
    assert not missing
    for case in CASES:
        assert case.said in PAGE, case.said


def _runs(line: str, name: str) -> bool:
    words = [word for word in line.split() if word != "--index" and word != "work"]
    wanted = name.split()
    return words[: len(wanted)] == wanted or set(wanted) <= set(words)


def test_both_programs_answer_as_the_page_says(answers: list[tuple[Answer, Answer]]) -> None:
    wrong = []
    for case, given in zip(CASES, answers, strict=True):
        for title, expected, answer in zip(("tobi/qmd", "here"), (case.peer, case.ours), given, strict=True):
            if answer.code != expected.code or not re.search(
                expected.pattern, answer.pattern.strip("\n") + "\n"
            ):
                wrong.append((case.line, title, expected, Answer(answer.code, answer.pattern[:300])))
    assert not wrong, "\n".join(map(str, wrong))


def test_both_servers_answer_as_the_page_says(duel: Duel, answers: list[tuple[Answer, Answer]]) -> None:
    wrong = []
    with duel.serving() as servers:
        for request in REQUESTS:
            assert request.said in PAGE, request.said
            for client, expected in zip(servers, (request.peer, request.ours), strict=True):
                answer = client.ask(request.method, request.path, request.fields)
                if answer.status != expected.code or not re.search(expected.pattern, answer.text):
                    wrong.append((request.path, request.fields, expected, answer.status, answer.text[:300]))
    assert not wrong, "\n".join(map(str, wrong))


def test_migrate_reads_the_index_of_the_peer(duel: Duel, answers: list[tuple[Answer, Answer]]) -> None:
    home = duel.other.home
    index, config = home / "cache" / "qmd" / "index.sqlite", home / "config" / "qmd" / "index.yml"
    before = index.read_bytes(), config.read_bytes()
    target = duel.user.home / "fresh"
    environ = {"XDG_CONFIG_HOME": str(target / "config"), "XDG_CACHE_HOME": str(target / "cache")}
    for config_option in (["--config", str(config)], []):
        done = duel.user.run("migrate", "--json", str(index), *config_option, "--dry-run", **environ)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        actions = {each["name"]: (each["action"], each["documents"]) for each in report["collections"]}
        assert actions["texts"] == ("added", 7)
        assert actions["talks"] == ("added", 1)
    assert "All talks" not in done.stdout
    duel.user.run("migrate", str(index), **environ)
    assert "All talks" in (target / "config" / "qmd" / "index.yml").read_text(encoding="utf-8")
    assert "Nothing to take over" in duel.user.run("migrate", str(index), **environ).stdout
    # In its own place both programs share index.yml.
    shared = {key: duel.other.environ[key] for key in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME")}
    assert "Both programs read the same" in duel.user.run("migrate", **shared).stdout
    assert (index.read_bytes(), config.read_bytes()) == before
