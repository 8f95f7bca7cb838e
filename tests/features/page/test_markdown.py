"""Rendered Markdown on the web page."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, strategies as st

from qmd.features.page.budget import Budget
from qmd.features.page.embeds import part
from qmd.features.page.html_tags import MAX_OPEN
from qmd.features.page.markdown import EmbeddedNote, RenderContext, render
from qmd.features.page.rendered import Rendered
from qmd.text.highlight import Highlighter
from qmd.text.query import parse

#: Parts of tags and formulas for attempts to inject HTML.
PIECES = [
    *(
        "<a href=",
        "<img src=",
        "<details ",
        "<table>",
        "<td ",
        "</div>",
        "<kbd",
        "<svg",
        "<script>",
        "</",
        ">",
    ),
    *('"', "'", "javascript:x", "data:x", " onerror=x", " style=x", "\n", "\n\n", "$\\text{", "}$", "&lt;"),
]
LINKS = {"note": "/read/wiki/note.md"}
FILES = {name: f"/file/wiki/{name}" for name in ("a.png", "s.mp3", "v.mp4")}


def rendered(text: str, **options: bool) -> Rendered:
    return render(text, RenderContext(LINKS.get, FILES.get, **options))


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
    title = '<span class="icon" role="presentation">✦</span>Title'
    assert f'<details class="callout good">\n<summary class="callout-title">{title}</summary>' in html
    assert "<msub><mi>a</mi><mi>b</mi></msub>" in html
    assert "<em>" not in html
    assert '<a href="/?q=tag:a%2Fb" class="tag"' in html


def test_block_names_are_ids_and_not_displayed() -> None:
    html = shown(
        "A quote. ^quote-1\n\n- item ^B15695\n\n2^10 and ^ alone\n\n^only\n\n![[a.png]]^image\n\n"
        "[[#^quote-1]] [[note#^b15695]]"
    )
    assert '<p id="b-image"><img' in html
    assert '<p id="b-quote-1">A quote.</p>' in html
    assert '<li id="b-b15695">item</li>' in html
    assert '<p id="b-only"></p>' in html
    assert "2^10 and ^ alone" in html
    assert 'href="#b-quote-1"' in html
    assert 'href="/read/wiki/note.md#b-b15695"' in html


def test_link_to_a_heading_below_a_heading_leads_to_the_last() -> None:
    assert 'href="/read/wiki/note.md#h-part-two"' in shown("[[note#One#Part two]]")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("![[a.png#icon]]", '<img src="/file/wiki/a.png" alt="a.png" loading="lazy">'),
        ("![[a.png#part|600]]", '<img src="/file/wiki/a.png" alt="a.png" width="600" loading="lazy">'),
        (
            "![[a.png|60x40]]",
            '<img src="/file/wiki/a.png" alt="a.png" width="60" height="40" loading="lazy">',
        ),
        (
            "![[a.png|A *cat*|60]]",
            '<span class="figure"><img src="/file/wiki/a.png" alt="A *cat*" width="60" loading="lazy">'
            '<span class="caption">A *cat*</span></span>',
        ),
        ("![a cat|60](a.png)", '<img src="/file/wiki/a.png" alt="a cat" width="60" loading="lazy">'),
        ("![[s.mp3]]", '<audio src="/file/wiki/s.mp3" title="s.mp3" controls="" preload="none"></audio>'),
        ("![](v.mp4)", '<video src="/file/wiki/v.mp4" title="v.mp4" controls="" preload="none"></video>'),
    ],
)
def test_images_have_sizes_and_captions_and_media_are_played(text: str, html: str) -> None:
    assert html in shown(text)


def test_media_on_other_hosts_are_links() -> None:
    html = shown("![x](https://example.org/v.mp4)", remote_images=True)
    assert "<video" not in html
    assert '<a class="image-left-out" href="https://example.org/v.mp4"' in html


def test_embedded_note_is_rendered_in_place_of_its_paragraph() -> None:
    inner = RenderContext(LINKS.get, FILES.get, page="/read/wiki/note.md")
    context = RenderContext(
        LINKS.get, FILES.get, embed={"note#Two": EmbeddedNote("# Two\n\nx ^y [[#Two]]", inner)}.get
    )
    found = render("# One\n\n![[note#Two]]\n\n![[none]]\n\ntext ![[note#Two]]", context)
    html = found.html()
    link = '<a href="/read/wiki/note.md#h-two" rel="noopener noreferrer">note › Two</a>'
    own = '<a href="/read/wiki/note.md#h-two" rel="noopener noreferrer">Two</a>'
    inside = f"<h1>Two</h1>\n<p>x ^y {own}</p>\n"
    assert f'<section class="embed"><p class="embed-title">{link}</p>{inside}</section>' in html
    assert f"<p>text {link}</p>" in html
    assert [heading.text for heading in found.headings] == ["One"]
    assert found.html(hit=3).count('<section id="hit" class="hit-line embed">') == 1


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("", "# A\n\none ^x\n\n## B\n\n- two ^y\n- three\n\n> four\n\n^z\n"),
        ("B", "## B\n\n- two ^y\n- three\n\n> four\n\n^z"),
        ("A#B", "## B\n\n- two ^y\n- three\n\n> four\n\n^z"),
        ("^X", "one ^x"),
        ("^y", "- two ^y"),
        ("^z", "> four"),
        ("^none", None),
        ("none", None),
    ],
)
def test_part_of_a_note_is_a_section_or_a_block(fragment: str, expected: str | None) -> None:
    text = "---\na: 1\n---\n# A\n\none ^x\n\n## B\n\n- two ^y\n- three\n\n> four\n\n^z\n"
    assert part(text, fragment) == expected


def test_formulas_are_mathml_or_code_if_unreadable() -> None:
    html = shown(r"$\frac{a}{b}$ and $x^2^3$" + "\n\n$$\n\\sum x\n$$\n")
    assert (
        '<math display="inline"><mrow><mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>' in html
    )
    assert '<div class="math" tabindex="0" role="group"><math display="block">' in html
    assert "<mo>∑</mo><mi>x</mi>" in html
    assert '<code class="math">x^2^3</code>' in html
    assert "script" not in shown(r"$\text{<script>}$").replace("&lt;script&gt;", "")


def test_only_harmless_html_tags_and_attributes_are_rendered() -> None:
    html = shown(
        'x<br>H<sub>2</sub>O <KBD onclick="x" style="y" class="hit-line" id="hit">Ctrl</KBD> <u>u</u>\n\n'
        "<details open>\n<summary>More</summary>\n\n**bold**\n\n</details>\n\n"
        '<table>\n  <tr><td align="right" colspan=2>a &amp; b<!-- c --></td></tr>\n</table>\n\n'
        '<p align="center"><img src="a.png" width="50" onerror="x"> <a href="note">n</a></p>\n\n'
        '<a href="javascript:x">j</a> <iframe src="x"></iframe> <script>s</script> <style>t</style>'
    )
    assert "x<br>H<sub>2</sub>O <kbd>Ctrl</kbd> <u>u</u>" in html
    assert '<details open="">\n<summary>More</summary>\n<p><strong>bold</strong></p>\n</details>' in html
    assert '<td colspan="2" class="right">a &amp; b</td>' in html
    assert '<p class="center"><img src="/file/wiki/a.png" alt="a.png" width="50" loading="lazy">' in html
    assert '<a href="/read/wiki/note.md" rel="noopener noreferrer">n</a>' in html
    assert '<a class="unresolved">j</a>' in html.replace(' rel="noopener noreferrer"', "")
    assert html.endswith("</a>   </p>\n")


def test_alignment_of_html_becomes_a_class() -> None:
    html = shown(
        '<center>mid</center>\n\n<p style="color: red; text-align: RIGHT">a</p>\n\n'
        '<img src="a.png" align="right"> and <img src="a.png" style="float:left"> and '
        '<img src="a.png" align="hit-line">\n\n<h2 style="text-align: hit-line">b</h2>\n'
    )
    assert '<div class="center">mid</div>' in html
    assert '<p class="right">a</p>' in html
    assert '<img class="right" src="/file/wiki/a.png"' in html
    assert '<img class="left" src="/file/wiki/a.png"' in html
    assert "hit-line" not in html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ('<svg width="9">\n<path d="x"/>\n\n    <text>no</text>\n</svg> after', "after"),
        ("before <svg><title>no</title></svg> after", "before  after"),
        ("> before <SVG>no\n>\n> no\n>\n> </SVG> after", "before"),
        ("<style>\nno\n\nno\n</style>\n\nafter", "<p>after</p>"),
        ("<svg>never closed", "never closed"),
        (
            '<font color="red">*red*</font> and <center>**mid**</center>',
            '<em>red</em> and </p><div class="center"><strong>mid</strong></div>',
        ),
        ('<font color="red">\nred\n</font>', "<p>red</p>"),
        ('<iframe src="https://example.org"></iframe>x<progress value="3"></progress>', "<p>x</p>"),
        ("<button>press</button> <my-part>mine</my-part>", "press mine"),
        ("A `Vec` of <T>, or Vec<T>", "of &lt;T&gt;, or Vec&lt;T&gt;"),
    ],
)
def test_other_tags_lose_the_tag_and_hidden_elements_their_content(text: str, html: str) -> None:
    found = shown(text)
    assert html in found
    assert ">no" not in found.replace("\n", "")
    assert not re.search(r"svg|font|iframe|button|progress|my-part", found.lower())


def test_callouts_have_kinds_with_looks_and_titles_with_markup() -> None:
    icon = '<span class="icon" role="presentation">'
    html = shown(
        "> [!bookinfo|noicon]+ *My* book\n> Text\n\n> [!TIP]\n> Text\n\n> [!warning|left]\n\n> [!a b] c"
    )
    assert (
        '<details class="callout note" open="">\n'
        f'<summary class="callout-title">{icon}✎</span><em>My</em> book</summary>' in html
    )
    assert f'<div class="callout good">\n<p class="callout-title">{icon}✦</span>Tip</p>\n<p>Text</p>' in html
    assert (
        f'<div class="callout warning">\n<p class="callout-title">{icon}⚠</span>Warning</p>\n</div>' in html
    )
    assert "<blockquote>\n<p>[!a b] c</p>" in html


def test_formulas_may_have_lines_that_look_like_blocks() -> None:
    html = shown(
        "text\n$$\na\n\n+ b\n= c\n$$\nmore\n\n> $$\n> d\n> - e\n> $$\n\n```\n$$\n\n- x\n$$\n```\n", hit=5
    )
    assert html.count('<div class="math') + html.count('class="hit-line math"') == 2
    assert '<div id="hit" class="hit-line math"' in html
    assert "<li>" not in html
    assert "$$\n\n- x\n$$" in html
    assert "<p>more</p>" in html.replace("\n", "")
    assert "&gt;" not in html


def test_notes_at_the_end_are_numbered_by_their_references() -> None:
    html = shown("a[^x] b^[inline *note*] c[^x] d[^y]\n\n[^y]: see [^x]\n[^x]: first\n[^z]: alone")
    assert re.findall(r">\[(\d)\]<", html) == ["1", "2", "1", "3", "1"]
    notes = html.partition('<section class="footnotes">')[2]
    assert [each in notes for each in ('id="fn1"', "inline <em>note</em>", "alone")] == [True] * 3
    assert notes.index("first") < notes.index("inline") < notes.index("see") < notes.index("alone")


def test_amounts_of_money_are_no_formulas() -> None:
    assert "<math" not in shown("from $5, or USD$30,000 to $6")


@pytest.mark.parametrize("sign", ["[x] ", "[ ] ", "[-] ", "[/] ", "[>] ", "[!] ", "[?] "])
def test_tasks_have_states(sign: str) -> None:
    html = shown(f"- {sign}do\n- [1] Smith\n- [a](b)")
    assert html.count('class="task-item"') == 1
    assert ">do</li>" in html
    assert "[1] Smith" in html


def test_pages_are_separated_before_their_blocks() -> None:
    text = "# One\n\nfirst\n\n- a\n- b\n\nsecond\n"
    separators = [(1, "<p>1</p>"), (5, "<p>2</p>"), (7, "<p>3</p>"), (8, "<p>4</p>"), (99, "<p>5</p>")]
    html = rendered(text).html(separators=separators)
    assert html.startswith('<p>1</p><h1 id="h-one">One</h1>')
    assert "<p>2</p><ul>" in html
    assert "<p>3</p><p>4</p><p>second</p>" in html
    assert html.endswith("<p>5</p>\n")


def test_comments_are_not_rendered() -> None:
    html = shown("<!-- one\n\ntwo -->\n\nafter <!-- three --> %% four %% end")
    assert all(word not in html for word in ("one", "two", "three", "four"))
    assert "after" in html


def test_hit_line_is_marked_in_the_smallest_block() -> None:
    text = "# Title\n\n- one\n- two\n  - three\n\n| a |\n|---|\n| row |\n\n```\ncode\n```\n\n$$\na\n$$\n"
    assert '<li id="hit" class="hit-line">three' in shown(text, hit=5)
    assert '<tr id="hit" class="hit-line">' in shown(text, hit=9)
    assert '<div id="hit" class="hit-line code">' in shown(text, hit=12)
    assert '<div id="hit" class="hit-line math"' in shown(text, hit=16)
    # The heading keeps its anchor, because links lead to it.
    assert '<h1 class="hit-line" id="h-title"><span id="hit"></span>Title' in shown(text, hit=1)
    assert '<ul class="hit-line"' not in shown(text, hit=6)
    assert shown(text, hit=6).count('id="hit"') == shown(text, hit=99).count('id="hit"') == 1
    assert "data-lines" not in shown(text)


def test_hit_line_is_marked_inside_a_long_block() -> None:
    lines = [f"*line* {number}" for number in range(1, 11)]
    assert '\n<span id="hit"></span><em>line</em> 4\n' in shown("\n".join(lines), hit=4)
    assert '<p><span id="hit"></span>line' in shown("line" + "\nline" * 9, hit=1)
    code = shown("\n".join(["```", *lines, "```"]), "line", hit=5)
    assert '\n<span id="hit"></span>*<mark>line</mark>* 4\n' in code


def test_text_that_resembles_the_line_attribute_stays() -> None:
    assert ' data-lines="1 2"' in shown('a data-lines="1 2"', hit=1)


def test_query_words_are_marked_across_tags() -> None:
    html = shown("an un**believ**able Tele<wbr>fon, *not*here", "unbelievable telefon")
    marked = "<mark>un</mark><strong><mark>believ</mark></strong><mark>able</mark>"
    assert f"an {marked} <mark>Tele</mark><wbr><mark>fon</mark>, <em>not</em>here" in html


def test_query_words_are_marked_in_text_and_code() -> None:
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


@example('<img src="javascript:x')
@given(
    st.text(alphabet=st.sampled_from("<>\"'&[]()!`*_#-=|~$^%:/\\ \n\tajvscriptonerror{}0123"), max_size=200)
    | st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
)
def test_rendered_text_never_contains_executable_html(text: str) -> None:
    html = shown(text, "script").lower()
    for tag in ("<script", "<iframe", "<object", "<svg", "<style", "<form", "<input"):
        assert tag not in html
    # Only nh3 writes tags, and it never writes such attributes. Everything else that resembles a tag is
    # escaped.
    for tag in re.findall(r"<[^>]*>", html):
        assert not re.search(r'(href|src)="javascript:', tag)
        assert not re.search(r"\s(on\w+|style)=", re.sub(r'"[^"]*"', '""', tag))


@pytest.mark.parametrize("piece", ["*a [b](c) ", "> a\n", "a\n", "- a\n\n", "<b>a</b>", "$a$ ", "==a== "])
def test_render_shows_as_text_what_is_left_when_the_budget_is_spent(piece: str) -> None:
    budget = Budget(steps=100)
    cut = render(piece * 2_000, RenderContext(LINKS.get, FILES.get, budget=budget))
    whole = render(piece * 2_000, RenderContext(LINKS.get, FILES.get, budget=Budget(steps=10**9)))
    assert (cut.short, whole.short) == (True, False)
    text = re.sub(r"<[^>]*>", "", cut.html())
    assert text.count("a") >= 2_000
    assert len(cut.parts) < len(whole.parts) / 4 + 15


def test_render_stops_at_the_end_of_the_time() -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked == 10

    assert render("- a\n\n" * 2_000, RenderContext(LINKS.get, FILES.get, budget=Budget(stop))).short
    assert asked == 10


def test_elements_deep_in_each_other_lose_their_tags() -> None:
    html = rendered("<details>\n\n" * 2_000 + "end" + "\n\n</details>" * 2_000 + "\n\n<b>bold</b>").html()
    assert html.count("<details>") == html.count("</details>") == MAX_OPEN
    assert "&lt;" not in html
    assert html.endswith("<b>bold</b></p>\n")


def test_elements_whose_end_may_be_left_out_are_not_deep() -> None:
    html = rendered("<ul>" + "<li>a" * 500 + "</ul>\n\n" + "<p>b\n\n" * 500).html()
    assert (html.count("<li>"), html.count("<p>")) == (500, 500)


@pytest.mark.parametrize("language", ["c", "make", "autohotkey", "csharp"])
def test_code_is_coloured_a_piece_at_a_time(language: str) -> None:
    lines = "".join(f"x{n} = {n};\n" for n in range(2_000))
    html = rendered(f"```{language}\n{lines}```").html()
    assert re.sub(r"<[^>]*>", "", html).replace(language, "", 1).strip() == lines.strip()
    assert "<span class=" in html.partition("<code>")[2]


def test_what_only_a_generator_of_sites_reads_is_not_shown() -> None:
    text = (
        "# Tabs\n\nimport Tabs from '~/Tabs.astro';\n\n:::note[Mind this]\n`import x from \"y\"`\n:::\n\n"
        '<Steps>\n1. First <Badge text="new" />\n\n   ```\n   :::code\n   ```\n</Steps>\n\n{/* no */}\n\n'
        '{{< figure src="a.png" >}} end\n'
    )
    html = shown(text)
    for hidden in ("Tabs.astro", ":::note", "Steps", "Badge", "/*", "figure"):
        assert hidden not in html
    for kept in ("Mind this", "import x from", ":::code", "end</p>"):
        assert kept in html


def test_diagrams_are_said_in_words_above_their_source() -> None:
    html = shown(
        "```mermaid\nflowchart LR\n  A[Start] --> B{Choice}\n```\n\n"
        "```mermaid\nsequenceDiagram\n  Ann->>Bob: Hello\n```"
    )
    assert '<details><summary class="language">Flowchart: Start, Choice</summary><pre' in html
    assert "Sequence of messages: Hello</summary>" in html
    hostile = shown('```mermaid\npie\n  "<img src=x onerror=alert(1)>" : 3\n```')
    assert "Pie chart: &lt;img src=x onerror=alert(1)&gt;, 3</summary>" in hostile
    assert "<img" not in hostile
    assert "(dot)</summary>" in shown("```dot\ndigraph { a -> b }\n```")
