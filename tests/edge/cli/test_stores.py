"""`--store`: the index in another store than the file. The commands and what they print stay the same."""

from __future__ import annotations

from tests.edge.cli.conftest import User
from tests.store.conftest import needs_milvus


@needs_milvus
def test_commands_print_the_same_with_another_store(user: User, reader: User) -> None:
    store = f"milvus://{user.home}/index.db"
    user.ok("--store", store, "collection", "add", str(user.notes), "--name", "notes")
    user.ok("--store", store, "context", "add", "/", "Everything")
    user.ok("--store", store, "context", "add", "qmd://notes/2026", 'Notes of "2026", dated')
    for args in (
        ["search", "performance", "-n", "20", "--files"],
        ["search", "performance of the band", "--json"],
        ["search", "数据库", "--md"],
        ["search", '"performance review"', "--csv"],
        ["get", "notes/deploy.md"],
        ["multi-get", "notes/*.md", "--files"],
        ["ls", "notes"],
        ["context", "list"],
    ):
        # A place in the list that several share by their score is given by number, and numbers differ.
        told, known = (
            sorted(each.splitlines()) for each in (user.ok("--store", store, *args), reader.ok(*args))
        )
        assert told == known, args
    assert f"Index:      {store}" in user.ok("--store", store, "status")
    assert not (user.home / "cache" / "qmd" / "index.sqlite").exists()


@needs_milvus
def test_reading_makes_no_store(user: User) -> None:
    place = user.home / "none.db"
    for args in (["status"], ["search", "words"], ["ls"], ["cleanup", "--dry-run"]):
        user.ok("--store", f"milvus://{place}", *args)
    assert not place.exists()


def test_an_address_that_is_none_is_refused_in_a_line(user: User) -> None:
    result = user.run("--store", "milvus://me:hush@host/db", "status")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines()[0] == "Error: a store's address holds no user and no password"
    assert "QMD_MILVUS_TOKEN" in result.stderr and "hush" not in result.stderr
