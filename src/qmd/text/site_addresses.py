"""Addresses of pages on the sites that generators make of their files: `de/concepts/islands`.

Generators leave out suffixes, the names of index pages and numbers that only order files, and take dates
apart. Where their content begins, and under which base it is published, is in their configurations. Both only
change the beginning of an address, so pages are found by its end; of several, the nearest counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from qmd.text.regex import lazy

_PAGE_SUFFIX = lazy(r"\.(?:mdx?|markdown|mdoc|rmd|qmd|html?|xhtml|adoc|rst|ipynb|org|php)\Z")
_INDEX = frozenset(("index", "_index", "readme", "index.en", "default"))
_ORDER = lazy(r"\d{1,4}[ ]?[-_.]+[ ]?(?=[^\W\d])")
_DATED = lazy(r"(\d{4})-(\d{2})-(\d{2})-(?=.)")
#: What an address of a link may begin with in place of the root of the site.
_ROOT = lazy(r"(?:@site|~|\{\{[^{}]{0,100}\}\}|\$\{[^{}]{0,100}\})(?=/)")
#: Folders that are not part of addresses.
_UNSEEN = frozenset(("_posts", "_drafts", "_pages"))


def rooted(target: str) -> str:
    """Return a target that begins at the root of a site, such as `@site/docs/a.md`, with a slash there."""
    return _ROOT.sub("", target, count=1) if target[:1] in "@~{$" else target


def address(path: str) -> str:
    """Return the address of a path or a link, in lower case: without suffix, index page and query."""
    parts = path.partition("?")[0].lower().strip("/").split("/")
    parts[-1] = _PAGE_SUFFIX.sub("", parts[-1])
    if len(parts) > 1 and parts[-1] in _INDEX:
        parts.pop()
    return "/".join(parts)


def addresses(path: str) -> Iterator[str]:
    """Yield the addresses that the page of a file may have, the most likely last."""
    plain = address(path)
    yield plain
    parts = [part for part in plain.split("/") if part not in _UNSEEN]
    if dated := _DATED.match(parts[-1]):
        title = parts[-1][dated.end() :]
        yield "/".join([*parts[:-1], *dated.groups(), title])
        yield "/".join([*parts[:-1], title])
    elif (ordered := "/".join(_ORDER.sub("", part, count=1) or part for part in parts)) != plain:
        yield ordered


def is_plain(name: str) -> bool:
    """Tell whether the page of a file of this name, in lower case, is only found by the name."""
    return not name[:1].isdigit() and _PAGE_SUFFIX.sub("", name) not in _INDEX
