"""What `qmd agent install` writes, in the programs of the agents themselves.

They run against a model on the loopback if `QMD_PROGRAMS` is `required`: they take 700 MB, which
`scripts/judges.sh` installs from npm, and minutes on a busy machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from msgspec import Struct

from tests.integrations.conftest import ROOT
from tests.integrations.model import DONE, Model, serving
from tests.users import MakeUser, User

pytestmark = [
    pytest.mark.judges,
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("QMD_PROGRAMS") != "required", reason="QMD_PROGRAMS is not required"),
]
#: Seconds for a program, which starts a server and three hooks.
MOST = 300
PROMPT = "How are our backups restored?"
#: A line of the note that answers.
ANSWER = "Stop the workers, so that nothing writes meanwhile."


class Program(Struct, frozen=True):
    """How the program of an agent is started for one prompt.

    Attributes:
        file: The pattern of its file.
        words: Its arguments.
        environ: Its variables, by the model.
        settings: The user's settings for the model, by their files in the home.
    """

    file: str
    words: tuple[str, ...]
    environ: Callable[[Model], dict[str, str]]
    settings: Callable[[Model], dict[str, str]] = lambda model: {}


def _codex(model: Model) -> dict[str, str]:
    return {
        ".codex/config.toml": 'model = "m"\nmodel_provider = "ours"\n\n[model_providers.ours]\n'
        f'name = "ours"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\n'
    }


PROGRAMS = {
    "claude": Program(
        "@anthropic-ai/claude-code-*/claude",
        ("-p", PROMPT, "--model", "m", "--allowedTools", "mcp__qmd"),
        lambda model: {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "k",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "MCP_TIMEOUT": "120000",
            "MCP_CONNECTION_NONBLOCKING": "false",
            "ENABLE_TOOL_SEARCH": "false",
        },
    ),
    "codex": Program(
        "codex-*/vendor/*/bin/codex",
        (
            *("exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"),
            *("--dangerously-bypass-approvals-and-sandbox", PROMPT),
        ),
        lambda model: {"OPENAI_API_KEY": "k"},
        _codex,
    ),
    "gemini": Program(
        "@google/gemini-cli/bundle/gemini.js",
        ("-p", PROMPT, "-m", "gemini-2.5-pro", "--approval-mode", "yolo"),
        lambda model: {
            "GEMINI_API_KEY": "k",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        lambda model: {
            ".gemini/settings.json": json.dumps(
                {
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "general": {"enableAutoUpdate": False},
                    "privacy": {"usageStatisticsEnabled": False},
                }
            )
        },
    ),
}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs."""
    with FileLock(tmp_path_factory.getbasetemp().parent / "programs.lock"):
        done = subprocess.run(
            ["sh", ROOT / "scripts" / "judges.sh", "../integrations/programs"],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode:
        pytest.fail(f"the programs cannot be installed: {' '.join(done.stderr.split())}")
    return Path(done.stdout.strip()) / "node_modules"


@pytest.fixture
def owner(make_user: MakeUser, tmp_path: Path) -> Iterator[User]:
    """A user whose index is where only a variable says, and who has `qmd` on the PATH."""
    user = make_user("owner")
    shutil.rmtree(user.notes)
    shutil.copytree(ROOT / "examples" / "notes", user.notes)
    user.environ |= {"XDG_CACHE_HOME": str(tmp_path / "elsewhere")}
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    yield user


@pytest.mark.parametrize("agent", PROGRAMS)
def test_agent_gets_the_skill_the_tools_and_the_notes_of_the_hooks(
    owner: User, packages: Path, agent: str
) -> None:
    program = PROGRAMS[agent]
    file = next(packages.glob(program.file))
    with serving("restore backup") as model:
        for name, text in program.settings(model).items():
            path = owner.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        owner.ok("agent", "install", agent, "--yes")
        _be_patient(owner, agent)
        done = subprocess.run(
            [*(["node"] if file.suffix == ".js" else []), file, *program.words],
            env={**owner.environ, **program.environ(model), "PWD": str(owner.notes)},
            cwd=owner.notes,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=MOST,
            check=False,
        )
    told = done.stdout + done.stderr
    assert DONE in done.stdout, told
    first = next(body for body in model.requests if "qmd" in json.dumps(body.get("tools", "")))
    assert "Passages of the user's own files that may answer the prompt" in json.dumps(first), told
    assert ANSWER in json.dumps(first)
    # The tools use the same index as the hooks, although only a variable says which. Some programs show the
    # text of a result, others the structured content.
    last = json.dumps(model.requests[-1])
    assert "indexedAt" in last or "Found 1 result" in last, told
    # The skill is one of those that the model is told of.
    assert "Search, read and cite the user" in model.seen


def _be_patient(user: User, agent: str) -> None:
    """Raise the limits of time of the hooks and the server, which a busy machine exceeds."""
    parts = {
        row["part"]: Path(row["path"])
        for row in json.loads(user.ok("agent", "status", "--json"))
        if row["agent"] == agent and row["place"] == "user"
    }
    hooks = parts["hooks"].read_text(encoding="utf-8")
    hooks = hooks.replace(f"--target {agent}", f"--target {agent} --timeout 60").replace(
        "[]", '["--timeout", "60"]'
    )
    parts["hooks"].write_text(re.sub(r"(timeout\W+)5(000)?\b", r"\g<1>60\2", hooks), encoding="utf-8")
    if agent == "codex":
        with parts["tools"].open("a", encoding="utf-8") as file:
            file.write("required = true\nstartup_timeout_sec = 60\n")
