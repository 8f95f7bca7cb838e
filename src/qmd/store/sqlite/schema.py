"""The tables of an index file, and the migrations of older files."""

from __future__ import annotations

from collections.abc import Callable

import apsw

#: "qmdp" in ASCII. Identifies index files of this program.
APPLICATION_ID = 0x716D6470
#: The key in the table `meta` that marks a portable file.
PORTABLE = "portable"

#: The id of a document is the id of its collection shifted left by this, plus a number. A collection is then
#: one range of ids, and a filter on it one comparison, also in full-text search.
COLLECTION_SHIFT = 40

#: The tables of 1.0.0. They stay word for word, because `untrusted` compares the statements in a file with
#: them: those of `embedders` are as SQLite keeps them of a table that got columns later.
_TABLES = """
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- root is what the folder was known by at the last scan (JSON).
CREATE TABLE collections (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: ids of documents depend on it
  name TEXT NOT NULL UNIQUE,
  path TEXT NOT NULL,
  pattern TEXT NOT NULL,
  include_by_default INTEGER NOT NULL,
  updated_at TEXT,
  root TEXT
);

CREATE TABLE path_contexts (
  path TEXT PRIMARY KEY,
  text TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE contents (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  bytes INTEGER NOT NULL,
  text TEXT NOT NULL
);
-- Texts are embedded in order of their size.
CREATE INDEX contents_bytes ON contents(bytes);

-- date is like 2024-03-07T10:00:00.
CREATE TABLE documents (
  id INTEGER PRIMARY KEY,
  collection_id INTEGER NOT NULL REFERENCES collections(id),
  path TEXT NOT NULL,
  title TEXT NOT NULL,
  content_id INTEGER NOT NULL REFERENCES contents(id),
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  author TEXT NOT NULL DEFAULT '',
  date TEXT NOT NULL DEFAULT '',
  UNIQUE (collection_id, path)
);
CREATE INDEX documents_content ON documents(content_id);
-- Includes the id of the text, so that vectors are found without reading the documents.
CREATE INDEX documents_date ON documents(collection_id, date, content_id);

-- Contentless: the text is in contents, the terms come from text.tokens, joined by spaces. The tokenizer
-- 'ascii' splits at ASCII punctuation only, and a term holds none.
CREATE VIRTUAL TABLE documents_fts USING fts5(
  title, body, path, content='', contentless_delete=1, tokenize='ascii'
);
CREATE VIRTUAL TABLE documents_terms USING fts5vocab(documents_fts, row);

-- Document frequencies of the terms that are in many documents: counting those at query time costs a scan.
CREATE TABLE common_terms (
  term TEXT PRIMARY KEY,
  documents INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE embedders (
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  dimension INTEGER NOT NULL,
  chunks INTEGER NOT NULL DEFAULT 0  -- ever embedded: the N of token_frequencies
);
ALTER TABLE embedders ADD COLUMN model TEXT NOT NULL DEFAULT '';  -- fingerprint of the model alone
ALTER TABLE embedders ADD COLUMN source TEXT NOT NULL DEFAULT '';  -- what names it in a configuration
ALTER TABLE embedders ADD COLUMN complete INTEGER NOT NULL DEFAULT 0;  -- whether it ever had every text

-- One row a chunk. vector is float16, unit length. tokens are the chunk's distinct token ids (uint32), from
-- which rarities among some collections are counted. NULL for a chunk that another store made.
CREATE TABLE content_vectors (
  id INTEGER PRIMARY KEY,
  embedder_id INTEGER NOT NULL REFERENCES embedders(id),
  content_id INTEGER NOT NULL REFERENCES contents(id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  first_line INTEGER NOT NULL,
  last_line INTEGER NOT NULL,
  vector BLOB NOT NULL,
  tokens BLOB,
  UNIQUE (embedder_id, content_id, seq)
);
CREATE INDEX content_vectors_content ON content_vectors(content_id);

-- The same vectors as int8, in blocks that are scanned whole: a slot is (ids: int64, 0 where empty;
-- scales: float32; codes: int8 × dimension). Derived from content_vectors and documents.
CREATE TABLE vectors_vec (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: readers keep blocks by (id, version)
  embedder_id INTEGER NOT NULL REFERENCES embedders(id),
  collection_id INTEGER NOT NULL REFERENCES collections(id),
  slots INTEGER NOT NULL,
  version INTEGER NOT NULL,
  ids BLOB NOT NULL,
  scales BLOB NOT NULL,
  codes BLOB NOT NULL
);
CREATE INDEX vectors_vec_collection ON vectors_vec(embedder_id, collection_id, slots, version);

-- In how many embedded chunks each token of the embedder occurs: the rarity weights of late interaction.
CREATE TABLE token_frequencies (
  embedder_id INTEGER NOT NULL REFERENCES embedders(id),
  token INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  PRIMARY KEY (embedder_id, token)
) WITHOUT ROWID;

CREATE TABLE llm_cache (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  created_at TEXT NOT NULL
) WITHOUT ROWID;

-- Which worker embeds a text, and until when (seconds since 1970): then it is anyone's.
CREATE TABLE leases (
  embedder TEXT NOT NULL,
  content_id INTEGER NOT NULL REFERENCES contents(id) ON DELETE CASCADE,
  worker TEXT NOT NULL,
  until REAL NOT NULL,
  PRIMARY KEY (embedder, content_id)
) WITHOUT ROWID;
CREATE INDEX leases_content ON leases(content_id);

CREATE TABLE field_names (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

-- The id begins with those of the field and the type, see field_rows. key is the value as it is compared:
-- folded text, a date, or a number. value is it as written.
CREATE TABLE field_values (
  id INTEGER PRIMARY KEY,
  field_id INTEGER NOT NULL REFERENCES field_names(id),
  type TEXT NOT NULL,
  key NOT NULL,
  value NOT NULL
);
CREATE UNIQUE INDEX field_values_key ON field_values(field_id, type, key, value);

-- first is 1 for one value of each field of a document, so that documents are counted once.
CREATE TABLE document_fields (
  document_id INTEGER NOT NULL,
  value_id INTEGER NOT NULL,
  first INTEGER NOT NULL,
  PRIMARY KEY (document_id, value_id)
) WITHOUT ROWID;
CREATE INDEX document_fields_value ON document_fields(value_id, document_id, first);

-- name is what the target shares with the name of the document that it leads to; empty for a URL. Links are
-- resolved when they are asked for, so nothing is outdated when files come and go.
CREATE TABLE links (
  document_id INTEGER NOT NULL,
  number INTEGER NOT NULL,
  line INTEGER NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (document_id, number)
) WITHOUT ROWID;
CREATE INDEX links_name ON links(name, document_id);

-- Fewer and larger merges when a folder is indexed for the first time.
INSERT INTO documents_fts(documents_fts, rank) VALUES ('automerge', 8);
"""

#: The documents with each value. `field_rows` adds those of a batch at once, which is faster than a trigger.
_COUNTS = f"""CREATE TABLE field_counts (
  value_id INTEGER NOT NULL,
  collection_id INTEGER NOT NULL,
  documents INTEGER NOT NULL,
  firsts INTEGER NOT NULL,  -- the sum of document_fields.first
  PRIMARY KEY (value_id, collection_id)
) WITHOUT ROWID;
INSERT INTO field_counts SELECT value_id, document_id >> {COLLECTION_SHIFT}, count(*), sum(first)
  FROM document_fields GROUP BY 1, 2;

CREATE TRIGGER document_fields_removed AFTER DELETE ON document_fields BEGIN
  UPDATE field_counts SET documents = documents - 1, firsts = firsts - old.first
    WHERE value_id = old.value_id AND collection_id = old.document_id >> {COLLECTION_SHIFT};
  DELETE FROM field_counts WHERE documents = 0
    AND value_id = old.value_id AND collection_id = old.document_id >> {COLLECTION_SHIFT};
END;
"""

#: Links to URLs and anchors have no name, and are not found by it.
_NAMED_LINKS = """
DROP INDEX links_name;
CREATE INDEX links_name ON links(name, document_id) WHERE name <> '';
"""


#: The structures of texts (see types.structure), and a note that the texts of the file have none yet.
_STRUCTURES = """
DROP TABLE IF EXISTS layouts;
DELETE FROM meta WHERE key = 'without layouts';
CREATE TABLE IF NOT EXISTS structures (
  content_id INTEGER PRIMARY KEY REFERENCES contents(id) ON DELETE CASCADE,
  structure BLOB NOT NULL
);
INSERT OR REPLACE INTO meta SELECT 'without structures', '' WHERE EXISTS (SELECT 1 FROM contents);
"""

#: What a reranker has read, by digests of its name and of the text (see store.sqlite.windows).
_WINDOWS = """
CREATE TABLE IF NOT EXISTS windows (
  key BLOB PRIMARY KEY,
  content_id INTEGER NOT NULL REFERENCES contents(id) ON DELETE CASCADE,
  day INTEGER NOT NULL,  -- when it was last read, in days since 1970
  vectors BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS windows_content ON windows(content_id);
CREATE INDEX IF NOT EXISTS windows_day ON windows(day);
"""

#: The function without which no document can be written. SQLite shows its name to processes of versions that
#: do not compare the format before they write: they would write on in the old form.
_WRITER = "restart_qmd_because_a_newer_version_has_brought_this_index_up_to_date"
#: Each batch of documents of every version runs these statements.
_GUARDS = "".join(
    f"CREATE TRIGGER IF NOT EXISTS {table}_of_this_format BEFORE {event} ON {table} BEGIN "
    f"SELECT {_WRITER}() WHERE 0; END;"
    for table, event in (("document_fields", "INSERT"), ("links", "DELETE"))
)


def allow_writing(db: apsw.Connection) -> None:
    """Let a connection write documents in the format of `VERSION`."""
    db.create_scalar_function(_WRITER, _nothing, 0, flags=apsw.SQLITE_INNOCUOUS)


def _nothing(*_: object) -> None:
    """Be there: the triggers name a function, and never call it."""


def _renew(db: apsw.Connection) -> None:
    """Renew data of earlier versions, also into a file of 1.1.0, and keep them from writing."""
    if db.execute("SELECT 1 FROM documents LIMIT 1").get:
        from qmd.store.sqlite.titles import renew  # a new index has nothing to renew, and starts without it

        renew(db)
    db.execute(_WINDOWS)  # in a file that was renewed before
    db.execute(_GUARDS)


#: Each brings a file to the next version, from `FIRST_VERSION` on. Released steps are never edited.
MIGRATIONS: tuple[Callable[[apsw.Connection], object], ...] = (
    lambda db: db.execute(_COUNTS),
    lambda db: db.execute(_NAMED_LINKS),
    lambda db: None,  # the titles, which the last step renews too
    lambda db: None,
    lambda db: None,  # the layouts of long texts, in place of which the next step has structures
    lambda db: db.execute(_STRUCTURES),
    lambda db: db.execute(_WINDOWS),
    _renew,
)
#: The version of `_TABLES`. No earlier one was released.
FIRST_VERSION = 9
VERSION = FIRST_VERSION + len(MIGRATIONS)
#: Files from this version on can be read as they are: they have the tables of `VERSION`, but for these.
READABLE_FROM = 11
WITH_STRUCTURES, WITH_WINDOWS = 15, 17


def migrate_to(db: apsw.Connection, version: int) -> None:
    """Bring the tables of a database of a released version, or of an empty one, to a version."""
    present = int(db.pragma("user_version"))
    if present == version:
        return
    allow_writing(db)
    if not present:
        db.execute(_TABLES)
        present = FIRST_VERSION
    for migrate in MIGRATIONS[present - FIRST_VERSION : version - FIRST_VERSION]:
        migrate(db)
    db.execute(f"PRAGMA user_version={version}")
