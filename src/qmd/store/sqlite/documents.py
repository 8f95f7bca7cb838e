"""Documents and their texts. A batch of changes is one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import apsw
from msgspec.json import encode

from qmd.store import base
from qmd.store.sqlite import structures
from qmd.store.sqlite.blocks import link_content, unlink_content
from qmd.store.sqlite.database import LISTED, Database, SqlitePart, listed
from qmd.store.sqlite.field_rows import FieldWriter, forget
from qmd.store.sqlite.scope_filter import collection_id, ranges
from qmd.store.sqlite.terms import COMMON_FROM, COMMON_SHARE
from qmd.store.values import Applied, DocumentChange, terms_of
from qmd.text.values import Value
from qmd.types import Document, Indexed, States

if TYPE_CHECKING:
    from qmd.text.layout import Placed

_COLUMNS = "d.id, c.name, d.path, d.title, t.hash, d.size, d.mtime_ns, d.author, d.date"
_FROM = "documents d JOIN collections c ON c.id = d.collection_id JOIN contents t ON t.id = d.content_id"
#: Texts without documents.
_UNUSED = "SELECT id FROM contents WHERE id NOT IN (SELECT content_id FROM documents)"
#: `refresh_statistics` works again if the number of documents has changed by this share.
_STALE_SHARE = 0.2
#: It also merges the posting lists that batches have left, this many pages of 4 kB in a step. Of 100,000
#: documents that takes a twentieth of indexing them, and searches then take a quarter less time.
_MERGED_PAGES = 4_000


class Documents(SqlitePart, base.Documents):
    """Rows of the table `documents`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._placer = structures.Placer()
        #: The rest of the last batch: its place among the transactions, and a writer for the next one.
        self._left: tuple[object, FieldWriter] | None = None

    def manifest(self, collection: str) -> States:
        # A range of ids reads the table in order. An index on paths would look up each row.
        rows = self._database.rows(
            "SELECT path, size, mtime_ns, inode FROM documents WHERE id BETWEEN ? AND ?",
            *ranges([collection_id(self._database, collection)]),
        )
        return {path: (size, mtime_ns, inode) for path, size, mtime_ns, inode in rows}

    def apply(
        self,
        collection: str,
        changed: Sequence[DocumentChange],
        removed: Sequence[str],
        *,
        wait: bool = True,
    ) -> Applied:
        # Terms are made before the transaction, so that other writers do not wait for them.
        made = [terms_of(item) for item in changed]
        left, self._left = self._left, None  # a batch that fails leaves nothing
        with self._database.transaction() as db:
            *place, number = point = self._database.point()
            fields = left[1] if left and left[0] == (*place, number - 1) else FieldWriter(db)
            writer = _Writer(db, collection_id(self._database, collection), fields)
            writer.put(changed, made)
            writer.remove(removed)
            writer.relink()
            if wait:
                writer.index()
            else:
                self._database.end_later(writer.index)
        self._left = point, fields
        return Applied(writer.added, writer.updated, writer.removed)

    def prune(self) -> int:
        # Every document has a text, so counting tells whether there are more; a search for one takes longer.
        used = "SELECT count(DISTINCT content_id) FROM documents"
        if not self._database.value(f"SELECT (SELECT count(*) FROM contents) > ({used})"):
            return 0
        with self._database.transaction() as db:
            return drop_unused_texts(db)

    def refresh_statistics(self, force: bool = False) -> None:
        structures.fill(self._database)
        documents = self._database.value("SELECT count(*) FROM documents")
        counted = int(self._database.value(structures.COUNTED) or 0)
        if not force and (documents < COMMON_FROM or abs(documents - counted) < _STALE_SHARE * documents):
            return
        self._merge()
        with self._database.transaction() as db:
            db.execute("DELETE FROM common_terms")
            db.execute(
                "INSERT INTO common_terms SELECT term, doc FROM documents_terms WHERE doc > ?",
                (int(COMMON_SHARE * documents),),
            )
            db.execute("INSERT OR REPLACE INTO meta VALUES ('counted', ?)", (str(documents),))

    def _merge(self) -> None:
        """Make one posting list of each term, in steps, so that other writers wait for one step only."""
        pages = -_MERGED_PAGES  # the first step marks all parts for merging
        changes = 2
        while changes >= 2:  # a step that has nothing to merge changes one row
            with self._database.transaction() as db:
                before = db.total_changes()
                db.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('merge', ?)", (pages,))
                changes = db.total_changes() - before
            pages = _MERGED_PAGES

    def by_id(self, ids: Sequence[int]) -> dict[int, Document]:
        query = f"SELECT {_COLUMNS} FROM {_FROM} WHERE d.id IN {LISTED}"
        return {row[0]: Document(*row) for row in self._database.rows(query, (listed(ids),))}

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        query = f"SELECT d.id, t.text FROM {_FROM} WHERE d.id IN {LISTED}"
        return dict(self._database.rows(query, (listed(ids),)))

    def placed(self, ids: Sequence[int], terms: Sequence[str] = ()) -> dict[int, Placed]:
        with self._database.snapshot():
            return self._placer.placed(self._database, ids, terms)

    def without_structures(self) -> int:
        return structures.waiting(self._database)

    def find(self, collection: str, path: str) -> Document | None:
        return next(self._select("c.name = ? AND d.path = ?", (collection, path), 1), None)

    def ending_with(self, suffix: str) -> list[Document]:
        tail = "/" + suffix.lstrip("/")
        where = "substr('/' || c.name || '/' || d.path, -length(?1)) = ?1"
        return list(self._select(where, (tail,)))

    def path_contains(self, text: str) -> Iterator[Document]:
        return self._select("instr(d.path, ?)", (text,))

    def by_hash(self, prefix: str) -> list[Document]:
        return list(self._select("t.hash >= ? AND t.hash < ?", (prefix, prefix + "g")))

    def listing(self, collection: str | None = None, under: str = "") -> Iterator[Document]:
        where, values = ["1"], []
        if collection is not None:
            where.append("c.name = ?")
            values.append(collection)
        if under := under.strip("/"):
            where.append("(d.path = ? OR substr(d.path, 1, length(?)) = ?)")
            values += [under, under + "/", under + "/"]
        return self._select(" AND ".join(where), tuple(values))

    def changed_last(self, collections: Sequence[str], limit: int) -> list[Document]:
        # Only the newest are joined with their collections and texts.
        within = f"collection_id IN (SELECT id FROM collections WHERE name IN {LISTED})"
        ids = f"SELECT id FROM documents WHERE {within} ORDER BY mtime_ns DESC, path LIMIT ?"
        query = f"SELECT {_COLUMNS} FROM {_FROM} WHERE d.id IN ({ids}) ORDER BY d.mtime_ns DESC, d.path"
        return [Document(*row) for row in self._database.rows(query, (listed(collections), limit))]

    def _select(self, where: str, values: tuple[str, ...], limit: int = -1) -> Iterator[Document]:
        query = f"SELECT {_COLUMNS} FROM {_FROM} WHERE {where} ORDER BY c.name, d.path LIMIT {int(limit)}"
        return (Document(*row) for row in self._database.rows(query, values))


def drop_documents(db: apsw.Connection, collection: int) -> int:
    """Drop the documents of a collection and return their number. Texts and vectors stay.

    Call it inside a transaction.
    """
    (ids,) = ranges([collection])
    db.execute(
        "DELETE FROM documents_fts WHERE rowid IN (SELECT id FROM documents WHERE id BETWEEN ? AND ?)", ids
    )
    forget(db, *ids)
    db.execute("DELETE FROM vectors_vec WHERE collection_id = ?", (collection,))
    db.execute("DELETE FROM documents WHERE id BETWEEN ? AND ?", ids)
    return int(db.changes())


def drop_unused_texts(db: apsw.Connection) -> int:
    db.execute(f"DELETE FROM contents WHERE id IN ({_UNUSED})")
    return int(db.changes())


#: The aliases of documents.
_ALIASES = (
    "SELECT df.document_id, v.value FROM document_fields df JOIN field_values v ON v.id = df.value_id "
    "WHERE v.field_id = (SELECT id FROM field_names WHERE name = 'alias') "
    f"AND df.document_id IN {LISTED}"
)


def _names(fields: Mapping[str, Sequence[Value]]) -> frozenset[str]:
    """Return the aliases among fields, as they are searched."""
    return frozenset(alias for alias in fields.get("alias", ()) if isinstance(alias, str))


class _Writer:
    """Writes a batch of one collection inside a transaction."""

    def __init__(self, db: apsw.Connection, collection: int, fields: FieldWriter) -> None:
        self._db = db
        self._collection = collection
        self._linked: set[int] = set()
        self._unlinked: set[int] = set()
        self._fields = fields
        #: The indexed parts of each document: title, body and path.
        self._forms: dict[int, tuple[str, str, str]] = {}
        self.added = self.updated = self.removed = 0
        (ids,) = ranges([collection])
        last: int | None = db.execute("SELECT max(id) FROM documents WHERE id BETWEEN ? AND ?", ids).get
        self._next = (ids[0] if last is None else last) + 1

    def put(
        self,
        items: Sequence[DocumentChange],
        made: Sequence[Indexed],
    ) -> None:
        """Store documents, each with another path, and keep the parts to be indexed for `index`.

        A few statements for all of them take half the time of a few for each.
        """
        from qmd.text.extraction import stored_fields  # searches start without it

        contents, new = self._contents(items)
        present = self._find([item.path for item in items])
        indexed_before = self._indexed(present, contents.values()) if present else {}
        structures.put(
            self._db,
            [(contents[item.source.hash], each.structure) for item, each in zip(items, made, strict=True)],
        )
        rows = []
        for item, indexed in zip(items, made, strict=True):
            source, content = item.source, contents[item.source.hash]
            values = (source.title, content, *item.fingerprint, item.author, item.date)
            fields = stored_fields(source.fields, item.path, item.author)
            row = present.get(item.path)
            if row is None:
                identity = self._next
                self._next += 1
                rows.append((identity, self._collection, item.path, *values))
                self._forms[identity] = indexed.forms
                self.added += 1
                linked = content not in new  # a new text has no vectors
            else:
                identity, title, previous = row
                self._db.execute(
                    "UPDATE documents SET title = ?, content_id = ?, size = ?, mtime_ns = ?, inode = ?, "
                    "author = ?, date = ? WHERE id = ?",
                    (*values, identity),
                )
                forget(self._db, identity, identity)
                changed = (title, previous) != (source.title, content)
                # What a text has beside its words: another version of a reader may have found others.
                if changed or indexed_before[identity] != (_names(fields), indexed.structure):
                    self._forms[identity] = indexed.forms
                    self._db.execute("DELETE FROM documents_fts WHERE rowid = ?", (identity,))
                self.updated += changed
                linked = previous != content
                if linked:
                    self._unlinked.add(previous)
            if linked:
                self._linked.add(content)
            self._fields.put(identity, fields, source.links, source.anchors)
        self._db.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._fields.flush(self._collection)

    def _indexed(
        self, present: Mapping[str, tuple[int, str, int]], contents: Iterable[int]
    ) -> dict[int, tuple[frozenset[str], bytes | None]]:
        """Return the aliases of documents and the structures of their texts, by id."""
        query = f"SELECT content_id, structure FROM structures WHERE content_id IN {LISTED}"
        kept: dict[int, bytes] = dict(self._db.execute(query, (listed(contents),)))
        aliases: dict[int, set[str]] = {}
        for identity, alias in self._db.execute(_ALIASES, (listed(row[0] for row in present.values()),)):
            aliases.setdefault(identity, set()).add(alias)
        return {
            identity: (frozenset(aliases.get(identity, ())), kept.get(content))
            for identity, _, content in present.values()
        }

    def index(self) -> None:
        """Index the words of the documents. With the commit, it takes a third of the time of a batch."""
        forms, self._forms = encode(self._forms).decode(), {}
        self._db.execute(
            "INSERT INTO documents_fts (rowid, title, body, path) "
            "SELECT key, value->>0, value->>1, value->>2 FROM json_each(?)",
            (forms,),
        )

    def remove(self, paths: Sequence[str]) -> None:
        for identity, _, content in self._find(paths).values():
            self._db.execute("DELETE FROM documents_fts WHERE rowid = ?", (identity,))
            self._db.execute("DELETE FROM documents WHERE id = ?", (identity,))
            forget(self._db, identity, identity)
            self._forms.pop(identity, None)
            self._unlinked.add(content)
            self.removed += 1

    def relink(self) -> None:
        """Update the vector blocks for texts that were added to or removed from the collection.

        Texts that no document has any more stay for their vectors. Those without vectors are dropped, because
        a file that grows, such as a transcript, would leave one at each scan. The last one stays, so that its
        number is not given to another text while it is being embedded.
        """
        unlink_content(self._db, self._collection, self._unlinked)
        self._db.execute(
            f"DELETE FROM contents WHERE id IN {LISTED} AND id < (SELECT max(id) FROM contents) "
            "AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.content_id = contents.id) "
            "AND NOT EXISTS (SELECT 1 FROM content_vectors v WHERE v.content_id = contents.id)",
            (listed(self._unlinked),),
        )
        link_content(self._db, self._collection, self._linked)

    def _find(self, paths: Sequence[str]) -> dict[str, tuple[int, str, int]]:
        """Return the id, title and text of the documents at paths, by path."""
        rows = self._db.execute(
            f"SELECT path, id, title, content_id FROM documents WHERE collection_id = ? AND path IN {LISTED}",
            (self._collection, listed(paths)),
        )
        return {path: (identity, title, content) for path, identity, title, content in rows}

    def _contents(self, items: Sequence[DocumentChange]) -> tuple[dict[str, int], frozenset[int]]:
        """Return the ids of texts by hash, and those that are new. These are stored."""
        texts = {item.source.hash: item.source.text for item in items}
        query = f"SELECT hash, id FROM contents WHERE hash IN {LISTED}"
        found: dict[str, int] = dict(self._db.execute(query, (listed(texts),)))
        last: int = self._db.execute("SELECT coalesce(max(id), 0) FROM contents").get
        rows = [
            (identity, digest, len(texts[digest].encode()), texts[digest])
            for identity, digest in enumerate((each for each in texts if each not in found), last + 1)
        ]
        self._db.executemany("INSERT INTO contents (id, hash, bytes, text) VALUES (?, ?, ?, ?)", rows)
        found |= {digest: identity for identity, digest, *_ in rows}
        return found, frozenset(row[0] for row in rows)
