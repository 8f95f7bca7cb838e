"""The web page over HTTP: sign-in, permissions, headers and changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from qmd import open_index
from qmd.features.page.app import Web
from qmd.features.page.upkeep import CHANGES
from qmd.installation import install_command
from qmd.server.index_host import IndexHost
from tests.clients import Client, Server, server_of
from tests.edge.http.pages import page, post
from tests.library import embed_library
from tests.users import MakeUser, User
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def keyed(make_user: MakeUser) -> Iterator[tuple[User, Server, dict[str, str]]]:
    """A server whose user has three keys, by name."""
    user = make_user("web-keys")
    for name in ("open", "closed"):
        folder = user.home / name
        folder.mkdir()
        (folder / f"{name}.md").write_text(
            f"---\ntags: [{name}-tag]\nauthor: {name}-author\n---\n\n# The {name} note\n\nA kestrel.\n",
            encoding="utf-8",
        )
        (folder / "picture.png").write_bytes(b"\x89PNG")
        user.ok("collection", "add", str(folder), "--name", name)
    keys = {
        "all": user.ok("keys", "add", "all").strip(),
        "limited": user.ok("keys", "add", "limited", "--collection", "open").strip(),
        "reader": user.ok("keys", "add", "reader", "--read-only").strip(),
        "agent": user.ok("keys", "add", "agent", "--agent").strip(),
        "limited agent": user.ok("keys", "add", "limited-agent", "--agent", "-c", "open").strip(),
        "reading agent": user.ok("keys", "add", "reading-agent", "--agent", "--read-only").strip(),
    }
    with server_of(user) as server:
        yield user, server, keys


def sign_in(server: Server, key: str) -> str:
    """Sign in and return the cookie."""
    answer = post(server, "/sign-in?next=%2F%3Fq%3Dkestrel", key=key)
    assert (answer.status, answer.headers["location"]) == (303, "/?q=kestrel")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert key not in cookie
    return cookie.partition(";")[0]


def test_page_needs_a_session_if_there_are_keys(keyed: tuple[User, Server, dict[str, str]]) -> None:
    _, server, keys = keyed
    answer = server.ask("GET", "/?q=kestrel")
    assert (answer.status, answer.headers["location"]) == (303, "/sign-in?next=/%3Fq%3Dkestrel")
    for path in ("/read/open/open.md", "/file/open/picture.png", "/upkeep", "/upkeep/job", "/why", "/help"):
        assert server.ask("GET", path).status == 303, path
    assert server.ask("GET", "/assets/qmd.css").status == 200
    assert post(server, "/sign-in", key="wrong").status == 403
    cookie = sign_in(server, keys["all"])
    assert "The open note" in page(server, "/?q=kestrel", cookie=cookie)
    # The cookie is valid only for pages. The API requires keys, so that no form of another site can use it.
    assert server.ask("GET", "/status", cookie=cookie).status == 401
    assert post(server, "/sign-out", cookie=cookie).status == 303
    assert server.ask("GET", "/", cookie=cookie).status == 303


def test_sign_in_does_not_redirect_to_other_sites(keyed: tuple[User, Server, dict[str, str]]) -> None:
    _, server, keys = keyed
    for there in ("https://example.org/", "//example.org/", "/\\example.org", "javascript:alert(1)"):
        answer = post(server, f"/sign-in?next={quote(there)}", key=keys["all"])
        assert answer.headers["location"] == "/"


def test_session_ends_with_its_key(keyed: tuple[User, Server, dict[str, str]]) -> None:
    user, server, _ = keyed
    cookie = sign_in(server, user.ok("keys", "add", "short").strip())
    assert server.ask("GET", "/", cookie=cookie).status == 200
    user.ok("keys", "remove", "short")
    assert server.ask("GET", "/", cookie=cookie).status == 303


def test_limited_key_sees_nothing_of_other_collections(keyed: tuple[User, Server, dict[str, str]]) -> None:
    _, server, keys = keyed
    cookie = sign_in(server, keys["limited"])
    pages = ("/", "/?q=kestrel&mode=words&scores=1", "/?q=kestrel&mode=both", "/upkeep", "/upkeep/job")
    pages += ("/upkeep/vectors",)
    completed = [f"/complete?q={key}" for key in ("tag:", "author:", "path:", "[collection:", "after:", "[")]
    for path in (*pages, *completed):
        assert "closed" not in page(server, path, cookie=cookie), path
    assert "Is a document missing" not in page(server, "/?q=kestrel", cookie=cookie)
    for path in ("/read/closed/closed.md", "/file/closed/picture.png", "/folder/closed"):
        missing = path.replace("closed", "other")
        expected = server.ask("GET", missing, cookie=cookie).text.replace("other", "closed")
        assert page(server, path, 404, cookie=cookie) == expected
    assert server.ask("GET", "/why?q=kestrel&doc=/etc/passwd", cookie=cookie).status == 403
    assert post(server, "/upkeep/doctor", cookie=cookie).status == 403
    for action in ("add", "remove", "edit", "add-key", "remove-key"):
        answer = post(
            server, f"/upkeep/{action}", cookie=cookie, name="open", path="/", pattern="*", new_name="x"
        )
        assert answer.status == 403, action


def test_read_only_key_is_not_offered_or_allowed_changes(keyed: tuple[User, Server, dict[str, str]]) -> None:
    _, server, keys = keyed
    cookie = sign_in(server, keys["reader"])
    shown = page(server, "/upkeep", cookie=cookie)
    assert re.findall('action="(/upkeep[^"]*)"', shown) == ["/upkeep/doctor"]
    for action in ("scan", "embed", "stop", "describe", "add-key"):
        assert post(server, f"/upkeep/{action}", cookie=cookie, name="open").status == 403, action


#: What each kind of key needs for the endpoints of the page, to which it is otherwise refused (403), or which
#: are not there for it (404): a form, or None for a GET, and the operation of the API that does the same.
_FORM = {"name": "none", "new_name": "x", "path": "/none", "pattern": "*", "text": "x"}
ENDPOINTS: dict[str, tuple[dict[str, str] | None, str, str]] = {
    "/": (None, "", ""),
    "/?q=kestrel": (None, "", "POST /search"),
    "/complete?q=kes": (None, "", ""),
    "/answer": ({"q": "kestrel"}, "", "POST /ask"),
    "/read/open/open.md": (None, "", "POST /get"),
    "/folder/open": (None, "", ""),
    "/similar/open/open.md": (None, "", "GET /documents/open/open.md/similar"),
    "/file/open/picture.png": (None, "no agent", ""),
    "/why?q=kestrel&doc=open/open.md": (None, "everything", ""),
    "/help": (None, "", ""),
    "/upkeep": (None, "", "GET /status"),
    "/upkeep/job": (None, "", ""),
    "/upkeep/vectors": (None, "", "GET /status"),
    "/upkeep/doctor": ({}, "everything", ""),
    "/upkeep/stop": ({}, "write", ""),
    "/upkeep/scan": ({}, "write", "POST /index"),
    "/upkeep/embed": ({}, "write", ""),
    "/upkeep/add": (_FORM, "write everything", "POST /collections/add"),
    "/upkeep/edit": (_FORM | {"name": "open"}, "write everything", "PUT /collections/open"),
    "/upkeep/remove": (_FORM | {"name": "open"}, "write everything", "DELETE /collections/open"),
    "/upkeep/describe": ({"place": "qmd://open", "text": "x"}, "write", "POST /contexts/add"),
    "/upkeep/undescribe": ({"place": "qmd://open"}, "write", "DELETE /contexts/open"),
    "/upkeep/add-key": ({"name": "new"}, "write everything", ""),
    "/upkeep/remove-key": ({"name": "all"}, "write everything", ""),
}
#: What the keys have.
KINDS = {
    "limited": {"write", "no agent"},
    "reader": {"everything", "no agent"},
    "agent": {"write"},
    "limited agent": {"write"},
    "reading agent": set[str](),
}
_BODIES = {
    "POST /search": {"query": "kestrel"},
    "POST /get": {"file": "open/open.md"},
    "POST /ask": {"query": "kestrel"},
    "POST /collections/add": {"name": "none", "path": "/none"},
    "PUT /collections/open": {"new_name": "x"},
    "POST /contexts/add": {"path": "qmd://open", "text": "x"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_page_asks_for_what_the_api_asks_for(kind: str, keyed: tuple[User, Server, dict[str, str]]) -> None:
    user, server, keys = keyed
    cookie = sign_in(server, keys[kind])
    before = user.ok("keys", "list"), (user.home / "config" / "qmd" / "index.yml").read_text()
    for path, (form, needed, operation) in ENDPOINTS.items():
        if form is None:
            status = server.ask("GET", path, cookie=cookie).status
        else:
            status = post(server, path, cookie=cookie, **form).status
        granted = KINDS[kind].issuperset(needed.split())
        assert (status not in (403, 404)) == granted, (path, status)
        assert not granted or status < 500
        if operation:
            method, _, address = operation.partition(" ")
            body = _BODIES.get(operation, {} if method == "POST" else None)
            asked = server.ask(method, address, body, key=keys[kind]).status
            assert (asked == 403) == (status == 403), (path, status, asked)
    until(lambda: "data-active" not in page(server, "/upkeep/job", cookie=cookie))
    shown = page(server, "/upkeep", cookie=cookie)
    offered = {path.removeprefix("/upkeep/") for path in re.findall('action="(/upkeep/[^"]*)"', shown)}
    assert not offered - {"scan", "embed", "describe", "undescribe", "doctor"}
    assert "remove-key" not in shown
    after = user.ok("keys", "list"), (user.home / "config" / "qmd" / "index.yml").read_text()
    assert after == before


def test_every_endpoint_of_the_page_is_sent_above() -> None:
    routes = Web(IndexHost(open_index), None).routes
    sent = {path.partition("?")[0] for path in ENDPOINTS}
    for route in routes:
        public = route.path in ("/sign-in", "/sign-out") or route.path.startswith("/assets/")
        assert public or any(route.path_regex.match(path) for path in sent), route.path
    assert {f"/upkeep/{action}" for action in CHANGES} <= sent


@pytest.mark.parametrize(
    "origin", [None, "null", "http://127.0.0.1:1", "http://localhost:{port}", "http://[::1]:1"]
)
def test_change_from_another_origin_is_refused(server: Server, origin: str | None) -> None:
    origin = origin and origin.replace("{port}", str(server.port))
    assert post(server, "/upkeep/scan", origin=origin).status == 403
    assert post(server, "/sign-in", origin=origin, key="x").status == 403


def test_page_without_its_extra_says_what_to_install(make_user: MakeUser, tmp_path: Path) -> None:
    user = make_user("no-extra")
    # A package that cannot be imported, as if the extra were not installed.
    (tmp_path / "sitecustomize.py").write_text('import sys\nsys.modules["nh3"] = None\n')
    environ = {"PYTHONPATH": f"{tmp_path}:{user.environ['PYTHONPATH']}"}
    with server_of(user, **environ) as server:
        told = server.ask("GET", "/").detail(501)
        assert told == f"the page needs the extra 'web': {install_command('web')}"
        assert server.ask("GET", "/health").status == 200
    opened = user.run("open", **environ)
    assert (opened.returncode, opened.stdout) == (1, "")
    assert opened.stderr == f"Error: {told}\n"


def test_open_serves_each_index_at_its_own_port_and_opens_documents(make_user: MakeUser) -> None:
    user = make_user("opens")
    user.environ["BROWSER"] = "true"
    (user.notes / "plan.md").write_text("# Plan\n\n## Costs\n\nA kestrel.\n")
    indexes: tuple[tuple[str, ...], ...] = ((), ("--index", "work"))

    def opened(*args: str) -> str:
        found = user.run("open", *args)
        assert found.returncode == 0, found.stderr
        return found.stdout.splitlines()[-1]

    try:
        for index in indexes:
            user.ok("add", str(user.notes), "--no-embed", *index)
        first, second = (opened(*index) for index in indexes)
        assert first != second
        assert opened("notes/plan.md") == f"{first}read/notes/plan.md"
        assert opened("plan.md#Costs") == f"{first}read/notes/plan.md?line=3"
        assert opened("./plan.md:5", "--index", "work") == f"{second}?q=.%2Fplan.md%3A5"  # not in this folder
        assert opened("plan.md:5", "--index", "work") == f"{second}read/notes/plan.md?line=5"
        assert opened("a", "plan", "of", "1.2") == f"{first}?q=a+plan+of+1.2"
        assert opened("kestrel") == f"{first}?q=kestrel"
        # The other order: each index keeps its address.
        for index in indexes:
            user.ok("server", "stop", *index)
        assert [opened(*index) for index in reversed(indexes)] == [second, first]
    finally:
        for index in indexes:
            user.invoke("server", "stop", *index)


def test_pages_have_the_security_policy_and_an_entity_tag(client: Client) -> None:
    for path in (
        "/",
        "/?q=kestrel",
        "/read/notes/2025/plan.md",
        "/upkeep",
        "/help",
        "/sign-in",
        "/read/none",
    ):
        answer = client.ask("GET", path)
        policy = answer.headers["content-security-policy"]
        for part in (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            "media-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'; trusted-types 'none'",
        ):
            assert part in policy, path
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] in ("no-referrer", "same-origin")
        if answer.status == 200:
            again = client.ask("GET", path, if_none_match=answer.headers["etag"])
            assert (again.status, again.body) == (304, b""), path


def test_page_is_light(client: Client) -> None:
    home = page(client, "/")
    assets = re.findall(r'"(/assets/[^"]+)"', home)
    sizes = [len(client.ask("GET", path).body) for path in dict.fromkeys(assets)]
    assert sum(sizes) < 58_000
    assert len(home.encode()) < 5_000  # more with longer paths and times
    assert client.ask("GET", assets[0]).headers["cache-control"] == "public, max-age=31536000, immutable"


def test_language_follows_the_browser(client: Client) -> None:
    assert 'lang="zh-Hans"' in page(client, "/", accept_language="fr;q=1, zh-CN;q=0.9, en;q=0.8")
    assert 'lang="en"' in page(client, "/", accept_language="fr, en;q=0.5, zh;q=0.1")


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/?q=tag:none", 200, "没有文档符合筛选 tag:none。"),
        ("/?q=[nothing:1]", 200, "[nothing:1] 按文字搜索，因为没有文档含有字段“nothing”"),
        ("/?q=[taq:1]%20x", 200, "[taq:1] 按文字搜索，因为没有文档含有字段“taq”。你是否要找 [tag:1]？"),
        ("/?q=[title]%20x", 200, "[title] 按文字搜索。与词语一起使用的筛选需要值：[title:*]"),
        ("/?q=...&mode=words", 200, "查询中没有可搜索的词"),
        ("/read/docs/{0}.md", 404, "未找到文档：docs/{0}.md"),
    ],
)
def test_engine_messages_are_translated(client: Client, path: str, status: int, message: str) -> None:
    assert message in page(client, path, status, accept_language="zh-CN")


def test_only_brackets_that_filter_are_removable(client: Client) -> None:
    for query, chips in {"[title:*] x": 1, "[title] x": 0, "[nothing:1] tag:none": 1}.items():
        shown = page(client, f"/?q={quote(query)}").partition('class="chips"')[2].partition("</ul>")[0]
        assert shown.count("<li") == chips, query


def test_upkeep_page_changes_collections(server: Server, owner: User) -> None:
    def finished() -> bool:
        return "data-active" not in page(server, "/upkeep/job")

    assert "Nothing is indexed yet" in page(server, "/")
    assert post(server, "/upkeep/add", path=str(owner.home / "folder"), name="first").status == 303
    until(finished)
    assert "3 new, 0 changed, 0 removed" in page(server, "/upkeep/job")
    file = owner.ok("ls", "first").split()[-1].removeprefix("qmd://")
    owner.ok("pin", "pinned query", file)
    assert "pinned query" in page(server, "/")
    owner.ok("unpin", "pinned query", file)
    edited = {"name": "first", "new_name": "second", "pattern": "*.md", "ignore": "b.*\r\n\r\nc.*"}
    assert post(server, "/upkeep/edit", **edited, format="markdown").status == 303
    until(finished)
    assert "0 new, 0 changed, 2 removed" in page(server, "/upkeep/job")
    shown = page(server, "/upkeep").partition('action="/upkeep/edit"')[2].partition("</form>")[0]
    for value in ('value="second"', 'value="*.md"', ">b.*\nc.*</textarea>", 'value="markdown" checked'):
        assert value in shown, value
    assert post(server, "/upkeep/edit", name="second", new_name="").status == 400
    assert post(server, "/upkeep/scan", name="second").status == 303
    until(finished)
    assert "0 new, 0 changed, 0 removed" in page(server, "/upkeep/job")
    assert post(server, "/upkeep/describe", place="qmd://second", text="A <b>place</b>").status == 303
    assert "A &lt;b&gt;place&lt;/b&gt;" in page(server, "/upkeep")
    assert post(server, "/upkeep/undescribe", place="qmd://second").status == 303
    assert post(server, "/upkeep/remove", name="second").status == 303
    assert post(server, "/upkeep/remove", name="second").status == 404
    assert post(server, "/upkeep/add", path="relative").status == 400
    assert (
        post(server, "/upkeep/add", path=str(owner.home / "folder"), name="third", format="text").status
        == 303
    )
    until(finished)
    assert "0 new" in page(server, "/upkeep/job")  # they are Markdown
    assert post(server, "/upkeep/remove", name="third").status == 303
    assert "Nothing is indexed yet" in page(server, "/")
    log = next((owner.home / "cache" / "qmd").glob("server*.audit.jsonl")).read_text(encoding="utf-8")
    assert '"target": "edit first second"' in log


def test_first_key_made_on_the_page_signs_in_the_browser(server: Server) -> None:
    answer = post(server, "/upkeep/add-key", name="laptop")
    secret = re.search(r"qmd_[\w-]{40,}", answer.text)
    assert secret is not None
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert server.ask("GET", "/").status == 303
    assert secret[0] not in page(server, "/upkeep", cookie=cookie)
    assert server.ask("GET", "/status", key=secret[0]).status == 200
    assert post(server, "/upkeep/remove-key", cookie=cookie, name="laptop").status == 303


def test_open_command_starts_a_server_and_a_browser(owner: User) -> None:
    seen = owner.home / "seen"
    browser = owner.home / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >>"{seen}"\n', encoding="utf-8")
    browser.chmod(0o755)
    try:
        first = owner.run("open", "two words", "--port", "0", BROWSER=f"{browser} %s")
        assert first.returncode == 0, first.stderr
        second = owner.run("open", BROWSER=f"{browser} %s")
        assert second.returncode == 0, second.stderr
        until(lambda: seen.exists() and seen.read_text().count("\n") == 2)
        with_query, without = seen.read_text().split()
        assert with_query == f"{without}?q=two+words"
        assert "Nothing is indexed yet" in page(Client(int(without.rstrip("/").rpartition(":")[2])), "/")
    finally:
        owner.run("server", "stop")


HEADS = {
    "yaml": '---\nTITLE: "A heron"\nStatus: draft\nDATE: 2024-03-07\n---\n',
    "toml": '+++\nTITLE = "A heron"\nStatus = "draft"\nDATE = 2024-03-07\n+++\n',
    "json": '{"TITLE": "A heron", "Status": "draft", "DATE": "2024-03-07"}\n',
}


def test_front_matter_of_each_kind_is_displayed_and_searched_alike(make_user: MakeUser) -> None:
    user = make_user("web-heads")
    folder = user.home / "heads"
    folder.mkdir()
    for name, head in HEADS.items():
        (folder / f"{name}.md").write_text(f"{head}\nA kestrel.\n\n    #code\n\n#🎉party\n", encoding="utf-8")
    user.ok("collection", "add", str(folder), "--name", "notes")
    found = user.ok("search", "[status=draft] [date=2024-03] tag:🎉party kestrel", "--files")
    assert all(f"notes/{name}.md" in found for name in HEADS), found
    assert "#code" not in user.ok("tags")
    with server_of(user) as server:
        for name in HEADS:
            shown = page(server, f"/read/notes/{name}.md")
            assert re.search(r"<h1[^>]*>\s*A heron", shown), name
            properties = shown.partition('properties">')[2].partition("</details>")[0]
            assert "draft" in properties
            assert "2024-03-07" in properties
            assert quote("🎉party") in shown
            assert "+++" not in shown.partition('class="prose')[2]


def test_page_and_api_show_values_as_they_are_written(make_user: MakeUser) -> None:
    user = make_user("web-values")
    folder = user.home / "values"
    folder.mkdir()
    (folder / "note.md").write_text(
        "---\nversion: 1.10\ntags: [1234567]\nauthor: 7654321\ndue: 2024-3-7\n---\nA kestrel.\n",
        encoding="utf-8",
    )
    (folder / "other.md").write_text("---\ntags: [other]\nauthor: Ann\n---\nA kestrel.\n", encoding="utf-8")
    user.ok("collection", "add", str(folder), "--name", "notes")
    with server_of(user) as server:
        shown = page(server, "/read/notes/note.md").partition('properties">')[2].partition("</details>")[0]
        for value in ("1.10", "1234567", "7654321", "2024-3-7"):
            assert re.search(rf">\s*{value}\s*<", shown), value
        results = page(server, "/?q=kestrel")
        assert quote("kestrel tag:1234567", safe="") in results.replace("+", "%20")
        assert quote('kestrel author:"7654321"', safe="") in results.replace("+", "%20")
        found = {each["name"]: each["values"][0]["value"] for each in server.ok("GET", "/fields")["fields"]}
        assert found["version"] == 1.1
        assert (found["tag"], found["author"], found["due"]) == ("1234567", "7654321", "2024-03-07")


def test_bar_shows_the_share_of_the_reranker_in_each_score(make_user: MakeUser) -> None:
    user = embed_library(make_user("web-bar"))
    with server_of(user, QMD_RANKING="contract") as server:
        listed = page(server, "/?q=budget+of+travel&mode=both&scores=1&n=100").split("<li")
        results = server.post("/query", query="budget of travel", limit=101, explain=True)["results"]
    shown = {
        found[1]: int(found[2])
        for item in listed
        if (found := re.search(r'data-file="(.+?)".*>reranker (\d+) %', item, re.DOTALL))
    }
    expected = {}
    for result in results:
        explain = result["explain"]
        if "rerank" in explain:
            reranked = explain["blend"]["rerank"] * explain["rerank"]
            total = reranked + explain["blend"]["fused"] * explain["fused"]["score"]
            expected[result["file"]] = round(100 * reranked / total)
    assert len(set(shown.values())) > 3
    assert shown == pytest.approx(expected, abs=1)
