"""Properties as Logseq, Dataview, Hugo, Jekyll, Quarto, Docusaurus and decision records have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import qmd

#: Files, each after a line with its name.
_PAGES = """\
=== pages/Falcon.md
title:: Project Falcon
type:: book
alias:: pf, Bird
tags:: [[Big Topic]], small
author:: [[Ann Bee]]
url:: https://example.org/x

- Rudder notes
  id:: 64f1c2a0-1111-4222-8333-944445555666
  collapsed:: true
  created-at:: 1650000000000
  :LOGBOOK:
  CLOCK: [2024-05-01 Wed 10:00:00]
  :END:
\t- mast
\t  priority:: 3
\t  supersedes:: [[a/b]]
=== pages/a___b.md
- heron
=== pages/c%2Fd.md
- heron
=== dataview.md
# Trip

**Rating**:: 5
- [ ] ask [due:: 2024/06/02] soon (mood:: calm)

std::vector and Foo::bar and f :: Int

```
hidden:: yes
id:: 64f1c2a0
```
=== hugo.md
+++
title = 'Hugo'
linkTitle = 'Short Hugo'
expiryDate = 2020-01-01
[author]
name = 'Ann Bee'
+++
x
=== quarto.md
---
author:
  - name:
      given: Ann
      family: Bee
  - name:
      given: Bo
      family: Day
---
x
=== docusaurus.mdx
---
sidebar_label: Short Label
authors:
  - name: Ann Bee
    url: https://example.org
  - name: Bo
draft: true
---
# Long
=== jekyll.md
---
published: false
author:
  display_name: Ann Bee
---
x
=== adr/1.md
# 1. Use herons

Date: 2024-05-01

## Status

Superceded by [2. Use storks](2.md)

## Context

x
=== adr/2.md
# 2. Use storks

* Status: accepted
* Deciders: Ann Bee
* Date: 2024-05-02

## Context

Status: draft
=== adr/3.md
# 3. Old

**Status:** Deprecated
=== adr/4.md
# 4. Table

| Status | Draft |
|---|---|
| Date | 2024-05-01 |
=== prose.md
# Talk

We spoke about the status: it is a draft.

## Status

The work goes on as planned.
=== logseq/bak/pages/Falcon/1.md
- bittern
=== logseq/custom.md
- heron
"""


def _write(folder: Path, files: str) -> list[str]:
    """Write files, and return their names."""
    names = []
    for part in files.split("=== ")[1:]:
        name, _, text = part.partition("\n")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        names.append(name)
    return names


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[qmd.Index]:
    folder = tmp_path_factory.mktemp("properties")
    _write(folder / "notes", _PAGES)
    with qmd.open_index(str(folder / "index.sqlite")) as index:
        index.add_collection(str(folder / "notes"), "notes", formats=["all"])
        yield index


def _fields(index: qmd.Index, name: str) -> Mapping[str, tuple[object, ...]]:
    return index.fields_of([f"notes/{name}"])[f"notes/{name}"]


def _found(index: qmd.Index, query: str) -> set[str]:
    return {hit.file.removeprefix("notes/") for hit in index.search(query, limit=None).hits}


def test_properties_of_logseq_are_fields_tags_titles_and_names(library: qmd.Index) -> None:
    found = _fields(library, "pages/Falcon.md")
    assert (found["type"], found["priority"], found["author"]) == (("book",), (3,), ("Ann Bee",))
    assert {*found["tag"]} == {"Big Topic", "small"}
    assert {*found["alias"]} == {"pf", "Bird", "Project Falcon"}
    assert library.get("notes/pages/Falcon.md").document.title == "Project Falcon"
    assert _found(library, 'tag:"Big Topic"') == {"pages/Falcon.md"}
    assert _found(library, "rudder [priority>=2]") == {"pages/Falcon.md"}
    assert not {"id", "collapsed", "created-at"} & found.keys()


def test_lines_that_logseq_writes_for_itself_are_no_text(library: qmd.Index) -> None:
    for words in ("collapsed", "64f1c2a0-1111-4222-8333-944445555666", "CLOCK", "1650000000000"):
        assert "pages/Falcon.md" not in _found(library, words), words
    (hit,) = library.search("mast").hits
    assert (hit.line, "collapsed" in hit.snippet.text) == (15, False)
    assert _found(library, "64f1c2a0") == {"dataview.md"}  # code stays


def test_pages_in_namespaces_have_their_names_and_links(library: qmd.Index) -> None:
    assert library.get("notes/pages/a___b.md").document.title == "a/b"
    assert library.get("notes/pages/c%2Fd.md").document.title == "c/d"
    assert [link.to for link in library.links("notes/pages/Falcon.md") if link.kind != "url"] == [
        "notes/pages/a___b.md" if target == "a/b" else None for target in ("Big Topic", "Ann Bee", "a/b")
    ]
    assert [link.file for link in library.backlinks("notes/pages/a___b.md")] == ["notes/pages/Falcon.md"]


def test_inline_fields_of_dataview_are_fields(library: qmd.Index) -> None:
    found = _fields(library, "dataview.md")
    assert (found["rating"], found["mood"], found["due"]) == ((5,), ("calm",), ("2024-06-02",))
    assert not {"hidden", "std", "foo", "f"} & found.keys()
    assert _found(library, "trip [due<2024-07]") == {"dataview.md"}


def test_authors_and_labels_of_site_generators_count(library: qmd.Index) -> None:
    by_ann = {"hugo.md", "quarto.md", "docusaurus.mdx", "jekyll.md", "pages/Falcon.md", "adr/2.md"}
    assert _found(library, 'author:"Ann Bee"') == by_ann
    assert _fields(library, "quarto.md")["author"] == ("Ann Bee", "Bo Day")
    assert {"hugo.md", "docusaurus.mdx"} == _found(library, "title:label") | _found(
        library, '"Short Hugo"'
    ) | _found(library, '"Short Label"')
    assert _found(library, "state:draft") == {"docusaurus.mdx", "jekyll.md", "adr/4.md"}
    assert _found(library, "state:expired") == {"hugo.md"}


def test_status_of_decision_records_is_their_state(library: qmd.Index) -> None:
    assert _found(library, "state:superseded") == {"adr/1.md", "pages/a___b.md"}
    (hit,) = library.search('title:"Use herons"').hits
    assert hit.state is not None
    assert hit.state.by == "notes/adr/2.md"
    assert _found(library, "state:deprecated") == {"adr/3.md"}
    assert _found(library, "[status:accepted]") == {"adr/2.md"}
    assert _found(library, "date:2024-05") >= {"adr/1.md", "adr/2.md", "adr/4.md"}
    assert "status" not in _fields(library, "prose.md")


def test_former_versions_of_pages_are_left_out_and_why_says_so(library: qmd.Index) -> None:
    assert not _found(library, "bittern")
    assert "logseq/custom.md" in _found(library, "heron")
    folder = Path(library.config.collections["notes"].path)
    absence = library.absence(str(folder / "logseq/bak/pages/Falcon/1.md"))
    assert absence is not None
    assert "folder 'logseq/bak' has former versions and deleted files" in absence.reason


_SITE = """\
=== src/content/docs/de/concepts/islands.mdx
# Inseln

[x](/de/guides/start/) <LinkCard href='/de/guides/start/' />
=== src/content/docs/en/concepts/islands.mdx
# Islands

[s](/en/guides/start/#top) [r](../../guides/start/)
=== src/content/docs/de/guides/start.md
# Los

[i](/de/concepts/islands/) [b](/base/de/concepts/islands)
=== src/content/docs/en/guides/start.md
# Start

`[no]({{< ref "nothing" >}})` [i](../../concepts/islands/)
=== content/posts/2024-05-01-hello/index.md
---
slug: greeting
---
# Hello
=== content/about.md
[a]({{< relref "posts/2024-05-01-hello" >}}) {{% ref path="/about.md" %}}
=== _posts/2024-05-02-world.md
# World

[h](/posts/greeting/)
=== jekyll.md
{% link _posts/2024-05-02-world.md %} {% post_url 2024-05-02-world %}
[a]({{ site.baseurl }}/2024/05/02/world.html) [b]({{ '/content/about' | relative_url }})
=== docs/01-intro.md
---
id: begin
---
# Intro

[n](./02-next.md) [i](/docs/next) [s](@site/docs/02-next.md)
=== docs/02-next.md
# Next

[b](begin) [t](/handbook/tutorial/) {doc}`01-intro`
=== docs/tutorial/index.md
# Tutorial

[up](../intro) [m](/missing/page/)
=== web/index.md
# Web
=== web/docs/GettingStarted.md
---
id: getting-started
---
# Getting started

[home](/) [v](/docs/2.x/getting-started) [repo]({{site.repository}}/issues/7)

{{< code-toggle >}}
[[menus.main]]
name = "Docs"
{{< /code-toggle >}}
=== web/versioned_docs/version-2.x/GettingStarted.md
---
id: getting-started
---
# Getting started

[l](/docs/getting-started#top) [g]: {% include address.html %}
=== src/content/docs/en/only.md
# Only in English

[d](/docs/getting-started)
=== src/content/docs/fr/autre.md
# Autre

[o](/fr/only/)
"""


def test_links_of_sites_lead_to_their_pages(index: qmd.Index, tmp_path: Path) -> None:
    names = _write(tmp_path / "site", _SITE)
    index.add_collection(str(tmp_path / "site"), "site", pattern="**/*.{md,mdx}")

    def links(name: str) -> list[str | None]:
        return [link.to and link.to.removeprefix("site/") for link in index.links(f"site/{name}")]

    docs = "src/content/docs"
    assert links(f"{docs}/de/concepts/islands.mdx") == [f"{docs}/de/guides/start.md"] * 2
    assert links(f"{docs}/en/concepts/islands.mdx") == [f"{docs}/en/guides/start.md"] * 2
    assert links(f"{docs}/de/guides/start.md") == [f"{docs}/de/concepts/islands.mdx"] * 2
    assert links(f"{docs}/en/guides/start.md") == [f"{docs}/en/concepts/islands.mdx"]
    assert links("content/about.md") == ["content/posts/2024-05-01-hello/index.md", "content/about.md"]
    assert links("_posts/2024-05-02-world.md") == ["content/posts/2024-05-01-hello/index.md"]
    assert links("jekyll.md") == ["_posts/2024-05-02-world.md"] * 3 + ["content/about.md"]
    assert links("docs/01-intro.md") == ["docs/02-next.md"] * 3
    assert links("docs/02-next.md") == ["docs/01-intro.md", "docs/tutorial/index.md", "docs/01-intro.md"]
    assert links("docs/tutorial/index.md") == ["docs/01-intro.md", None]
    older = "web/versioned_docs/version-2.x/GettingStarted.md"
    assert links("web/docs/GettingStarted.md") == ["web/index.md", older, None]
    assert links(older) == ["web/docs/GettingStarted.md"]
    assert links(f"{docs}/fr/autre.md") == [f"{docs}/en/only.md"]
    kinds = [link.kind for link in index.links("site/web/docs/GettingStarted.md")]
    assert kinds == ["markdown", "markdown", "url"]
    backlinks = {name: [link.file for link in index.backlinks(f"site/{name}")] for name in names}
    assert backlinks[f"{docs}/de/concepts/islands.mdx"] == [f"site/{docs}/de/guides/start.md"] * 2
    assert backlinks["_posts/2024-05-02-world.md"] == ["site/jekyll.md"] * 3
    assert backlinks["docs/01-intro.md"] == ["site/docs/02-next.md"] * 2 + ["site/docs/tutorial/index.md"]
    assert backlinks["docs/tutorial/index.md"] == ["site/docs/02-next.md"]
    assert backlinks["web/index.md"] == ["site/web/docs/GettingStarted.md"]
    assert index.orphans() == ["site/jekyll.md", f"site/{docs}/fr/autre.md"]
