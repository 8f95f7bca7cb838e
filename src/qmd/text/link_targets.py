"""Resolve the targets of links to the documents of a collection, as Obsidian and generators of sites do.

Generators leave out suffixes, the names of index pages and numbers that only order files, and take dates
apart. Where their content begins, and under which base it is published, is in their configurations. Both only
change the beginning of an address, so pages are found by its end; of several, the nearest counts.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct, field

from qmd.text.outline import one_line
from qmd.text.regex import lazy
from qmd.text.uris import split_fragment
from qmd.text.values import fold

_SUFFIXES = (".md", ".markdown", ".mdx")
#: Fields whose values are other names or addresses of a document.
NAME_FIELDS = ("alias", "slug", "permalink", "redirect_from", "url", "id")
#: The most folders at the beginning of an address that may be the base of a site.
_MOST_BASE = 2
_PAGE_SUFFIX = lazy(r"\.(?:mdx?|markdown|mdoc|rmd|qmd|html?|xhtml|adoc|rst|ipynb|org|php)\Z")
_INDEX = frozenset(("index", "_index", "readme", "index.en", "default"))
_ORDER = lazy(r"\d{1,4}[ ]?[-_.]+[ ]?(?=[^\W\d])")
_DATED = lazy(r"(\d{4})-(\d{2})-(\d{2})-(?=.)")
#: What an address of a link may begin with in place of the root of the site.
_ROOT = lazy(r"(?:@site|~|\{\{[^{}]{0,100}\}\}|\$\{[^{}]{0,100}\})(?=/)")
#: Folders that are not part of addresses.
_UNSEEN = frozenset(("_posts", "_drafts", "_pages"))
#: The folder of a former version in Docusaurus: the version is part of the address.
_VERSIONED = lazy(r"versioned_docs/version-(?=[^/]+/)")


def page_name(name: str) -> str:
    """Return the name of a page whose file Logseq has named: `a/b` for `a___b` and `a%2Fb`."""
    if "___" not in name and "%" not in name:
        return name
    # Imported on use: it takes as long as all the rest of a scan without a change.
    from urllib.parse import unquote

    return unquote(name.replace("___", "/"))


def file_title(path: str) -> str:
    """Return the name of a file without its suffix, in one line."""
    name = path.rpartition("/")[2]
    return one_line(page_name(name.rpartition(".")[0] or name)) or one_line(name)


def target_name(target: str) -> str:
    """Return the key by which a target and the name of a document are compared: `a` for `notes/A.md#h`."""
    written = fold(split_fragment(target)[0])
    bare = written.rstrip("/") or written
    return _without_suffix(bare).removesuffix(".html").rpartition("/")[2] or bare


def names_of(targets: Iterable[str]) -> set[str] | None:
    """Return the names of the documents that targets can lead to, beside those with aliases; None for any."""
    names: set[str] = set()
    for target in targets:
        name = fold(split_fragment(target)[0]).rpartition("/")[2]
        if name in ("", ".", "..") and not target.startswith("#"):
            return None  # the name is that of a folder above
        names |= {name, _without_suffix(name), address(name)}
    return names


def _rooted(target: str) -> str:
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
    elif _VERSIONED.search(plain):
        yield _VERSIONED.sub("docs/", plain, count=1)
    elif (ordered := "/".join(_ORDER.sub("", part, count=1) or part for part in parts)) != plain:
        yield ordered


def is_index(path: str) -> bool:
    """Return whether a file is the index page of its folder."""
    return _PAGE_SUFFIX.sub("", path.rpartition("/")[2].lower()) in _INDEX


def _is_plain_page(name: str) -> bool:
    """Tell whether the page of a file of this name, in lower case, is only found by the name."""
    return not name[:1].isdigit() and _PAGE_SUFFIX.sub("", name) not in _INDEX


class LinkTargets(Struct):
    """The documents of a collection by path, name and alias, for `resolve`."""

    _paths: dict[str, list[str]] = field(default_factory=dict)
    _names: dict[str, list[str]] = field(default_factory=dict)
    _aliases: dict[str, list[str]] = field(default_factory=dict)
    #: Address and path of pages by the last part of the address.
    _addresses: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    #: The index pages, of which one may be the root of a site.
    _indexes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, documents: Iterable[tuple[str, Sequence[str]]], names: Collection[str] | None = None
    ) -> LinkTargets:
        """Return the targets for (path, aliases) of documents.

        Args:
            documents: All documents of a collection.
            names: The names from `names_of` for the targets that are going to be resolved; None for any.
        """
        targets = cls()
        wanted = None if names is None else {*names, *(name + end for name in names for end in _SUFFIXES)}
        for path, aliases in documents:
            if wanted is not None and not aliases and _is_plain(path):
                # Most documents of a large collection are left out here, without more work.
                name = path[path.rfind("/") + 1 :].lower()
                if name not in wanted and name.rpartition(".")[0] not in wanted:
                    continue
            targets._add(path, aliases, names)
        return targets

    def _add(self, path: str, aliases: Sequence[str], names: Collection[str] | None) -> None:
        """Add a document, unless it has neither an alias nor one of the names."""
        spellings = {fold(path), fold(page_name(path))}
        named = {name for each in spellings for name in _with_and_without(each.rpartition("/")[2])}
        pages = dict.fromkeys(addresses(path))
        ends = {page.rpartition("/")[2] for page in pages}
        if names is not None and not aliases and (named | ends).isdisjoint(names):
            return
        for key in {key for each in spellings for key in _with_and_without(each)}:
            self._paths.setdefault(key, []).append(path)
        for key in named:
            self._names.setdefault(key, []).append(path)
        if is_index(path):
            self._indexes.append(path)
        for page in pages:
            self._addresses.setdefault(page.rpartition("/")[2], []).append((page, path))
        for alias in aliases:
            key = fold(alias)
            key = key.strip("/") or key
            self._aliases.setdefault(key, []).append(path)
            if "/" not in key:  # an id or a slug takes the place of the file's name
                for page in pages:
                    placed = f"{page.rpartition('/')[0]}/{key}".lstrip("/")
                    self._addresses.setdefault(key, []).append((placed, path))

    def resolve(self, target: str, source: str, *, wikilink: bool) -> str | None:
        """Return the path of the document that a link leads to, the nearest of several; None if none.

        The arguments are those of `choices`.
        """
        return _nearest(self.choices(target, source, wikilink=wikilink), source)

    def choices(self, target: str, source: str, *, wikilink: bool) -> Sequence[str]:
        """Return the paths of the documents that a link may lead to, which are several if it is ambiguous.

        The rules in their order: a path relative to the source, or to the root (for a wikilink the root comes
        first); an address of a site; a name; an alias.

        Args:
            target: The target as written, without URL encoding.
            source: The path of the document with the link.
            wikilink: Whether it is a wikilink or an embedded file of this form.
        """
        written, fragment = split_fragment(target)
        written = _rooted(written)
        if not written:
            return [source] if fragment else []
        folder = posixpath.dirname(source)
        relative = _normalized(posixpath.join(folder, written)) if not written.startswith("/") else None
        rooted = _normalized(written.lstrip("/"))
        for path in (rooted, relative) if wikilink else (relative, rooted):
            found = self._paths.get(fold(path)) if path else None
            if found:
                return found
        if not wikilink and (pages := self._pages(written, source)):
            return pages
        if rooted is None or written.startswith(("./", "../")):
            return []
        key = fold(rooted)
        named = self._names.get(key.rpartition("/")[2], [])
        if "/" in key:
            ends = (f"/{key}", f"/{_without_suffix(key)}")
            named = [path for path in named if f"/{_without_suffix(fold(page_name(path)))}".endswith(ends)]
        return named or self._aliases.get(key, [])

    def _pages(self, written: str, source: str) -> list[str]:
        """Return the path of the page that a link of a site leads to, if there is one."""
        sought = address(written)
        if not sought:
            return self._root(source)
        if not written.startswith("/"):
            # Relative to the folder of the file, or to the address of its page, which ends in a slash.
            for base in (posixpath.dirname(source.lower()), address(source)):
                page = _normalized(posixpath.join(base, sought))
                if page and (found := self._at(page)):
                    return [_nearest(found, source) or ""]
            return []
        parts = sought.split("/")
        for at in range(min(len(parts), _MOST_BASE + 1)):
            page = "/".join(parts[at:])
            if at == 1 and parts[0] in (folders := source.lower().split("/")):
                # A page that is not translated: the site shows that of its first language.
                above = folders[: folders.index(parts[0])]
                if origin := self._at("/".join([*above, page])) or self._at("/".join([*above, "en", page])):
                    return origin[:1]
            found = self._at(page) or self._aliases.get(page, [])
            if not found:
                listed = self._addresses.get(parts[-1], ())
                found = [path for each, path in listed if each.endswith(f"/{page}")]
            # A single word below a base that is not known may be the end of many addresses.
            if found and (at == 0 or "/" in page or len({*found}) == 1):
                return [_nearest(found, source) or ""]
        return []

    def _root(self, source: str) -> list[str]:
        """Return the path of the index page of the site that a document is in."""
        above = [path for path in self._indexes if source.startswith(path.rpartition("/")[0])]
        above.sort(key=lambda path: ("readme" in path.lower(), path.count("/"), path))
        return above[:1]

    def _at(self, page: str) -> list[str]:
        return [path for each, path in self._addresses.get(page.rpartition("/")[2], ()) if each == page]


def _is_plain(path: str) -> bool:
    """Tell whether a path has no other spelling than that in lower case."""
    name = path[path.rfind("/") + 1 :].lower()
    return path.isascii() and "___" not in path and "%" not in path and _is_plain_page(name)


def _with_and_without(path: str) -> tuple[str, str]:
    return path, _without_suffix(path)


def _without_suffix(path: str) -> str:
    for suffix in _SUFFIXES:
        if path.endswith(suffix):
            return path[: -len(suffix)]
    return path


def _normalized(path: str) -> str | None:
    """Return a path without `.` and `..`; None if it leaves the root."""
    path = posixpath.normpath(path)
    return None if path.startswith(("../", "/")) or path in ("..", ".") else path


def _nearest(paths: Sequence[str], source: str) -> str | None:
    """Return the path with the most folders in common with the source, then the shortest, then the first."""
    if len(paths) < 2:
        return paths[0] if paths else None
    folders = source.split("/")[:-1]

    def distance(path: str) -> tuple[int, int, str]:
        common = 0
        for mine, theirs in zip(folders, path.split("/")[:-1], strict=False):
            if mine != theirs:
                break
            common += 1
        return -common, len(path), path

    return min(paths, key=distance)
