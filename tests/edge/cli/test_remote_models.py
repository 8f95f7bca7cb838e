"""Models on OpenAI-compatible servers over HTTP on loopback, and their failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from qmd.engine.embedding.batches import FIRST_BATCH
from tests.model_server import Reply, Server, as_json, embedding, serving
from tests.users import FILES, MakeUser, User

pytestmark = pytest.mark.slow

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.fixture
def served(make_user: MakeUser, server: Server) -> User:
    """A user whose notes are indexed, with a remote model for each role."""
    user = make_user("served")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.environ |= {
        "QMD_EMBED_MODEL": f"openai:tiny@{server.url}",
        "QMD_RERANK_MODEL": f"openai:judge@{server.url}",
        "QMD_GENERATE_MODEL": f"openai:writer@{server.url}",
        "QMD_OPENAI_API_KEY": KEY,
    }
    server.lines = "lex: rollback release\nvec: how to go back to the last release\nhyde: Bananas are yellow."
    return user


def stages(user: User, *args: str) -> dict[str, str]:
    """Return the status of each stage of a query."""
    found = user.invoke("query", *args, "--explain")
    assert found.exit_code == 0, found.output
    _, _, told = found.stdout.partition("Stages:\n")
    return {line.split()[0]: " ".join(line.split()[1:]) for line in told.splitlines() if line.strip()}


def test_embed_and_vsearch_use_a_remote_server(served: User, server: Server) -> None:
    assert f"with tiny@{server.url}." in served.ok("embed")
    assert {path for path, _, _ in server.requests} == {"/v1/embeddings"}
    assert all(headers["Authorization"] == f"Bearer {KEY}" for _, headers, _ in server.requests)
    assert all(body["model"] == "tiny" for body in server.asked("/v1/embeddings"))
    found = json.loads(served.ok("vsearch", "return to the last release", "--json", "-n", "1"))
    assert found[0]["file"] == "qmd://notes/deploy.md"
    assert served.ok("embed") == "Nothing to embed: every text has its vectors.\n"


def test_query_asks_remote_expander_and_reranker_once(served: User, server: Server) -> None:
    served.ok("embed")
    assert stages(served, "release rollback?", "--ranking", "contract")["expand"].startswith("ran")
    (chat,) = server.asked("/v1/chat/completions")
    assert "release rollback?" in chat["messages"][-1]["content"]
    (ranking,) = server.asked("/v1/rerank")
    assert ranking["query"] == "release rollback?"
    assert len(ranking["documents"]) == ranking["top_n"]
    again = stages(served, "release rollback?", "--ranking", "contract")
    assert "from the cache" in again["expand"]
    assert "from the cache" in again["rerank"]
    assert len(server.asked("/v1/chat/completions")) == len(server.asked("/v1/rerank")) == 1


def test_query_drops_expansions_unrelated_to_the_query(served: User, server: Server) -> None:
    served.ok("embed")
    found = json.loads(served.ok("query", "release rollback?", "--explain", "--json"))
    lists = {share["list"] for hit in found for share in hit["explain"]["lists"]}
    assert {"lexical:variant 1", "vector:variant 2"} <= lists
    assert "vector:variant 3" not in lists
    embedded = [text for body in server.asked("/v1/embeddings") for text in body["input"]]
    assert "how to go back to the last release" in embedded
    assert not any("Bananas" in text for text in embedded)


@pytest.mark.parametrize("lines", ["", "I'd love to help you with that!", "lex: bananas\nvec: yellow fruit"])
def test_query_skips_a_useless_expansion(served: User, server: Server, lines: str) -> None:
    served.ok("embed")
    server.lines = lines
    assert stages(served, "release rollback?")["expand"].startswith("skipped")


def test_query_adapts_to_a_reranker_of_the_other_protocol(served: User, server: Server) -> None:
    server.speaks_tei = True
    served.ok("embed")
    assert stages(served, "release rollback?")["rerank"].startswith("ran")
    assert ["documents" in body for body in server.asked("/v1/rerank")] == [True, False]


def test_query_turns_reranker_logits_into_relevance(served: User, server: Server) -> None:
    served.ok("embed")

    def reply() -> Reply:
        # How many vectors are asked for first depends on which thread is faster.
        path, _, body = server.requests[-1]
        if path != "/v1/rerank":
            return vectors(*map(embedding, body["input"]))
        count = len(body["documents"])
        rows = [{"index": at, "relevance_score": at - count / 2} for at in range(count)]
        return as_json({"results": rows})

    server.faults += [reply] * 9
    result = served.ok("query", "performance", "--no-expand", "--explain", "--json", "--ranking", "contract")
    found = [hit["explain"]["rerank"] for hit in json.loads(result)]
    assert len(found) > 5
    assert all(0 < score < 1 for score in found)
    assert len(set(found)) == len(found)


def fails_once(reply: Reply, served: User, server: Server) -> None:
    server.faults.append(lambda: reply)
    served.ok("embed")
    first, again, *others = server.asked("/v1/embeddings")
    assert first == again
    assert first not in others


@pytest.mark.parametrize("status", [429, 500, 503])
def test_embed_retries_if_the_server_is_busy(served: User, server: Server, status: int) -> None:
    fails_once((status, {"Retry-After": "0"}, b"busy"), served, server)


def test_embed_retries_a_truncated_answer(served: User, server: Server) -> None:
    fails_once((200, {}, b'{"data": [{"index": 0, "embed'), served, server)


def vectors(*rows: Any) -> Reply:
    return as_json({"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]})


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (
            as_json({"error": {"message": f"Incorrect API key: {KEY}"}}, 401),
            "answered 401: Incorrect API key: ***",
        ),
        (as_json({"error": "model 'tiny' not found"}, 404), "answered 404: model 'tiny' not found"),
        (as_json({"message": "input is not text"}, 400), "answered 400: input is not text"),
        ((302, {"Location": "http://127.0.0.1:9/"}, b""), "answered 302"),
        (vectors(*[[1.0, 0.0]] * (FIRST_BATCH - 1), [1.0]), "embeddings of different dimensions"),
        (vectors([1.0, 0.0]), f"1 entries for {FIRST_BATCH} texts"),
        (vectors(*[["a"]] * FIRST_BATCH), "embeddings of different dimensions, or not of numbers"),
        (vectors(*[[0.0, 0.0]] * FIRST_BATCH), "an embedding that is zero or not finite"),
        (vectors(*[[float("nan")]] * FIRST_BATCH), "an embedding that is zero or not finite"),
        (as_json({"data": "none"}), "no list of embeddings"),
        (as_json([]), "no list of embeddings"),
    ],
)
def test_embed_reports_a_useless_answer_in_one_line_without_the_key(
    served: User, server: Server, reply: Reply, told: str
) -> None:
    server.faults.append(lambda: reply)
    result = served.invoke("embed")
    assert result.exit_code == 1
    assert told in result.stderr
    assert KEY not in result.output
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) <= 2
    # No partial results are stored, and the next run starts there.
    assert served.ok("embed").startswith(f"Embedded {len(FILES)} texts")


def test_embed_gives_up_after_several_attempts(served: User, server: Server) -> None:
    server.faults += [partial(as_json, {}, 429, **{"Retry-After": "0"})] * 4
    result = served.invoke("embed")
    assert result.exit_code == 1
    assert "answered 429" in result.stderr
    assert "try again later" in result.stderr


def test_query_skips_models_of_servers_that_are_down(served: User, server: Server) -> None:
    with serving() as short_lived:
        served.environ["QMD_EMBED_MODEL"] = f"openai:tiny@{short_lived.url}"
        served.ok("embed")
    for role in ("RERANK", "GENERATE"):
        served.environ[f"QMD_{role}_MODEL"] = "openai:gone@http://127.0.0.1:9/v1"
    result = served.invoke("query", "rollback release", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)[0]["file"] == "qmd://notes/deploy.md"
    assert (
        "searched without variants: The server of 'gone@http://127.0.0.1:9/v1' cannot be reached"
        in result.stderr
    )
    assert (
        f"not searched by meaning: The server of 'tiny@{short_lived.url}' cannot be reached" in result.stderr
    )
    assert json.loads(served.ok("status", "--json"))["needs_embedding"] == 0


def test_query_does_not_wait_for_a_silent_server(served: User, server: Server) -> None:
    served.ok("embed")
    server.faults += [server.never] * 3
    found = served.run("query", "rollback release", "--timeout", "0.3", "--json")
    assert found.returncode == 0
    assert "not searched by meaning: not ready within 0.3 s" in found.stderr
    assert json.loads(found.stdout)[0]["file"] == "qmd://notes/deploy.md"


def test_search_that_needs_a_silent_server_is_an_error(served: User, server: Server) -> None:
    served.ok("embed")
    server.slow = {"/v1/embeddings"}
    for command, text in (("vsearch", "rollback release"), ("query", "vec: rollback release")):
        found = served.run(command, text, "--timeout", "0.3", "--no-expand", "--json")
        assert (found.returncode, found.stdout) == (1, "")
        assert (
            found.stderr == "Error: the search timed out: not ready within 0.3 s\nHint: give it more time\n"
        )


@pytest.mark.parametrize("command", ["query", "vsearch"])
def test_slow_expansion_leaves_time_for_the_other_stages(served: User, server: Server, command: str) -> None:
    served.ok("embed")
    server.slow = {"/v1/chat/completions"}
    # Only the expansion is slow: the query waits for part of its time, and not to the end.
    found = served.run(command, "return to the last release", "--timeout", "6", "--json", "--explain")
    assert found.returncode == 0
    (first, *_) = json.loads(found.stdout)
    assert first["file"] == "qmd://notes/deploy.md"
    assert "searched without variants: not ready within " in found.stderr
    assert "vector" not in found.stderr
    assert "rerank" not in found.stderr
    assert ("rerank" in first["explain"]) == (command == "query")


def test_server_timeout_can_be_set(served: User, server: Server) -> None:
    server.faults.append(server.never)
    served.environ["QMD_SERVER_TIMEOUT"] = "1"
    result = served.invoke("embed")
    assert result.exit_code == 1
    assert "did not answer within 1 s" in result.stderr


def test_changed_model_behind_the_same_name_is_noticed(served: User, server: Server) -> None:
    served.ok("embed")
    server.dimension = 32
    told = stages(served, "rollback release", "--no-expand", "--no-rerank")
    assert "in this index have 64 dimensions, but the model now returns 32" in told["vector"]
    (served.notes / "new.md").write_text("# New\n\nSomething else.\n", encoding="utf-8")
    served.ok("index")
    assert "it is another model" in served.invoke("embed").stderr
    assert served.ok("embed", "--force").startswith(f"Embedded {len(FILES) + 1} texts")
    assert stages(served, "rollback release", "--no-expand", "--no-rerank")["vector"].startswith("ran")


def test_api_key_can_be_read_from_a_configured_file(served: User, server: Server) -> None:
    del served.environ["QMD_OPENAI_API_KEY"]
    config = served.home / "config" / "qmd" / "index.yml"
    config.write_text(config.read_text() + "models:\n  openai_api_key_file: ~/key\n", encoding="utf-8")
    assert "cannot be read" in served.invoke("embed").stderr
    (served.home / "key").write_text("from a file\n", encoding="utf-8")
    assert "not a valid API key" in served.invoke("embed").stderr
    (served.home / "key").write_text(KEY + "\n", encoding="utf-8")
    served.ok("embed")
    assert {headers["Authorization"] for _, headers, _ in server.requests} == {f"Bearer {KEY}"}


@pytest.mark.parametrize(
    "spec",
    [
        "openai:tiny",
        "openai:tiny@ftp://host/v1",
        "openai:tiny@http://user:hunter2@host/v1",
        "openai:t@http://[x/",
    ],
)
def test_invalid_server_address_is_reported_without_its_password(served: User, spec: str) -> None:
    result = served.invoke("embed", QMD_EMBED_MODEL=spec)
    assert result.exit_code == 1
    assert "hunter2" not in result.output
    assert "openai:" in result.stderr or "address" in result.stderr
    assert served.invoke("query", "rollback", QMD_EMBED_MODEL=spec).exit_code == 0
    assert served.invoke("models", QMD_EMBED_MODEL=spec).exit_code == 0


def test_models_and_status_do_not_contact_servers(served: User, server: Server) -> None:
    rows = json.loads(served.ok("models", "--json"))
    assert [(row["name"], row["condition"]) for row in rows] == [
        (f"{name}@{server.url}", "remote") for name in ("tiny", "judge", "writer")
    ]
    served.ok("status")
    assert server.requests == []


@pytest.mark.parametrize(("model", "query"), [("nomic-embed-text", "search_query: a"), ("other", "a")])
def test_remote_model_gets_the_prompts_of_its_family(
    served: User, server: Server, model: str, query: str
) -> None:
    served.environ["QMD_EMBED_MODEL"] = f"openai:{model}@{server.url}"
    served.ok("embed")
    served.invoke("vsearch", "a")
    asked: Callable[[int], str] = lambda at: server.asked("/v1/embeddings")[at]["input"][0]  # noqa: E731
    assert asked(-1) == query
    assert asked(0).startswith("search_document: ") == (model == "nomic-embed-text")


def configure(user: User, text: str) -> None:
    """Append text to the configuration: to the collection of the notes."""
    config = user.home / "config" / "qmd" / "index.yml"
    config.write_text(config.read_text(encoding="utf-8") + text, encoding="utf-8")


def elsewhere(server: Server) -> dict[str, str]:
    """Return variables that reach the server through a proxy, as if it were on another machine."""
    port = server.url.rpartition(":")[2]
    found = dict.fromkeys(("QMD_EMBED_MODEL", "QMD_RERANK_MODEL"), "openai:far@http://models.example.com/v1")
    return {**found, "HTTP_PROXY": f"http://127.0.0.1:{port.removesuffix('/v1')}"}


def test_first_use_of_a_remote_model_is_disclosed_once(served: User, server: Server) -> None:
    served.environ |= elsewhere(server)
    first = served.invoke("embed")
    assert first.exit_code == 0, first.output
    assert "the text of your documents and queries are sent to models.example.com" in first.stderr
    assert "are sent to" not in served.invoke("embed", "--force").stderr
    query = served.invoke("query", "rollback release")
    assert "your queries and passages of your documents are sent to models.example.com" in query.stderr
    assert "are sent to" not in served.invoke("query", "another rollback").stderr


def test_local_server_needs_no_disclosure(served: User) -> None:
    assert "sent to" not in served.invoke("embed").stderr


def test_api_key_is_not_sent_unencrypted_to_another_machine(served: User, server: Server) -> None:
    served.environ |= elsewhere(server)
    served.ok("embed")
    assert not any("Authorization" in headers for _, headers, _ in server.requests)
    server.faults.append(lambda: as_json({}, 401))
    assert (
        "The API key is only sent over an encrypted connection: use https."
        in served.invoke("embed", "--force").stderr
    )


def test_text_of_a_local_only_collection_is_not_sent(served: User, server: Server) -> None:
    diary = served.home / "diary"
    diary.mkdir()
    (diary / "today.md").write_text("# Today\n\nA secret rollback of my plans.\n", encoding="utf-8")
    served.ok("collection", "add", str(diary), "--name", "diary")
    configure(served, "    models:\n      remote: deny\n")
    served.environ |= elsewhere(server)
    assert served.ok("embed").startswith(f"Embedded {len(FILES)} texts")
    assert json.loads(served.ok("status", "--json"))["needs_embedding"] == 0
    found = json.loads(served.ok("query", "secret rollback", "--json"))
    assert "qmd://diary/today.md" in [hit["file"] for hit in found]
    alone = served.invoke("vsearch", "secret", "-c", "diary")
    assert alone.exit_code == 1
    assert "diary: the text stays on this machine" in alone.stderr
    assert len(server.asked("http://models.example.com/v1/rerank")) == 1
    assert not any("my plans" in json.dumps(body) for _, _, body in server.requests)


def test_misspelt_remote_setting_is_an_error(served: User) -> None:
    configure(served, "    models:\n      remot: deny\n")
    result = served.invoke("embed")
    assert result.exit_code == 1
    assert "collections.notes.models: unknown key 'remot'" in result.stderr


def test_project_cannot_choose_the_api_key_file(served: User, server: Server) -> None:
    del served.environ["QMD_OPENAI_API_KEY"]
    project = served.home / "project"
    (project / ".qmd").mkdir(parents=True)
    (served.home / "private").write_text("secret-of-the-user", encoding="utf-8")
    (project / ".qmd" / "index.yml").write_text(
        "collections:\n  notes:\n    path: ../notes\nmodels:\n  openai_api_key_file: ~/private\n",
        encoding="utf-8",
    )
    run = partial(served.run, cwd=project, QMD_TRUST_LOCAL_CONFIG="1")
    assert run("index").returncode == 0
    assert run("embed").returncode == 0
    assert server.requests
    assert not any("Authorization" in headers for _, headers, _ in server.requests)
