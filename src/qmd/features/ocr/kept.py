"""What was recognized, in a file beside the index: pages by hash and reader, and which pages a file has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import apsw
from msgspec import Struct
from msgspec.json import decode, encode

from qmd.config.held_file import open_private
from qmd.engine.indexing.recognized import Recognized, kept_at
from qmd.errors import StoreError
from qmd.sources.formats.recognized import Seen, pack
from qmd.types import Fingerprint, SourceFile

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS pages (
        key TEXT PRIMARY KEY, text TEXT NOT NULL, why TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS files (
        collection TEXT, path TEXT, fingerprint TEXT NOT NULL, pages TEXT NOT NULL, fresh INTEGER NOT NULL,
        PRIMARY KEY (collection, path)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS notes (
        collection TEXT, path TEXT, pictures TEXT NOT NULL, fresh INTEGER NOT NULL,
        PRIMARY KEY (collection, path)
    ) WITHOUT ROWID;
"""


_PRUNE = """
    DELETE FROM pages WHERE key IN (
        SELECT page.value FROM files, json_each(pages) page
        WHERE collection NOT IN (SELECT value FROM json_each(:names))
        EXCEPT
        SELECT page.value FROM files, json_each(pages) page
        WHERE collection IN (SELECT value FROM json_each(:names))
    );
    DELETE FROM files WHERE collection NOT IN (SELECT value FROM json_each(:names));
    DELETE FROM notes WHERE collection NOT IN (SELECT value FROM json_each(:names));
"""


class KeptFile(Struct, frozen=True):
    """A file that was looked at: its state, and the keys of its pages without text, by number."""

    fingerprint: Fingerprint
    pages: Mapping[int, str]


class Kept:
    """The pages and files of the index at a place."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def files(self, collection: str) -> dict[str, KeptFile]:
        """Return the files of a collection that were looked at, by path."""
        rows = self._db.execute(
            "SELECT path, fingerprint, pages FROM files WHERE collection = ?", (collection,)
        )
        return {
            path: KeptFile(decode(state, type=Fingerprint), decode(pages, type=dict[int, str]))
            for path, state, pages in rows
        }

    def put_file(self, collection: str, file: SourceFile, pages: Mapping[int, str]) -> None:
        """Keep which pages without text a file has."""
        state = encode(file.fingerprint).decode(), encode(pages).decode()
        self._db.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, 0)", (collection, file.path, *state)
        )

    def drop_files(self, collection: str, paths: Iterator[str]) -> None:
        """Forget files. What was recognized in their pages stays, as they may have been moved."""
        self._db.executemany(
            "DELETE FROM files WHERE collection = ? AND path = ?", ((collection, path) for path in paths)
        )

    def freshen(self, collection: str, path: str) -> None:
        """Let the next scan read a file again."""
        self._db.execute("UPDATE files SET fresh = 1 WHERE collection = ? AND path = ?", (collection, path))

    def scanned(self, collection: str, paths: frozenset[str]) -> None:
        """Note that a scan has read files."""
        for table in ("files", "notes"):
            self._db.executemany(
                f"UPDATE {table} SET fresh = 0 WHERE collection = ? AND path = ?",
                ((collection, path) for path in paths),
            )

    def fresh(self, collection: str) -> frozenset[str]:
        """Return the paths of files that no scan has read since."""
        return frozenset(
            path
            for table in ("files", "notes")
            for (path,) in self._db.execute(
                f"SELECT path FROM {table} WHERE collection = ? AND fresh", (collection,)
            )
        )

    def put_notes(self, collection: str, shown: Mapping[str, Sequence[str]]) -> None:
        """Keep which notes show which pictures with text. Those that have changed, the next scan reads."""
        before = self.notes(collection)
        for path in before.keys() | shown.keys():
            pictures = [*shown.get(path, ())]
            if pictures != before.get(path):
                row = collection, path, encode(pictures).decode()
                self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?, 1)", row)

    def notes(self, collection: str) -> dict[str, list[str]]:
        """Return the paths of the pictures that notes show, by the paths of the notes."""
        rows = self._db.execute("SELECT path, pictures FROM notes WHERE collection = ?", (collection,))
        return {path: decode(pictures, type=list[str]) for path, pictures in rows}

    def text_of(self, file: KeptFile) -> str:
        """Return the text of a file's pages as far as they were read."""
        pages = filter(None, map(self.page, file.pages.values()))
        return "\n\n".join(page.text for page in pages if page.text)

    def prune(self, collections: Sequence[str]) -> None:
        """Delete what is kept for other collections than these. Files that are missing may come back."""
        self._db.execute(_PRUNE, {"names": encode(collections).decode()})

    def page(self, key: str) -> Seen | None:
        """Return what was recognized in a page."""
        row = self._db.execute("SELECT text, why FROM pages WHERE key = ?", (key,)).fetchone()
        return None if row is None else Seen(*row)

    def put_page(self, key: str, seen: Seen) -> None:
        """Keep what was recognized in a page."""
        self._db.execute("INSERT OR REPLACE INTO pages VALUES (?, ?, ?)", (key, seen.text, seen.why))


@contextmanager
def opened(location: str, *, writable: bool = True) -> Iterator[Kept]:
    """Open what is kept for the index at `location`. Raises `StoreError` if that is not possible."""
    path = kept_at(location)
    if writable:
        os.close(open_private(path))
    try:
        db = apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY)
        db.set_busy_timeout(10_000)
        if writable:
            db.execute(_SCHEMA)
        try:
            yield Kept(db)
        finally:
            db.close()
    except apsw.Error as error:
        raise StoreError(f"cannot use {path}: {error}", "delete it: 'qmd ocr' makes it again") from error


def recognized_in(location: str, collection: str) -> Recognized:
    """Return what was recognized in the files of a collection whose pages have all been read."""
    if not os.path.exists(kept_at(location)):
        return Recognized()
    with opened(location, writable=False) as kept:
        texts = {}
        files = kept.files(collection)
        for path, file in files.items():
            pages = {number: kept.page(key) for number, key in file.pages.items()}
            seen = {number: page for number, page in pages.items() if page is not None}
            if len(seen) == len(pages):
                has_text = any(page.text or page.why for page in seen.values())
                texts[path] = file.fingerprint, pack(seen) if has_text or path.endswith(".pdf") else b""
        shown = {
            note: pack(
                {
                    number: Seen(kept.text_of(files[path]), shown=path)
                    for number, path in enumerate(pictures)
                    if path in files
                }
            )
            for note, pictures in kept.notes(collection).items()
            if pictures
        }
        return Recognized(texts, shown, kept.fresh(collection))
