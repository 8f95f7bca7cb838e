"""Jobs on the upkeep page, in several tabs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients import server_of
from tests.features.page.browser.conftest import watched
from tests.model_server import serving
from tests.users import MakeUser


@pytest.fixture
def tabs(browser: Browser, make_user: MakeUser) -> Iterator[tuple[Page, Page]]:
    """Two tabs of the upkeep page of a server whose embedding takes as long as the test."""
    user = make_user("jobs")
    user.ok("collection", "add", str(user.notes))
    with serving() as models:
        models.slow.add("/v1/embeddings")
        variables = {"QMD_EMBED_MODEL": f"openai:tiny@{models.url}"}
        with server_of(user, **variables) as server, watched(browser, server) as (context, complaints):
            first, second = context.new_page(), context.new_page()
            first.goto("/upkeep")
            second.goto("/upkeep")
            yield first, second
            models.released.set()
            complaints[:] = [each for each in complaints if "503" not in each]
            assert complaints == []


def test_job_is_shown_in_every_tab_and_keeps_the_focus(tabs: tuple[Page, Page]) -> None:
    first, second = tabs
    second.get_by_role("button", name="Make vectors").click()
    stop = first.get_by_role("button", name="Stop")
    expect(stop).to_be_visible()
    expect(first.locator("#job")).to_contain_text("Embedding")
    stop.focus()
    second.get_by_role("button", name="Stop").click()
    expect(first.locator("#job")).to_contain_text("Stopping")
    expect(first.locator("#job")).to_be_focused()


def test_refused_job_shows_the_running_one(tabs: tuple[Page, Page]) -> None:
    first, second = tabs
    first.get_by_role("button", name="Make vectors").click()
    expect(first.locator("#job")).to_contain_text("Embedding")
    second.get_by_role("button", name="Scan for changes").last.click()
    expect(second.get_by_role("alert")).to_have_text(
        "another job is running: wait until it is done, or stop it"
    )
    expect(second.locator("#job")).to_contain_text("Embedding")


def test_figures_follow_a_job_without_loading_the_page(tabs: tuple[Page, Page]) -> None:
    first, second = tabs
    first.get_by_text("Descriptions", exact=True).click()
    first.get_by_label("Description").fill("half written")
    second.get_by_role("button", name="Scan for changes").last.click()
    expect(first.locator("#job")).to_contain_text("Done")
    expect(first.get_by_label("Description")).to_have_value("half written")


def test_progress_of_vectors_is_a_line_on_every_page(tabs: tuple[Page, Page]) -> None:
    first, second = tabs
    expect(first.locator("#vectors")).to_have_text(re.compile(r"^0 of \d+ texts have vectors$"))
    document = second.goto("/?q=deploy&mode=words") and second.locator("#hits a").first
    assert document
    document.click()
    expect(second.locator("#vectors")).to_be_visible()
    expect(second.locator("#vectors")).to_have_attribute("href", "/upkeep")


def test_editor_of_a_collection_opens_in_its_row_and_saves(tabs: tuple[Page, Page]) -> None:
    page, _ = tabs
    row = page.locator("#collections summary", has_text="notes").first
    expect(page.get_by_label("Pattern").first).to_be_hidden()
    row.click()
    left_out = page.locator("textarea[name=ignore]").first
    left_out.fill("deploy*")
    page.get_by_label("text", exact=True).first.check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#job")).to_contain_text("removed")
    row.click()
    expect(left_out).to_have_value("deploy*")
    expect(page.get_by_label("text", exact=True).first).to_be_checked()
