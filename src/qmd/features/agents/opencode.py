"""The database of OpenCode (`opencode.db`): each session is a document, `opencode.db#ses_...`.

The file and its write-ahead log are in memory, where SQLite reads them.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import apsw

from qmd.features.agents import transcript
from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.types import Extracted

name = transcript.name
version = 3
media_type = transcript.media_type

#: The most sessions of a file, and the most characters of a value.
_MAX_SESSIONS, _MAX_VALUE = 100_000, 20_000_000
_MAGIC = b"SQLite format 3\0"
_KEY = re.compile(r"\w{1,100}", re.ASCII)
#: Texts are decoded here, because they may not be UTF-8. Sessions of sub-agents have a parent.
_SESSIONS = """
    SELECT CAST(id AS BLOB), CAST(substr(title, 1, 1000) AS BLOB), CAST(substr(directory, 1, 10000) AS BLOB),
        time_created, time_updated
    FROM session WHERE parent_id IS NULL
    ORDER BY time_created, id LIMIT ?
"""
#: A value that is too large is left out.
_DATA = f"CASE WHEN length(data) <= {_MAX_VALUE} THEN CAST(data AS BLOB) END"
_MESSAGES = f"SELECT CAST(id AS BLOB), {_DATA} FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = f"SELECT CAST(message_id AS BLOB), {_DATA} FROM part WHERE session_id = ? ORDER BY message_id, id"
#: Version 2 keeps a message with its parts.
_WHOLE = f"SELECT CAST(type AS BLOB), {_DATA} FROM session_message WHERE session_id = ? ORDER BY seq"


class _File:
    """A file in memory that is only read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 - the names are those of SQLite
        return self._data[offset : offset + amount]

    def xFileSize(self) -> int:  # noqa: N802
        return len(self._data)

    def xFileControl(self, *_: int) -> bool:  # noqa: N802
        return False

    def nothing(self, *_: int) -> int:
        """Do nothing: nobody else has the file."""
        return 0

    xLock = xUnlock = xCheckReservedLock = xSectorSize = xDeviceCharacteristics = xClose = nothing  # noqa: N815


class _Memory(apsw.VFS):
    """A file and its write-ahead log for SQLite, which reads them without locks and writes nothing."""

    def __init__(self, file: RawFile) -> None:
        self.name = f"memory {id(file)}"
        super().__init__(self.name, "")
        self._file = file

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> Any:  # noqa: N802
        is_log = flags[0] & apsw.SQLITE_OPEN_WAL
        flags[1] = apsw.SQLITE_OPEN_READONLY
        return _File(self._file.beside if is_log else self._file.data)

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802
        return pathname.endswith("-wal") and bool(self._file.beside)

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return name


@contextmanager
def _opened(file: RawFile) -> Iterator[apsw.Connection]:
    memory = _Memory(file)
    try:
        with closing(apsw.Connection("file", apsw.SQLITE_OPEN_READONLY, memory.name)) as db:
            # A stored value is not larger than its file.
            db.limit(apsw.SQLITE_LIMIT_LENGTH, len(file.data) + len(file.beside))
            # Views and triggers of a hostile file run nothing that is not part of SQLite. Alone, SQLite keeps
            # the index of the log in memory. Sorting would write a file, which this process may not.
            db.execute("PRAGMA trusted_schema = OFF; PRAGMA locking_mode = EXCLUSIVE")
            db.execute("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY")
            yield db
    except apsw.Error as error:
        raise Unreadable(DAMAGED, str(error)) from error
    finally:
        memory.unregister()


def extract(file: RawFile) -> Extracted:
    """Return the first session. A database is read by `extract_all`."""
    _, found = next(iter(extract_all(file)), ("", Extracted("", "")))
    if isinstance(found, Unreadable):
        raise found
    return found


def extract_all(file: RawFile) -> Iterator[tuple[str, Extracted | Unreadable]]:
    if not file.data.startswith(_MAGIC):
        raise Unreadable(DAMAGED, "not a database of SQLite")
    with _opened(file) as db:
        tables = {
            row[0] for row in db.execute("SELECT CAST(name AS BLOB) FROM sqlite_schema WHERE type = 'table'")
        }
        if not {b"session", b"message", b"part"} <= tables:
            raise Unreadable(transcript.OTHER)
        for values in db.execute(_SESSIONS, (_MAX_SESSIONS,)):
            key, title, folder, created, updated = map(_text, values)
            if not isinstance(key, str) or not _KEY.fullmatch(key):
                continue
            time = {"created": created, "updated": updated}
            info = {"id": key, "title": title, "directory": folder, "time": time}
            try:
                messages = _messages(db, key)
                if not messages and b"session_message" in tables:
                    messages = _whole_messages(db, key)
                found = transcript.render([{"info": info, "messages": messages}])
            except apsw.Error as error:
                yield key, Unreadable(DAMAGED, str(error))
                continue
            except Unreadable as error:
                yield key, error
                continue
            if found.text:
                yield key, found


def _messages(db: apsw.Connection, session: str) -> list[dict[str, Any]]:
    """Return the messages of a session as `opencode export` prints them."""
    parts = defaultdict(list)
    for message, data in db.execute(_PARTS, (session,)):
        parts[message].append(_object(data))
    return [
        {"info": _object(data), "parts": parts[message]}
        for message, data in db.execute(_MESSAGES, (session,))
    ]


def _whole_messages(db: apsw.Connection, session: str) -> list[dict[str, Any]]:
    messages = []
    for role, data in db.execute(_WHOLE, (session,)):
        message = _object(data)
        parts = [{"type": "text", "text": message.get("text")}] if role == b"user" else message.get("content")
        messages.append({"info": {**message, "role": _text(role)}, "parts": parts})
    return messages


def _object(data: Any) -> dict[str, Any]:
    try:
        value = json.loads(_text(data))
    except (TypeError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
