"""Portable index files, written by `qmd store backup --portable` and read by `--index-file`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pyrage
import pytest

import qmd
from qmd.installation import install_command
from tests.agents import agents
from tests.clients import server_of
from tests.edge.cli.portable.library import HIDDEN, LIBRARY, hits, refusal
from tests.users import User
from tests.waiting import until

pytestmark = pytest.mark.slow


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
    owner.ok("cleanup")
    assert plain() == []
    for path in tmp_path.iterdir():
        os.utime(path, (1, 1))
    owner.run("backup", "--portable", "--encrypt", str(target), QMD_PASSPHRASE="open sesame")
    assert plain() == []
    assert target.read_bytes().startswith(b"age-encryption.org/v1")
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_backup_deletes_what_killed_backups_of_other_times_left(owner: User, tmp_path: Path) -> None:
    old = tmp_path / "qmd-index-20240102-030405.sqlite.0123456789abcdef.tmp"
    other = tmp_path / "qmd-work-20240102-030405.sqlite.0123456789abcdef.tmp"
    for path in (old, other):
        path.write_bytes(b"SQLite format 3\0")
        os.utime(path, (1, 1))
    assert owner.run("backup", str(tmp_path)).returncode == 0
    assert not old.exists()
    assert other.exists()


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


def test_backup_encrypt_names_the_missing_extra(owner: User, tmp_path: Path) -> None:
    (tmp_path / "pyrage.py").write_text("raise ImportError('not here')")
    path = f"{tmp_path}{os.pathsep}{owner.environ['PYTHONPATH']}"
    done = owner.run("backup", "--portable", "--encrypt", "x", PYTHONPATH=path, QMD_PASSPHRASE="p")
    assert done.returncode == 1
    assert install_command("crypt") in done.stderr


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
