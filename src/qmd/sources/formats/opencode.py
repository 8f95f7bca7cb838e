"""The database of OpenCode (`opencode.db`): each session is a document, `opencode.db#ses_...`.

The file is read as bytes, with the changes in its write-ahead log, into a database in memory.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from qmd.sources.formats import transcript, wal
from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.types import Extracted

name = transcript.name
version = 2
media_type = transcript.media_type

#: The most sessions of a file, and the most characters of a value.
_MAX_SESSIONS, _MAX_VALUE = 100_000, 20_000_000
_MAGIC = b"SQLite format 3\0"
_KEY = re.compile(r"\w{1,100}", re.ASCII)
#: Sessions of sub-agents have a parent.
_SESSIONS = """
    SELECT id, substr(title, 1, 1000), substr(directory, 1, 10000), time_created, time_updated
    FROM session WHERE parent_id IS NULL
    ORDER BY time_created, id LIMIT ?
"""
#: A value that is too large is left out.
_DATA = f"CASE WHEN length(data) <= {_MAX_VALUE} THEN data END"
_MESSAGES = f"SELECT id, {_DATA} FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = f"SELECT message_id, {_DATA} FROM part WHERE session_id = ? ORDER BY message_id, id"
#: Version 2 keeps a message with its parts.
_WHOLE = f"SELECT type, {_DATA} FROM session_message WHERE session_id = ? ORDER BY seq"


def extract(file: RawFile) -> Extracted:
    """Return the first session. A database is read by `extract_all`."""
    _, found = next(iter(extract_all(file)), ("", Extracted("", "")))
    if isinstance(found, Unreadable):
        raise found
    return found


def extract_all(file: RawFile) -> Iterator[tuple[str, Extracted | Unreadable]]:
    data = wal.applied(file.data, file.beside)
    if not data.startswith(_MAGIC):
        raise Unreadable(DAMAGED, "not a database of SQLite")
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(data)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, len(data))  # a stored value is not larger than its file
        del data
        db.text_factory = lambda value: value.decode(errors="replace")
        # Views and triggers of a hostile file run nothing that is not part of SQLite.
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA query_only = ON")
        # Sorting what is not small would write a file, which this process may not.
        db.execute("PRAGMA temp_store = MEMORY")
        try:
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            if not {"session", "message", "part"} <= tables:
                raise Unreadable(transcript.OTHER)
            for key, title, folder, created, updated in db.execute(_SESSIONS, (_MAX_SESSIONS,)):
                if not isinstance(key, str) or not _KEY.fullmatch(key):
                    continue
                time = {"created": created, "updated": updated}
                info = {"id": key, "title": title, "directory": folder, "time": time}
                try:
                    messages = _messages(db, key)
                    if not messages and "session_message" in tables:
                        messages = _whole_messages(db, key)
                    found = transcript.render([{"info": info, "messages": messages}])
                except sqlite3.Error as error:
                    yield key, Unreadable(DAMAGED, str(error))
                    continue
                except Unreadable as error:
                    yield key, error
                    continue
                if found.text:
                    yield key, found
        except sqlite3.Error as error:
            raise Unreadable(DAMAGED, str(error)) from error


def _messages(db: sqlite3.Connection, session: str) -> list[dict[str, Any]]:
    """Return the messages of a session as `opencode export` prints them."""
    parts = defaultdict(list)
    for message, data in db.execute(_PARTS, (session,)):
        parts[message].append(_object(data))
    return [
        {"info": _object(data), "parts": parts[message]}
        for message, data in db.execute(_MESSAGES, (session,))
    ]


def _whole_messages(db: sqlite3.Connection, session: str) -> list[dict[str, Any]]:
    messages = []
    for role, data in db.execute(_WHOLE, (session,)):
        message = _object(data)
        parts = [{"type": "text", "text": message.get("text")}] if role == "user" else message.get("content")
        messages.append({"info": {**message, "role": role}, "parts": parts})
    return messages


def _object(data: Any) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (TypeError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
