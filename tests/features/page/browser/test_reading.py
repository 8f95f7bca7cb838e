"""Embedded notes, media, formulas and HTML in a real browser."""

from __future__ import annotations

import re
import wave
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.clients import server_of
from tests.features.page.browser.conftest import PNG, OpenPage, watched
from tests.users import MakeUser, User

OUTER = """# Outer

![[dot.png#part|A dot|20x10]]

![[beep.wav]]

![[inner#Second]]

$\\frac{a}{b}$ and <kbd>Ctrl</kbd>

[[inner#^named]]

<details><summary>More</summary>

Folded *text*

</details>
"""
INNER = (
    "# Inner\n\n## Second\n\nThe second part, and ![[outer]]\n\n![[outer]]\n\n# Third\n\nA block. ^named\n"
)


def silence(path: Path) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 1, 8000, 0, "NONE", ""))
        file.writeframes(bytes([128]) * 800)


def test_embedded_notes_media_formulas_and_html_are_displayed(browser: Browser, make_user: MakeUser) -> None:
    user = make_user("reading")
    folder = user.home / "vault"
    folder.mkdir()
    (folder / "outer.md").write_text(OUTER, encoding="utf-8")
    (folder / "inner.md").write_text(INNER, encoding="utf-8")
    (folder / "dot.png").write_bytes(PNG)
    silence(folder / "beep.wav")
    user.ok("collection", "add", str(folder), "--name", "vault")
    with server_of(user) as server, watched(browser, server) as (context, complaints):
        page = context.new_page()
        page.goto("/read/vault/outer.md")
        image = page.locator(".prose img").first
        expect(image).to_have_attribute("width", "20")
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
        expect(page.locator(".caption").first).to_have_text("A dot")
        sound = page.locator("audio").first
        assert sound.evaluate(
            "it => new Promise(done => { it.onloadedmetadata = () => done(it.duration); it.load() })"
        )
        assert page.locator("math mfrac").first.evaluate("it => it.getBoundingClientRect().height") > 0
        expect(page.locator(".prose kbd").first).to_have_text("Ctrl")
        # The note is embedded, and the outer one in it, but not a third time.
        embeds = page.locator("section.embed")
        expect(embeds).to_have_count(2)
        expect(embeds.first).to_contain_text("The second part")
        expect(embeds.first).not_to_contain_text("A block")
        page.get_by_text("More", exact=True).first.click()
        expect(page.get_by_text("Folded text").first).to_be_visible()
        # A change of the inner note is shown although the outer one has not changed.
        (folder / "inner.md").write_text(INNER.replace("second part", "changed part"), encoding="utf-8")
        user.ok("update", "--no-embed")
        page.reload()
        expect(embeds.first).to_contain_text("The changed part")
        page.locator("main").get_by_role("link", name="inner › ^named").first.click()
        expect(page.locator("#b-named")).to_have_text("A block.")
        assert complaints == []


def test_selection_is_copied_as_a_quotation_that_holds(open_page: OpenPage, writer: User) -> None:
    page = open_page("/read/wiki/guide.md", permissions=["clipboard-read", "clipboard-write"])
    paragraph = page.locator(".prose > p").first
    paragraph.evaluate("node => getSelection().selectAllChildren(node)")
    page.locator("#quote").click()
    expect(page.locator("#quote")).to_have_text("Copied")
    draft = writer.home / "draft.md"
    draft.write_text(page.evaluate("navigator.clipboard.readText()"), encoding="utf-8")
    assert draft.read_text(encoding="utf-8").startswith("> ")
    assert "1 citation: 1 holds." in writer.ok("cite", "check", str(draft))


def test_outline_shows_the_section_in_view_and_links_lead_to_it(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/guide.md")
    last = page.locator(".outline a").last
    page.locator(".prose > :is(h1, h2, h3)").last.scroll_into_view_if_needed()
    page.keyboard.press("End")
    expect(last).to_have_attribute("aria-current", "true")
    page.locator(".prose > :is(h2, h3)").last.hover()
    page.locator(".prose .anchor").last.click()
    expect(page).to_have_url(re.compile(re.escape(last.get_attribute("href") or "") + "$"))


def test_outline_is_a_drawer_on_a_phone(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/guide.md", viewport={"width": 390, "height": 700})
    expect(page.locator("#outline")).to_be_hidden()
    page.locator(".drawer").click()
    page.locator("#outline a").last.click()
    expect(page.locator("#outline")).to_be_hidden()


def test_chosen_theme_stays(open_page: OpenPage) -> None:
    page = open_page("/", color_scheme="light")
    page.locator("#theme").click()
    page.goto("/read/wiki/guide.md")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"


def test_links_beside_a_document_have_its_title(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/deploy.md")
    expect(page.locator(".links a", has_text="The guide")).to_have_count(1)


def test_links_and_results_have_previews(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/guide.md")
    page.locator(".prose a", has_text="the table").hover()
    expect(page.locator("#peek")).to_contain_text("backup")
    page.keyboard.press("Escape")
    expect(page.locator("#peek")).to_have_count(0)
    page.locator(".prose a", has_text="deploy").focus()
    expect(page.locator("#peek")).to_contain_text("make deploy")
    page = open_page("/?q=xylophone&mode=words", viewport={"width": 1700, "height": 800})
    page.locator("#hits a").hover()
    expect(page.locator("#preview .previewed-hit mark")).to_be_in_viewport()


def test_diagrams_are_named_above_their_source(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/wide.md")
    expect(page.locator(".language").first).to_have_text("Flowchart (mermaid)")
    expect(page.locator(".code pre").first).to_be_hidden()
    page.locator(".code summary").first.click()
    expect(page.locator(".code pre").first).to_contain_text("A --> A")


def test_code_is_copied_by_its_button(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/deploy.md", permissions=["clipboard-read", "clipboard-write"])
    page.locator(".code").first.hover()
    page.locator(".copier").first.click()
    expect(page.locator(".copier").first).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "def deploy():\n    return 1\n"
