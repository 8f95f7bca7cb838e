"""Score the candidates of a hybrid search by their best passages."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.deadline import Stopwatch
from qmd.engine.embedding.active_vectors import ActiveVectors
from qmd.engine.embedding.batches import TITLE_CHARACTERS
from qmd.engine.models.egress import disclose, explain_local, local_only
from qmd.engine.requests import DEFAULT_RANKING
from qmd.engine.retrieval.found import Found
from qmd.engine.retrieval.passages import windows_by_words, windows_of_chunk
from qmd.engine.retrieval.search import Search
from qmd.errors import QmdError
from qmd.models.base import Cancelled, Frequencies, KeptWindows, Reranker, WindowReranker, WindowScores
from qmd.ranking.fusion import convex, reciprocal_rank
from qmd.ranking.rerank import contract, to_read, tuned, without_reading
from qmd.search_options import ALL
from qmd.store.base import Store
from qmd.store.values import LEFT_OUT
from qmd.text.data_uris import without_data
from qmd.text.digest import sha256
from qmd.text.extraction import searched_title
from qmd.text.layout import Placed
from qmd.text.query import name_shares
from qmd.text.tokens import terms
from qmd.types import Chunk, Ranked, Stage, Window
from qmd.types.traces import Signal

#: The reranker reads at most this many windows of all candidates together, because they are its cost; more
#: only if there are more than 30 candidates, or if the words of most of them are of another language. All
#: these constants are measured, see bench/README.md.
BUDGET, FOREIGN = 60, 2
#: The windows of a candidate that has terms of the query, and of one that has none: there the first windows
#: say little, so its best chunk is read as a whole.
MATCHING, WHOLE = 2, 8
#: The most windows of one candidate if there are few candidates.
MOST = 10
#: Windows of the best chunk take the place of some by words if the best of these has less of the query.
ENOUGH = 0.2


class Read(Struct, frozen=True):
    """The reranker's score of a candidate, 0..1, and the windows that it has read, with theirs."""

    score: float
    windows: tuple[Window, ...] = ()


class _Windows:
    """Keeps what the reranker made of windows in the index.

    Attributes:
        documents: A document with each text that may be read.
    """

    def __init__(self, search: Search, reranker: Reranker, texts: Mapping[int, Sequence[str]]) -> None:
        self._store, self._most = search.store.windows, search.models.windows
        self._name = reranker.name
        self._documents = {text: document for document, each in texts.items() for text in each}
        self._made: dict[bytes, tuple[int, bytes]] = {}
        self._read: list[bytes] = []

    def get(self, texts: Sequence[str]) -> dict[str, bytes]:
        if not self._most:
            return {}
        keys = {self._key(text): text for text in texts}
        found = self._store.get([*keys])
        self._read += [key for key, (_, old) in found.items() if old]
        return {keys[key]: packed for key, (packed, _) in found.items()}

    def put(self, made: Mapping[str, bytes]) -> None:
        self._made |= {self._key(text): (self._documents[text], packed) for text, packed in made.items()}

    def save(self) -> None:
        """Write what was made into the index. Raises `StoreError` if it cannot be written."""
        if self._most and (self._made or self._read):
            self._store.put(self._made, self._read, self._most)

    def _key(self, text: str) -> bytes:
        text = f"{self._name}\n{text}"
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def rank(search: Search, found: Found) -> list[Ranked]:
    """Fuse the lists of a hybrid search, and rerank the first documents."""
    request, stopwatch = search.request, Stopwatch()
    ranking = request.ranking or DEFAULT_RANKING
    lists = [ranked for ranked in (*found.lexical, *found.dense) if ranked.items]
    fuse = reciprocal_rank if ranking == "contract" else convex
    fused = fuse(lists, _without_vectors(search, found))
    search.stages.append(Stage("fuse", "ran", f"ranking: {ranking}", stopwatch.milliseconds()))
    top = fused[: request.candidate_limit]
    reads: dict[int, Read] = {}
    titles: dict[int, float] = {}
    if request.rerank and top:
        titles = _title_shares(search.store, [item.document for item in top], found)
        reads = _rerank(search, top, titles, found)
    else:
        reason = "nothing to rerank" if request.rerank else "not asked for"
        search.skip("rerank", reason, expected=True)
    measured = _measured(fused, found, titles if reads else {}, reads)
    return contract(measured) if ranking == "contract" else tuned(measured, found.coverage)


def _without_vectors(search: Search, found: Found) -> frozenset[int]:
    """Return the documents found by words that have no vectors yet."""
    vectors = found.vectors
    if vectors is None or not search.store.pending.count(vectors.fingerprint, search.scope):
        return frozenset()
    documents = {document for ranked in found.lexical for document, _ in ranked.items}
    found.add_missing_chunks(search.store, documents)
    return frozenset(documents - found.chunks.keys())


def _measured(
    fused: Sequence[Ranked], found: Found, titles: Mapping[int, float], reads: Mapping[int, Read]
) -> list[Ranked]:
    """Return documents with the signals that were measured so far."""
    shares, exact = found.shares, found.exact
    measured: list[Ranked] = []
    for item in fused:
        document = item.document
        match, read = found.chunks.get(document), reads.get(document)
        signals: dict[Signal, float] = {}
        if found.words is not None:
            signals["words"] = shares.get(document, 0.0)
            signals["exact"] = float(document in exact)
        if match is not None:
            signals["meaning"] = match.similarity
        if document in titles:
            signals["title"] = titles[document]
        if read is not None:
            signals["rerank"] = read.score
        measured.append(
            replace(item, signals=signals, chunk=match and match.chunk, windows=read.windows if read else ())
        )
    return measured


def _rerank(
    search: Search, candidates: Sequence[Ranked], titles: Mapping[int, float], found: Found
) -> dict[int, Read]:
    """Return scores of the candidates. There are none if the reranker fails or is not ready in time.

    The built-in reranker reads only those that are needed for the results to show (`ranking.rerank.to_read`).
    """
    store, models = search.store, search.models
    try:
        reranker = models.reranker
    except QmdError as error:
        search.skip("rerank", error.in_one_line())
        return {}
    documents = _sendable(search, [item.document for item in candidates])
    if not documents:
        return {}
    found.add_missing_chunks(store, documents)
    windows, texts = _windows(store, documents, found)
    if not texts:
        search.skip("rerank", LEFT_OUT, expected=True)
        return {}
    population = search.scope.population
    keys = {
        document: _cache_key(reranker, found.rerank_query, passages, population)
        for document, passages in texts.items()
    }
    scores = _cached(store, keys)
    ranking, depth = search.request.ranking or DEFAULT_RANKING, ALL
    if ranking == "tuned" and isinstance(reranker, WindowReranker):
        depth = search.depth
    measured = _measured(candidates, found, titles, {})
    parts = without_reading([item for item in measured if item.document in texts], found.coverage)

    kept = _Windows(search, reranker, texts)

    def wanted() -> list[int]:
        return to_read(parts, {document: score for document, (score, _) in scores.items()}, depth)

    def unscored() -> list[int]:
        return [document for document in wanted() if document not in scores]

    def read() -> dict[int, WindowScores]:
        """Read until the results to show are settled, or the time is up."""
        new: dict[int, WindowScores] = {}
        frequencies = _frequencies(store, found.vectors, population)
        while missing := unscored():
            passages = [texts[document] for document in missing]
            values = _score(reranker, found.rerank_query, passages, frequencies, search.deadline.passed, kept)
            new |= zip(missing, values, strict=False)
            scores.update(new)
            if len(values) < len(missing):
                break
        return new

    if unscored():
        disclose(store, models, "rerank")
        new_scores = search.gather("rerank", search.start(read))
        if new_scores is None:
            return {}
        if unscored():
            search.time_out("rerank")
            return {}
        answers = {keys[document]: json.dumps(score) for document, score in new_scores.items()}
        search.cache(lambda: store.answers.put(answers), kept.save)
    else:
        search.stages.append(Stage("rerank", "ran", "from the cache", 0.0))
    return {document: _read(windows[document], *scores[document]) for document in wanted()}


def _cached(store: Store, keys: Mapping[int, str]) -> dict[int, WindowScores]:
    """Return the scores of documents that the cache has, by its keys."""
    cached = {document: store.answers.get(key) for document, key in keys.items()}
    return {document: json.loads(value) for document, value in cached.items() if value is not None}


def _read(windows: Sequence[Window], score: float, by_window: Sequence[float]) -> Read:
    # The title, if it was read, comes before the windows.
    alone = by_window[len(by_window) - len(windows) :]
    return Read(
        score, tuple(replace(window, score=value) for window, value in zip(windows, alone, strict=False))
    )


def _score(
    reranker: Reranker,
    query: str,
    documents: Sequence[Sequence[str]],
    frequencies: Frequencies | None,
    cancelled: Cancelled,
    kept: KeptWindows,
) -> list[WindowScores]:
    """Return the scores of documents, without those of windows if the reranker reads them as one passage."""
    if isinstance(reranker, WindowReranker):
        return reranker.score_windows(
            query, documents, frequencies=frequencies, cancelled=cancelled, kept=kept
        )
    passages = ["\n".join(windows) for windows in documents]
    scores = reranker.score(query, passages, frequencies=frequencies, cancelled=cancelled)
    return [WindowScores(score, []) for score in scores]


def _sendable(search: Search, documents: Sequence[int]) -> Sequence[int]:
    """Return the candidates that the reranker may get; a stage names the collections of the others."""
    local = local_only(search.config, search.models, "rerank")
    if not local:
        return documents
    rows = search.store.documents.by_id(documents)
    collections = {key: document.collection for key, document in rows.items()}
    left_out = local.intersection(collections.values())
    if left_out:
        search.skip("rerank", explain_local(sorted(left_out)), expected=True)
    return [document for document in documents if collections.get(document) not in left_out]


def _title_shares(store: Store, documents: Sequence[int], found: Found) -> dict[int, float]:
    """Return how well the title, an alias or the file name of each document matches the query, 0..1.

    It is the geometric mean of two shares: that of the query in the name, by idf, and that of the name in the
    query. The best name counts.
    """
    rows, fields = store.documents.by_id(documents), store.fields.of(documents)
    weighted = [(term, found.idf.get(term.tokens, 0.0)) for term in found.query.terms]
    total = sum(weight for _, weight in weighted)
    shares = dict.fromkeys(documents, 0.0)
    for document, row in rows.items() if total > 0 else ():
        for name in searched_title(row.title, fields.get(document, {}), row.path).split("\n"):
            share = math.sqrt(math.prod(name_shares(weighted, total, terms(name))))
            shares[document] = max(shares[document], min(1.0, share))
    return shares


def _windows(
    store: Store, documents: Sequence[int], found: Found
) -> tuple[dict[int, list[Window]], dict[int, list[str]]]:
    """Return the windows to read of each candidate, and their texts in the same order.

    Each candidate has at least one window, and the first ones have as many as they want until the budget is
    spent. The title of the document comes before its texts if no window is at the beginning, because they do
    not tell its subject.
    """
    texts, rows = store.documents.texts(documents), store.documents.by_id(documents)
    documents = [document for document in documents if texts.get(document) and document in rows]
    most = min(MOST, max(MATCHING, BUDGET // max(1, len(documents))))
    placed = store.documents.placed(documents, found.highlighter.placeable)
    by_words = {
        document: windows_by_words(texts[document], found.highlighter, placed.get(document))
        for document in documents
    }
    foreign = 2 * sum(not chosen for chosen in by_words.values()) > len(documents)
    left = max(BUDGET, MATCHING * len(documents)) * (FOREIGN if foreign else 1) - len(documents)
    windows: dict[int, list[Window]] = {}
    passages: dict[int, list[str]] = {}
    for document in documents:
        text, match = texts[document], found.chunks.get(document)
        wanted = _wanted(text, by_words[document], match and match.chunk, most, placed.get(document))
        windows[document] = chosen = wanted[: 1 + left]
        left -= len(chosen) - 1
        plain = without_data(text)
        title = [rows[document].title[:TITLE_CHARACTERS]] if all(window.start for window in chosen) else []
        passages[document] = [*title, *(plain[window.start : window.end] for window in chosen)]
    return windows, passages


def _wanted(
    text: str, by_words: Sequence[Window], chunk: Chunk | None, most: int, placed: Placed | None
) -> list[Window]:
    """Return the windows of a document that are worth reading: by words, and then of its best chunk."""
    share = max(by_words[0].share, int(by_words[0].is_named)) if by_words else 0.0
    chosen = list(by_words[: round(most * min(1.0, share / ENOUGH))])
    if len(chosen) < most:
        spans = {(window.start, window.end) for window in chosen}
        in_chunk = windows_of_chunk(text, chunk, placed)
        rest = [window for window in in_chunk if (window.start, window.end) not in spans]
        chosen += rest[: (most if chosen else max(most, WHOLE)) - len(chosen)]
    return chosen


def _frequencies(
    store: Store, vectors: ActiveVectors | None, population: tuple[str, ...] | None
) -> Frequencies | None:
    if vectors is None:
        return None
    return lambda tokens: store.vector_sets.token_frequencies(vectors.fingerprint, tokens, population)


def _cache_key(
    reranker: Reranker, query: str, passages: Sequence[str], population: tuple[str, ...] | None
) -> str:
    # Scores depend on the population, and a cached score reveals that the same query was asked.
    parts: list[object] = ["three bits and cosines", reranker.name, query, *passages]
    text = json.dumps(parts if population is None else [*parts, population], ensure_ascii=False)
    return "rerank:" + sha256(text.encode("utf-8", "surrogatepass"))
