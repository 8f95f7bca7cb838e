"""A store as agents may see it: without the documents that are kept from them, and with secrets masked.

Everything that agents get is read through it, so no caller can forget to mask. Changes go to the store
itself. Masks have the length of what they hide, so chunks, windows, lines and citations keep their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from qmd.engine.access.kept import KeptDocuments
from qmd.features.secrets.filters import MASK, SecretFilters
from qmd.features.secrets.masker import Masker, masker_with as masker_with
from qmd.features.secrets.words import SecretWords
from qmd.store.values import CollectionStats, LexicalMatches, Scope
from qmd.text.predicates import Comparison
from qmd.text.values import Value
from qmd.types import Anchor, Document, FieldSummary, Link, ValueCount

if TYPE_CHECKING:
    from qmd.store.base import Store
    from qmd.store.values import ChunkMatch, Floats
    from qmd.text.layout import Placed
    from qmd.text.query import LexicalQuery


class AgentStore:
    """A store, read as an agent may. `masker` returns the present masks of secrets."""

    def __init__(self, store: Store, masker: Callable[[], Masker]) -> None:
        self.behind = store
        kept = KeptDocuments(store)
        filters = SecretFilters(store, masker)

        def narrowed(scope: Scope) -> Scope:
            return kept.without(filters.without_secrets(scope))

        self.documents = _Documents(store, kept, masker)
        self.fields = _Fields(store, kept, masker, narrowed)
        self.lexical = _Lexical(store, masker, narrowed)
        self.vectors = _Vectors(store, kept, narrowed)
        self.pending = _MaskedPending(store, narrowed)
        self.collections = _Collections(store, kept)
        # These say nothing of single documents, or change the index.
        self.vector_sets = store.vector_sets
        self.answers = store.answers
        self.windows = store.windows
        self.upkeep = store.upkeep

    @property
    def location(self) -> str:
        return self.behind.location

    def computed(self) -> dict[Any, Any]:
        """Return values computed from the texts that agents may see, apart from those of people."""
        kept: dict[Any, Any] = self.behind.computed().setdefault(AgentStore, {})
        return kept

    def snapshot(self) -> AbstractContextManager[object]:
        return self.behind.snapshot()

    def close(self) -> None:
        self.behind.close()

    def size(self) -> int:
        return self.behind.size()


class _View:
    """A part of a store. The members in `passed` are those of the part behind it."""

    passed = ""

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        if name not in type(self).passed.split():
            raise AttributeError(f"agents have no '{name}'")
        return getattr(self._part, name)


class _Documents(_View):
    passed = "manifest apply prune refresh_statistics without_structures"

    def __init__(self, store: Store, kept: KeptDocuments, masker: Callable[[], Masker]) -> None:
        super().__init__(store.documents)
        self._masker = masker
        self._behind = store.documents
        self._kept = kept

    def by_id(self, ids: Sequence[int]) -> dict[int, Document]:
        return {each.id: each for each in self._shown(self._behind.by_id(ids).values())}

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        kept = self._kept.ids()
        texts = self._behind.texts([each for each in ids if each not in kept])
        masker = self._masker()
        return {document: masker.text(text) for document, text in texts.items()}

    def placed(self, ids: Sequence[int], terms: Sequence[str] = ()) -> dict[int, Placed]:
        # A heading tells its number, so texts with secrets are laid out as they are shown.
        shown, texts = self.texts(ids), self._behind.texts(ids)
        free = [document for document, text in shown.items() if text == texts[document]]
        return self._behind.placed(free, terms)

    def find(self, collection: str, path: str) -> Document | None:
        document = self._behind.find(collection, path)
        shown = self._shown([document] if document else [])
        if not shown and MASK in path:
            shown = list(self.listing(collection))
        return next((each for each in shown if each.path == path), None)

    def ending_with(self, suffix: str) -> list[Document]:
        found = self.listing() if MASK in suffix else self._shown(self._behind.ending_with(suffix))
        return [each for each in found if f"/{each.file}".endswith(f"/{suffix.lstrip('/')}")]

    def path_contains(self, text: str) -> Iterator[Document]:
        return (each for each in self._shown(self._behind.path_contains(text)) if text in each.path)

    def by_hash(self, prefix: str) -> list[Document]:
        return self._shown(self._behind.by_hash(prefix))

    def listing(self, collection: str | None = None, under: str = "") -> Iterator[Document]:
        for each in self._shown(self._behind.listing(collection, under)):
            if not under or f"{each.path}/".startswith(f"{under.rstrip('/')}/"):
                yield each

    def changed_last(self, collections: Sequence[str], limit: int) -> list[Document]:
        return self._shown(self._behind.changed_last(collections, limit + len(self._kept.ids())))[:limit]

    def _shown(self, documents: Iterable[Document]) -> list[Document]:
        kept = self._kept.ids()
        return self._masker().documents([each for each in documents if each.id not in kept])


class _Fields(_View):
    def __init__(
        self,
        store: Store,
        kept: KeptDocuments,
        masker: Callable[[], Masker],
        narrowed: Callable[[Scope], Scope],
    ) -> None:
        super().__init__(store.fields)
        self._masker = masker
        self._behind = store.fields
        self._kept = kept
        self._narrowed = narrowed

    def count(self, scope: Scope) -> int:
        return self._behind.count(self._narrowed(scope))

    def newest(self, scope: Scope, limit: int) -> list[int]:
        return self._behind.newest(self._narrowed(scope), limit)

    def summaries(self, scope: Scope) -> list[FieldSummary]:
        found = self._behind.summaries(self._narrowed(scope))
        names = self._masker().names([each.name for each in found])
        return [each for each, name in zip(found, names, strict=True) if each.name == name]

    def existing(self, collections: Sequence[str], names: Sequence[str]) -> frozenset[str]:
        asked = self._masker().names(names)
        shown = [name for name, masked in zip(names, asked, strict=True) if name == masked]
        found = self._behind.existing(collections, shown)
        if not found or not self._kept.ids():
            return found
        scope = self._narrowed(Scope(tuple(collections)))
        return found & {each.name for each in self._behind.summaries(scope)}

    def stated(
        self, collections: Sequence[str], conditions: Sequence[Comparison]
    ) -> dict[int, dict[str, tuple[Value, ...]]]:
        kept = self._kept.ids()
        found = self._behind.stated(collections, conditions)
        return self._masker().fields_of(
            {document: fields for document, fields in found.items() if document not in kept}
        )

    def values(self, scope: Scope, field: str, limit: int) -> list[ValueCount]:
        return self._masker().counts(field, self._behind.values(self._narrowed(scope), field, limit))

    def facet(self, documents: Sequence[int], field: str, limit: int) -> list[ValueCount]:
        return self._masker().counts(field, self._behind.facet(self._visible(documents), field, limit))

    def of(self, documents: Sequence[int]) -> dict[int, dict[str, tuple[Value, ...]]]:
        found = self._behind.of(self._visible(documents))
        return self._masker().fields_of(found)

    def links(self, documents: Sequence[int]) -> dict[int, list[Link]]:
        found = self._behind.links(self._visible(documents))
        masker = self._masker()
        return {document: masker.links(links) for document, links in found.items()}

    def anchors(self, documents: Sequence[int]) -> dict[int, list[Anchor]]:
        return self._behind.anchors(self._visible(documents))

    def linking(self, collection: str, names: Sequence[str]) -> list[int]:
        return self._visible(self._behind.linking(collection, names))

    def targets(self, collection: str) -> list[tuple[int, str, tuple[str, ...]]]:
        kept = self._kept.ids()
        rows = [row for row in self._behind.targets(collection) if row[0] not in kept]
        names = iter(self._masker().names([name for _, path, aliases in rows for name in (path, *aliases)]))
        return [(row, next(names), tuple([next(names) for _ in aliases])) for row, _, aliases in rows]

    def _visible(self, documents: Sequence[int]) -> list[int]:
        kept = self._kept.ids()
        return [each for each in documents if each not in kept]


class _Lexical(_View):
    passed = "beginning"  # `existing` says which of these an agent may know

    def __init__(
        self, store: Store, masker: Callable[[], Masker], narrowed: Callable[[Scope], Scope]
    ) -> None:
        super().__init__(store.lexical)
        self._words = SecretWords(store, masker)
        self._narrowed = narrowed

    def search(
        self,
        query: LexicalQuery,
        scope: Scope,
        limit: int,
        *,
        longer: bool = True,
        all_first: bool = False,
        placed: int = 0,
    ) -> LexicalMatches:
        scope = self._narrowed(scope)
        return self._words.search(query, scope, limit, longer=longer, all_first=all_first, placed=placed)

    def matching(self, query: LexicalQuery, scope: Scope, limit: int | None = None) -> list[int]:
        return self._words.matching(query, self._narrowed(scope), limit)

    def count(self, query: LexicalQuery, scope: Scope, limit: int) -> int:
        return len(self.matching(query, scope, limit))

    def existing(self, terms: Sequence[str], scope: Scope) -> dict[str, int]:
        found = self._part.existing(terms, self._narrowed(scope))
        return {term: count for term, count in found.items() if self._words.is_seen(term, scope)}


class _Vectors(_View):
    passed = "add of_texts sample"

    def __init__(self, store: Store, kept: KeptDocuments, narrowed: Callable[[Scope], Scope]) -> None:
        super().__init__(store.vectors)
        self._behind = store.vectors
        self._kept = kept
        self._narrowed = narrowed

    def exist(self, embedder: str, scope: Scope) -> bool:
        return self._behind.exist(embedder, scope)

    def search(self, embedder: str, vector: Floats, scope: Scope, limit: int) -> list[ChunkMatch]:
        return self._behind.search(embedder, vector, self._narrowed(scope), limit)

    def similarities(self, embedder: str, vector: Floats, ids: Sequence[int]) -> dict[int, ChunkMatch]:
        kept = self._kept.ids()
        return self._behind.similarities(embedder, vector, [each for each in ids if each not in kept])


class _MaskedPending(_View):
    passed = "texts lease earlier release"

    def __init__(self, store: Store, narrowed: Callable[[Scope], Scope]) -> None:
        super().__init__(store.pending)
        self._behind = store.pending
        self._narrowed = narrowed

    def count(self, embedder: str, scope: Scope) -> int:
        return self._behind.count(embedder, self._narrowed(scope))

    def sizes(self, embedder: str, scope: Scope) -> list[int]:
        return self._behind.sizes(embedder, self._narrowed(scope))


class _Collections(_View):
    passed = "sync config_copy last_scans rename remove finish_scan"

    def __init__(self, store: Store, kept: KeptDocuments) -> None:
        super().__init__(store.collections)
        self._store = store
        self._kept = kept

    def stats(self) -> Mapping[str, CollectionStats]:
        stats = dict(self._store.collections.stats())
        ids = [*self._kept.ids()]
        texts = self._store.documents.texts(ids) if ids else {}
        for document in self._store.documents.by_id(ids).values() if ids else ():
            before = stats[document.collection]
            size = len(texts.get(document.id, "").encode("utf-8", "surrogatepass"))
            stats[document.collection] = replace(
                before, documents=before.documents - 1, bytes=before.bytes - size
            )
        return stats

    def last_root(self, collection: str) -> None:
        """Return nothing: it tells of files that could not be read."""
