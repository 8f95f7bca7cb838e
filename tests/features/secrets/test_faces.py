"""No planted secret gets out over any face of agents, and people get all of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec import Struct

from qmd.api.table import TABLE
from qmd.cli import commands
from qmd.cli.app import app, named
from qmd.cli.command import Command, Group
from tests.agents import INITIALIZE, agents
from tests.clients import Server, server_of
from tests.repositories import Repository, needs_git
from tests.users import MakeUser, User

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
from canaries import Canary, accounts, canaries, leaks, plant

pytestmark = pytest.mark.slow
HIDDEN = "zanzibar"


class Planted(Struct, frozen=True):
    """A user with planted secrets, kept documents and a kept collection, and a server with keys."""

    user: User
    canaries: list[Canary]
    names: list[str]
    server: Server
    agent: str
    person: str

    def leaks(self, output: str, asked: str = "") -> list[str]:
        """Return what an output shows of secrets, beside what was asked, and of what is kept."""
        found = [part for each in leaks(output, self.canaries) for part in each.needles if part in output]
        kept = [HIDDEN] if HIDDEN in output and HIDDEN not in asked else []
        return [part for part in found if part not in asked] + kept


@pytest.fixture(scope="module")
def planted(make_user: MakeUser) -> Iterator[Planted]:
    user = make_user("planted")
    library, diary = user.home / "library", user.home / "diary"
    for folder in (library, diary):
        folder.mkdir()
    made = [*canaries(120), *accounts(24)]
    names = [f"library/{file.name}" for file in plant(library, made)]
    kept = f"---\nagents: false\n{HIDDEN}: 1\n---\n# {HIDDEN}\n\nThe backup server of {HIDDEN} is restored.\n"
    (library / f"{HIDDEN}.md").write_text(kept, encoding="utf-8")
    (diary / f"{HIDDEN}.md").write_text(kept.replace("agents: false\n", ""), encoding="utf-8")
    user.ok("collection", "add", str(library), "--formats", "markdown,transcript")
    user.ok("collection", "add", str(diary))
    user.ok("collection", "agents", "diary", "off")
    with (user.home / "config" / "qmd" / "index.yml").open("a", encoding="utf-8") as file:
        file.write("agents:\n  mask: [iban]\n")
    agent = user.ok("keys", "add", "robot", "--agent").strip()
    person = user.ok("keys", "add", "person").strip()
    with server_of(user) as server:
        yield Planted(user, made, names, server, agent, person)


def test_people_get_all_secrets(planted: Planted) -> None:
    texts = [
        planted.server.ask("POST", "/get", {"file": name}, key=planted.person).text for name in planted.names
    ]
    for canary, text in zip(planted.canaries, texts, strict=True):
        shown = json.dumps(json.loads(text), ensure_ascii=False)
        assert any(part in shown for part in canary.needles), (canary, shown)
    assert HIDDEN in planted.user.ok("search", "backup", "-n", "500")


@pytest.mark.parametrize("number", range(0, 120, 4))
def test_endpoints_give_no_secret_to_a_key_for_an_agent(number: int, planted: Planted) -> None:
    canary, name = planted.canaries[number], planted.names[number]
    first = canary.needles[0]
    asked = [
        *(
            ("/search", {"query": text, "limit": 3, "full": True, "explain": True})
            for text in _questions(number, canary)
        ),
        ("/grep", {"query": first[:6], "fixed": True}),
        ("/grep", {"query": "[^ ]{12,}", "limit": 500}),
        ("/query", {"query": f"note {number} backup", "facets": ["machine", "note", "alias", "title"]}),
        ("/pack", {"query": f"note {number} backup", "tokens": 2_000}),
        ("/recall", {"prompt": f"how is the backup of note {number} restored", "threshold": 0.0}),
        ("/get", {"file": name}),
        ("/multi_get", {"pattern": name}),
        ("/lint", {}),
        ("/cite", {"text": f'It says "the release waits for {first[:6]}" ({name}:3).'}),
    ]
    for path, body in asked:
        answer = planted.server.ask("POST", path, body, key=planted.agent)
        assert answer.status in (200, 404), answer
        shown = json.dumps(answer.json, ensure_ascii=False)
        assert not planted.leaks(shown, json.dumps(body, ensure_ascii=False)), (path, body, shown)


def _questions(number: int, canary: Canary) -> list[str]:
    first = canary.needles[0]
    return [f"note {number} backup", first[:60], f"{first[:6]}*", canary.kind]


def test_lists_and_pages_give_no_secret_to_a_key_for_an_agent(planted: Planted) -> None:
    paths = [
        "/status",
        "/fields?limit=100",
        "/collections",
        "/collections/library",
        "/contexts",
        "/",
        "/?q=backup",
    ]
    paths += [f"/fields/{name}" for name in ("machine", "note", "alias", "title", "tag", "path")]
    paths += [
        f"/documents/{quote(name)}/{part}"
        for name in planted.names
        for part in ("links", "outline", "similar")
    ]
    paths += [f"/read/{quote(name)}" for name in planted.names]
    paths += ["/collections/diary", f"/documents/library/{HIDDEN}.md/outline"]
    statuses: dict[str, set[int]] = {}
    for path in paths:
        answer = planted.server.ask("GET", path, key=planted.agent)
        statuses.setdefault(path.split("/")[1], set()).add(answer.status)
        assert answer.status in (200, 404), (path, answer)
        assert not planted.leaks(answer.text, path), path
    assert all(200 in found for found in statuses.values()), statuses
    total = planted.server.ok("GET", "/status", key=planted.agent)["total_documents"]
    assert total == len(planted.names)


@needs_git
def test_history_gives_no_secret_to_a_key_for_an_agent(planted: Planted) -> None:
    library = Repository(planted.user.home / "library")
    told = "; ".join(each.written for each in planted.canaries if each.shape and "\n" not in each.written)
    library.commit("2024-06-30T10:00:00Z", f"Add {told}", {})
    seen = set()
    for name in planted.names[::10]:
        listed = planted.server.ask("GET", f"/documents/{quote(name)}/history", key=planted.agent)
        past = planted.server.ask("POST", "/get", {"file": name, "as_of": "2025"}, key=planted.agent)
        for answer in (listed, past):
            assert answer.status in (200, 404), answer
            assert not planted.leaks(json.dumps(answer.json, ensure_ascii=False), name), (name, answer)
            seen.add(answer.status)
    assert 200 in seen
    hidden, past = f"library/{HIDDEN}.md", {"file": f"library/{HIDDEN}.md", "as_of": "2025"}
    assert planted.server.ask("GET", f"/documents/{hidden}/history", key=planted.agent).status == 404
    assert planted.server.ask("POST", "/get", past, key=planted.agent).status == 404
    assert planted.server.ok("GET", f"/documents/{hidden}/history", key=planted.person)["commits"]


def test_every_operation_that_reads_is_asked_above() -> None:
    read = {each.route for each in TABLE if each.audit is None}
    asked = {
        "/search",
        "/grep",
        "/vsearch",
        "/query",
        "/pack",
        "/recall",
        "/get",
        "/multi_get",
        "/cite",
        "/status",
    }
    asked |= {"/fields", "/fields/{name:path}", "/collections", "/collections/{name}", "/contexts", "/lint"}
    asked |= {f"/documents/{{path:path}}/{part}" for part in ("links", "outline", "similar", "history")}
    # One returns vectors of what the caller sends; the other needs a model, and has a test of its own.
    assert {route.partition(" ")[2] for route in read} - {"/embed", "/ask"} <= asked


@pytest.mark.parametrize("face", ["stdio", "http"])
def test_mcp_gives_no_secret(face: str, planted: Planted) -> None:
    """The key of a person is one for an agent at /mcp."""
    with agents() as start:
        agent = start(planted.user) if face == "stdio" else None

        def send(method: str, **params: object) -> str:
            if agent is not None:
                return json.dumps(agent.ask(method, params), ensure_ascii=False)
            answer = planted.server.mcp(method, key=planted.person, **params)
            return json.dumps(json.loads(answer.text), ensure_ascii=False)

        assert not planted.leaks(send("initialize", **INITIALIZE))
        for method in ("tools/list", "resources/list", "prompts/list", "resources/templates/list"):
            assert not planted.leaks(send(method))
        # Both ways lead to the same tools, so one has fewer.
        for number in range(0, 120, 6 if face == "stdio" else 40):
            canary, name = planted.canaries[number], planted.names[number]
            calls = [
                *(("query", {"query": text, "limit": 3}) for text in _questions(number, canary)),
                ("query", {"query": f"note {number} backup", "pack": True}),
                ("get", {"file": name, "links": True}),
                ("get", {"file": name, "quote": "the backup server and more"}),
                ("multi_get", {"pattern": name}),
                ("status", {}),
            ]
            for tool, arguments in calls:
                shown = send("tools/call", name=tool, arguments=arguments)
                assert not planted.leaks(shown, json.dumps(arguments, ensure_ascii=False)), (tool, arguments)
            assert not planted.leaks(send("resources/read", uri=f"qmd://{name}"))
        assert HIDDEN in send("resources/read", uri=f"qmd://library/{HIDDEN}.md")  # as it was asked for
        assert "not found" in send("resources/read", uri=f"qmd://library/{HIDDEN}.md").lower()


def test_hooks_and_packs_of_the_command_give_no_secret(planted: Planted) -> None:
    for number in (3, 24, 40):
        data = json.dumps(
            {"session_id": "1", "prompt": f"How is the backup of note {number} restored?"}
        ).encode()
        for event in ("session", "prompt"):
            answer = planted.user.run("hook", "run", event, "--timeout", "60", stdin=data)
            assert answer.returncode == 0
            assert not planted.leaks(answer.stdout)
        for form in ((), ("--json",)):
            pack = planted.user.ok("pack", f"note {number} backup server restored", "--tokens", "3000", *form)
            assert "library/note-" in pack
            assert not planted.leaks(pack), pack
    people = planted.user.ok("pack", "backup server restored release", "--tokens", "60000", "--secrets")
    assert planted.leaks(people)


#: What the commands that print documents, or name them, are given. `{}` is a document.
READ: dict[str, tuple[tuple[str, ...], ...]] = {
    "search": (("backup", "-n", "500", "--json"), ("backup", "--full"), (HIDDEN,)),
    "grep": (("backup", "-n", "500", "--json"), ("[^ ]{12,}", "-n", "900"), ("-F", HIDDEN)),
    "saved": ((), ("--json",)),
    "synonyms": ((), ("--json",)),
    "vsearch": (("the backup server", "--json"),),
    "query": (("backup server restored", "--explain", "--facets", "machine,note,alias,title"),),
    "similar": (("{}", "--full"),),
    "lint": ((), ("--json",)),
    "pack": (("the backup server", "--tokens", "3000"),),
    "get": (("{}",), ("{}:1-4", "--json"), ("{}", "--as-of", "2025"), (f"library/{HIDDEN}.md",)),
    "multi-get": (("library/*", "--full"), ("library/*", "--full", "--xml"), ("diary/*",), ("-",)),
    "ls": ((), ("library",), ("library", "--json", "--full-path"), ("diary",), ("--authors",)),
    "outline": (("{}",),),
    "history": (("{}",), ("{}", "--json")),
    "links": (("{}",), ("--unresolved", "--json"), ("--orphans",), ("{}", "--backlinks")),
    "fields": ((), *((name,) for name in ("machine", "note", "alias", "title", "path", HIDDEN))),
    "tags": ((),),
    "cite": (("check", "-"),),
    "marks": ((), ("--json",)),
    "collection": (("list",), ("show", "library"), ("show", "diary")),
    "context": (("list",), ("check",)),
    "status": ((), ("--json",)),
    "models": ((),),
    "why": (("{}", "backup"),),
    "bench": (("--from-marks",),),
    "doctor": ((), ("--secrets",), ("--stale",)),
    "update": ((),),
    "index": ((),),
    "embed": ((),),
    "watch": ((),),
    "cleanup": (("--dry-run",),),
    "backup": ((),),
    "store": (("copy", ".", "other.sqlite"),),
    "pin": (("backup", "{}"),),
    "unpin": (("backup",),),
    "mark": (("backup", "{}", "good"),),
    "unmark": (("backup",),),
    "add": ((".",),),
    "keys": (("list",),),
    "hook": (("status",),),
}
#: Commands that print no document, or are not about the index.
OTHERS = {"archive", "completion", "help", "init", "mcp", "migrate", "open", "pull", "restore", "server"}
OTHERS |= {"skill", "trust", "project", "agent", "vector-search", "deep-search", "pick", "ask", "ocr"}
#: Commands that agents may not call.
REFUSED = {"why", "bench", "watch", "cleanup", "backup", "store", "pin", "unpin", "mark", "unmark", "add"}
REFUSED |= {"update", "index", "embed", "models", "doctor", "keys", "hook"}


@pytest.mark.parametrize("by", ["server", "itself"])
@pytest.mark.parametrize("command", READ)
def test_command_for_agents_gives_no_secret(command: str, by: str, planted: Planted) -> None:
    # A server has the days of its own zone, so it leaves commands of another one to themselves.
    environ = {"TZ": "UTC" if by == "server" else "Asia/Tokyo"}
    draft = f'It says "the backup server and more" ({planted.names[3]}:3).'
    people = []
    for words in READ[command]:
        for number, name in enumerate(planted.names[::10] if "{}" in " ".join(words) else [""]):
            given = [word.replace("{}", name) for word in words]
            stdin = "\n".join(planted.names).encode() if command == "multi-get" else draft.encode()
            switched = environ if number % 2 else environ | {"QMD_AGENT": "1"}
            options = ["--agent"] if number % 2 else []
            done = planted.user.call(*options, command, *given, stdin=stdin, **switched)
            shown = done.stdout + done.stderr
            assert not planted.leaks(shown, " ".join(given)), (given, shown)
            assert "internal error" not in shown, shown
            assert not (command in REFUSED and done.returncode == 0), shown
            if command not in REFUSED and by == "itself":
                people.append(planted.user.call(command, *given, stdin=stdin, **environ).stdout)
    if command in ("search", "get", "multi-get", "ls", "fields", "query", "similar", "links"):
        assert by == "server" or any(planted.leaks(shown) for shown in people)


def test_every_command_is_called_above_for_an_agent() -> None:
    assert {*READ, *OTHERS} == {name for name in commands.LOADABLE.builtin if " " not in name} | {
        *commands.OLDER
    }
    others = FOR_AGENTS - {"qmd", "help", "mcp", "hook run", "skill show", "mark list"}
    assert {*READ} >= {name.split()[0] for name in others} - {"archive"}


#: All that agents may run: it reads, or speaks with the agent on stdin and stdout.
FOR_AGENTS = {
    *("qmd", "help", "search", "vsearch", "query", "similar", "pack", "get", "multi-get", "ls", "outline"),
    *(
        "grep",
        "saved",
        "synonyms",
        "links",
        "fields",
        "tags",
        "history",
        "lint",
        "cite check",
        "mark list",
        "status",
        "mcp",
        "hook run",
    ),
    *("collection list", "collection show", "context list", "skill show"),
    *(f"archive {name}" for name in ("authors", "posts", "read", "search", "mcp")),
}
#: Options of these that are for people.
FOR_PEOPLE = {"pack --secrets", "cite check --fix", "mcp --http", "archive mcp --http"} | {
    f"{name} --save" for name in ("search", "vsearch", "query", "vector-search", "deep-search")
}


def _commands(group: Group = app, path: str = "") -> Iterator[tuple[str, Command]]:
    """Yield all commands with their paths, but groups that only show their help."""
    if group.acts_alone:
        yield path.strip() or "qmd", group
    if group.otherwise is not None:
        yield path.strip(), group.otherwise
    for name in [*group.names(), *(group.aliases if group is app else ())]:
        found = named([name])[0] if name in group.aliases else group.find(name)
        if isinstance(found, Group):
            yield from _commands(found, f"{path} {name}")
        else:
            yield f"{path} {name}".strip(), found


def _words(command: Command) -> list[str]:
    """Return words for what a command needs."""
    needed = [each for each in command.parameters if each.required]
    values = [each.kind[0] if isinstance(each.kind, tuple) else "1" for each in needed]
    return [word for each, value in zip(needed, values, strict=True) for word in (*each.names[:1], value)]


def _files(user: User) -> dict[Path, bytes]:
    """Return the files of a user, but those of the watcher and of SQLite, which change by themselves."""
    return {
        path: path.read_bytes()
        for path in user.home.rglob("*")
        if path.is_file() and path.suffix in (".yml", ".yaml", ".json", ".md", ".toml", ".service", ".pid")
    }


def test_agents_may_run_what_the_table_says_and_no_more(planted: Planted) -> None:
    found = dict(_commands())
    assert len(found) > 70
    agents = {name for name, each in found.items() if each.agents}
    assert agents - {*commands.OLDER} == FOR_AGENTS
    options = {
        f"{name} {option.shown}"
        for name, each in found.items()
        if each.agents
        for option in each.parameters
        if not option.agents
    }
    assert options == FOR_PEOPLE
    before = _files(planted.user)
    for name, each in found.items():
        if not each.agents:
            for options, environ in ((["--agent"], {}), ([], {"QMD_AGENT": "1"})):
                done = planted.user.call(*options, *name.split(), *_words(each), **environ)
                assert (done.returncode, done.stdout) == (2, ""), (name, done)
                assert "agents may not run this command" in done.stderr, (name, done)
            if all("--agent" not in option.names for option in each.parameters):
                last = planted.user.call(*name.split(), *_words(each), "--agent")
                assert last.returncode == 2, (name, last)
    for name in FOR_PEOPLE:
        done = planted.user.call("--agent", *name.split(), "draft.md")
        assert (done.returncode, done.stdout) == (2, ""), done
        assert "is for people" in done.stderr
    assert _files(planted.user) == before


def test_hints_for_agents_name_commands_for_agents(planted: Planted) -> None:
    missing = planted.user.call("--agent", "search", "the backup", "-c", "diary", TZ="Asia/Tokyo")
    assert missing.returncode != 0
    ambiguous = planted.user.call("--agent", "get", f"{planted.names[0]}#Nothing", TZ="Asia/Tokyo")
    assert "Hint: it has " in ambiguous.stderr, ambiguous.stderr


def test_keys_list_shows_keys_for_agents(planted: Planted) -> None:
    listed = {key["name"]: key["agent"] for key in json.loads(planted.user.ok("keys", "list", "--json"))}
    assert listed == {"robot": True, "person": False}


def test_doctor_lists_places_of_secrets(planted: Planted) -> None:
    listed = json.loads(planted.user.ok("doctor", "--secrets", "--json"))
    assert {place["file"] for place in listed} >= set(planted.names)
    assert not planted.leaks(json.dumps(listed).replace(HIDDEN, ""))


def test_archive_gives_no_secret(planted: Planted, tmp_path: Path) -> None:
    posts = tmp_path / "archive" / "ann" / "motions"
    posts.mkdir(parents=True)
    shapes = [canary for canary in planted.canaries if canary.shape]
    made = [*shapes[:20], *shapes[-8:]]
    for file in plant(posts, made):
        file.rename(file.with_suffix(".md"))
    with agents() as start:
        agent = start(planted.user, "--data", str(tmp_path / "archive"), command=("archive", "mcp"))
        agent.result("initialize", **INITIALIZE)
        for canary, file in zip(made, sorted(posts.iterdir()), strict=True):
            for tool, arguments in (
                ("read_post", {"path": f"ann/motions/{file.name}"}),
                ("search", {"query": canary.needles[0][:30]}),
                ("search", {"query": "backup"}),
                ("list_posts", {"author": "ann"}),
            ):
                shown = json.dumps(agent.call(tool, **arguments), ensure_ascii=False)
                assert not planted.leaks(shown, json.dumps(arguments)), (tool, arguments, shown)
