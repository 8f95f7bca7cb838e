"""`add --sessions`, and what commands, servers and agents show of a session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import agents
from tests.clients import Server, server_of
from tests.edge.cli.test_watch import watch
from tests.transcripts import SES, UUID, OpenCode, opencode_parts, populate, turn
from tests.users import MakeUser, User
from tests.waiting import until

RESUME = f"cd '/work/my shop' && claude --resume {UUID}"
SESSION = {"agent": "Claude Code", "day": "2026-03-07", "project": "/work/my shop", "resume": RESUME}


@pytest.fixture(scope="module")
def coder(make_user: MakeUser) -> User:
    """A user with a session of each agent, which are indexed. Shared: tests only read."""
    user = make_user("coder")
    populate(home_of(user))
    user.ok("collection", "add", "--sessions")
    return user


def home_of(user: User) -> Path:
    return Path(user.environ["HOME"])


def test_add_sessions_says_which_folders_are_there_and_adds_them_once(user: User) -> None:
    populate(home_of(user))
    home = home_of(user)
    first = user.call("add", "--sessions", "--no-embed")
    assert first.stdout.splitlines() == [
        f"Added collection 'claude-sessions': Claude Code: {home}/.claude/projects",
        "claude-sessions: 1 new",
        f"Not found: Claude Code: {home}/.claude/projects/*/memory/**/*.md",
        f"Not found: Claude Code: {home}/.claude/agent-memory/**/*.md",
        f"Added collection 'codex-sessions': Codex: {home}/.codex/sessions",
        "codex-sessions: 1 new",
        f"Not found: Codex: {home}/.codex/archived_sessions",
        f"Not found: Codex: {home}/.codex/memories/**/*.md",
        f"Added collection 'gemini-sessions': Gemini CLI: {home}/.gemini/tmp",
        "gemini-sessions: 1 new",
        f"Not found: Gemini CLI: {home}/.gemini/tmp/*/memory/**/*.md",
        f"Added collection 'opencode-sessions': OpenCode: {home}/.local/share/opencode",
        "opencode-sessions: 1 new",
    ]
    assert "qmd watch" in first.stderr
    config = (home / "config/qmd/index.yml").read_bytes()
    second = user.call("add", "--sessions")
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout.splitlines()[-1] == (
        "Every folder of sessions and memories that exists is a collection already: nothing was added."
    )
    assert "Unchanged: collection 'codex-sessions' has Codex" in second.stdout
    assert (home / "config/qmd/index.yml").read_bytes() == config


def test_add_sessions_without_any_says_where_it_looked(user: User) -> None:
    result = user.call("collection", "add", "--sessions")
    assert result.returncode == 1
    assert "no sessions of coding agents were found" in result.stderr
    assert f"{home_of(user)}/.codex/sessions" in result.stderr


@pytest.mark.parametrize("more", [["/tmp"], ["--name", "x"], ["--mask", "*.md"], ["--formats", "all"]])
def test_add_sessions_takes_nothing_else(user: User, more: list[str]) -> None:
    result = user.call("add", "--sessions", *more)
    assert result.returncode == 2
    assert "--sessions finds the folders itself" in result.stderr


def test_search_shows_the_session_and_the_command(coder: User) -> None:
    shown = coder.ok("search", "feather").splitlines()
    assert "Session: Claude Code, 2026-03-07, /work/my shop" in shown
    assert f"Resume: {RESUME}" in shown
    (hit,) = json.loads(coder.ok("search", "feather", "--json"))
    assert hit["session"] == SESSION


def test_get_and_pack_have_the_session(coder: User) -> None:
    (hit,) = json.loads(coder.ok("search", "feather", "--json"))
    assert json.loads(coder.ok("get", hit["docid"], "--json"))["session"] == SESSION
    assert f"Resume: {RESUME}" in coder.ok("multi-get", hit["file"])
    assert f"[Claude Code, 2026-03-07; resume: {RESUME}]" in coder.ok("pack", "kestrel feather")
    (passage,) = json.loads(coder.ok("pack", "kestrel feather", "--json"))["passages"]
    assert passage["session"] == SESSION


def test_packs_with_sessions_can_be_verified(coder: User, tmp_path: Path) -> None:
    (tmp_path / "pack.md").write_text(coder.ok("pack", "kestrel feather"), encoding="utf-8")
    assert coder.call("pack", "verify", str(tmp_path / "pack.md")).returncode == 0


@pytest.fixture(scope="module")
def server(coder: User) -> Iterator[Server]:
    with server_of(coder) as server:
        yield server


@pytest.mark.slow
def test_http_answers_have_the_session(server: Server) -> None:
    answer = server.post("/search", query="feather")
    assert answer["results"][0]["session"] == SESSION
    assert f"[Claude Code, 2026-03-07; resume: {RESUME}]" in answer["content"]
    document = server.ok("POST", "/get", {"file": answer["results"][0]["file"]})["document"]
    assert document["session"] == SESSION


@pytest.mark.slow
def test_watch_finds_new_messages_of_growing_sessions(user: User) -> None:
    database: OpenCode = populate(home_of(user))
    user.ok("add", "--sessions", "--no-embed")
    file = home_of(user) / f".claude/projects/-work-my-shop/{UUID}.jsonl"

    def found(word: str) -> list[dict[str, Any]]:
        hits: list[dict[str, Any]] = json.loads(user.ok("search", word, "--json"))
        return hits

    with watch(user) as watcher:
        watcher.until_noted("watching")
        line = json.dumps(turn("8", "Is the redstart back?", cwd="/work/my shop"))
        with file.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n" + line[:30])
        watcher.until_printed(f"updated  claude-sessions/-work-my-shop/{UUID}.jsonl")
        until(lambda: found("redstart"), lambda: watcher.process.poll() is None)
        database.say(opencode_parts("And the sandpiper?"))
        watcher.until_printed(f"updated  opencode-sessions/opencode.db#{SES}")
        until(lambda: found("sandpiper"), lambda: watcher.process.poll() is None)


@pytest.mark.slow
def test_mcp_answers_have_the_session(coder: User) -> None:
    with agents() as start:
        agent = start(coder)
        agent.greet()
        result = agent.call("search", query="feather")
        assert result["structuredContent"]["results"][0]["session"] == SESSION
        assert f"[Claude Code, 2026-03-07; resume: {RESUME}]" in result["content"][0]["text"]
