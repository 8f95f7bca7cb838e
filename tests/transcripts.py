"""Sessions of coding agents as the agents write them, made from their documentation and source."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

UUID = "0a6afc57-2f31-4cb4-8ff0-01247f50c64c"
SES = "ses_469cf929cffeBICghRNeI7BWy6"
Entry = Mapping[str, Any]


def lines(entries: Iterable[Entry]) -> str:
    """Return entries as JSON lines."""
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def claude(session: str = UUID, project: str = "/work/my shop", **more: Any) -> list[Entry]:
    """Return a session of Claude Code 2.1."""
    shared = {"cwd": project, "sessionId": session, "gitBranch": "main", "isSidechain": False, **more}
    return [
        {"type": "file-history-snapshot", "messageId": "0", "snapshot": {}},
        turn("1", "Why does the kestrel cache fail?", **shared),
        {
            **shared,
            "type": "assistant",
            "uuid": "2",
            "timestamp": "2026-03-07T10:00:05.000Z",
            "message": {
                "role": "assistant",
                "model": "claude-opus-4",
                "content": [
                    {"type": "thinking", "thinking": "A hidden thought."},
                    {"type": "text", "text": "Its feather key is wrong."},
                    {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}},
                ],
            },
        },
        turn("3", [{"type": "tool_result", "tool_use_id": "t", "content": "cache.py"}], **shared),
        {"type": "custom-title", "customTitle": "Kestrel cache", "sessionId": session},
    ]


def turn(uuid: str, content: Any, **shared: Any) -> Entry:
    """Return a message of the user in a session of Claude Code."""
    message = {"role": "user", "content": content}
    stamp = "2026-03-07T10:00:00.000Z"
    return {"type": "user", "uuid": uuid, "timestamp": stamp, "sessionId": UUID, **shared, "message": message}


def codex(session: str = UUID, project: str = "/work/other") -> list[Entry]:
    """Return a session of Codex 0.144."""
    head = {"id": session, "timestamp": "2026-03-08T09:00:00.000Z", "cwd": project, "cli_version": "0.144.6"}
    items = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Rules."}]},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "<environment_context>x</environment_context>"}],
        },
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Fix the gannet migration"}],
        },
        {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "ls"}', "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "schema.sql"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "It needs a plover index."}],
        },
    ]
    stamp = "2026-03-08T09:00:01.000Z"
    return [
        {"timestamp": stamp, "type": "session_meta", "payload": {**head, "git": {"branch": "dev"}}},
        {"timestamp": stamp, "type": "turn_context", "payload": {"cwd": project, "model": "gpt-5.5"}},
        *({"timestamp": stamp, "type": "response_item", "payload": item} for item in items),
        {"timestamp": "2026-03-08T09:30:00.000Z", "type": "event_msg", "payload": {"type": "token_count"}},
    ]


def gemini(session: str = UUID) -> list[Entry]:
    """Return a session of Gemini CLI 0.56, in which the user went back from the third message."""
    head = {"sessionId": session, "projectHash": "a" * 64}
    stamp = "2026-03-09T08:00:01.000Z"
    call = {
        "id": "c",
        "name": "read_file",
        "args": {"path": "parser.py"},
        "result": [{"functionResponse": {"name": "read_file", "response": {"output": "def parse"}}}],
        "status": "success",
    }
    return [
        {**head, "startTime": "2026-03-09T08:00:00.000Z", "lastUpdated": "2026-03-09T08:00:00.000Z"},
        {"id": "1", "timestamp": stamp, "type": "user", "content": [{"text": "Explain the osprey parser"}]},
        {
            "id": "2",
            "timestamp": stamp,
            "type": "gemini",
            "model": "gemini-3-pro",
            "content": "It is a recursive wigeon.",
            "toolCalls": [call],
        },
        {"id": "3", "timestamp": stamp, "type": "user", "content": "A withdrawn turnstone"},
        {"$rewindTo": "3"},
        {"$set": {"summary": "Osprey parser", "lastUpdated": "2026-03-09T08:10:00.000Z"}},
    ]


def gemini_json(session: str = UUID) -> str:
    """Return the same session in the JSON of earlier versions."""
    head, *messages = gemini(session)[:3]
    return json.dumps({**head, "summary": "Osprey parser", "messages": messages}, indent=2)


def opencode_parts(text: str = "Why is the heron queue slow?") -> list[tuple[Entry, list[Entry]]]:
    """Return the messages of a session of OpenCode with their parts."""
    state = {"status": "completed", "input": {"command": "top"}, "output": "load 9"}
    return [
        (
            {"role": "user", "time": {"created": 1773100000000}, "agent": "build"},
            [{"type": "text", "text": text}, {"type": "text", "text": "A hidden hint", "synthetic": True}],
        ),
        (
            {"role": "assistant", "modelID": "claude-opus-4", "providerID": "anthropic"},
            [
                {"type": "step-start"},
                {"type": "tool", "tool": "bash", "callID": "c", "state": state},
                {"type": "text", "text": "The bittern waits for a lock."},
            ],
        ),
    ]


def opencode_info(session: str = SES, project: str = "/work/shop") -> Entry:
    """Return what `opencode export` prints of a session."""
    time = {"created": 1773100000000, "updated": 1773100060000}
    return {"id": session, "directory": project, "title": "Heron queue", "version": "1.2.0", "time": time}


def opencode_export() -> str:
    """Return what `opencode export` prints."""
    messages = [{"info": info, "parts": parts} for info, parts in opencode_parts()]
    return json.dumps({"info": opencode_info(), "messages": messages}, indent=2)


_TABLES = """
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, directory text NOT NULL,
    title text NOT NULL, version text NOT NULL, time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer,
    time_updated integer, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
    time_created integer, time_updated integer, data text NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,
    seq integer NOT NULL, time_created integer, time_updated integer, data text NOT NULL);
"""


class OpenCode:
    """A database of OpenCode that a running OpenCode has open: changes are in its write-ahead log."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA wal_autocheckpoint = 0")
        self.db.executescript(_TABLES)

    def session(self, session: str = SES, parent: str | None = None, title: str = "Heron queue") -> None:
        row = (session, "p", parent, "/work/shop", title, "1.2.0", 1773100000000, 1773100060000)
        self.db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        self.db.commit()

    def say(self, parts: Iterable[tuple[Entry, list[Entry]]], session: str = SES) -> None:
        """Add messages with their parts."""
        for info, items in parts:
            (count,) = self.db.execute("SELECT count(*) FROM message").fetchone()
            message = f"msg_{count:06}"
            row = (message, session, count, count, json.dumps(info))
            self.db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
            for number, item in enumerate(items):
                place = f"prt_{count:06}_{number}", message, session, count, count
                self.db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (*place, json.dumps(item)))
        self.db.commit()

    def whole(self, kind: str, data: Entry, session: str = SES) -> None:
        """Add a message as version 2 keeps it."""
        (count,) = self.db.execute("SELECT count(*) FROM session_message").fetchone()
        row = (f"msg_w{count:06}", session, kind, count, count, count, json.dumps(data))
        self.db.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self.db.commit()


def write(path: Path, text: str) -> Path:
    """Write a file, and make its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def populate(home: Path) -> OpenCode:
    """Give a home folder a session of each agent; return the database of OpenCode."""
    project = home / ".claude/projects/-work-my-shop"
    write(project / f"{UUID}.jsonl", lines(claude()))
    # Transcripts of sub-agents, as earlier and later versions keep them.
    for place in ("agent-a1b2c3d.jsonl", f"{UUID}/subagents/agent-a1b2c3d.jsonl"):
        write(project / place, lines([turn("9", "A dunnock of a sub-agent", isSidechain=True)]))
    day = home / ".codex/sessions/2026/03/08"
    write(day / f"rollout-2026-03-08T09-00-00-{UUID}.jsonl", lines(codex()))
    write(home / ".codex/history.jsonl", '{"text": "a dunnock"}\n')
    chats = home / ".gemini/tmp/shop/chats"
    write(chats / "session-2026-03-09T08-00-0a6afc57.jsonl", lines(gemini()))
    write(home / ".gemini/tmp/shop/logs.json", '[{"message": "a dunnock"}]')
    database = OpenCode(home / ".local/share/opencode/opencode.db")
    database.session()
    database.say(opencode_parts())
    return database
