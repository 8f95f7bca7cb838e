"""Searching while typing: prefixes, the vector step, and a server that has stopped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients import Server, server_of
from tests.features.page.browser.conftest import watched
from tests.features.page.browser.test_page import hits, settle as both_steps
from tests.files import ROOT
from tests.users import MakeUser, User

DOCS = ROOT / "docs"
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


def answered(server: Server, path: str, query: str, limit: int = 20) -> list[tuple[str, int]]:
    """Return the files that an endpoint finds, with their scores in percent."""
    results = server.post(path, query=query, limit=limit, min_score=0)["results"]
    return [(result["file"], round(100 * result["score"])) for result in results]


@pytest.mark.parametrize(
    ("mode", "path"), [("words", "/search"), ("meaning", "/vsearch"), ("both", "/query")]
)
@pytest.mark.parametrize(
    "query",
    ["needlemarker", "how do I install it", "which model reranks", "blue whales of the north", "备份"],
)
def test_page_lists_what_the_search_answers(server: Server, mode: str, path: str, query: str) -> None:
    found = answered(server, path, query)
    assert listed(server, query, mode=mode, live=0) == found
    assert [percent for _, percent in found] == sorted((percent for _, percent in found), reverse=True)


@pytest.mark.parametrize("word", ["needlemarker", "collection"])
def test_percents_never_rise_while_a_word_is_typed(server: Server, word: str) -> None:
    for length in range(2, len(word) + 1):
        for more in ({"mode": "words", "part": "list"}, {"mode": "both", "part": "all"}):
            percents = [percent for _, percent in listed(server, word[:length], **more)]
            assert percents == sorted(percents, reverse=True), (word[:length], more)


def folded(page: Page) -> int:
    """Return the number of results that are folded away, which the heading says."""
    less = page.locator("#hits .less")
    if not less.count():
        return 0
    expect(less.locator(".hits")).to_be_hidden()
    count = less.locator("li").count()
    expect(less.locator("summary")).to_contain_text(str(count))
    return count


def test_nonsense_query_says_so_and_folds_its_results(page: Page, server: Server) -> None:
    query = "how long does bread bake in a clay oven"
    page.goto(f"/?{urlencode({'q': query, 'mode': 'both'})}")
    expect(page.get_by_text("nothing here seems to answer this")).to_be_visible()
    expect(page.locator(".count > span").first).to_have_text("Nothing related")
    expect(page.locator("#hits > .hits")).to_have_count(0)
    assert folded(page) == len(answered(server, "/query", query))
    page.locator(".less summary").click()
    expect(page.locator(".less li").first).to_be_visible()


def test_less_related_results_are_folded_below_the_others(page: Page, server: Server) -> None:
    page.keyboard.type("needlemarker")
    both_steps(page)
    answers = answered(server, "/query", "needlemarker")
    related = [file for file, percent in answers if percent >= 30]
    assert page.locator("#hits > .hits > li").count() == len(related) < 5
    assert folded(page) + len(related) == len(answers) > len(related)
    # The arrows unfold them.
    for _ in range(len(related) + 1):
        page.keyboard.press("ArrowDown")
    expect(page.locator(".less [aria-selected=true]")).to_be_visible()


def test_less_related_results_are_named_in_chinese(browser: Browser, server: Server) -> None:
    with watched(browser, server, locale="zh-CN") as (context, complaints):
        page = context.new_page()
        page.goto("/?q=needlemarker&mode=both")
        expect(page.locator(".less summary")).to_contain_text("相关性较低")
        assert complaints == []


def test_less_related_results_are_shown_without_script(browser: Browser, server: Server) -> None:
    with watched(browser, server, java_script_enabled=False) as (context, complaints):
        page = context.new_page()
        page.goto("/?q=needlemarker&mode=both")
        expect(page.locator(".less li").first).to_be_hidden()
        page.locator(".less summary").click()
        expect(page.locator(".less li").first).to_be_visible()
        assert complaints == []


def test_last_word_is_a_prefix_only_while_typing(page: Page) -> None:
    page.keyboard.type("quater")
    both_steps(page)
    expect(page.locator("#hits mark", has_text="quaternion")).to_have_count(1)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    both_steps(page)
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
        expect(page.locator("#q")).to_be_focused()
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
