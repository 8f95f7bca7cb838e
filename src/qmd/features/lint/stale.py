"""Find outdated documents: documents that have expired, links to superseded ones, and contradictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from qmd.engine.access.rules import Rule
from qmd.engine.documents.links import Links
from qmd.engine.documents.stated import states_in
from qmd.engine.documents.states import States
from qmd.engine.finding import Finding, ok, warning
from qmd.engine.parts import Part
from qmd.store.base import Store
from qmd.text.wording import visible
from qmd.types import Config, ResolvedLink
from qmd.types.states import DocumentState

#: Findings of each kind; more are counted.
_MOST = 200
#: The advice, by the kind of a finding.
_HINTS = {
    "expired": "bring it up to date, or name what replaces it in superseded_by",
    "link": "link to what replaces it",
    "cycle": "each of these is said to be replaced by the next, so all count as current",
    "reference": "mend the field that names it",
    "unclear": "write what docs/states.md lists",
}


class Outdated(NamedTuple):
    """Something that is out of date: its kind, the document, its line or 0, and what is said of it."""

    kind: str
    file: str
    line: int
    text: str

    @property
    def message(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return visible(f"{place} {self.text}")

    @property
    def hint(self) -> str:
        return _HINTS[self.kind]


def stale(store: Store, config: Config) -> Iterator[Finding]:
    """Yield what is out of date in the collections of a configuration, each as a warning."""
    states = states_in(store, config)
    if states is None:
        yield ok("state", "no document says anything of its state")
        return
    found = False
    counts: Counter[str] = Counter()
    for each in outdated(store, config, states):
        found = True
        counts[each.kind] += 1
        if counts[each.kind] <= _MOST:
            yield warning(each.kind, each.message, each.hint)
    for kind, number in counts.items():
        if number > _MOST:
            yield warning(kind, f"and {number - _MOST:,} more", _HINTS[kind])
    if not found:
        yield ok("state", "nothing is out of date" + (f": {told}" if (told := states.summary()) else ""))


def outdated(store: Store, config: Config, states: States) -> Iterator[Outdated]:
    """Yield what is out of date, by kind."""
    documents = store.documents.by_id([*states.said, *states.next])
    files = {identity: document.file for identity, document in documents.items()}
    marked = {files[identity]: state for identity, state in states.marked() if identity in files}
    for file, state in marked.items():
        if state.name == "expired":
            yield Outdated("expired", file, 0, state.line if state.date else "is expired")
    for link, state in _links(store, config, marked):
        yield Outdated("link", link.file, link.line, f"-> {link.to}, {state.line}")
    for cycle in states.cycles:
        others = " -> ".join(files[each] for each in (*cycle[1:], cycle[0]))
        yield Outdated("cycle", files[cycle[0]], 0, f"-> {others}")
    for identity, said in states.said.items():
        for value in said.unclear:
            text = f"has a field that says nothing of its state: {value[:200]}"
            yield Outdated("unclear", files[identity], 0, text)
    for identity, reference in states.lost:
        yield Outdated(
            "reference", files[identity], 0, f"names a document that is not found: {reference.target}"
        )


def _links(
    store: Store, config: Config, marked: Mapping[str, DocumentState]
) -> Iterator[tuple[ResolvedLink, DocumentState]]:
    """Yield the links of documents that are not superseded themselves to documents that are."""
    for source, links in Links(store).of([*config.collections]):
        if source in marked and marked[source].name == "superseded":
            continue
        for link in links:
            state = marked.get(link.to or "")
            # The document that replaces another names it, perhaps as a link.
            if state is not None and state.name == "superseded" and state.by != source:
                yield link, state


class StaleMethods(Part):
    """Find what is out of date."""

    _rules: Mapping[str, Rule] = {"stale": Rule()}

    def stale(self) -> tuple[Finding, ...]:
        """Find what is out of date: expired documents, links to superseded ones, and contradictions."""
        return tuple(stale(self._workspace.store, self._workspace.config))
