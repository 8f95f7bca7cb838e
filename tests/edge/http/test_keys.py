"""API keys limit the documents and operations of every endpoint and tool."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from tests.agents import site_of
from tests.clients import Server, server_of
from tests.users import MakeUser, User
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

#: A word in every text, title, name and context that a key limited to `notes` must not see.
HIDDEN = "zanzibar"
LIBRARY = {
    "notes/kestrel.md": "---\nstatus: draft\n---\n# Kestrel\n\nThe kestrel hovers over [[plan]].\n",
    "notes/plan.md": "# Plan\n\nThe plan for the kestrel budget.\n",
    f"{HIDDEN}/{HIDDEN}.md": f"---\n{HIDDEN}: 1\nstatus: {HIDDEN}\ntags: [{HIDDEN}]\n"
    "supersedes: notes/plan.md\n---\n"
    f"# {HIDDEN} kestrel\n\nThe kestrel of {HIDDEN}. See [[plan]] and [[notes/kestrel]].\n",
    f"{HIDDEN}/kestrel.md": f"# Another {HIDDEN} kestrel\n\nA {HIDDEN} kestrel budget.\n",
}


class Guarded(Struct, frozen=True):
    """A server, its user, and keys by their permissions."""

    server: Server
    user: User
    keys: dict[str, str]


@pytest.fixture(scope="module")
def guarded(make_user: MakeUser) -> Iterator[Guarded]:
    user = make_user("guarded")
    library = user.home / "library"
    for path, text in LIBRARY.items():
        (library / path).parent.mkdir(parents=True, exist_ok=True)
        (library / path).write_text(text, encoding="utf-8")
    for name in ("notes", HIDDEN):
        user.ok("collection", "add", str(library / name), "--name", name)
        user.ok("context", "add", f"qmd://{name}", f"All of {name}")
    user.ok("embed", "-q")
    keys = {
        "all": user.ok("keys", "add", "all").strip(),
        "reader": user.ok("keys", "add", "reader", "--read-only").strip(),
        "limited": user.ok("keys", "add", "limited", "-c", "notes").strip(),
        "limited reader": user.ok("keys", "add", "both", "-c", "notes", "--read-only").strip(),
    }
    with server_of(user) as server:
        yield Guarded(server, user, keys)


#: Requests that only read: (method, path, body).
READS: list[tuple[str, str, Any]] = [
    ("POST", "/search", {"query": "kestrel"}),
    ("POST", "/grep", {"query": "kestrel"}),
    ("POST", "/vsearch", {"query": "kestrel", "min_score": 0}),
    ("POST", "/query", {"query": "kestrel", "explain": True}),
    ("POST", "/get", {"file": "notes/kestrel.md"}),
    ("POST", "/get", {"file": "kestrel.md"}),
    ("POST", "/lint", {}),
    ("POST", "/get", {"file": f"{HIDDEN}.md"[3:]}),
    ("POST", "/multi_get", {"pattern": "*/*.md"}),
    ("POST", "/recall", {"prompt": "What did the kestrel eat today?", "threshold": 0}),
    ("POST", "/pack", {"query": "kestrel", "tokens": 400}),
    ("POST", "/cite", {"text": "See `notes/kestrel.md:1`."}),
    ("POST", "/search", {"query": "kestrel [status]", "facets": ["status", "tag", "collection"]}),
    ("POST", "/search", {"query": "kestrel [status:zanziba]"}),
    ("POST", "/search", {"query": "kestrel state:superseded"}),
    ("POST", "/query", {"query": "plan", "current": True, "facets": ["state"]}),
    ("POST", "/search", {"query": "kestrel [zanziba]"}),
    ("POST", "/search", {"query": "kestrel [zanziba:1]"}),
    ("GET", "/fields", None),
    ("GET", "/fields/status", None),
    ("GET", "/fields/zanziba", None),
    ("GET", "/documents/notes/plan.md/links", None),
    ("GET", "/documents/zanziba.md/links", None),
    ("GET", "/documents/notes/kestrel.md/similar", None),
    ("GET", "/documents/notes/plan.md/similar?unlinked=true", None),
    ("GET", "/documents/kestrel.md/outline", None),
    ("GET", "/documents/kestrel.md/history", None),
    ("POST", "/get", {"file": "kestrel.md", "as_of": "7d"}),
    ("GET", "/status", None),
    ("GET", "/collections", None),
    ("GET", "/collections/notes", None),
    ("GET", "/contexts", None),
    ("POST", "/embed", {"texts": ["kestrel"]}),
    ("GET", "/metrics", None),
]
#: Requests that name documents or collections hidden from a limited key.
HIDDEN_REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/search", {"query": "kestrel", "collection": HIDDEN}),
    ("POST", "/grep", {"query": "kestrel", "collection": HIDDEN}),
    ("POST", "/vsearch", {"query": "kestrel", "collection": HIDDEN}),
    ("POST", "/query", {"query": "kestrel", "collections": [HIDDEN]}),
    ("POST", "/pack", {"query": "kestrel", "collections": [HIDDEN]}),
    ("POST", "/get", {"file": f"{HIDDEN}/{HIDDEN}.md"}),
    ("POST", "/multi_get", {"pattern": f"{HIDDEN}/*.md"}),
    ("POST", "/search", {"query": f"link:{HIDDEN}/{HIDDEN}.md"}),
    ("POST", "/search", {"query": "kestrel", "filter": {"field": HIDDEN, "operator": "exists"}}),
    ("GET", f"/fields?collection={HIDDEN}", None),
    ("GET", f"/fields/{HIDDEN}", None),
    ("GET", f"/documents/{HIDDEN}/{HIDDEN}.md/links", None),
    ("GET", f"/documents/{HIDDEN}/{HIDDEN}.md/outline", None),
    ("GET", f"/documents/{HIDDEN}/{HIDDEN}.md/history", None),
    ("POST", "/get", {"file": f"{HIDDEN}/{HIDDEN}.md", "as_of": "7d"}),
    ("GET", f"/documents/{HIDDEN}/{HIDDEN}.md/similar", None),
    ("GET", f"/documents/notes/kestrel.md/similar?collection={HIDDEN}", None),
    ("GET", f"/collections/{HIDDEN}", None),
    ("DELETE", f"/collections/{HIDDEN}", None),
    ("PUT", f"/collections/{HIDDEN}", {"new_name": "other"}),
    ("POST", "/contexts/add", {"path": f"qmd://{HIDDEN}", "text": "seen"}),
    ("DELETE", f"/contexts/{HIDDEN}", None),
]
#: Requests that write, with the statuses for the keys `all`, `reader`, `limited` and `limited reader`, in an
#: order in which all can succeed.
WRITES: list[tuple[str, str, Any, tuple[int, int, int, int]]] = [
    ("POST", "/index", {}, (200, 403, 200, 403)),
    ("POST", "/update", {}, (200, 403, 200, 403)),
    ("POST", "/contexts/add", {"path": "qmd://notes/sub", "text": "A folder"}, (200, 403, 200, 403)),
    ("POST", "/contexts/add", {"path": "/", "text": "Everything"}, (200, 403, 403, 403)),
    ("DELETE", "/contexts/notes/sub", None, (200, 403, 200, 403)),
    ("POST", "/collections/add", {"name": "new", "path": "{library}/new"}, (200, 403, 403, 403)),
    ("PUT", "/collections/notes", {"new_name": "notes"}, (400, 403, 403, 403)),
    ("DELETE", "/collections/new", None, (200, 404, 404, 404)),
]
#: What asks a model, which this server has not.
ASKED: list[tuple[str, str, Any]] = [("POST", "/ask", {"query": "kestrel"})]
EVERYTHING = [*READS, *HIDDEN_REQUESTS, *(each[:3] for each in WRITES), *ASKED]
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "kestrel"}),
    ("vsearch", {"query": "kestrel", "minScore": 0}),
    ("query", {"query": "kestrel"}),
    ("get", {"file": "kestrel.md"}),
    ("multi_get", {"pattern": "*/*.md"}),
    ("status", {}),
]


def named(request: tuple[Any, ...]) -> str:
    return f"{request[0]} {request[1]} {json.dumps(request[2])}"


def folders(body: Any, user: User) -> Any:
    """Return a body with the path of the library's folder."""
    if not isinstance(body, dict) or "path" not in body:
        return body
    library = user.home / "library"
    (library / "new").mkdir(exist_ok=True)
    return body | {"path": body["path"].replace("{library}", str(library))}


def test_key_tests_cover_every_endpoint_and_tool(guarded: Guarded) -> None:
    paths = guarded.server.ask("GET", "/openapi.json", key=guarded.keys["all"]).json["paths"]
    known = {(method.upper(), path) for path, methods in paths.items() for method in methods}

    def template(path: str) -> str:
        path = re.sub("^/documents/.*/", "/documents/{path}/", path.partition("?")[0])
        first, _, rest = path.lstrip("/").partition("/")
        named = {"collections": "name", "contexts": "path", "fields": "name"}.get(first)
        return f"/{first}/{{{named}}}" if rest and named and rest != "add" else path

    tried = {(method, template(path)) for method, path, _ in EVERYTHING}
    assert known - tried == {("GET", "/health")}
    tools = guarded.server.mcp("tools/list", key=guarded.keys["all"]).json["result"]["tools"]
    assert {tool["name"] for tool in tools} == {name for name, _ in TOOLS}


@pytest.mark.parametrize("request_", [*EVERYTHING, ("GET", "/docs", None), ("GET", "/none", None)], ids=named)
def test_request_without_a_key_is_refused(guarded: Guarded, request_: tuple[str, str, Any]) -> None:
    method, path, body = request_
    for key in (None, "", "wrong", guarded.keys["all"][:-1], guarded.keys["all"] + "x", "ключ"):
        headers = {} if key is None else {"authorization": f"Bearer {key}".encode().decode("latin-1")}
        answer = guarded.server.ask(method, path, folders(body, guarded.user), **headers)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert set(answer.json) == {"detail", "status_code"}


def test_mcp_request_without_a_key_is_refused(guarded: Guarded) -> None:
    assert guarded.server.mcp("ping").status == 401
    assert guarded.server.mcp("ping", key=guarded.keys["limited"]).json["result"] == {}


def test_health_needs_no_key(guarded: Guarded) -> None:
    assert guarded.server.ask("GET", "/health").json["status"] == "healthy"
    assert guarded.server.ask("GET", "/health/").status == 401


def test_bearer_scheme_ignores_case_and_spaces(guarded: Guarded) -> None:
    key = guarded.keys["all"]
    assert guarded.server.ask("GET", "/status", authorization=f"bearer  {key} ").status == 200
    assert guarded.server.ask("GET", "/status", authorization=f"Basic {key}").status == 401
    assert guarded.server.ask("GET", "/status", authorization=key).status == 401


@pytest.mark.parametrize("request_", READS, ids=named)
def test_limited_key_sees_only_its_collections(guarded: Guarded, request_: tuple[str, str, Any]) -> None:
    method, path, body = request_
    for name in ("limited", "limited reader"):
        seen = guarded.server.ask(method, path, body, key=guarded.keys[name])
        assert seen.status in (200, 404)
        assert HIDDEN not in seen.text.replace(json.dumps(body)[1:-1], "")
    whole = guarded.server.ask(method, path, body, key=guarded.keys["reader"])
    assert whole.status in (200, 400, 404)


def test_unlimited_key_sees_all_collections(guarded: Guarded) -> None:
    for method, path, body in READS[:3]:
        assert HIDDEN in guarded.server.ask(method, path, body, key=guarded.keys["reader"]).text


@pytest.mark.parametrize("request_", HIDDEN_REQUESTS, ids=named)
def test_hidden_collection_is_not_found_for_a_limited_key(
    guarded: Guarded, request_: tuple[str, str, Any]
) -> None:
    method, path, body = request_
    for name in ("limited", "limited reader"):
        answer = guarded.server.ask(method, path, body, key=guarded.keys[name])
        assert answer.status == 404
        # The answer equals that for a name that does not exist. It repeats the name and says nothing else.
        absent = json.loads(json.dumps(body).replace(HIDDEN, "nowhere1"))
        other = guarded.server.ask(method, path.replace(HIDDEN, "nowhere1"), absent, key=guarded.keys[name])
        assert other.status == 404
        assert answer.text.count(HIDDEN) == other.text.count("nowhere1")


@pytest.mark.parametrize("tool", TOOLS, ids=str)
def test_tools_show_a_limited_key_only_its_collections(
    guarded: Guarded, tool: tuple[str, dict[str, Any]]
) -> None:
    name, arguments = tool
    call = {"name": name, "arguments": arguments}
    seen = guarded.server.mcp("tools/call", key=guarded.keys["limited"], **call)
    assert seen.status == 200
    assert "kestrel" in seen.text or name == "status"
    assert "isError" not in seen.json["result"]
    assert HIDDEN not in seen.text
    if name != "get":
        assert HIDDEN in guarded.server.mcp("tools/call", key=guarded.keys["reader"], **call).text


def test_resources_and_instructions_respect_a_limited_key(guarded: Guarded) -> None:
    greeting = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    limited, reader = guarded.keys["limited"], guarded.keys["reader"]
    told = guarded.server.mcp("initialize", key=limited, **greeting)
    assert "2 documents in 1 collection" in told.text
    assert HIDDEN not in told.text
    assert HIDDEN in guarded.server.mcp("initialize", key=reader, **greeting).text
    hidden = {"uri": f"qmd://{HIDDEN}/{HIDDEN}.md"}
    assert "error" in guarded.server.mcp("resources/read", key=limited, **hidden).json
    assert "result" in guarded.server.mcp("resources/read", key=reader, **hidden).json
    assert "result" in guarded.server.mcp("resources/read", key=limited, uri="qmd://notes/plan.md").json
    similar = guarded.server.mcp("resources/read", key=limited, uri="qmd://zanziba/kestre.md")
    assert HIDDEN not in similar.text


@pytest.mark.parametrize("number", range(4), ids=["all", "reader", "limited", "limited reader"])
def test_writes_respect_the_permissions_of_a_key(guarded: Guarded, number: int) -> None:
    key = guarded.keys[["all", "reader", "limited", "limited reader"][number]]
    before = guarded.server.ask("GET", "/collections", key=guarded.keys["all"]).json
    answers = [
        guarded.server.ask(method, path, folders(body, guarded.user), key=key)
        for method, path, body, _ in WRITES
    ]
    assert [answer.status for answer in answers] == [expected[number] for *_, expected in WRITES]
    assert all(set(answer.json) == {"detail", "status_code"} for answer in answers if answer.status >= 400)
    assert number < 2 or not any(HIDDEN in answer.text for answer in answers)
    assert guarded.server.ask("GET", "/collections", key=guarded.keys["all"]).json == before


def test_new_and_removed_keys_take_effect_at_once(make_user: MakeUser) -> None:
    user = make_user("keys-at-once")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    with server_of(user) as server:
        assert server.ask("GET", "/status").status == 200
        key = user.ok("keys", "add", "one").strip()
        assert server.ask("GET", "/status").status == 401
        assert server.ask("GET", "/status", key=key).status == 200
        user.ok("keys", "remove", "one")
        assert server.ask("GET", "/status", key=key).status == 401
        # Removing the last key does not open the server.
        assert server.ask("GET", "/status").status == 401


def test_unreadable_keys_refuse_all_requests(make_user: MakeUser) -> None:
    user = make_user("broken-keys")
    key = user.ok("keys", "add", "one").strip()
    file = Path(user.environ["XDG_CONFIG_HOME"]) / "qmd" / "keys.json"
    with server_of(user) as server:
        file.write_text("{", encoding="utf-8")
        for shown in (None, key):
            answer = server.ask("GET", "/status", key=shown)
            assert (answer.status, str(file) in answer.text) == (503, False)
        assert server.ask("GET", "/health").status in (200, 503)


def test_key_is_valid_only_for_its_index(make_user: MakeUser) -> None:
    user = make_user("other-index")
    elsewhere = user.ok("keys", "add", "one", "--index", "work").strip()
    user.ok("keys", "add", "two")
    with server_of(user) as server:
        assert server.ask("GET", "/status", key=elsewhere).status == 401


def test_mcp_server_requires_keys_too(make_user: MakeUser) -> None:
    user = make_user("mcp-keys")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    key = user.ok("keys", "add", "one", "-c", "notes").strip()
    with site_of(user) as site:
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        assert site.request(body=ping)[0] == 401
        assert site.request(body=ping, authorization=f"Bearer {key}")[0] == 200


def test_body_is_not_read_without_a_key(guarded: Guarded) -> None:
    head = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", guarded.server.port), PATIENCE) as connection:
        connection.sendall(head)
        # The body never arrives: if there is an answer, the server did not wait for it.
        assert connection.recv(1000).startswith(b"HTTP/1.1 401 ")


def test_limited_key_reads_no_hidden_words_by_scores(make_user: MakeUser) -> None:
    user = make_user("scores")
    library = user.home / "library"
    texts = {}
    for number in range(6):
        texts[f"notes/{number}.md"] = f"# Milestones {number}\n\nThe milestones of team {number}.\n"
        texts[f"{HIDDEN}/{number}.md"] = f"# Password {number}\n\nIt is hunter2.\n"
    for path, text in texts.items():
        (library / path).parent.mkdir(parents=True, exist_ok=True)
        (library / path).write_text(text, encoding="utf-8")
    for name in ("notes", HIDDEN):
        user.ok("collection", "add", str(library / name), "--name", name)
    user.ok("embed", "-q")
    whole = user.ok("keys", "add", "all").strip()
    limited = user.ok("keys", "add", "limited", "-c", "notes").strip()
    with server_of(user) as server:

        def told(key: str, path: str, word: str, **more: Any) -> str:
            answer = server.ask("POST", path, {"query": f"milestones {word}", **more}, key=key)
            assert answer.status == 200
            assert answer.json["results"]
            del (fields := answer.json)["stages"]
            return json.dumps(fields).replace(json.dumps(word)[1:-1], "")

        words = ["hunter2", "hunter3", "hunter*", "hu*", "xu*", "xunter2"]
        for word in words:
            told(whole, "/query", word)
        assert told(whole, "/search", "hunter2") != told(whole, "/search", "hunter3")
        # The words have the same form, because a word of letters and digits is also searched by its parts.
        for form in (words[:2] + words[-1:], words[2:-1]):
            assert len({told(limited, "/search", word) for word in form}) == 1
        assert told(limited, "/search", '"it is"') == told(limited, "/search", '"is it"')
        # The cached answers of other users' searches stay hidden: neither scores nor the cache reveal them.
        for word in words:
            answer = server.ask("POST", "/query", {"query": f"milestones {word}"}, key=limited)
            assert not any(stage.get("reason") == "from the cache" for stage in answer.json["stages"])


def test_limited_key_removes_no_collection(guarded: Guarded) -> None:
    before = guarded.server.ask("GET", "/collections/notes", key=guarded.keys["all"]).json
    for name in ("limited", "limited reader"):
        answer = guarded.server.ask("DELETE", "/collections/notes", key=guarded.keys[name])
        assert "remove" in answer.detail(403) or "read-only" in answer.detail(403)
    assert guarded.server.ask("GET", "/collections/notes", key=guarded.keys["all"]).json == before
