"""Searches of the command line that a running server answers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from msgspec import Struct

from tests.clients import Server, server_of
from tests.users import MakeUser, User

pytestmark = pytest.mark.slow


class Attached(Struct, frozen=True):
    """A user and the server of their index."""

    user: User
    server: Server

    def answered(self) -> float:
        """Return the number of searches of the command line that the server has answered."""
        page = self.server.ask("GET", "/metrics").text
        found = re.findall(
            r'^qmd_requests_total\{method="POST",route="/run",status="200"\} (\S+)', page, re.M
        )
        return float(found[0]) if found else 0.0


def indexed(make_user: MakeUser, name: str) -> User:
    user = make_user(name)
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("context", "add", "/", "Everything")
    return user


@pytest.fixture(scope="module")
def attached(make_user: MakeUser) -> Iterator[Attached]:
    user = indexed(make_user, "attached")
    user.ok("embed", "-q")
    with server_of(user) as server:
        yield Attached(user, server)


def shown(result: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return result.returncode, result.stdout, result.stderr


SEARCHES = [
    ["search", "performance"],
    ["search", "performance", "--all", "--json", "--explain"],
    ["search", "nothing-has-this-word"],
    ["vsearch", "how do I deploy", "--min-score", "0"],
    ["vsearch", "数据库", "--json", "--explain", "--full"],
    ["query", "how is the service deployed"],
    ["query", "performance", "--json", "--explain", "-n", "50"],
    ["query", "lex: performance\nvec: speed", "--json", "--explain"],
    ["query", "performance", "--no-rerank", "--ranking", "contract", "--full", "--md"],
    ["query", "検索", "--csv"],
    ["query", "performance", "--xml", "--line-numbers"],
    ["query", "performance", "--files", "--full-path", "--all"],
    ["search", "performance", "--before", "2000"],
    ["query", "performance after:2000 author:nobody", "--json"],
    ["query", "performance after:2000", "--after", "2001-02", "--before", "9999", "--json"],
    ["search", "tag:work after:2000"],
    ["search", "performance -tag:none [priority<=7]", "--json"],
    ["query", "performance", "--where", "title~perf", "--path", "**/*.md", "--json"],
    ["query", "performance", "--filter", '{"field": "size", "operator": "gt", "value": 10}', "--json"],
    ["search", "performance", "--where", "nothing=1"],
    ["search", "link:none.md"],
    ["query", "lex: a\nnonsense: b"],
    ["query", "x" * 10_001],
    ["search", "performance", "-c", "none"],
    ["query", "performance", "-c", "none"],
]


@pytest.mark.parametrize("args", SEARCHES, ids=lambda args: " ".join(args)[:60])
def test_server_mode_prints_the_same_bytes_as_local_mode(attached: Attached, args: list[str]) -> None:
    local = shown(attached.user.call(*args, "--mode", "local"))
    before = attached.answered()
    assert shown(attached.user.call(*args)) == local
    assert shown(attached.user.call(*args, "--mode", "server")) == local
    assert attached.answered() == before + 2


#: A setting that the server does not have, so that it does not answer; these commands do not use it.
ALONE = {"QMD_RANKING": "contract"}
READS = [
    ["get", "deploy.md"],
    ["get", "deploy.md:2:3", "--line-numbers", "--json"],
    ["get", "deploy.md#Rollback", "--md"],
    ["get", "notes/2026/old notes.md", "--full-path", "-l", "1"],
    ["get", "deploy.md:1", "--from", "2"],
    ["get", "./notes/deploy.md"],
    ["get", "notes/no.md"],
    ["get", "deploy.md", "it's.md"],
    ["get", "performance", "--format", "none"],
    ["multi-get", "**/*e*.md", "--xml"],
    ["multi-get", "deploy.md, nothing.md", "--files"],
    ["multi-get", "-", "--csv"],
    ["search", "-", "--json"],
    ["search", "performance", "--json", "--csv"],
    ["search", "performance", "-notes"],
    ["search", "performance", "-catwalk"],
    ["search"],
    ["search", "performance", "-q", "--passages", "2", "--in-order"],
    ["vector-search", "speed", "-n", "2"],
]


@pytest.mark.parametrize("args", READS, ids=lambda args: " ".join(args)[:60])
def test_server_prints_the_same_bytes_as_the_command_alone(attached: Attached, args: list[str]) -> None:
    stdin = b"performance\ndeploy.md\n"
    local = attached.user.call(*args, stdin=stdin, cwd=attached.user.home, **ALONE)
    assert shown(attached.user.call(*args, stdin=stdin, cwd=attached.user.home)) == shown(local)


@pytest.mark.parametrize("args", [["search", "性能"], ["search", "deploy"], ["get", "deploy.md"]], ids=str)
def test_server_prints_the_same_on_a_terminal(attached: Attached, args: list[str]) -> None:
    for colours in ({"NO_COLOR": ""}, {"NO_COLOR": "1"}, {"NO_COLOR": "", "COLUMNS": "40"}):
        user = User(attached.user.home, attached.user.notes, attached.user.environ | colours)
        alone = User(user.home, user.notes, user.environ | ALONE)
        before = attached.answered()
        seen = user.on_terminal("", *args)
        assert seen == alone.on_terminal("", *args)
        assert ("\x1b[1;35m" in seen) == (not colours["NO_COLOR"])
        assert attached.answered() == before + 1


def test_reading_commands_are_run_by_the_server(attached: Attached) -> None:
    before = attached.answered()
    attached.user.call("get", "deploy.md")
    attached.user.call("multi-get", "deploy.md")
    attached.user.call("get", "deploy.md", **ALONE)
    attached.user.call("get", "deploy.md", "--index", "other")
    assert attached.answered() == before + 2


def test_server_mode_fails_like_local_mode_without_vectors(make_user: MakeUser) -> None:
    user = indexed(make_user, "attached-blind")
    with server_of(user):
        local = shown(user.call("vsearch", "x", "--mode", "local"))
        assert local[0] == 1
        assert shown(user.call("vsearch", "x", "--mode", "server")) == local


def test_local_mode_uses_no_server(attached: Attached) -> None:
    before = attached.answered()
    assert attached.user.call("query", "performance", "--mode", "local").returncode == 0
    assert attached.answered() == before


def test_auto_mode_works_without_a_server(make_user: MakeUser) -> None:
    user = indexed(make_user, "unattached")
    assert user.call("search", "performance").returncode == 0
    found = user.call("search", "performance", "--mode", "server")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == "Error: no server runs for this index\nHint: start one: 'qmd server --daemon'\n"


def test_auto_mode_works_after_the_server_has_stopped(make_user: MakeUser) -> None:
    user = indexed(make_user, "detached")
    with server_of(user):
        assert user.call("search", "performance", "--mode", "server").returncode == 0
    assert user.call("search", "performance", "--mode", "server").returncode == 1
    assert user.call("search", "performance").returncode == 0


def test_server_of_another_index_is_not_used(attached: Attached) -> None:
    before = attached.answered()
    found = attached.user.call("search", "performance", "--index", "work", "--mode", "server")
    assert found.returncode == 1
    assert attached.user.call("search", "performance", "--index", "work").stdout == "No results found.\n"
    assert attached.answered() == before


@pytest.mark.parametrize(
    "variable", ["QMD_RANKING=contract", "QMD_EMBED_MODEL=unknown-model", "TZ=Asia/Shanghai"]
)
def test_server_with_other_settings_does_not_answer(attached: Attached, variable: str) -> None:
    name, _, value = variable.partition("=")
    args = ["query", "performance", "--json", "--explain"]
    before = attached.answered()
    local = shown(attached.user.call(*args, "--mode", "local", **{name: value}))
    assert shown(attached.user.call(*args, **{name: value})) == local
    refused = attached.user.call(*args, "--mode", "server", **{name: value})
    assert refused.returncode == 1
    assert "another index, configuration, version or time zone" in refused.stderr
    assert attached.answered() == before


def test_server_refuses_searches_of_a_replaced_index(make_user: MakeUser) -> None:
    user = indexed(make_user, "renewed")
    with server_of(user):
        assert user.call("search", "performance", "--mode", "server").returncode == 0
        for file in (user.home / "cache" / "qmd").glob("index.sqlite*"):
            file.unlink()
        shutil.rmtree(user.notes)
        user.notes.mkdir()
        (user.notes / "new.md").write_text("# New\n\nNothing but zebras.\n", encoding="utf-8")
        user.ok("update", "--no-embed")
        assert "new.md" in user.call("search", "zebras").stdout
        assert user.call("search", "zebras", "--mode", "server").returncode == 1


def test_documents_indexed_after_the_server_start_are_found(make_user: MakeUser) -> None:
    user = indexed(make_user, "growing")
    with server_of(user):
        assert "No results" in user.call("search", "zebras", "--mode", "server").stdout
        (user.notes / "new.md").write_text("# New\n\nNothing but zebras.\n", encoding="utf-8")
        user.ok("update", "--no-embed")
        user.ok("context", "add", "/", "Other words")
        found = user.call("search", "zebras", "--mode", "server").stdout
        assert "new.md" in found and "Other words" in found


def test_command_line_uses_the_server_without_a_key(make_user: MakeUser) -> None:
    user = indexed(make_user, "owner")
    user.ok("keys", "add", "one", "-c", "notes")
    with server_of(user) as server:
        assert server.ask("POST", "/search", {"query": "performance"}).status == 401
        assert user.call("search", "performance", "--mode", "server").returncode == 0


def test_run_endpoint_refuses_clients_without_the_token(attached: Attached) -> None:
    for headers in ({}, {"authorization": "Bearer x"}):
        answer = attached.server.ask("POST", "/run", {"kind": "search"}, **headers)
        assert answer.status == 401
    assert "/run" not in attached.server.ask("GET", "/openapi.json").json["paths"]


def test_unknown_mode_is_a_usage_error(attached: Attached) -> None:
    found = attached.user.call("search", "performance", "--mode", "remote")
    assert found.returncode == 2
    assert "--mode must be one of auto, server, local, not 'remote'" in found.stderr


@pytest.mark.milvus
def test_milvus_lite_of_a_server_is_shared_with_the_command_line(make_user: MakeUser) -> None:
    user = make_user("shares")
    user.environ["QMD_STORE"] = f"milvus://{user.home}/index.db"
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    local = user.ok("search", "performance", "--json")
    with server_of(user) as server:
        assert user.ok("search", "performance", "--json", "--mode", "server") == local
        assert user.ok("search", "performance", "--json", "--mode", "local") == local
        (user.notes / "later.md").write_text("# Later\n\nzymurgy", encoding="utf-8")
        user.ok("update", "--no-embed")
        assert "later.md" in server.ask("POST", "/search", {"query": "zymurgy"}).text
    assert "later.md" in user.ok("search", "zymurgy")


def test_a_hook_is_answered_by_the_server_by_meaning(attached: Attached) -> None:
    prompt = json.dumps({"session_id": "by meaning", "prompt": "数据库迁移前需要做什么？"}).encode()
    before = attached.answered()
    done = attached.user.call("hook", "run", "prompt", "--timeout", "60", stdin=prompt)
    assert attached.answered() > before
    assert done.stderr == ""
    assert "备份数据" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    again = attached.user.call("hook", "run", "prompt", "--timeout", "60", stdin=prompt)
    assert (again.returncode, again.stdout) == (0, "")
