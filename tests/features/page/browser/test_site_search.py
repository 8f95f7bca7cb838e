"""Search on the site of docs/: the index that the tool makes, asked by search.js in a browser."""

from __future__ import annotations

import functools
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.files import ROOT
from tests.markdown import sections

MAKER = ROOT / "tools" / "make_site_search.py"
PAGES = {
    "index.md": "# The start\n\nWelcome.\n",
    "backups.md": "# Backups\n\nEvery night.\n\n## Restoring\n\nStop workers. <b>Then</b> load the dump.\n",
    "numbers.md": "# Numbers\n\nThe option `--min-score` leaves results out.\n\n## 数据库\n\n备份数据。\n",
}
SHELL = '<header><div class="md-header__inner"></div></header>{}<script src="{}search.js"></script>'

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not MAKER.exists(), reason="tools/ is not here"),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and prints nothing."""

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site as it is built from these pages, with its index."""
    docs, built = tmp_path_factory.mktemp("docs"), tmp_path_factory.mktemp("built")
    for name, text in PAGES.items():
        (docs / name).write_text(text, encoding="utf-8")
        folder = built if name == "index.md" else built / name.removesuffix(".md")
        folder.mkdir(exist_ok=True)
        headings = "".join(
            f'<h{each.level} id="part-{at}">{each.heading}</h{each.level}>'
            for at, each in enumerate(sections(text))
        )
        page = SHELL.format(headings, "" if folder == built else "../")
        (folder / "index.html").write_text(f"<!doctype html><meta charset=utf-8>{page}", encoding="utf-8")
    (built / "search.js").write_bytes((ROOT / "docs" / "search.js").read_bytes())
    subprocess.run([sys.executable, MAKER, docs, built], check=True, capture_output=True)
    handler = functools.partial(Quiet, directory=str(built))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    opened = browser.new_page()
    opened.goto(f"{site}numbers/")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("stopping a worker", "Backups › Restoring"),  # words as qmd stems them
        ("rest", "Backups › Restoring"),  # while typing
        ("--min-score", "Numbers"),
        ("数据库", "Numbers › 数据库"),
    ],
)
def test_site_search_finds_sections(page: Page, typed: str, first: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(typed)
    expect(page.locator(".qmd-search b").first).to_have_text(first)


def test_site_search_opens_the_section_by_the_keyboard(page: Page, site: str) -> None:
    page.locator(".qmd-search input").fill("load the dump")
    expect(page.locator(".qmd-search b").first).to_have_text("Backups › Restoring")
    expect(page.locator(".qmd-search li").first).to_contain_text("<b>Then</b> load")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/backups/#part-1$"))


def test_site_search_says_if_nothing_is_found(page: Page) -> None:
    page.locator(".qmd-search input").fill("zyzzyva")
    expect(page.locator(".qmd-search li")).to_have_text("Nothing found.")
    page.keyboard.press("Escape")
    expect(page.locator(".qmd-search ol")).to_be_hidden()
