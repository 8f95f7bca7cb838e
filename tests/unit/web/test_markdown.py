"""Markdown as the page shows it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.text.highlight import Highlighter
from qmd.text.query import parse
from qmd.web.markdown import Context, render
from qmd.web.rendered import Rendered


def rendered(text: str, **options: bool) -> Rendered:
    links = {"note": "/read/wiki/note.md"}
    files = {"a.png": "/file/wiki/a.png"}
    return render(text, Context(links.get, files.get, **options))


def shown(text: str, query: str = "", hit: int | None = None, **options: bool) -> str:
    find = Highlighter(parse(query).terms).highlights if query else None
    return rendered(text, **options).html(find, hit)


def test_wikilinks_lead_to_documents_and_keep_their_text() -> None:
    html = shown("[[note]], [[note#Part two|part]], [[none]] and [md](note)")
    assert '<a href="/read/wiki/note.md" rel="noopener noreferrer">note</a>' in html
    assert '<a href="/read/wiki/note.md#h-part-two" rel="noopener noreferrer">part</a>' in html
    assert '<a class="unresolved" rel="noopener noreferrer">none</a>' in html
    assert html.count("/read/wiki/note.md") == 3


def test_images_are_local_and_remote_ones_are_counted() -> None:
    text = "![[a.png|120]] ![x](https://example.org/a.png) ![[none.png]]"
    assert '<img src="/file/wiki/a.png" alt="a.png" width="120" loading="lazy">' in shown(text)
    assert shown(text).count("<img") == 1
    assert rendered(text).blocked_images == 1
    assert shown("![x](https://example.org/a.png)", remote_images=True).count("<img") == 1


def test_obsidian_syntax_is_rendered() -> None:
    html = shown(
        "- [x] done\n- [ ] open\n\n==marked==\n\n> [!tip]- Title\n> Text\n\n$a_b$ and $$c_d$$\n\n#a/b"
    )
    assert '<span class="task done" role="img" aria-label="done"></span>done' in html
    assert '<span class="marker">marked</span>' in html
    assert '<details class="callout good">\n<summary class="callout-title">Title</summary>' in html
    assert "a_b</" in html
    assert "<em>" not in html
    assert '<a href="/?q=tag:a%2Fb" class="tag"' in html


def test_names_of_blocks_are_not_shown() -> None:
    html = shown("A quote. ^quote-1\n\n- item ^b15695\n\n2^10 and ^ alone\n\n^only\n")
    assert "quote-1" not in html
    assert "b15695" not in html
    assert "only" not in html
    assert "2^10 and ^ alone" in html


def test_pages_are_separated_before_their_blocks() -> None:
    text = "# One\n\nfirst\n\n- a\n- b\n\nsecond\n"
    separators = [(1, "<p>1</p>"), (5, "<p>2</p>"), (7, "<p>3</p>"), (8, "<p>4</p>"), (99, "<p>5</p>")]
    html = rendered(text).html(separators=separators)
    assert html.startswith('<p>1</p><h1 id="h-one">One</h1>')
    assert "<p>2</p><ul>" in html
    assert "<p>3</p><p>4</p><p>second</p>" in html
    assert html.endswith("<p>5</p>\n")


def test_html_and_comments_are_not_rendered() -> None:
    html = shown("<b>x</b>\n\n<!-- one\n\ntwo -->\n\nafter <!-- three --> %% four %% end")
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert all(word not in html for word in ("one", "two", "three", "four"))
    assert "after" in html


def test_line_of_the_hit_is_marked_in_the_smallest_block() -> None:
    text = "# Title\n\n- one\n- two\n  - three\n\n| a |\n|---|\n| row |\n\n```\ncode\n```\n\n$$\na\n$$\n"
    assert '<li id="hit" class="hit-line">three' in shown(text, hit=5)
    assert '<tr id="hit" class="hit-line">' in shown(text, hit=9)
    assert '<div id="hit" class="hit-line code">' in shown(text, hit=12)
    assert '<pre id="hit" class="hit-line math"' in shown(text, hit=16)
    # The anchor of a heading stays, because links lead to it.
    assert '<h1 class="hit-line" id="h-title"><span id="hit"></span>Title' in shown(text, hit=1)
    assert '<ul class="hit-line"' not in shown(text, hit=6)
    assert shown(text, hit=6).count('id="hit"') == shown(text, hit=99).count('id="hit"') == 1
    assert "data-lines" not in shown(text)


def test_line_of_the_hit_is_marked_inside_of_a_long_block() -> None:
    lines = [f"*line* {number}" for number in range(1, 11)]
    assert '\n<span id="hit"></span><em>line</em> 4\n' in shown("\n".join(lines), hit=4)
    assert '<p><span id="hit"></span>line' in shown("line" + "\nline" * 9, hit=1)
    code = shown("\n".join(["```", *lines, "```"]), "line", hit=5)
    assert '\n<span id="hit"></span>*<mark>line</mark>* 4\n' in code


def test_text_that_looks_like_the_attribute_of_lines_stays() -> None:
    assert ' data-lines="1 2"' in shown('a data-lines="1 2"', hit=1)


def test_words_of_the_query_are_marked_in_text_and_code() -> None:
    html = shown("Backups of *backup* and `backup`.\n\n数据库备份。", "backup 备份")
    assert html.count("<mark>") == 4
    assert "<mark>Backups</mark>" in html
    assert "<mark>备份</mark>" in html
    html = shown("a <b & amp;\n\n```python\ndef amp(): ...\n```\n", "amp python")
    assert html.count("<mark>") == 2
    assert "&lt;b &amp; <mark>amp</mark>;" in html
    assert '<span class="nf"><mark>amp</mark></span>' in html


def test_headings_have_unique_anchors() -> None:
    headings = rendered("# A *b*\n\n## A b\n\n## 中文 标题\n").headings
    assert [(each.text, each.level, each.anchor) for each in headings] == [
        ("A b", 1, "h-a-b"),
        ("A b", 2, "h-a-b-2"),
        ("中文 标题", 2, "h-中文-标题"),
    ]


@given(
    st.text(alphabet=st.sampled_from("<>\"'&[]()!`*_#-=|~$^%:/\\ \n\tajvscriptonerror{}0123"), max_size=200)
)
def test_no_text_makes_an_element_or_address_that_runs(text: str) -> None:
    html = shown(text, "script").lower()
    for tag in ("<script", "<iframe", "<object", "<svg", "<style", "<form", "<input"):
        assert tag not in html
    assert 'href="javascript:' not in html
    assert 'src="javascript:' not in html


@pytest.mark.parametrize("piece", ["*a [b](", "> ", "line\n", "- a\n\n"])
def test_rendering_ends_as_soon_as_it_is_told_to(piece: str) -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked == 10

    with pytest.raises(InterruptedError):
        render(piece * 2_000, Context({}.get, {}.get, stop=stop))
    assert asked == 10
