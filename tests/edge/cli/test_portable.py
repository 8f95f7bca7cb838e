"""Portable index files, written by `qmd backup --portable` and read by `--index-file`."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw
import pyrage
import pytest

import qmd
from tests.agents import agents
from tests.clients import server_of
from tests.users import MakeUser, User
from tests.waiting import until

pytestmark = pytest.mark.slow

#: A word in every text, title, name and context of the collection that is not exported.
HIDDEN = "zanzibar"
LIBRARY = {
    "notes/ops/kestrel.md": "---\ntags: [bird]\n---\n# Kestrel\n\nThe kestrel hovers. See [[plan]].\n",
    "notes/plan.md": "# Plan\n\nThe plan for the budget, above all falcons.\n",
    "talks/talk.md": "# Talk\n\nA talk about the kestrel.\n",
    f"{HIDDEN}/{HIDDEN}.md": f"---\ntags: [{HIDDEN}]\n---\n# {HIDDEN} kestrel\n\nThe kestrel of {HIDDEN}.\n",
}


@pytest.fixture(scope="module")
def owner(make_user: MakeUser) -> User:
    """A user with three embedded collections, one of which has an update command. Shared: tests only read."""
    user = make_user("owner")
    for path, text in LIBRARY.items():
        file = user.home / "library" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name in ("notes", "talks", HIDDEN):
        user.ok("collection", "add", str(user.home / "library" / name), "--name", name)
        user.ok("context", "add", f"qmd://{name}", f"All of {name}")
    user.ok("collection", "update-cmd", "notes", "echo", "updated")
    user.ok("embed", "-q")
    user.ok("query", f"what is {HIDDEN}", "-q")  # leaves a query in the cache of the index
    return user


@pytest.fixture(scope="module")
def portable(owner: User) -> Path:
    file = owner.home / "shared" / "out.qmd"
    file.parent.mkdir()
    owner.ok("backup", "--portable", "-c", "notes", "-c", "talks", str(file))
    return file


@pytest.fixture(scope="module")
def guest(make_user: MakeUser, portable: Path) -> User:
    """Another user, who has no index, with a copy of the file in a read-only folder."""
    user = make_user("guest")
    folder = user.home / "inbox"
    folder.mkdir()
    shutil.copy(portable, folder / "team.qmd")
    return user


@pytest.fixture
def file(guest: User) -> Iterator[str]:
    """The guest's file. The test fails if it changes or another file appears beside it."""
    path = guest.home / "inbox" / "team.qmd"
    before = path.read_bytes()
    path.parent.chmod(0o500)
    yield str(path)
    path.parent.chmod(0o700)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["team.qmd"]


@contextmanager
def forged(guest: User, source: str) -> Iterator[tuple[sqlite3.Connection, str]]:
    """Copy a file, and open the copy to change it."""
    path = guest.home / "forged.qmd"
    shutil.copy(source, path)
    path.chmod(0o600)
    connection = sqlite3.connect(path)
    try:
        yield connection, str(path)
        connection.commit()
    finally:
        connection.close()


def hits(user: User, *args: str) -> list[str]:
    return [hit["file"] for hit in json.loads(user.ok(*args, "--json", "-q"))]


def refusal(user: User, *args: str, **environ: str) -> str:
    """Return the error and hint of a command. The test fails if the command succeeds."""
    result = user.invoke(*args, **environ)
    assert result.exit_code in (1, 2), result.output
    lines = result.stderr.strip().splitlines()
    assert lines[0].startswith("Error: "), result.stderr
    assert len(lines) <= 2
    assert "internal error" not in lines[0]
    return result.stderr


def test_portable_file_has_no_local_paths_and_no_other_collections(owner: User, portable: Path) -> None:
    data = portable.read_bytes()
    for word in (str(owner.home), HIDDEN, "echo updated"):
        assert word.encode() not in data, word
    assert data.count(b"kestrel") >= 1
    assert [entry.name for entry in portable.parent.iterdir()] == ["out.qmd"]
    with closing(apsw.Connection(str(portable), apsw.SQLITE_OPEN_READONLY)) as db:
        assert list(db.execute("SELECT count(*) FROM llm_cache")) == [(0,)]
        assert list(db.execute("SELECT DISTINCT inode FROM documents")) == [(0,)]
        words = {term for (term,) in db.execute("SELECT term FROM documents_terms")}
        assert HIDDEN not in words


def test_portable_file_answers_all_reading_commands(guest: User, owner: User, file: str) -> None:
    for command, query in (("search", "kestrel"), ("vsearch", "a bird of prey"), ("query", "bird of prey")):
        expected = hits(owner, command, query, "-c", "notes", "-c", "talks")
        assert expected
        assert hits(guest, "--index-file", file, command, query) == expected
    assert guest.ok("get", "notes/plan.md", "--index-file", file) == LIBRARY["notes/plan.md"]
    assert "notes/ops/kestrel.md" in guest.ok("--index-file", file, "multi-get", "notes/**")
    assert "notes/ops/kestrel.md" in guest.ok("--index-file", file, "ls", "notes")
    assert "bird" in guest.ok("--index-file", file, "tags")
    assert "All of notes" in guest.ok("--index-file", file, "context", "list")
    assert hits(guest, "search", "tag:bird", "--index-file", file) == ["qmd://notes/ops/kestrel.md"]
    status = json.loads(guest.ok("--index-file", file, "status", "--json"))
    assert (status["portable"], status["texts"], status["total_documents"]) == (True, True, 3)
    assert [each["path"] for each in status["collections"]] == [f"{file}/notes", f"{file}/talks"]
    assert not (guest.home / "cache" / "qmd" / "index.sqlite").exists()


def test_portable_file_can_be_read_in_another_process(guest: User, file: str) -> None:
    done = guest.run("--index-file", file, "query", "kestrel")
    assert (done.returncode, done.stderr) == (0, "")
    assert "notes/ops/kestrel.md" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        *("update", "embed", "cleanup", "collection remove notes", "context rm qmd://notes", "backup"),
        *("doctor", "add .", "index", "restore x", "init", "pin q notes/plan.md", "watch"),
    ],
)
def test_index_file_option_refuses_writing_commands(guest: User, file: str, command: str) -> None:
    assert "cannot be used with --index-file" in refusal(guest, "--index-file", file, *command.split())
    assert "cannot be used with --index-file" in refusal(guest, *command.split(), "--index-file", file)


def test_index_file_option_refuses_another_index(guest: User, file: str) -> None:
    assert "without --index" in refusal(guest, "--index-file", file, "--index", "work", "search", "x")


def test_portable_file_without_texts_finds_documents(owner: User, tmp_path: Path) -> None:
    file = str(tmp_path / "bare.qmd")
    owner.ok("backup", "--portable", "--without-texts", "-c", "notes", file)
    assert b"hovers. See" not in Path(file).read_bytes()
    assert hits(owner, "--index-file", file, "query", "bird of prey")[0] == "qmd://notes/ops/kestrel.md"
    shown = owner.ok("--index-file", file, "search", "kestrel", "--full")
    assert "left out of this index file" in shown
    assert "left out" in refusal(owner, "--index-file", file, "get", "notes/plan.md")
    assert "left out" in refusal(owner, "--index-file", file, "outline", "notes/plan.md")
    assert "texts of documents were left out" in owner.ok("--index-file", file, "status")


def test_portable_file_does_not_compare_vectors_of_another_model(guest: User, file: str) -> None:
    other = {"QMD_EMBED_MODEL": "openai:tiny@http://127.0.0.1:9/v1"}
    assert "by the model 'multilingual-e5-small'" in refusal(
        guest, "--index-file", file, "vsearch", "bird", **other
    )
    found = guest.invoke("--index-file", file, "query", "kestrel", "--json", **other)
    assert found.exit_code == 0
    assert [hit["file"] for hit in json.loads(found.stdout)]
    assert "searched by words only" in found.stderr


def test_portable_file_without_vectors_is_searched_by_words(owner: User, user: User) -> None:
    user.ok("collection", "add", str(user.notes))
    file = str(user.home / "words.qmd")
    assert "no vectors" in user.ok("backup", "--portable", file)
    assert "no vectors" in refusal(user, "--index-file", file, "vsearch", "performance")
    assert hits(user, "--index-file", file, "query", "performance")


def test_backup_portable_replaces_a_file_only_with_force(owner: User, tmp_path: Path) -> None:
    file = tmp_path / "out.qmd"
    file.write_text("precious")
    assert "is there already" in refusal(owner, "backup", "--portable", str(file))
    assert "Collection not found" in refusal(owner, "backup", "--portable", "-f", "-c", "nope", str(file))
    assert file.read_text() == "precious"
    owner.ok("backup", "--portable", "--force", str(file))
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.qmd"]
    assert len(hits(owner, "--index-file", str(file), "search", "kestrel")) == 3


@pytest.mark.parametrize("options", [[], ["--without-texts"]])
def test_restore_refuses_a_portable_file(owner: User, user: User, options: list[str]) -> None:
    file = str(user.home / "out.qmd")
    owner.ok("backup", "--portable", *options, file)
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    told = refusal(user, "restore", "--config", file)
    assert "is a portable file" in told
    assert "qmd --index-file FILE search" in told
    assert "notes/deploy.md" in user.ok("search", "deploying")


@pytest.mark.parametrize("option", ["-c notes", "--without-texts", "--encrypt", "--recipient age1x"])
def test_options_of_portable_files_need_portable(owner: User, option: str) -> None:
    assert "needs --portable" in refusal(owner, "backup", *option.split())


def test_backup_encrypt_uses_a_passphrase(owner: User, guest: User, tmp_path: Path) -> None:
    file = str(tmp_path / "out.age")
    done = owner.invoke("backup", "--portable", "--encrypt", file, QMD_PASSPHRASE="open sesame")
    assert "encrypted" in done.stdout
    assert Path(file).read_bytes().startswith(b"age-encryption.org/v1\n-> scrypt")
    found = guest.invoke("--index-file", file, "search", "falcons", "--json", QMD_PASSPHRASE="open sesame")
    assert [hit["file"] for hit in json.loads(found.stdout)] == ["qmd://notes/plan.md"]
    assert "set QMD_PASSPHRASE" in refusal(guest, "--index-file", file, "ls")
    assert "passphrase is wrong" in refusal(guest, "--index-file", file, "ls", QMD_PASSPHRASE="x")
    assert "needs a terminal" in refusal(owner, "backup", "--portable", "--encrypt", str(tmp_path / "b"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.age"]


def test_killed_backup_encrypt_leaves_no_plain_text(owner: User, tmp_path: Path) -> None:
    target = tmp_path / "out.age"
    index = owner.home / "cache" / "qmd" / "index.sqlite"
    command = [sys.executable, "-m", "qmd", "backup", "--portable", "--encrypt", str(target)]
    environ = owner.environ | {"QMD_PASSPHRASE": "open sesame"}
    before = set(index.parent.iterdir())

    def plain() -> list[Path]:
        new = [path for path in index.parent.iterdir() if path not in before]
        found = []
        for path in [*new, *tmp_path.iterdir()]:
            with suppress(FileNotFoundError):  # a journal, which has just been deleted
                found += [path] if path.read_bytes().startswith(b"SQLite") else []
        return found

    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as process:
        until(plain)
        process.kill()
    assert {path.parent for path in plain()} == {index.parent}
    owner.run("backup", "--portable", "--encrypt", str(target), QMD_PASSPHRASE="open sesame")
    assert plain() == []
    assert target.read_bytes().startswith(b"age-encryption.org/v1")


def test_backup_recipient_is_decrypted_with_an_identity(owner: User, guest: User, tmp_path: Path) -> None:
    identity = pyrage.x25519.Identity.generate()
    keys = guest.home / "keys.txt"
    keys.write_text(f"# my key\n{identity}\n", encoding="utf-8")
    file = str(tmp_path / "out.age")
    owner.ok("backup", "--portable", "--recipient", str(identity.to_public()), file)
    decrypted = guest.invoke("--index-file", file, "get", "notes/plan.md", QMD_IDENTITY=str(keys))
    assert decrypted.stdout == LIBRARY["notes/plan.md"]
    keys.write_text(str(pyrage.x25519.Identity.generate()), encoding="utf-8")
    assert "no key of" in refusal(guest, "--index-file", file, "ls", QMD_IDENTITY=str(keys))
    assert "set QMD_IDENTITY" in refusal(guest, "--index-file", file, "ls")
    assert "not an age recipient" in refusal(owner, "backup", "--portable", "--recipient", "age1x", file)


def test_index_export_writes_a_file_that_open_index_file_reads(owner: User, tmp_path: Path) -> None:
    path, file = owner.home / "cache" / "qmd" / "index.sqlite", tmp_path / "out.qmd"
    config = owner.home / "config" / "qmd" / "index.yml"
    with qmd.open_index(path, config=config, environ=owner.environ) as index:
        made = index.export(str(file), ["notes"], passphrase="p")
    assert (made.documents, made.encrypted, made.texts) == (2, True, True)
    with qmd.open_index_file(file, passphrase="p", environ=owner.environ) as index:
        assert [hit.path for hit in index.search("falcons").hits] == ["plan.md"]
        with pytest.raises(qmd.ForbiddenError):
            index.update()
        with pytest.raises(qmd.ForbiddenError):
            index.doctor()


def test_server_of_a_portable_file_obeys_its_keys(guest: User, file: str) -> None:
    name = ("--index-file", file)
    limited = guest.ok("keys", "add", "limited", "-c", "talks", *name).strip()
    everything = guest.ok("keys", "add", "all", *name).strip()
    with server_of(guest, *name, QMD_WATCH="1") as server:
        found = server.ask("POST", "/search", {"query": "kestrel"}, key=limited).json
        assert [hit["file"] for hit in found["results"]] == ["talks/talk.md"]
        assert server.ask("GET", "/collections/notes", key=limited).status == 404
        assert server.ask("POST", "/search", {"query": "kestrel"}).status == 401
        for method, path, body in (
            ("POST", "/update", {}),
            ("POST", "/index", {}),
            ("POST", "/collections/add", {"path": str(guest.notes), "name": "n"}),
            ("DELETE", "/collections/notes", None),
        ):
            assert server.ask(method, path, body, key=everything).status == 403, path
        status = server.ask("GET", "/status", key=everything).json
        assert status["watching"] == "off"
        # The search commands use the server if it runs, because its models are loaded.
        assert hits(guest, "query", "falcons", "--mode", "server", *name)[0] == "qmd://notes/plan.md"


def test_web_page_of_a_portable_file_offers_no_changes(guest: User, file: str) -> None:
    for key in ("limited", "all"):
        guest.invoke("keys", "remove", key, "--index-file", file)
    with server_of(guest, "--index-file", file) as server:
        page = server.ask("GET", "/?q=falcons").body.decode()
        assert "plan.md" in page
        assert "/upkeep/scan" not in server.ask("GET", "/upkeep").body.decode()
        document = server.ask("GET", "/document/notes/plan.md")
        assert file not in document.body.decode()


def test_mcp_reads_a_portable_file_over_stdio(guest: User, file: str) -> None:
    with agents() as start:
        agent = start(guest, "--index-file", file)
        greeting = agent.greet()
        assert "3 documents" in greeting["instructions"]
        # The file may come from anybody, so its contexts are not told to agents.
        assert "All of notes" not in greeting["instructions"]
        assert "falcons" in json.dumps(agent.call("get", file="notes/plan.md"))
        found = agent.call("search", query="kestrel")["structuredContent"]
        assert len(found["results"]) == 2


def test_mcp_install_names_the_index_file(guest: User, file: str) -> None:
    shown = guest.ok("mcp", "install", "--client", "claude", "--dry-run", "--index-file", file)
    assert json.dumps(file) in shown


def test_index_file_of_another_kind_is_refused_in_one_line(guest: User, owner: User, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    sqlite3.connect(tmp_path / "other").execute("CREATE TABLE t (a)").connection.close()
    owner.ok("backup", str(tmp_path / "backup"))
    (tmp_path / "age").write_bytes(b"age-encryption.org/v1\n-> scrypt " + b"x" * 100)
    expected = {
        "text": "is not an index file",
        "empty": "is empty",
        "pipe": "is not a file",
        "other": "made by another program",
        "backup": "not a portable one",
        "missing": "cannot be read",
        ".": "is not a file",
        "age": "cannot be decrypted",
    }
    for name, message in expected.items():
        said = refusal(guest, "--index-file", str(tmp_path / name), "search", "x", QMD_PASSPHRASE="p")
        assert message in said, name


#: Statements that change a file, and the error that they cause.
FORGERIES = {
    "PRAGMA user_version = 1000": "newer qmd",
    "PRAGMA user_version = 3": "before 1.0.0",
    "PRAGMA user_version = 0": "cannot be portable",
    "CREATE TRIGGER t AFTER INSERT ON meta BEGIN SELECT 1; END": "other tables than an index",
    "CREATE VIEW v AS SELECT 1": "other tables than an index",
    "CREATE INDEX i ON meta(length(value))": "other tables than an index",
    "DROP TABLE links": "other tables than an index",
    "DELETE FROM meta WHERE key = 'portable'": "not a portable one",
    "UPDATE meta SET value = '[' WHERE key = 'portable'": "its description cannot be read",
    f"UPDATE meta SET value = '{'[' * 100_000}' WHERE key = 'portable'": "its description cannot be read",
    "UPDATE meta SET value = 'collections: [' WHERE key = 'portable config'": "index.yml",
    "UPDATE documents SET path = '../../../../../etc/passwd' WHERE title = 'Talk'": "outside its collection",
    "UPDATE documents SET path = '/etc/passwd' WHERE title = 'Talk'": "outside its collection",
    "UPDATE documents SET path = x'2e2e' WHERE title = 'Talk'": "wrong type",
    "UPDATE documents SET title = zeroblob(10)": "wrong type",
    "UPDATE contents SET text = x'ff'": "wrong type",
    "UPDATE collections SET name = x'00' WHERE name = 'talks'": "wrong type",
    "UPDATE collections SET root = '[[['": "a collection has a folder",
}


@pytest.mark.parametrize("statement", FORGERIES, ids=lambda statement: statement[:60])
def test_forged_portable_file_is_refused_in_one_line(guest: User, portable: Path, statement: str) -> None:
    with forged(guest, str(portable)) as (db, path):
        db.execute(statement)
    assert FORGERIES[statement] in refusal(guest, "--index-file", path, "search", "kestrel")


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE OR IGNORE collections SET id = {1 << 62}",
        "UPDATE common_terms SET documents = -1",
        "UPDATE OR IGNORE field_names SET id = -1",
        "UPDATE OR IGNORE field_counts SET value_id = -1",
        "UPDATE field_values SET value = 'x'",
        f"UPDATE contents SET bytes = {1 << 62}",
    ],
)
def test_forged_number_in_a_portable_file_is_an_error_of_the_file(
    guest: User, tmp_path: Path, statement: str
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in "abcd":
        (notes / f"{name}.md").write_text(f"---\nyear: 2024\nx: {name}\n---\n# {name}\n\nkestrel\n")
    source = str(tmp_path / "source.qmd")
    with qmd.open_index(tmp_path / "i.sqlite", config=tmp_path / "i.yml", environ=guest.environ) as index:
        index.add_collection(str(notes))
        index.update()
        index.export(source)
    with forged(guest, source) as (db, path):
        assert db.execute(statement).rowcount
    with (
        pytest.raises(qmd.StoreError, match="is damaged"),
        qmd.open_index_file(path, environ=guest.environ) as index,
    ):
        index.fields()
        index.search("kestrel")
        index.status()


def test_forged_portable_configuration_has_no_effect(guest: User, portable: Path) -> None:
    text = (
        "collections: {notes: {path: /etc, update: touch pwned, ignore: ['*']}, talks: {path: ../..}}\n"
        "models: {embed: 'openai:spy@http://127.0.0.1:9/v1'}\nstore: milvus://127.0.0.1:9/x\n"
        "editor_uri: 'vscode://file/{path}'\narchive: /etc\n"
    )
    with forged(guest, str(portable)) as (db, path):
        db.execute("UPDATE meta SET value = ? WHERE key = 'portable config'", (text,))
    status = json.loads(guest.ok("--index-file", path, "status", "--json"))
    assert [each["path"] for each in status["collections"]] == [f"{path}/notes", f"{path}/talks"]
    assert status["models"]["embed"] == "multilingual-e5-small"
    assert hits(guest, "--index-file", path, "vsearch", "bird of prey")
    assert "/etc" not in guest.ok("--index-file", path, "search", "kestrel", "--full-path")


def test_portable_file_with_absurd_vector_sizes_is_harmless(guest: User, portable: Path) -> None:
    for statement in (
        "UPDATE embedders SET dimension = 1000000000",
        "UPDATE vectors_vec SET slots = 1000000000",
        "UPDATE vectors_vec SET codes = zeroblob(5)",
        "UPDATE vectors_vec SET ids = 'text', scales = 7",
        "UPDATE content_vectors SET vector = x'00', start = 1000000000",
    ):
        with forged(guest, str(portable)) as (db, path):
            db.execute(statement)
        result = guest.invoke("--index-file", path, "vsearch", "bird of prey")
        assert result.exit_code == 0 or result.stderr.startswith("Error: "), result.output
        assert "internal error" not in result.stderr
        assert "Traceback" not in result.stderr


def test_damaged_portable_files_never_cause_a_traceback(guest: User, portable: Path) -> None:
    data, path = portable.read_bytes(), guest.home / "damaged.qmd"
    generator = random.Random(7)
    damaged: list[bytes] = [data[: len(data) * share // 8] for share in range(1, 8)]
    for _ in range(16):
        copy = bytearray(data)
        for _ in range(generator.choice((1, 30, 300))):
            copy[generator.randrange(100, len(copy))] = generator.randrange(256)
        damaged.append(bytes(copy))
    for copy in damaged:
        path.write_bytes(copy)
        for command in ("search kestrel", "get notes/plan.md"):
            result = guest.invoke("--index-file", str(path), *command.split())
            if result.exit_code:
                assert re.match("Error: (?!internal)", result.stderr), result.output


def test_portable_file_replaced_while_open_is_reported(guest: User, portable: Path) -> None:
    path = guest.home / "replaced.qmd"
    shutil.copy(portable, path)
    with qmd.open_index_file(path, environ=guest.environ) as index:
        assert index.search("kestrel").hits
        shutil.copy(portable, guest.home / "new")
        (guest.home / "new").replace(path)
        with pytest.raises(qmd.StoreError, match="has changed since it was opened"):
            index.search("falcons")


def test_portable_file_of_the_first_version_can_be_read(guest: User, portable: Path) -> None:
    # The file of an earlier version is migrated in memory.
    with forged(guest, str(portable)) as (db, path):
        (version,) = db.execute("PRAGMA user_version").fetchone()
    assert version >= 9
    assert hits(guest, "--index-file", path, "search", "falcons") == ["qmd://notes/plan.md"]


def test_backup_encrypt_names_the_missing_extra(owner: User, tmp_path: Path) -> None:
    (tmp_path / "pyrage.py").write_text("raise ImportError('not here')")
    path = f"{tmp_path}{os.pathsep}{owner.environ['PYTHONPATH']}"
    done = owner.run("backup", "--portable", "--encrypt", "x", PYTHONPATH=path, QMD_PASSPHRASE="p")
    assert done.returncode == 1
    assert "qmd-python[crypt]" in done.stderr


def test_portable_file_keeps_the_scale_of_scores(owner: User, tmp_path: Path) -> None:
    portable = str(tmp_path / "raw.qmd")
    config = owner.home / "config" / "qmd" / "index.yml"
    before = config.read_text(encoding="utf-8")
    config.write_text(f"scores: raw\n{before}", encoding="utf-8")
    try:
        owner.ok("backup", "--portable", portable)
    finally:
        config.write_text(before, encoding="utf-8")
    (hit, *_) = json.loads(
        owner.ok("--index-file", portable, "search", "kestrel", "--explain", "--json", "-n", "1")
    )
    assert "likelihood" not in hit["explain"]
