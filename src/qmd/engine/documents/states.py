"""The states of the documents of an index: which are superseded by which, expired, deprecated and so on.

Links in fields are resolved when states are asked for, so states are never outdated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from qmd.engine.documents.links import Links
from qmd.store.base import Store
from qmd.text.states import Claims, StateReference, claims, conditions, in_series
from qmd.text.uris import is_uri, parse_uri, split_fragment
from qmd.text.values import fold
from qmd.types import Config, Document, ValueCount
from qmd.types.states import CURRENT, STATE_NAMES, DocumentState


class States(Struct, frozen=True):
    """The states that documents state, and their replacements, among the collections that are visible.

    Attributes:
        said: The statement of each document that has one.
        next: The document that replaces another, by id. There are no cycles.
        files: The display paths of documents that are in `next`.
        sink: Whether any document sinks below others.
        cycles: Documents each of which is said to be replaced by the next, and the last one by the first.
            What contradicts itself counts for nothing.
        lost: Documents, with references of their fields that lead to no document.
        rivals: By document, those that replace it as others say, if none of them replaces the rest.
    """

    now: str
    said: Mapping[int, Claims] = field(default_factory=dict)
    next: Mapping[int, int] = field(default_factory=dict)
    files: Mapping[int, str] = field(default_factory=dict)
    sink: bool = False
    cycles: Sequence[tuple[int, ...]] = ()
    lost: Sequence[tuple[int, StateReference]] = ()
    rivals: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def of(self, document: int) -> DocumentState:
        """Return the state of a document."""
        said = self.said.get(document)
        chain = self.chain(document)
        if said is None and not chain:
            return CURRENT
        return (said or Claims()).state(self.files[chain[-1]] if chain else "", self.now)

    def chain(self, document: int) -> list[int]:
        """Return the documents that replace a document, one after the other."""
        found: list[int] = []
        while (following := self.next.get(document)) is not None:
            found.append(following)
            document = following
        return found

    def marked(self) -> Iterator[tuple[int, DocumentState]]:
        """Yield the documents that are not current, in order, with their states."""
        for document in sorted({*self.said, *self.next}):
            state = self.of(document)
            if state is not CURRENT:
                yield document, state

    def counts(self, documents: Iterable[int]) -> tuple[ValueCount, ...]:
        """Return the states of documents with their numbers, most frequent first."""
        counts = Counter(self.of(document).name for document in documents)
        return tuple(ValueCount(name, number) for name, number in counts.most_common())

    def summary(self) -> str:
        """Say how many documents have each state but `current`: `12 superseded, 1 expired`."""
        counts = Counter(state.name for _, state in self.marked())
        named = [f"{counts[name]:,} {name}" for name in reversed(STATE_NAMES) if counts[name]]
        named += [f"{len(self.cycles):,} contradictory"] * bool(self.cycles)
        return ", ".join(named)


def states_of(store: Store, config: Config) -> States:
    """Return the states of the documents that the caller may see, as of now in the zone of the user."""
    now = datetime.now().isoformat(timespec="seconds")  # noqa: DTZ005 - dates in files are local
    key = ("states", now[:16], config.digest, tuple(config.collections))
    kept = store.computed()
    if key not in kept:
        kept[key] = _read(store, config, now)
    found: States = kept[key]
    return found


def _read(store: Store, config: Config, now: str) -> States:
    names, collections = config.state_fields, tuple(config.collections)
    fields = store.fields.stated(collections, conditions(names))
    stated = ((document, claims(values, names)) for document, values in fields.items())
    said = {document: each for document, each in stated if each != Claims()}
    related = {key: each for key, each in said.items() if each.supersedes or each.superseded_by}
    finder = _Finder(store, config, related)
    replacing: dict[int, list[int]] = {}
    lost: list[tuple[int, StateReference]] = []
    files: dict[int, str] = {}

    def resolved(document: Document, references: Iterable[StateReference]) -> Iterator[int]:
        for reference in references:
            target = finder.find(document, reference)
            if target is not None:
                files[target.id], files[document.id] = target.file, document.file
                yield target.id
            elif not _is_elsewhere(reference):
                lost.append((document.id, reference))

    in_order = sorted(finder.documents.values(), key=lambda document: document.file)
    for document in in_order:
        replacing.setdefault(document.id, []).extend(
            resolved(document, finder.said[document.id].superseded_by)
        )
    for document in in_order:
        for old in resolved(document, finder.said[document.id].replaces(now)):
            replacing.setdefault(old, []).append(document.id)
    first = {old: new[0] for old, new in replacing.items() if new}
    cycles = _cycles(first)
    inside = {document for cycle in cycles for document in cycle}
    said |= {key: replace(said[key], superseded_by=()) for key in inside & said.keys()}
    following = {old: new for old, new in first.items() if old not in inside}
    states = States(now, said, following, files, False, cycles, lost)
    rivals = {
        old: ends
        for old, new in replacing.items()
        if old not in inside and len(ends := _ends(new, following)) > 1
    }
    return replace(states, rivals=rivals, sink=any(state.is_lowered for _, state in states.marked()))


def _ends(documents: Sequence[int], following: Mapping[int, int]) -> list[int]:
    """Return the documents that replace some in the end, each once."""
    found: dict[int, None] = {}
    for document in documents if len(documents) > 1 else ():
        while (after := following.get(document)) is not None:
            document = after
        found[document] = None
    return [*found]


class _Finder:
    """Finds the documents that references lead to, in the collection of the document with the reference."""

    def __init__(self, store: Store, config: Config, documents: Mapping[int, Claims]) -> None:
        self._store = store
        self._config = config
        self.documents = store.documents.by_id([*documents])
        self.said = {key: in_series(documents[key], each.path) for key, each in self.documents.items()}
        targets: dict[str, list[str]] = {}
        for identity, document in self.documents.items():
            said = self.said[identity]
            targets.setdefault(document.collection, []).extend(
                each.target for each in (*said.supersedes, *said.superseded_by)
            )
        self._titles: dict[str, dict[str, list[Document]]] = {}
        links = Links(store)
        self._targets = {name: links.targets(name, written) for name, written in targets.items()}

    def find(self, document: Document, reference: StateReference) -> Document | None:
        """Return the document that a reference of a document leads to."""
        path = self._targets[document.collection].resolve(
            reference.target, document.path, wikilink=reference.wikilink
        )
        if path is not None:
            return self._store.documents.find(document.collection, path)
        # The display path of a document elsewhere.
        written = split_fragment(reference.target)[0]
        written = parse_uri(written) if is_uri(written) else written
        collection, _, path = written.strip("/").partition("/")
        elsewhere = collection in self._config.collections and self._store.documents.find(collection, path)
        return elsewhere or self._titled(document.collection, reference.target)

    def _titled(self, collection: str, title: str) -> Document | None:
        """Return the only document of a collection with a title."""
        if collection not in self._titles:
            titles: dict[str, list[Document]] = {}
            for each in self._store.documents.listing(collection):
                titles.setdefault(fold(each.title), []).append(each)
            self._titles[collection] = titles
        found = self._titles[collection].get(fold(title), [])
        return found[0] if len(found) == 1 else None


def _is_elsewhere(reference: StateReference) -> bool:
    return "://" in reference.target


def _cycles(following: Mapping[int, int]) -> list[tuple[int, ...]]:
    """Return the cycles of a mapping, each from its smallest member on."""
    found: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for start in sorted(following):
        path: dict[int, None] = {}
        at: int | None = start
        while at is not None and at not in seen:
            seen.add(at)
            path[at] = None
            at = following.get(at)
        if at in path:
            members = [*path]
            cycle = members[members.index(at) :]
            low = cycle.index(min(cycle))
            found.append((*cycle[low:], *cycle[:low]))
    return found
