"""Searching while typing: prefixes, the vector step, and a server that has stopped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients import Server, server_of
from tests.users import MakeUser, User
from tests.web.conftest import watched
from tests.web.test_page import hits
from tests.web.test_page import settle as both_steps

DOCS = Path(__file__).parents[2] / "docs"
#: Words with a note each. One is a prefix of another.
WORDS = ("needlemarker", "naïveté", "quaternion", "quater")


@pytest.fixture(scope="module")
def typist(make_user: MakeUser) -> User:
    """A user with 50 embedded notes: sections of docs/, and one note for each word."""
    user = make_user("typing")
    notes = user.home / "vault"
    notes.mkdir()
    sections = [
        f"# {section[:300].strip()}\n"
        for page in sorted(DOCS.glob("*.md"))
        for section in page.read_text(encoding="utf-8").split("\n## ")[1:3]
    ]
    for number, section in enumerate(sections[: 50 - len(WORDS)]):
        (notes / f"{number}.md").write_text(section, encoding="utf-8")
    for number, word in enumerate(WORDS):
        (notes / f"word{number}.md").write_text(
            f"# Note {number}\n\nOnly {word} is here.\n", encoding="utf-8"
        )
    user.ok("collection", "add", str(notes), "--name", "vault")
    user.ok("embed")
    return user


@pytest.fixture(scope="module")
def server(typist: User) -> Iterator[Server]:
    with server_of(typist) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    with watched(browser, server) as (context, complaints):
        page = context.new_page()
        page.goto("/")
        expect(page.locator("#q")).to_be_focused()
        yield page
        assert complaints == []


def chosen_mode(page: Page) -> str:
    return page.get_by_role("navigation", name="Search by").locator("[aria-current]").inner_text()


def test_note_with_the_unfinished_word_stays_first(page: Page) -> None:
    page.keyboard.type("needlem")
    expect(page.locator("#hits .title").first).to_have_text("Note 0")
    assert chosen_mode(page) == "Words"
    both_steps(page)
    expect(page.locator("#stage")).to_have_text("by words and meaning, reranked")
    assert hits(page)[0] == "Note 0"
    assert len(hits(page)) > 1
    assert chosen_mode(page) == "Both"
    expect(page.locator("#list .notice")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"/\?q=needlem$"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/read/vault/word0\.md\?"))


def listed(server: Server, query: str, **more: object) -> list[tuple[str, int]]:
    """Return the files that a search step lists, with their scores in percent."""
    answer = server.ask("GET", f"/?{urlencode({'q': query, 'live': 1, 'scores': 1, **more})}")
    files = re.findall(r'data-file="([^"]+)"', answer.text)
    return list(zip(files, map(int, re.findall(r"<b>(\d+) %</b>", answer.text)), strict=True))


@pytest.mark.parametrize("word", [*WORDS, "collection", "reranker"])
def test_vector_step_puts_nothing_unrelated_above_prefix_matches(server: Server, word: str) -> None:
    for length in range(2, len(word) + 1):
        begun = word[:length]
        by_words = [file for file, _ in listed(server, begun, mode="words", part="list")]
        both = listed(server, begun, mode="both", part="all")
        assert set(by_words) <= {file for file, _ in both}, begun
        last = max((at for at, (file, _) in enumerate(both) if file in by_words), default=-1)
        every = {file for file, _ in listed(server, begun, mode="words", part="all", n=60)}
        assert [row for row in both[: last + 1] if row[0] not in every and row[1] < 30] == [], begun
        if word in WORDS:
            own = f"vault/word{WORDS.index(word)}.md"
            assert own in by_words or len(by_words) == 10, begun


def test_last_word_is_a_prefix_only_while_typing(page: Page) -> None:
    page.keyboard.type("quater")
    both_steps(page)
    expect(page.locator("#hits mark", has_text="quaternion")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#facets[data-filled]")).to_be_attached()
    assert hits(page)[0] == "Note 3"
    expect(page.locator("#hits mark").first).to_have_text("quater")
    expect(page.locator("#hits mark", has_text="quaternion")).to_have_count(0)


def test_results_are_selected_by_arrows_after_enter(page: Page) -> None:
    page.keyboard.type("quater")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator("#q")).to_be_focused()
    both_steps(page)
    page.keyboard.press("ArrowDown")
    expect(page.locator("#hits [aria-selected=true]")).to_have_count(1)


def test_page_reports_a_stopped_server_and_retries(browser: Browser, make_user: MakeUser) -> None:
    user = make_user("gone")
    user.ok("collection", "add", str(user.notes))
    with server_of(user) as server, watched(browser, server) as (context, _):
        page = context.new_page()
        page.goto("/")
        page.keyboard.type("perf")
        both_steps(page)
        server.end()
        page.keyboard.press("Control+a")
        page.keyboard.type("rollb")
        expect(page.get_by_role("alert")).to_have_text(
            "The server does not answer. It is asked again until it does."
        )
        expect(page.locator("#view.old #hits")).to_be_visible()
        expect(page).to_have_url(re.compile(r"/\?q=rollb$"))
        expect(page.locator("#stage")).to_be_empty()
        with server_of(user, "--port", str(server.port)):
            expect(page.get_by_role("alert")).to_have_count(0)
            expect(page.locator("#hits .title")).to_contain_text(["Deploying the service"])
            both_steps(page)
            expect(page.locator("#view.old")).to_have_count(0)
