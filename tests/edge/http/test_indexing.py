"""`/index`, `/update` and `/embed`, with exact answers."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients import Client, Server, server_of
from tests.users import User

pytestmark = pytest.mark.slow


@pytest.fixture
def filled(server: Server) -> Server:
    server.post("/collections/add", name="n", path="~/folder")
    return server


def report(collection: str, **fields: Any) -> dict[str, Any]:
    nothing = {"added": 0, "updated": 0, "unchanged": 0, "removed": 0, "problems": [], "notices": []}
    return {"collection": collection, **nothing, "error": None, **fields}


def test_index_endpoint_finds_new_changed_and_deleted_files(filled: Server, owner: User) -> None:
    folder = owner.home / "folder"
    (folder / "new.md").write_text("# New\n", encoding="utf-8")
    (folder / "a.md").write_text("# Changed\n", encoding="utf-8")
    (folder / "b.md").unlink()
    assert filled.ok("POST", "/index") == {
        "status": "indexed",
        "collections": 1,
        "total_documents": 3,
        "reports": [report("n", added=1, updated=1, unchanged=1, removed=1)],
        "content": "Indexed 1 collection: 3 documents",
    }


def test_index_and_update_pluralize_their_nouns(filled: Server, owner: User) -> None:
    filled.post("/collections/add", name="m", path="~/folder/sub")
    assert filled.post("/index")["content"] == "Indexed 2 collections: 4 documents"
    assert filled.post("/update")["content"] == "Updated 2 collections"
    filled.ok("DELETE", "/collections/n")
    assert filled.post("/index")["content"] == "Indexed 1 collection: 1 document"
    assert filled.post("/update")["content"] == "Updated 1 collection"


def test_index_continues_after_a_missing_folder(filled: Server, owner: User) -> None:
    filled.post("/collections/add", name="m", path="~/notes")
    shutil.rmtree(owner.home / "folder")
    told = filled.post("/index")
    assert told["content"].startswith("Indexed 2 collections: ")
    assert told["content"].endswith(" documents; 1 error: n")
    assert [bool(each["error"]) for each in told["reports"]] == [True, False]
    assert told["reports"][1]["unchanged"] > 3


def git(folder: Path, *args: str) -> None:
    told = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *told, *args], cwd=folder, check=True, capture_output=True)


def test_update_pulls_on_request_and_reports_failures(filled: Server, owner: User) -> None:
    upstream = owner.home / "upstream"
    upstream.mkdir()
    git(upstream, "init")
    (upstream / "one.md").write_text("# One\n", encoding="utf-8")
    git(upstream, "add", ".")
    git(upstream, "commit", "-m", "one")
    git(owner.home, "clone", str(upstream), "clone")
    shutil.copytree(upstream, owner.home / "alone")
    filled.post("/collections/add", name="clone", path="~/clone")
    filled.post("/collections/add", name="alone", path="~/alone")
    (upstream / "two.md").write_text("# Two\n", encoding="utf-8")
    git(upstream, "add", ".")
    git(upstream, "commit", "-m", "two")

    assert filled.post("/update", pull=False)["reports"][1] == report("clone", unchanged=1)
    told = filled.post("/update", pull=True)
    plain, clone, alone = told["reports"]
    assert plain == report("n", unchanged=3)
    assert (clone["added"], clone["error"]) == (1, None)
    assert clone["notices"]
    assert alone["error"].startswith("collection 'alone': git pull failed")
    assert told["content"] == "Updated 3 collections; 1 error: alone"


def test_update_commands_run_only_for_update(filled: Server, owner: User) -> None:
    owner.ok("collection", "update-cmd", "n", "echo '# Made' > made.md")
    assert filled.post("/index")["reports"] == [report("n", unchanged=3)]
    assert filled.post("/update")["reports"] == [report("n", added=1, unchanged=3)]


@pytest.mark.parametrize("path", ["/index", "/update"])
def test_index_and_update_accept_no_body_and_an_empty_object(bare: Client, path: str) -> None:
    assert bare.ok("POST", path) == bare.post(path)


def test_index_and_update_refuse_unknown_fields(bare: Client) -> None:
    assert bare.refused(400, "/index", force=True) == "force: unknown field; known fields: none"
    assert bare.refused(400, "/update", force=True) == "force: unknown field; known fields: pull"
    assert bare.refused(400, "/update", pull=1) == "pull: input should be a valid boolean, not 1"


def test_embed_returns_one_vector_for_each_text_in_order(client: Client) -> None:
    texts = ["the weather in spring", "数据库备份", "the weather in spring", "", "long " * 5000]
    vectors = client.post("/embed", texts=texts)["embeddings"]
    assert [len(vector) for vector in vectors] == [384] * 5
    assert all(math.isclose(math.hypot(*vector), 1, abs_tol=1e-3) for vector in vectors)
    assert vectors[0] == vectors[2] != vectors[1]
    assert client.ok("GET", "/health") == {"status": "healthy", "model_loaded": True, "watching": "off"}


def test_embed_limits_the_number_of_texts(client: Client) -> None:
    assert client.refused(400, "/embed", texts=[]) == "Empty texts list"
    assert client.refused(413, "/embed", texts=["a"] * 1001) == "Too many texts (1001 > 1000)"
    assert len(client.post("/embed", texts=["a"] * 1000)["embeddings"]) == 1000


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({}, "texts is missing"),
        ({"texts": "a"}, 'texts: input should be a valid list, not "a"'),
        ({"texts": ["a", 5]}, "texts[1]: input should be a valid string, not 5"),
        ({"texts": ["a"], "model": "x"}, "model: unknown field; known fields: texts"),
    ],
)
def test_embed_refuses_invalid_texts_by_name(client: Client, fields: dict[str, Any], detail: str) -> None:
    assert client.refused(400, "/embed", **fields) == detail


def test_embed_without_a_model_is_unavailable(owner: User) -> None:
    with server_of(owner, QMD_EMBED_MODEL="no-such-model") as server:
        assert server.refused(503, "/embed", texts=["a"]) == "Model not loaded"
        assert server.ok("GET", "/health") == {"status": "healthy", "model_loaded": False, "watching": "off"}
