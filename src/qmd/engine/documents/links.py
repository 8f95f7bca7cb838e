"""The links between documents. They are resolved when they are asked for, so they are never outdated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from qmd.engine.access.rules import READ
from qmd.engine.documents.references import References
from qmd.engine.parts import Part
from qmd.engine.requests import collections_of
from qmd.store.base import Store
from qmd.text.link_targets import (
    NAME_FIELDS,
    LinkTargets,
    addresses,
    is_index,
    names_of,
    page_name,
    target_name,
)
from qmd.text.uris import split_fragment
from qmd.text.values import shown
from qmd.types import Document, Link, ResolvedLink

#: Targets that lead to no page: none, and the table of contents, as sites write it.
_NO_PAGE = ("", "toc")
#: Documents whose links are read at a time.
_BATCH = 1_000


class _Collection(Struct, frozen=True):
    """The documents of a collection as (id, path, aliases), and the targets of their links."""

    name: str
    rows: Sequence[tuple[int, str, tuple[str, ...]]]
    targets: LinkTargets

    def resolve(self, link: Link, source: str) -> ResolvedLink:
        path = None
        if link.kind != "url":
            path = self.targets.resolve(link.target, source, wikilink=is_wikilink(link))
        to = None if path is None else f"{self.name}/{path}"
        return ResolvedLink(f"{self.name}/{source}", link.line, link.kind, link.target, to)


def is_wikilink(link: Link | ResolvedLink) -> bool:
    """Return whether a link is resolved as a wikilink is."""
    return link.kind == "wikilink" or (link.kind == "embed" and "/" not in link.target)


class Links:
    """Finds the links from and to documents, inside their collections."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: (id, path, aliases) of the documents of collections.
        self._rows: dict[str, list[tuple[int, str, tuple[str, ...]]]] = {}

    def outgoing(self, document: Document) -> list[ResolvedLink]:
        """Return the links of a document, in order."""
        links = self._store.fields.links([document.id]).get(document.id)
        if not links:
            return []
        targets = [link.target for link in links if link.kind != "url"]
        collection = self._collection(document.collection, targets)
        return [collection.resolve(link, document.path) for link in links]

    def backlinks(self, document: Document) -> list[ResolvedLink]:
        """Return the links of other documents to a document, in order of path and line."""
        fields = self._store.fields.of([document.id]).get(document.id, {})
        aliases = [shown(value) for name in NAME_FIELDS for value in fields.get(name, ())]
        # Only links with one of its names can lead to a document.
        file_name = document.path.rpartition("/")[2]
        names = {target_name(name) for name in (file_name, page_name(file_name), *aliases)}
        names |= {file_name.casefold(), *(page.rpartition("/")[2] for page in addresses(document.path))}
        names |= {"/", ".", ".."} if is_index(document.path) else set()
        sources = self._store.fields.linking(document.collection, sorted(names))
        if not sources:
            return []
        links = {
            source: [link for link in found if link.kind != "url" and target_name(link.target) in names]
            for source, found in self._store.fields.links(sources).items()
        }
        targets = [link.target for found in links.values() for link in found]
        collection = self._collection(document.collection, targets)
        resolved = (
            collection.resolve(link, path)
            for identity, path, _ in collection.rows
            for link in links.get(identity, ())
        )
        return [link for link in resolved if link.to == document.file and link.file != document.file]

    def linking(self, document: Document) -> list[int]:
        """Return the ids of the documents that link to a document."""
        linking = {link.file for link in self.backlinks(document)}
        rows = self._rows.get(document.collection, ())
        return sorted(identity for identity, path, _ in rows if f"{document.collection}/{path}" in linking)

    def embeds(self, collection: str, name: str) -> Iterator[tuple[str, str]]:
        """Yield (path of the document, target) of the links that embed a file of this name in any folder."""
        key = target_name(name)
        # The second is how files of GitHub name images.
        sources = self._store.fields.linking(collection, [key, f"{key}?raw=true"])
        links = self._store.fields.links(sources)
        for source, document in self._store.documents.by_id(sources).items():
            for link in links.get(source, ()):
                if link.kind == "embed" and target_name(link.target).partition("?")[0] == key:
                    yield document.path, link.target

    def targets(self, collection: str, targets: Sequence[str] | None = None) -> LinkTargets:
        """Return the documents of a collection that some targets can lead to, or any target."""
        return self._collection(collection, targets).targets

    def named(self, collection: str, target: str) -> str | None:
        """Return the path of the document of a collection that a wikilink in its root leads to."""
        return self._collection(collection, [target]).targets.resolve(target, "", wikilink=True)

    def of(self, collections: Sequence[str]) -> Iterator[tuple[str, list[ResolvedLink]]]:
        """Yield the display path of each document of collections, with its links.

        Where no `[[name]]` of a collection leads to a document, those are text, as in code and in games.
        """
        for name in collections:
            found = [*self._of(name)]
            wiki = [link.to for _, links in found for link in links if link.kind == "wikilink"]
            if len(found) > 1 and wiki and not any(wiki):
                found = [(file, [each for each in links if each.kind != "wikilink"]) for file, links in found]
            yield from found

    def _of(self, name: str) -> Iterator[tuple[str, list[ResolvedLink]]]:
        collection = self._collection(name)
        for at in range(0, len(collection.rows), _BATCH):
            batch = collection.rows[at : at + _BATCH]
            links = self._store.fields.links([identity for identity, _, _ in batch])
            for identity, path, _ in batch:
                resolved = [collection.resolve(link, path) for link in links.get(identity, ())]
                yield f"{name}/{path}", resolved

    def _collection(self, name: str, targets: Sequence[str] | None = None) -> _Collection:
        """Return the documents of a collection. Only these targets can be resolved, unless they are None."""
        if targets is not None and not targets:
            return _Collection(name, (), LinkTargets())
        if name not in self._rows:
            self._rows[name] = self._store.fields.targets(name)
        rows = self._rows[name]
        return _Collection(
            name,
            rows,
            LinkTargets.of(
                ((path, aliases) for _, path, aliases in rows), None if targets is None else names_of(targets)
            ),
        )


class LinkMethods(Part, rule=READ):
    """Follow the links between documents."""

    def links(self, reference: str) -> list[ResolvedLink]:
        """List the links of a document, in order. Raises as `get`."""
        return Links(self._workspace.store).outgoing(self._document(reference))

    def backlinks(self, reference: str) -> list[ResolvedLink]:
        """List the links of other documents to a document, by path and line. Raises as `get`."""
        return Links(self._workspace.store).backlinks(self._document(reference))

    def link_lists(self, reference: str) -> tuple[list[ResolvedLink], list[ResolvedLink]]:
        """Return `links` and `backlinks` of a document; faster than both one after another."""
        links, document = Links(self._workspace.store), self._document(reference)
        return links.outgoing(document), links.backlinks(document)

    def unresolved_links(self, collections: Sequence[str] = ()) -> list[ResolvedLink]:
        """List the links that should lead to a document and lead to none."""
        documents = Links(self._workspace.store).of(collections_of(self._workspace.config, collections))
        return [
            link for _, links in documents for link in links if link.to is None and leads_to_document(link)
        ]

    def orphans(self, collections: Sequence[str] = ()) -> list[str]:
        """List the display paths of the documents that no other document links to."""
        names = collections_of(self._workspace.config, collections)
        documents = dict(Links(self._workspace.store).of(names))
        linked = {link.to for file, links in documents.items() for link in links if link.to != file}
        return [file for file in documents if file not in linked]

    def _document(self, reference: str) -> Document:
        return References(self._workspace.store, self._workspace.config).resolve(reference)


def leads_to_document(link: ResolvedLink) -> bool:
    """Tell whether a link can lead to a document: it is no URL, and names no file of another kind.

    A role of reStructuredText, such as `:pep:`, may also lead to the site of the series.
    """
    if link.kind == "wikilink" and link.file.endswith(".rst"):
        return False
    name = split_fragment(link.target)[0].rpartition("/")[2]
    _, dot, suffix = name.rpartition(".")
    is_document = not dot or suffix.lower() in ("md", "mdx", "markdown") or " " in suffix
    return link.kind != "url" and is_document and name.strip("_").lower() not in _NO_PAGE
