"""Documents, vectors and comparisons for the conformance suite."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from qmd.store.base import Store
from qmd.store.values import DocumentChange, Embedded, LexicalMatches, Pending, Scope, VectorSet
from qmd.text.chunking import numbered
from qmd.text.extraction import extract
from qmd.types import Collection, Config, Fingerprint, SourceText

DIMENSION = 16
EMBEDDER = "fingerprint-1"

#: Opens the store under test, the same one at each call.
Opens = Callable[..., Store]

#: (how it was found, the document, its score)
Row = tuple[str, str, float]

TEXTS = {
    "ops/deploy.md": "# Shipping\n\nTag the commit, then deploy-now rolls it out. Deploying takes long.",
    "ops/backup.md": "# Backups\n\nThe nightly dump runs at two. Restore it with `pg_restore --clean`.\n" * 3,
    "ops/on-call.md": "# On call\n\nWho is on call answers the pager. Performance drops are logged.",
    "meetings/march.md": "Planning the deployment of the search page. Ana writes; Jun deploys.",
    "meetings/café.md": "Notes from the café: naïve ranking, résumé parsing and the déjà vu bug.",
    "笔记/部署.md": "# 部署服务\n\n先停止所有写入的服务，再部署新的版本。数据库的备份在凌晨两点。",
    "笔记/恢复.md": "# 恢复数据库\n\n下载备份文件，导入到空的数据库，检查行数。整个过程四十分钟。",
    "笔记/繁體.md": "# 資料庫\n\n備份檔案與資料庫部署說明。",
    "code/foo_bar.md": "call foo_bar() before foo-baz; see docs/foo/bar.md and error E1234",
    "code/100%.md": 'quoted "strings" and 100% of \\backslashes',
    "long.md": " ".join(f"word{number % 997} performing" for number in range(1_500)),
    "empty-ish.md": "...",
}

QUERIES = (
    "deploy",
    "how do we deploy the search page",
    "deploy*",
    "perform",
    "performanc*",
    "backup -restore",
    "backup -pg*",
    '"rolls it out"',
    '-"on call" call',
    '"search pag"*',
    "foo_bar",
    "foo-baz error",
    "rolls-it-out",
    "E1234",
    "cafe resume",
    "数据库",
    "备份 数据库",
    "資料庫",
    "库",
    "数据库的备份",
    '"部署新的版本"',
    "备份 -恢复",
    "the",
    "word12 word13 word996",
    "nothinglikethis",
    "dep",
)


def config(*names: str, digest: str = "1") -> Config:
    """Return a configuration with these collections."""
    return Config("/c/index.yml", digest, {name: Collection(name, f"/files/{name}") for name in names})


def changed(path: str, text: str, title: str | None = None, version: int = 1, **more: str) -> DocumentChange:
    """Return the change of a file with this text, and its fields and links."""
    extracted = extract(text, path)
    source = SourceText(
        text,
        hashlib.sha256(text.encode()).hexdigest(),
        title or path.rpartition("/")[2],
        fields=extracted.fields,
        links=extracted.links,
    )
    return DocumentChange(path, Fingerprint(len(text), version, hash(path) % 10_000), source, **more)


def fill(store: Store, texts: dict[str, str] = TEXTS, collection: str = "a") -> None:
    """Index texts and update the statistics."""
    store.collections.sync(config("a", "b"))
    store.documents.apply(collection, [changed(path, text) for path, text in texts.items()], [])
    store.documents.refresh_statistics()
    store.collections.finish_scan(collection)


def everything(*collections: str) -> Scope:
    return Scope(collections or ("a", "b"))


def vector(seed: str) -> NDArray[np.float32]:
    """Return the unit vector of a text."""
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big")
    values = np.random.default_rng(number).normal(size=DIMENSION).astype(np.float32)
    return np.asarray(values / np.linalg.norm(values), dtype=np.float32)


def embed(store: Store, embedder: str = EMBEDDER, scope: Scope | None = None, batch: int = 5) -> int:
    """Embed every text without vectors, with a chunk for each 40 characters; return the number of texts."""
    after = done = 0
    while found := store.pending.texts(embedder, scope or everything(), after, batch):
        after = found[-1].content
        store.vectors.add(VectorSet(embedder, "model"), embedded(found))
        done += len(found)
    return done


def embed_leased(store: Store, worker: str, limit: int = 5, seconds: float = 600) -> int:
    """Embed like `qmd embed`: release earlier leases, then lease texts."""
    store.pending.release(worker)
    done = 0
    while found := store.pending.lease(EMBEDDER, everything(), worker, limit, seconds):
        store.vectors.add(VectorSet(EMBEDDER, "model"), embedded(found))
        done += len(found)
    store.pending.release(worker)
    store.vector_sets.activate(EMBEDDER, everything())
    return done


def embedded(found: Iterable[Pending]) -> list[Embedded]:
    """Return texts with a vector for each 40 characters and a token for each character."""
    items = []
    for item in found:
        size = len(item.text)
        chunks = list(numbered(item.text, [(at, min(at + 40, size)) for at in range(0, size, 40)]))
        vectors = np.stack([vector(item.text[each.start : each.end]) for each in chunks])
        tokens = [[ord(letter) for letter in item.text[each.start : each.end]] for each in chunks]
        items.append(Embedded(item.content, chunks, vectors, tokens))
    return items


def shown(store: Store, ids: Iterable[int]) -> dict[int, str]:
    return {key: document.file for key, document in store.documents.by_id([*ids]).items()}


def lexical_rows(store: Store, matches: LexicalMatches) -> list[Row]:
    files = shown(store, (match.document for match in matches.matches))
    return [(match.tier, files[match.document], match.score) for match in matches.matches]


def dense_rows(store: Store, query: NDArray[np.float32], scope: Scope, limit: int) -> list[Row]:
    matches = store.vectors.search(EMBEDDER, query, scope, limit)
    files = shown(store, (match.document for match in matches))
    return [(str(match.chunk), files[match.document], match.similarity) for match in matches]


def assert_alike(got: Sequence[Row], wanted: Sequence[Row]) -> None:
    """Check that rows have the same order up to ties, and scores within 1e-3."""
    assert [row[2] for row in got] == [_near(row[2]) for row in wanted], (got, wanted)
    for rows, others in ((got, wanted), (wanted, got)):
        last = rows[-1][2] if rows else 0.0
        for row in rows:
            # If several rows tie at the end, each store may return another one.
            if abs(row[2] - last) > 1e-3:
                assert any(row[:2] == other[:2] and abs(row[2] - other[2]) <= 1e-3 for other in others), (
                    row,
                    others,
                )


class _near(float):  # noqa: N801
    """A number that equals others within 1e-3."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and abs(float(self) - float(other)) <= 1e-3

    __hash__ = float.__hash__
