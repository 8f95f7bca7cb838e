"""Find outdated documents: documents that have expired, links to superseded ones, and contradictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from qmd.engine.doctor.finding import Finding, ok, warning
from qmd.engine.documents.links import Links
from qmd.engine.documents.stated import states_in
from qmd.engine.documents.states import States
from qmd.store.base import Store
from qmd.text.wording import visible
from qmd.types import Config
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


def stale(store: Store, config: Config) -> Iterator[Finding]:
    """Yield what is out of date in the collections of a configuration, each as a warning."""
    states = states_in(store, config)
    if states is None:
        yield ok("state", "no document says anything of its state")
        return
    found = False
    counts: Counter[str] = Counter()
    for kind, message in _messages(store, config, states):
        found = True
        counts[kind] += 1
        if counts[kind] <= _MOST:
            yield warning(kind, message, _HINTS[kind])
    for kind, number in counts.items():
        if number > _MOST:
            yield warning(kind, f"and {number - _MOST:,} more", _HINTS[kind])
    if not found:
        yield ok("state", "nothing is out of date" + (f": {told}" if (told := states.summary()) else ""))


def _messages(store: Store, config: Config, states: States) -> Iterator[tuple[str, str]]:
    documents = store.documents.by_id([*states.said, *states.next])
    files = {identity: document.file for identity, document in documents.items()}
    marked = {files[identity]: state for identity, state in states.marked() if identity in files}
    for file, state in marked.items():
        if state.name == "expired":
            yield "expired", visible(f"{file} {state.line}" if state.date else f"{file} is expired")
    for message in _links(store, config, marked):
        yield "link", visible(message)
    for cycle in states.cycles:
        yield "cycle", visible(" -> ".join(files[each] for each in (*cycle, cycle[0])))
    for identity, said in states.said.items():
        for value in said.unclear:
            yield (
                "unclear",
                visible(f"{files[identity]} has a field that says nothing of its state: {value[:200]}"),
            )
    for identity, reference in states.lost:
        yield (
            "reference",
            visible(f"{files[identity]} names a document that is not found: {reference.target}"),
        )


def _links(store: Store, config: Config, marked: Mapping[str, DocumentState]) -> Iterator[str]:
    """Yield the links of documents that are not superseded themselves to documents that are."""
    for source, links in Links(store).of([*config.collections]):
        if source in marked and marked[source].name == "superseded":
            continue
        for link in links:
            state = marked.get(link.to or "")
            # The document that replaces another names it, perhaps as a link.
            if state is not None and state.name == "superseded" and state.by != source:
                yield f"{link.file}:{link.line} -> {link.to}, {state.line}"
