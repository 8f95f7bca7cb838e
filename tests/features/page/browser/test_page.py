"""The web page in a real browser."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.clients import Client, Server
from tests.features.page.browser.conftest import OpenPage, watched

#: Rules of axe that are off by default.
AXE = {"rules": {"label-content-name-mismatch": {"enabled": True}}}


def hits(page: Page) -> list[str]:
    return page.locator("#hits .title").all_inner_texts()


def settle(page: Page) -> None:
    """Wait until the vector search has answered, so that the list no longer changes."""
    expect(page.locator("#facets[data-filled]")).to_be_attached()


def test_results_appear_while_typing_and_the_address_follows(open_page: OpenPage) -> None:
    page = open_page("/")
    page.keyboard.type("deplo")
    expect(page.locator("#hits .title").first).to_contain_text("Deploying")
    expect(page.locator("#hits mark").first).to_have_text("Deploying")
    expect(page).to_have_url(re.compile(r"/\?q=deplo$"))
    page.go_back()
    expect(page.locator("h2", has_text="Recently changed")).to_be_visible()


def test_back_from_an_early_result_restores_the_query(open_page: OpenPage) -> None:
    page = open_page("/")
    page.keyboard.type("deplo")
    expect(page.locator("#hits .title").first).to_contain_text("Deploying")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/read/wiki/deploy\.md"))
    page.go_back()
    expect(page.locator("#q")).to_have_value("deplo")
    expect(page.locator("#hits .title").first).to_contain_text("Deploying")


def test_chinese_results_are_found_and_highlighted(open_page: OpenPage) -> None:
    page = open_page("/", locale="zh-CN")
    expect(page.locator("#q")).to_have_attribute("placeholder", "搜索你的文档")
    page.keyboard.insert_text("备份")
    expect(page.locator("#hits .snippet mark").first).to_have_text("备份")
    expect(page.locator(".count")).to_contain_text("条结果")


#: The texts of the page itself, without documents, names, commands and addresses.
OWN_TEXTS = """() => {
  const foreign = `.prose, .title, .doctitle, .snippet, .outline, .links, .tags, .brand,
    bdi, code, pre, kbd, time, script, svg`;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [...document.querySelectorAll("[placeholder], [aria-label]")].flatMap(
    (element) => [element.getAttribute("placeholder"), element.getAttribute("aria-label")]);
  while (walker.nextNode())
    if (!walker.currentNode.parentElement.closest(foreign)) texts.push(walker.currentNode.data);
  return texts.filter(Boolean).map((text) => text.trim());
}"""


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?q=backup&scores=1",
        "/?q=backup&mode=both",
        "/?q=tag:nothing",
        "/?q=collection:nothing",
        "/?q=[statsu:draft]&mode=words",
        "/read/wiki/guide.md?q=backup",
        "/read/wiki/missing.md",
        "/read/wiki/guide.md?line=x",
        "/why?q=xylophone&doc=table.md",
        "/why?q=xylophone&doc=guide.md",
        "/why?q=backup+tag:work&doc=table.md&mode=both",
        "/upkeep",
        "/help",
        "/folder/wiki",
    ],
)
def test_all_texts_are_in_the_language_of_the_reader(browser: Browser, server: Server, path: str) -> None:
    with watched(browser, server, locale="zh-CN") as (context, _):
        page = context.new_page()
        page.goto(path)
        texts = page.evaluate(OWN_TEXTS)
    words = [text for text in texts if re.search(r"[a-z]{2,}[ .]+[a-z]{2,}", text)]
    assert [text for text in words if not re.search("[\u4e00-\u9fff]", text)] == []


def test_right_to_left_text_is_displayed_from_the_right(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/arabic.md")
    assert page.locator(".prose").evaluate("element => getComputedStyle(element).direction") == "rtl"
    assert page.evaluate("getComputedStyle(document.body).direction") == "ltr"


def test_keyboard_finds_and_reads_a_note(open_page: OpenPage) -> None:
    page = open_page("/?q=backup")
    settle(page)
    titles = hits(page)
    assert len(titles) > 2
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#hits [aria-selected=true]")
    expect(chosen).to_have_count(1)
    assert page.locator("#q").get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    page.keyboard.press("Escape")
    expect(chosen).to_have_count(0)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#trail")).to_contain_text(f"Result 1 of {len(titles)}")
    page.keyboard.press("n")
    expect(page.locator("#trail")).to_contain_text(f"Result 2 of {len(titles)}")
    page.keyboard.press("p")
    expect(page.locator("#trail")).to_contain_text(f"Result 1 of {len(titles)}")
    page.locator("#trail [data-to=back]").click()
    expect(page).to_have_url(re.compile(r"\?q=backup$"))


def test_keyboard_opens_the_section_of_a_result(open_page: OpenPage) -> None:
    page = open_page("/?q=xylophone")
    settle(page)
    expect(page.locator("#hits .section").first).to_have_text("Restoring")
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Enter")
    expect(page).to_have_url(re.compile(r"/read/wiki/guide\.md\?q=xylophone#h-restoring$"))
    page.go_back()
    settle(page)
    page.locator("#hits li > a").first.focus()
    page.keyboard.press("Shift+Enter")
    expect(page).to_have_url(re.compile(r"/read/wiki/guide\.md\?q=xylophone#h-restoring$"))


def test_letters_are_no_shortcuts_while_typing(open_page: OpenPage) -> None:
    page = open_page("/")
    page.keyboard.type("n?/p")
    expect(page.locator("#q")).to_have_value("n?/p")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator("#q")).to_have_value("")
    page.locator(".brand").focus()
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_contain_text("to the search box")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.locator("#q")).to_be_focused()


def test_facets_and_chips_become_typed_filters(open_page: OpenPage) -> None:
    page = open_page("/?q=backup")
    settle(page)
    page.locator("#facets a", has_text="work/ops").click()
    expect(page.locator("#q")).to_have_value("backup tag:work/ops")
    expect(page.locator("#hits .title")).to_have_text(["The guide"])
    page.get_by_role("link", name="Remove the filter tag:work/ops").click()
    expect(page.locator("#q")).to_have_value("backup")
    page.goto("/?q=[statsu:draft]&mode=words")
    expect(page.get_by_text("Did you mean [status:draft]?")).to_be_visible()


def test_facet_of_languages_names_them_in_the_language_of_the_page(open_page: OpenPage) -> None:
    page = open_page("/?q=backup 数据库&mode=words", locale="zh-CN")
    expect(page.locator("[data-facet=lang]").get_by_role("link", name="中文")).to_be_visible()
    page = open_page("/?q=backup 数据库&mode=words")
    page.locator("[data-facet=lang]").get_by_role("link", name="Chinese").click()
    expect(page.locator("#q")).to_have_value("backup 数据库 lang:zh")


def test_filters_are_completed_by_keyboard(open_page: OpenPage) -> None:
    page = open_page("/")
    box, offered = page.locator("#q"), page.locator("#completions li")
    page.keyboard.press("ArrowDown")
    expect(offered.first).to_have_text("tag:")
    expect(box).to_have_attribute("aria-controls", "completions")
    page.keyboard.type("backup statu")
    expect(offered).to_have_count(0)
    page.keyboard.type("s:d")
    expect(offered).to_have_text(["[status:draft] 1"])
    page.keyboard.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant") == offered.get_attribute("id")
    page.keyboard.press("Enter")
    expect(box).to_have_value("backup [status:draft] ")
    expect(page.locator("#hits .title")).to_have_text(["The guide"])
    for typed, completed in (
        ("path:s", "path:sub/"),
        ("-tag:ops", "-tag:work/ops"),
        ("[col", "[collection:"),
        ("[collection:wi", "[collection:wiki]"),
        ("after:2024", "after:2024"),
        ('author:"a', 'author:"Ann"'),
    ):
        box.fill(f"backup {typed}")
        expect(offered.first).to_contain_text(completed.lstrip("-"))
        offered.first.click()
        expect(box).to_have_value(re.compile(re.escape(f"backup {completed}") + " ?$"))
    box.fill("tag:w")
    expect(offered.first).to_be_visible()
    assert Axe().run(page).response["violations"] == []
    page.keyboard.press("Escape")
    expect(offered).to_have_count(0)
    expect(box).to_have_value("tag:w")


def test_more_results_are_added_below(open_page: OpenPage) -> None:
    page = open_page("/?q=backup&mode=words&n=2")
    expect(page.locator(".count > span").first).to_contain_text("1 to 2 of ")
    page.locator("#more").click()
    expect(page.locator("#hits li")).to_have_count(4)
    # The last one is hardly related.
    expect(page.locator(".count > span").first).to_have_text("3 results")
    expect(page.locator("#hits .less li")).to_have_count(1)
    expect(page).to_have_url(re.compile("n=4"))
    files = page.locator("#hits li > a").evaluate_all("links => links.map(link => link.dataset.file)")
    assert len(set(files)) == 4


def test_active_mode_is_marked(open_page: OpenPage) -> None:
    # Nothing has vectors here, so only words can be searched.
    page = open_page("/?q=backup&mode=both")
    mode = page.get_by_role("navigation", name="Search by").locator("[aria-current]")
    expect(mode).to_have_text("Words")
    expect(page.locator("#stage")).to_have_text("by words, reranked")


def test_list_with_a_selection_keeps_its_order(open_page: OpenPage) -> None:
    page = open_page("/")
    page.keyboard.type("backup")
    expect(page).to_have_url(re.compile(r"q=backup$"))  # until then, the list is that of its first letters
    page.keyboard.press("ArrowDown")
    files = "links => links.map(link => link.dataset.file)"  # titles of folded results have no text
    before = page.locator("#hits li > a").evaluate_all(files)
    expect(page.locator("#stage")).to_contain_text("by words")
    expect(page.locator("#status")).not_to_be_empty()
    assert page.locator("#hits li > a").evaluate_all(files)[: len(before)] == before


def test_document_is_rendered_with_its_links(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/guide.md?q=xylophone&line=148#hit")
    expect(page.locator("#hit mark")).to_have_text("xylophone")
    expect(page.locator("#hit")).to_be_in_viewport()
    expect(page.locator(".prose img")).to_have_count(1)
    page.locator(".prose img").scroll_into_view_if_needed()  # the browser may load it only if it is visible
    expect(page.locator(".prose img")).to_have_js_property("naturalWidth", 1)
    expect(page.locator(".properties")).to_contain_text("draft")
    expect(page.locator(".outline")).to_contain_text("Restoring")
    expect(page.locator(".prose .task.done")).to_have_count(1)
    expect(page.locator(".prose .callout.warning")).to_contain_text("Take care")
    expect(page.locator(".prose math msub")).to_have_count(2)
    page.locator(".prose a", has_text="deploy").click()
    expect(page).to_have_url(re.compile(r"/read/wiki/deploy\.md"))
    expect(page.locator(".beside")).to_contain_text("guide")
    expect(page.locator(".code .k").first).to_have_text("def")


def test_table_words_stay_whole_and_labels_stay_beside_code(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/wide.md", viewport={"width": 390, "height": 700})
    for cell in page.locator(".prose th, .prose td").all():
        lines = cell.evaluate(
            "cell => { const range = document.createRange(); range.selectNodeContents(cell);"
            " return range.getClientRects().length; }"
        )
        assert lines == 1, cell.inner_text()
    table = page.locator(".prose .table")
    assert table.evaluate("box => box.scrollWidth > box.clientWidth")
    label, code = (page.locator(each).last.bounding_box() for each in (".language", ".code code"))
    assert label and code
    assert label["y"] + label["height"] <= code["y"]


def test_note_without_front_matter_has_no_properties(open_page: OpenPage) -> None:
    expect(open_page("/read/wiki/guide.md").locator(".properties")).to_contain_text("2024-06-01")
    expect(open_page("/read/wiki/deploy.md").locator(".properties")).to_have_count(0)


def test_file_with_a_line_break_in_its_name_opens(open_page: OpenPage) -> None:
    page = open_page("/?q=marmalade&mode=words")
    page.locator("#hits a").click()
    expect(page.locator("h1")).to_have_text("Marmalade")
    expect(page).to_have_url(re.compile(r"/read/wiki/two%0Alines\.md"))


def test_upkeep_page_fits_a_phone(open_page: OpenPage) -> None:
    page = open_page("/upkeep", viewport={"width": 390, "height": 700})
    for table in page.locator(".table").all():
        assert table.evaluate("box => box.scrollWidth <= box.clientWidth"), table.inner_text()


def test_anchors_of_the_source_file_are_displayed_and_linked(open_page: OpenPage) -> None:
    page = open_page("/?q=cassowary&mode=words")
    expect(page.locator("#hits .where")).to_contain_text("cell 2")
    page.locator("#hits a").click()
    expect(page.locator("#hit mark")).to_be_in_viewport()
    expect(page.locator(".prose .place")).to_have_text(["cell 1", "cell 2", "cell 3"])
    cells = page.get_by_role("navigation", name="cells")
    cells.get_by_role("link", name="1", exact=True).click()
    expect(page.locator("#place-1")).to_be_in_viewport()
    page.get_by_role("link", name="Source").click()
    expect(page.locator(".source .place")).to_have_count(3)


def test_pages_say_how_current_the_index_is(open_page: OpenPage) -> None:
    # Servers of tests do not watch, so the page shows the time of the scan, unless that has just ended.
    for path in ("/", "/?q=backup&mode=words", "/read/wiki/deploy.md", "/upkeep"):
        page = open_page(path)
        expect(
            page.get_by_text(re.compile(r"Up to date|As of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"))
        ).to_be_visible()


def test_remote_images_are_loaded_only_on_request(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/guide.md")
    page.context.route("https://example.org/**", lambda route: route.fulfill(body=b"", status=404))
    expect(page.locator(".notice")).to_contain_text("1 image on other servers was not loaded")
    assert "https://example.org/a.png" not in page.content().replace('href="https://example.org/a.png"', "")


def test_page_works_without_script(open_page: OpenPage) -> None:
    page = open_page("/", java_script_enabled=False)
    page.fill("#q", "backup")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=backup")
    assert "Old backup" in hits(page)
    page.get_by_role("link", name="Search by meaning").click()
    page.get_by_role("link", name="Date", exact=True).click()
    expect(page.get_by_role("link", name="Date", exact=True)).to_have_attribute("aria-current", "true")
    page.locator("#hits a", has_text="Deploying").click()
    expect(page.locator("h1")).to_have_text("Deploying")
    page.get_by_role("link", name="Source").click()
    expect(page.locator(".source li").first).to_contain_text("# Deploying")


def test_why_page_explains_a_missing_document(open_page: OpenPage) -> None:
    page = open_page("/?q=xylophone&mode=words")
    page.get_by_role("link", name="Is a document missing?").click()
    page.get_by_role("textbox", name="Document").fill("wiki/table.md")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".answer")).to_contain_text("It is not a result")
    expect(page.locator(".answer")).to_contain_text("none of the query's words")


def test_related_documents_stand_beside_a_document(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/deploy.md")
    related = page.locator("#related")
    expect(related.get_by_role("heading", name="Related")).to_be_visible()
    # The notes have no vectors, and `guide.md`, which has the most common words, links to this note.
    expect(related).to_contain_text("has no vectors yet")
    link = related.get_by_role("link").first
    file = link.get_attribute("title")
    assert file not in ("wiki/deploy.md", "wiki/guide.md")
    link.click()
    expect(page).to_have_title(re.compile("qmd"))
    assert page.url.partition("?")[0].endswith(f"/read/{file}")


def test_related_documents_are_reached_without_script(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/deploy.md", java_script_enabled=False, locale="zh-CN")
    page.get_by_role("link", name="查找相似的文档").click()
    expect(page).to_have_url(re.compile("/similar/wiki/deploy.md$"))
    expect(page.get_by_role("heading", name="相关文档")).to_be_visible()
    assert page.locator("#related li a").count() > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?q=backup&mode=words&scores=1",
        "/?q=nothing-like-it&mode=words",
        "/read/wiki/guide.md?q=backup",
        "/read/wiki/missing.md",
        "/similar/wiki/deploy.md",
        "/upkeep",
        "/why?q=backup&doc=deploy.md",
        "/help",
    ],
)
def test_axe_finds_nothing(browser: Browser, server: Server, path: str, scheme: str) -> None:
    # axe is a script, which the security policy of the page would refuse.
    with watched(browser, server, color_scheme=scheme, bypass_csp=True) as (context, _):
        page = context.new_page()
        page.goto(path)
        found = Axe().run(page, options=AXE).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


@pytest.mark.parametrize("width", [320, 640, 1280, 3840])
@pytest.mark.parametrize("path", ["/", "/?q=backup&mode=words", "/read/wiki/wide.md", "/upkeep"])
def test_no_width_needs_horizontal_scrolling(open_page: OpenPage, path: str, width: int) -> None:
    page = open_page(path, viewport={"width": width, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_states_are_displayed_in_the_list_and_above_the_document(open_page: OpenPage) -> None:
    page = open_page("/?q=backup&mode=words")
    expect(page.locator(".hits .state", has_text="draft")).to_have_count(1)
    page.goto("/read/wiki/guide.md")
    expect(page.locator("article .state")).to_have_text("draft")


def test_beginning_of_a_word_leads_to_its_line_and_is_marked_there(open_page: OpenPage) -> None:
    for path in ("/?q=xylopho", "/?q=xylopho&mode=words", "/?q=xylopho&mode=both"):
        page = open_page(path)
        page.locator("#stage", has_text="by words").wait_for()
        page.locator("#hits a").first.click()
        expect(page.locator("#hit")).to_contain_text("Restore the xylophone.")
        expect(page.locator("article mark")).to_have_text("xylophone")
        expect(page.locator("#q")).to_have_value("xylopho")


def test_result_that_was_read_is_chosen_again(open_page: OpenPage) -> None:
    page = open_page("/?q=backup&mode=words")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#hits [aria-selected=true]")
    name = chosen.get_attribute("data-file")
    page.keyboard.press("Enter")
    page.locator("article").wait_for()
    page.go_back()
    expect(chosen).to_have_attribute("data-file", name or "")


@pytest.mark.parametrize("width", [1200, 1280, 1720])
def test_first_result_is_previewed_with_room(open_page: OpenPage, width: int) -> None:
    page = open_page("/", viewport={"width": width, "height": 800})
    page.keyboard.type("xylophone")
    preview = page.locator("#preview")
    expect(preview.locator("mark")).to_have_text("xylophone")
    assert preview.evaluate("it => it.getBoundingClientRect().width") >= 420
    page.keyboard.press("Control+a")
    page.keyboard.type("deploying")
    expect(preview.locator(".doctitle")).to_have_text("Deploying")


def test_whoever_comes_to_the_results_types_on(open_page: OpenPage) -> None:
    page = open_page("/?q=backup&mode=words")
    page.keyboard.type(" 2019")
    expect(page.locator("#q")).to_have_value("backup 2019")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("article").wait_for()
    page.go_back()
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("/")  # chooses what is typed, as everywhere
    page.keyboard.type("deploying")
    expect(page.locator("#q")).to_have_value("deploying")


def test_folders_open_as_a_tree(open_page: OpenPage) -> None:
    page = open_page("/")
    tree = page.locator(".columns .tree").first
    tree.locator("summary", has_text="wiki").click()
    expect(tree.get_by_role("link", name="Deploying")).to_be_visible()
    tree.locator("summary", has_text="sub").click()
    tree.get_by_role("link", name="Old backup").click()
    expect(page.locator("h1")).to_have_text("Old backup")
    page.locator(".crumbs").get_by_role("link", name="sub").click()
    expect(page).to_have_url(re.compile("/folder/wiki/sub$"))
    page.get_by_role("link", name="Search in this folder").click()
    expect(page.locator("#hits .title")).to_have_text(["Old backup"])


def test_tree_works_without_script(open_page: OpenPage) -> None:
    page = open_page("/", java_script_enabled=False)
    page.locator("summary", has_text="wiki").click()
    page.get_by_role("link", name="Open the folder").click(timeout=5_000)
    expect(page.locator("#folder")).to_contain_text("Deploying")


def test_title_properties_and_path_take_three_rows_of_a_phone(open_page: OpenPage) -> None:
    page = open_page("/read/wiki/table.md", viewport={"width": 390, "height": 844})
    tops = [page.locator(each).bounding_box() for each in (".doctitle", ".crumbs", ".prose > :first-child")]
    assert all(tops)
    title, path, text = (box["y"] for box in tops if box)
    assert title < path < text < title + 130
    page.locator(".about summary").click()
    page.get_by_role("link", name="Source").click()
    expect(page.locator(".source")).to_be_visible()


def test_advice_waits_until_nothing_is_found_by_meaning_either(open_page: OpenPage) -> None:
    page = open_page("/")
    page.evaluate(
        """() => {
          window.seen = [];
          new MutationObserver(() => {
            const advice = document.querySelector('#list > .empty'), stage = document.querySelector('#stage');
            if (advice && !advice.hidden && stage.textContent.includes('…')) seen.push(advice.textContent);
          }).observe(document.body, { subtree: true, childList: true, attributes: true });
        }"""
    )
    page.locator("#q").press_sequentially("qqzzxxww")
    page.locator("#list > .empty:not([hidden]), #hits").first.wait_for()
    assert page.evaluate("seen") == []


def test_address_of_a_document_in_the_box_opens_it(open_page: OpenPage) -> None:
    page = open_page("/?q=wiki/guide.md")
    expect(page).to_have_url(re.compile("/read/wiki/guide.md$"))


def test_browser_gets_a_page_if_there_is_nothing(server: Server) -> None:
    client = Client(server.port)
    answer = client.ask("GET", "/nosuch", accept="text/html,*/*")
    assert (answer.status, "There is no page /nosuch" in answer.text) == (404, True)
    assert client.ask("GET", "/nosuch", accept="*/*").detail(404).startswith("There is nothing at /nosuch")
