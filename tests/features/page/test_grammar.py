"""The index and the page find the same tags and links in a text."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest

from qmd.features.page import markdown
from qmd.text.extraction import extract

SPECIAL = "#ok [[Note]] https://a.b/c"


def _of_index(text: str) -> tuple[list[str], list[str]]:
    found = extract(text, "a.md")
    return [str(tag) for tag in found.fields.get("tag", ())], [link.target for link in found.links]


def _of_page(text: str) -> tuple[list[str], list[str]]:
    context = markdown.RenderContext(link=lambda target: f"/read/{target}", file=lambda path: None)
    addresses = re.findall(r'<a href="([^"]*)"', markdown.render(text, context).html(None, None))
    tags = [unquote(each.removeprefix("/?q=tag:")) for each in addresses if each.startswith("/?q=tag:")]
    return list(dict.fromkeys(tags)), [
        each.removeprefix("/read/") for each in addresses if not each.startswith("/?q=tag:")
    ]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#_draft", ["_draft"]),
        ("#🎉party and #✅", ["🎉party", "✅"]),
        ("（#full） (#half) 。#标签", ["full", "half", "标签"]),
        ("#ok/- #a/b/ #c-", ["ok/-", "a/b", "c-"]),
        ("#42 #1/2 #7a", ["1/2", "7a"]),
        ("a#b ##c #- #_ #/ \\#d", []),
        ("`#a` <!-- #b --> [#c](d) **#e**", []),
        ("# Head #h\n\n- #item\n\n> a #quoted", ["h", "item", "quoted"]),
    ],
)
def test_index_and_page_have_the_same_tags(text: str, tags: list[str]) -> None:
    assert _of_index(text)[0] == tags
    assert _of_page(text)[0] == tags


@pytest.mark.parametrize(
    "text",
    [
        f"Text.\n\n    {SPECIAL}\n\n    {SPECIAL}\n",
        f"    {SPECIAL}\n",
        f"\t{SPECIAL}\n",
        f"# Heading\n    {SPECIAL}\n",
        f"- item\n\n      {SPECIAL.replace('#', ' #')}\n",
        f"- item\n\nText.\n\n    {SPECIAL}\n",
        f"<style>\n{SPECIAL}\n\n{SPECIAL}\n</style>\n",
        f'<SCRIPT type="module">\n{SPECIAL}\n\n# {SPECIAL}\n</SCRIPT>\n',
        f"Text.\n<script>\n\n{SPECIAL}\n",
        f'A <span title=" {SPECIAL}">word</span>\n',
        f'<div class="a" data-b=" {SPECIAL}">\n\nWord\n\n</div>\n',
        f'<custom-tag a=" {SPECIAL}"/>\n',
    ],
)
def test_code_scripts_and_attributes_have_no_tags_and_links(text: str) -> None:
    assert _of_index(text) == ([], [])
    assert _of_page(text) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        f"Text\n    {SPECIAL}\n",
        f"- item\n\n    {SPECIAL}\n",
        f"1. item\n    - deeper\n\n        {SPECIAL}\n",
        f"- item\nlazy\n\n    {SPECIAL}\n",
        f"    code\n\n{SPECIAL}\n",
        f"<style>a</style>\n\n{SPECIAL}\n",
        f"<script>\na\n</script>\n{SPECIAL}\n",
        f"a < b\n\n{SPECIAL} c > d\n",
        f"a <b\n\n{SPECIAL} c> d\n",
        f"<span>{SPECIAL.replace('#', ' #')} </span>\n",
    ],
)
def test_text_that_only_resembles_code_has_tags_and_links(text: str) -> None:
    assert _of_index(text) == (["ok"], ["Note", "https://a.b/c"])
    assert _of_page(text) == (["ok"], ["Note", "https://a.b/c"])
