"""Searches that are saved: run again, with what is new, listed and removed."""

from __future__ import annotations

import json

import pytest

from tests.clients import server_of
from tests.users import User


def test_saved_search_has_the_words_and_options_of_the_first(owner: User) -> None:
    saved = owner.call("query", "--no-rerank", "performance", "-c", "notes", "-n", "2", "--save", "slow")
    assert saved.stderr.endswith("note: saved: qmd search @slow\n")
    again = owner.call("search", "@slow", "--json")
    assert len(json.loads(again.stdout)) == 2
    assert json.loads(again.stdout) == json.loads(
        owner.ok("query", "--no-rerank", "performance", "-c", "notes", "-n", "2", "--json")
    )
    assert len(json.loads(owner.ok("search", "@slow", "-n", "3", "--json"))) == 3
    assert owner.ok("saved") == "@slow: qmd query --no-rerank --collection=notes --limit=2 performance\n"
    (listed,) = json.loads(owner.ok("saved", "--json"))
    assert (listed["name"], listed["query"]) == ("slow", "collection:notes performance")


def test_name_that_is_nearly_one_of_a_saved_search_is_told(owner: User) -> None:
    owner.ok("search", "performance", "--save", "slow")
    told = "note: no search is saved as 'slwo', so it is a text; did you mean 'slow'?\n"
    assert told in owner.call("search", "@slwo").stderr
    assert "no search is saved" not in owner.call("search", "@ann").stderr


def test_new_shows_what_was_not_there_the_last_time(owner: User) -> None:
    owner.ok("search", "performance", "--all", "--save", "slow")
    assert owner.ok("search", "@slow", "--new", "--names") == ""
    (owner.notes / "later.md").write_text("# Later\n\nMore performance.\n", encoding="utf-8")
    owner.ok("update", "--no-embed")
    assert owner.ok("search", "@slow", "--new", "--names") == "qmd://notes/later.md\n"
    assert owner.ok("search", "@slow", "--new", "--names") == ""
    assert "later.md" in owner.ok("search", "@slow", "--names")


def test_saved_search_is_removed_and_its_name_checked(owner: User) -> None:
    owner.ok("search", "rollback", "--save", "back")
    assert owner.ok("saved", "remove", "@back") == "Removed @back.\n"
    assert owner.ok("saved").startswith("No searches are saved")
    assert "there is no saved search 'back'" in owner.call("saved", "remove", "back").stderr
    assert "is no name of a saved search" in owner.call("search", "rollback", "--save", "a/b").stderr
    assert "--new needs a saved search" in owner.call("search", "@back", "--new").stderr
    assert "is for people" in owner.call("--agent", "search", "rollback", "--save", "x").stderr


def test_text_that_begins_with_an_at_sign_is_searched_for(owner: User) -> None:
    (owner.notes / "mail.md").write_text("Ask @heron about it.\n", encoding="utf-8")
    owner.ok("update", "--no-embed")
    assert owner.ok("search", "@heron", "--names") == "qmd://notes/mail.md\n"


def test_broken_file_is_named(owner: User) -> None:
    owner.ok("search", "rollback", "--save", "back")
    (file,) = owner.home.glob("config/qmd/*.saved.json")
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("[1]", encoding="utf-8")
    told = owner.call("saved").stderr
    assert str(file) in told
    assert "remove the file" in told


@pytest.mark.slow
def test_page_lists_saved_searches_and_a_server_leaves_them_to_the_command(owner: User) -> None:
    pytest.importorskip("jinja2")
    owner.ok("search", "rollback", "--tag", "work", "--save", "back")
    with server_of(owner, "--transport", "http") as server:
        home = server.ask("GET", "/").body.decode()
        assert '<a href="/?q=tag%3Awork+rollback"><bdi>back</bdi></a>' in home
        ran = owner.run("search", "@back", "--new", "--names")
        assert (ran.returncode, ran.stdout) == (0, "")
