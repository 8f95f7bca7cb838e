"""`Index.lint`: the checks of a wiki, each a function of its documents."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from qmd.engine.access.rules import Rule
from qmd.engine.documents.links import Links, is_wikilink, leads_to_document
from qmd.engine.documents.stated import states_in
from qmd.engine.documents.structures import structures
from qmd.engine.parts import Part
from qmd.engine.requests import collections_of
from qmd.engine.workspace import Workspace
from qmd.errors import UsageError
from qmd.features.lint import twins
from qmd.features.lint.fault import KINDS, Fault, Kind
from qmd.features.lint.stale import outdated
from qmd.store.values import OnStep
from qmd.text.outline import MAX_LEVEL, find_section, sections
from qmd.text.spans import apart, blanked
from qmd.text.uris import split_fragment
from qmd.text.values import fold, shown
from qmd.text.wording import visible
from qmd.types import Document, ResolvedLink, Section
from qmd.types.structure import Structure

#: The suffixes of pages of a wiki. Other documents are neither checked nor orphans.
_PAGES = (
    *(".md", ".markdown", ".mdx", ".mdown", ".qmd", ".rmd", ".org", ".rst", ".adoc", ".asciidoc"),
    *(".txt", ".wiki"),
)
#: Pages that nobody needs to link to: those one begins with, and those of days.
_ENTRY = re.compile(
    r"_?index|readme|home|(?:.*[-_])?nav(?:[-_].*)?|start|main|log|contents|toc|_?sidebar|_?navbar|summary"
    r"|memory|memory_summary|agents|claude|gemini|overview|changelog|license|contributing|404|\d{4}[-_]?\d\d[-_]?\d\d.*",
    re.IGNORECASE,
)
#: Documents whose texts are read at a time.
_BATCH = 200
#: A page with fewer words beside its headings is a stub, unless it leads on to so many others.
_STUB_WORDS, _STUB_LINKS = 15, 3
#: Fewer words are not compared.
_TWIN_WORDS = 12
#: More pages with one title have it from their form.
_SAME_TITLE = 3
#: A fragment that is no heading: a line, a text, a block of Obsidian.
_NO_HEADING = re.compile(r"L\d+(?:-L?\d+)?|:~:.*|page=\d+|\^[\w-]+|top", re.DOTALL)
#: How a place is written that is no heading: in HTML, Markdown, AsciiDoc, Org, and reStructuredText.
_PLACES = (
    *('"{}"', "{{#{}}}", "[[{}]]", "[[{},", "[#{}]", "[#{},", "[#{}.", "anchor:{}["),
    *("<<{}>>", "#+name: {}\n", "#+NAME: {}\n", ".. _{}:"),
)
#: Values of a field that says the state, by which a document is the present word.
_CURRENT = frozenset(
    "accepted active approved current final live published stable valid gültig aktiv".split()
)
_KIND_OF: Mapping[str, Kind] = {
    "expired": "stale",
    "link": "stale",
    "cycle": "contradiction",
    "reference": "broken",
    "unclear": "unclear",
}


class LintMethods(Part):
    """The method of `Index` that checks documents as pages of a wiki."""

    _rules: Mapping[str, Rule] = {"lint": Rule()}

    def lint(
        self,
        collections: Sequence[str] = (),
        *,
        only: Sequence[str] = (),
        on_step: OnStep = lambda _: None,
    ) -> list[Fault]:
        """List the faults of documents, by path and line.

        Args:
            collections: Names of collections; those that are searched by default, if none is named.
            only: Kinds of faults: `broken`, `ambiguous`, `orphan`, `stub`, `twin`, `stale`, `contradiction`,
                `unclear`. All, if none is named.
            on_step: Is called before each step that takes long.

        Raises:
            CollectionNotFoundError: There is no such collection.
            UsageError: There is no such kind.
        """
        for kind in only:
            if kind not in KINDS:
                raise UsageError(
                    f"there is no kind of faults '{visible(kind)[:100]}'", f"one of: {', '.join(KINDS)}"
                )
        names = collections_of(self._workspace.config, collections)
        wiki = _Wiki(self._workspace, names, on_step)
        found = [
            fault
            for check, kinds in _CHECKS.items()
            if not only or not kinds.isdisjoint(only)
            for fault in check(wiki)
            if not only or fault.kind in only
        ]
        return sorted(found, key=lambda fault: (fault.file, fault.line, KINDS.index(fault.kind)))


class _Read(NamedTuple):
    """What the text of a page says: its words beside headings, a sample of them, and where links may lead."""

    words: int
    sample: twins.Sample
    sections: tuple[Section, ...]
    missing: frozenset[str]  #: The fragments of links to it that lead to none of its places


class _Wiki:
    """The pages of collections with their links and texts, each read when a check asks for it."""

    def __init__(self, workspace: Workspace, names: Sequence[str], on_step: OnStep) -> None:
        self.store, self.config, self.names, self.on_step = workspace.store, workspace.config, names, on_step

    @cached_property
    def pages(self) -> dict[str, Document]:
        """The pages by display path."""
        listed = (document for name in self.names for document in self.store.documents.listing(name))
        return {each.file: each for each in listed if each.path.lower().endswith(_PAGES)}

    @cached_property
    def links(self) -> dict[str, list[ResolvedLink]]:
        """The links of all documents, also of those that are no pages."""
        self.on_step("following links")
        return dict(Links(self.store).of(self.names))

    @cached_property
    def fragments(self) -> dict[str, set[str]]:
        """By page, the names of sections that links to it have."""
        found: dict[str, set[str]] = defaultdict(set)
        for link in self.of_pages():
            fragment = split_fragment(link.target)[1]
            if link.to and fragment and not _NO_HEADING.fullmatch(fragment):
                found[link.to].add(fragment)
        return found

    def of_pages(self) -> Iterator[ResolvedLink]:
        """Yield the links of pages."""
        return (link for file, links in self.links.items() if file in self.pages for link in links)

    @cached_property
    def read(self) -> dict[str, _Read]:
        """What the texts say, by display path."""
        self.on_step("reading texts")
        found: dict[str, _Read] = {}
        hashes: dict[str, int] = {}
        pages = [*self.pages.values()]
        for at in range(0, len(pages), _BATCH):
            batch = pages[at : at + _BATCH]
            texts = self.store.documents.texts([document.id for document in batch])
            known = structures(self.store, texts)
            for document in batch:
                text, structure = texts.get(document.id, ""), known.get(document.id, Structure())
                words = twins.words(_prose(text, structure))
                named = self.fragments.get(document.file, ())
                listed = sections(text, structure) if named else ()
                missing = frozenset(name for name in named if not _has_place(text, listed, name))
                found[document.file] = _Read(len(words), twins.sample(words, hashes), listed, missing)
        return found


def _prose(text: str, structure: Structure) -> str:
    """Return a text without front matter, headings and markup."""
    heads = ((each.start, each.high) for each in structure.headings if each.level <= MAX_LEVEL)
    plain = blanked(text, apart([*structure.unread_spans(), *heads]))
    return plain[structure.body :]


def _has_place(text: str, listed: Sequence[Section], fragment: str) -> bool:
    return find_section(listed, fragment) is not None or any(
        each.format(fragment) in text for each in _PLACES
    )


def _broken(wiki: _Wiki) -> Iterator[Fault]:
    hint = "correct the link, or write the page"
    for link in wiki.of_pages():
        if link.to is None and leads_to_document(link):
            yield Fault("broken", link.file, link.line, f"{_written(link)} leads to no document", hint)
    for link in wiki.of_pages():
        read = wiki.read.get(link.to or "") if "#" in link.target else None
        if read is not None and split_fragment(link.target)[1] in read.missing:
            message = f"{_written(link)} leads to no section of {visible(link.to or '')}"
            yield Fault(
                "broken", link.file, link.line, message, "correct the part after '#', see 'qmd outline'"
            )


def _ambiguous(wiki: _Wiki) -> Iterator[Fault]:
    links = Links(wiki.store)
    targets = {name: links.targets(name) for name in wiki.names}
    for link in wiki.of_pages():
        if link.to is None or link.kind == "url":
            continue
        collection, _, source = link.file.partition("/")
        choices = targets[collection].choices(link.target, source, wikilink=is_wikilink(link))
        if len(choices) > 1:
            others = ", ".join(f"{collection}/{path}" for path in sorted(choices)[:4])
            more = f" and {len(choices) - 4} more" if len(choices) > 4 else ""
            message = f"{_written(link)} may lead to {visible(others)}{more}"
            yield Fault("ambiguous", link.file, link.line, message, "write the path, or rename one of them")


def _orphans(wiki: _Wiki) -> Iterator[Fault]:
    linked = {link.to for file, links in wiki.links.items() for link in links if link.to != file}
    for file, document in wiki.pages.items():
        name = document.path.rpartition("/")[2].rpartition(".")[0]
        if file not in linked and not _ENTRY.fullmatch(name):
            hint = "link to it from a page on its subject: 'qmd similar' finds some"
            yield Fault("orphan", file, 0, "no other document links to it", hint)


def _stubs(wiki: _Wiki) -> Iterator[Fault]:
    for file, read in wiki.read.items():
        if read.words < _STUB_WORDS and len(wiki.links.get(file, ())) < _STUB_LINKS:
            words = "no words" if not read.words else "1 word" if read.words == 1 else f"{read.words} words"
            yield Fault(
                "stub", file, 0, f"has only {words} beside headings", "write it, or join it to another"
            )


def _twins(wiki: _Wiki) -> Iterator[Fault]:
    hint = "join them, or say which one holds: superseded_by"
    for name in wiki.names:
        pages = [document for document in wiki.pages.values() if document.collection == name]
        pages.sort(key=lambda document: (document.path.count("/"), document.path))
        firsts: dict[str, Document] = {}
        samples: dict[int, twins.Sample] = {}
        told: set[str] = set()
        for at, document in enumerate(pages):
            first = firsts.setdefault(document.hash, document)
            if first is not document:
                told.add(document.file)
                yield Fault("twin", document.file, 0, f"has the text of {visible(first.file)}", hint)
            elif (read := wiki.read[document.file]).words >= _TWIN_WORDS:
                samples[at] = read.sample
        for one, other, share in twins.twins(samples):
            file = pages[other].file
            told.add(file)
            message = f"has {share:.0%} of its words in common with {visible(pages[one].file)}"
            yield Fault("twin", file, 0, message, hint)
        titled: dict[str, list[Document]] = defaultdict(list)
        for document in pages:
            titled[fold(document.title)].append(document)
        for same in titled.values():
            # Pages with the same name as well are those of other folders, such as translations.
            names = {document.path.rpartition("/")[2].casefold() for document in same}
            if 1 < len(same) <= _SAME_TITLE and len(names) == len(same):
                for document in same[1:]:
                    if document.file not in told:
                        message = f"has the title of {visible(same[0].file)}: {visible(document.title)}"
                        yield Fault("twin", document.file, 0, message, hint)


def _states(wiki: _Wiki) -> Iterator[Fault]:
    states = states_in(wiki.store, wiki.config)
    if states is None:
        return
    for each in outdated(wiki.store, wiki.config, states):
        if each.file in wiki.pages:
            yield Fault(_KIND_OF[each.kind], each.file, each.line, visible(each.text), each.hint)
    documents = wiki.store.documents.by_id([*states.said, *states.next])
    for identity, ends in states.rivals.items():
        if identity in documents and documents[identity].file in wiki.pages:
            rivals = " and ".join(visible(states.files[end]) for end in ends)
            hint = "say in superseded_by of one of them which holds"
            yield Fault("contradiction", documents[identity].file, 0, f"is replaced by {rivals}", hint)
    fields = wiki.store.fields.of([*states.next])
    for identity in states.next:
        document = documents.get(identity)
        if document is None or document.file not in wiki.pages:
            continue
        for name, values in fields.get(identity, {}).items():
            said = next((shown(value) for value in values if fold(shown(value)) in _CURRENT), "")
            if said and wiki.config.state_fields.get(name) == "status":
                message = f"says {name}: {visible(said)}, but {states.of(identity).line}"
                yield Fault("contradiction", document.file, 0, visible(message), f"correct its {name}")
    for identity, claims in states.said.items():
        document = documents.get(identity)
        if (
            document is not None
            and document.file in wiki.pages
            and "" < claims.valid_until < claims.valid_from
        ):
            message = f"is valid until {claims.valid_until}, but only from {claims.valid_from} on"
            yield Fault("contradiction", document.file, 0, message, "correct one of the dates")


def _written(link: ResolvedLink) -> str:
    """Return a link as it is written, about."""
    target = visible(link.target[:200])
    return f"[[{target}]]" if is_wikilink(link) else f"({target})"


#: The checks, with the kinds of what they find.
_CHECKS: Mapping[Callable[[_Wiki], Iterator[Fault]], frozenset[str]] = {
    _broken: frozenset({"broken"}),
    _ambiguous: frozenset({"ambiguous"}),
    _orphans: frozenset({"orphan"}),
    _stubs: frozenset({"stub"}),
    _twins: frozenset({"twin"}),
    _states: frozenset(_KIND_OF.values()),
}
