"""Documents of sites: what their generators do not show is neither a heading, nor a tag, nor a passage."""

from __future__ import annotations

import pytest

import qmd
from tests.conftest import Notes
from tests.markdown import only_text

PAGE = """---
title: Islands
---
import {
  Card,
} from 'components';
export const meta = {
  hidden: true,
};

{/* #in-mdx
## Hidden
*/}

{{/* #in-hugo */}}

{% comment %}
#in-jekyll
{% endcomment %}

{% highlight ruby %}
# no heading of Ruby
{% endhighlight %}

{{< highlight go >}}
## no heading of Go
{{< /highlight >}}

## Setup

A #real tag.

## Setup

Second.

## Setup 1

Third.

## Été à la plage & Co.

## Docs {/* #my-id */}

## Badge <Badge text="new" />
"""


def test_documents_of_sites_have_the_headings_tags_and_anchors_of_the_site(
    index: qmd.Index, notes: Notes
) -> None:
    index.add_collection(str(notes({"page.mdx": PAGE})), "site", pattern="**/*.mdx")
    _, sections = index.outline("site/page.mdx")
    headings = ["Setup", "Setup", "Setup 1", "Été à la plage & Co.", "Docs", "Badge"]
    assert [section.heading for section in sections] == headings
    assert [tag.value for tag in index.tags()] == ["real"]
    lines = [section.first_line for section in sections]
    for anchor, line in {
        "setup": lines[0],
        "setup-1": lines[1],  # which GitHub has given before it comes to "Setup 1"
        "setup-1-1": lines[2],
        "été-à-la-plage--co": lines[3],
        "été-à-la-plage-co": lines[3],
        "ete-a-la-plage-co": lines[3],
        "%C3%A9t%C3%A9-%C3%A0-la-plage--co": lines[3],
        "my-id": lines[4],
        "badge-": lines[5],
    }.items():
        assert index.get(f"site/page.mdx#{anchor}").first_line == line, anchor


_OTHER = "\n\n# Other\n"


def test_title_is_the_first_heading_below_what_the_site_does_not_show(index: qmd.Index, notes: Notes) -> None:
    files = {
        "Query table.md": "type:: [[Feature]]\n\n- ## Functionality\n  - A table.\n",
        "Changes.md": "## Beta 2\n\n- ## Beta 1\n",
        "Prose.md": f"Text.\n\n# Not{_OTHER}",
        "hero.mdx": f"<Hero\n  image={{a}}\n  title='b'\n/>\n\n# Right{_OTHER}",
        "export.mdx": f"export const a = () => {{\n  b();\n\n  return c;\n}};\n\n# Right{_OTHER}",
        "kramdown.md": f"{{: .no_toc }}\n# Right{_OTHER}",
        "toc.md": f"[[toc]]\n\n# Right{_OTHER}",
        "badges.md": "[![b](https://img.shields.io/a)](x) [![c](d)](e)\n\nRight\n=====\n\nOther\n=====\n",
        "address.md": "[ref]: http://x\n===\n\n# Right\n",
    }
    index.add_collection(str(notes(files)), "site", pattern="**/*.{md,mdx}")
    titles = {document.path: document.title for document in index.documents("site")}
    assert titles.pop("Query table.md") == "Query table"
    assert titles.pop("Changes.md") == "Changes"
    assert titles.pop("Prose.md") == "Prose"
    assert {*titles.values()} == {"Right"}, titles


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Use `<details>` and `{{< ref >}}` here.", "Use `<details>` and `{{< ref >}}` here."),
        ("Seen <!-- not seen --> again.", "Seen again."),
        ("Seen {/* not seen */} again.", "Seen again."),
        ("import {\n  a,\n  b,\n} from 'c';\nText.", "Text."),
        ("export const a = {\n  b: () => {\n    c('}');\n  },\n};\nText.", "Text."),
        ("export const a = 1;\nText.\n\nMore.", "Text. More."),
        ("export default unclosed (\nText.", "Text."),
        ('<Card\n  title="a > b"\n  on={() => {\n    f({});\n  }}\n>\n  Text.\n</Card>', "Text."),
        ("Press <Kbd>Ctrl</Kbd> <Icon name='x' /> now.", "Press Ctrl now."),
        ("A List<String> and 1 < 2.", "A List<String> and 1 < 2."),
        (":::note[Mind]\nText.\n:::", "Mind] Text."),
        ("::: {.callout-note}\nText.\n:::", "Text."),
        ("{{% notice tip %}}\nText.\n{{% /notice %}}\n{{< figure src='a.png' >}}", "Text."),
        ("{% include a.html %}\nText.\n{: .class }", "Text."),
        ("[TOC]\n\nText.", "Text."),
        ("[![build](https://a.b/badge.svg)](https://a.b) [Docs](d.md)", "[Docs](d.md)"),
        ("![stars](https://img.shields.io/a?style=b) ![A chart](chart.png)", "![A chart](chart.png)"),
        ("## Head {#anchor}\n\nText.", "## Head Text."),
        ("%%\nnot seen\n%%\nText that is 100%% sure.", "Text that is 100%% sure."),
    ],
)
def test_markup_of_sites_is_no_text(text: str, shown: str) -> None:
    plain = only_text(text)
    assert len(plain) == len(text)
    assert " ".join(plain.split()) == shown
