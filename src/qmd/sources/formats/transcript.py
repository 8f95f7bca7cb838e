"""Transcripts of coding agents, a session a file: JSON lines of Claude Code and Codex."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from qmd.sources.formats.base import RawFile, Unreadable
from qmd.sources.formats.writing import Writer, fenced
from qmd.text.outline import one_line
from qmd.types import Extracted

name = "transcript"
version = 1
media_type = "text/markdown"

#: The reason for files that are other JSON lines.
OTHER = "no transcript of Claude Code or Codex"
#: The longest input and output of a tool, in characters.
_MAX_INPUT, _MAX_OUTPUT = 1_000, 1_000
#: Lines among which one must show what the file is.
_HEAD = 50
_ROLES = {"user": "User", "assistant": "Assistant"}
#: Texts that the programs add to what the user writes.
_ADDED = re.compile(r"<(environment_context|user_instructions|system-reminder|command-name)>")
_HEADING = re.compile(r"^(#{1,6})(?=\s)", re.M)


def extract(file: RawFile) -> Extracted:
    entries = list(_entries(file.text()))
    if any(_is_claude(entry) for entry in entries[:_HEAD]):
        agent, turns = "claude-code", _claude(entries)
    elif any(_is_codex(entry) for entry in entries[:_HEAD]):
        agent, turns = "codex", _codex(entries)
    else:
        raise Unreadable(OTHER)
    writer = Writer("message")
    title, last, number, cut = _summary(entries), "", 0, 0
    for role, text, is_cut in turns:
        if role not in _ROLES or not text.strip():
            continue
        cut += is_cut
        if role != last:
            number += 1
            writer.anchor(number)
            writer.add(f"## {_ROLES[role]}")
            last = role
        if role == "user" and not title and not _ADDED.match(text.lstrip()):
            title = one_line(text.strip().partition("\n")[0])
        # Headings in a message are below the message.
        writer.add(_HEADING.sub(lambda match: "#" * min(len(match[1]) + 2, 6), text))
    fields = {"agent": (agent,), **_about(entries)}
    omitted = (f"the end of {cut} inputs or outputs of tools",) if cut else ()
    return Extracted(writer.text, title, fields, anchors=writer.anchors, omitted=omitted)


def _entries(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON lines. A line may be cut, because the session has not ended."""
    for line in text.split("\n"):
        if line.startswith("{"):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict):
                yield entry


def _is_claude(entry: dict[str, Any]) -> bool:
    return "sessionId" in entry and isinstance(entry.get("message"), dict)


def _is_codex(entry: dict[str, Any]) -> bool:
    payload = entry.get("payload")
    return entry.get("type") in ("session_meta", "response_item") and isinstance(payload, dict)


def _claude(entries: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str, bool]]:
    """Yield (role, text, whether it is cut) of each part of the messages."""
    for entry in entries:
        message = entry.get("message")
        if isinstance(message, dict) and not entry.get("isMeta"):
            role = str(message.get("role", entry.get("type", "")))
            content = message.get("content")
            for part in content if isinstance(content, list) else [content]:
                yield _claude_part(part, role)


def _claude_part(part: Any, role: str) -> tuple[str, str, bool]:
    if isinstance(part, str):
        return role, part, False
    if not isinstance(part, dict):
        return role, "", False
    match part.get("type"):
        case "text":
            return role, _text(part.get("text")), False
        case "tool_use":
            return "assistant", *_tool(str(part.get("name", "")), part.get("input"))
        case "tool_result":
            return "assistant", *_cut(_text(part.get("content")), _MAX_OUTPUT)
    return role, "", False


def _codex(entries: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str, bool]]:
    """Yield (role, text, whether it is cut) of each part of the messages."""
    for entry in entries:
        item = entry.get("payload")
        if entry.get("type") != "response_item" or not isinstance(item, dict):
            continue
        match item.get("type"):
            case "message":
                yield str(item.get("role", "")), _text(item.get("content")), False
            case "function_call" | "custom_tool_call" | "local_shell_call":
                arguments = item.get("arguments") or item.get("input") or item.get("action")
                yield "assistant", *_tool(str(item.get("name", "shell")), arguments)
            case "function_call_output" | "custom_tool_call_output":
                yield "assistant", *_cut(_text(item.get("output")), _MAX_OUTPUT)


def _tool(tool: str, arguments: Any) -> tuple[str, bool]:
    """Return the call of a tool as text."""
    shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    text, is_cut = _cut(shown, _MAX_INPUT)
    return f"Tool: {one_line(tool)}\n\n{text}", is_cut


def _cut(text: str, length: int) -> tuple[str, bool]:
    return fenced(text[:length]), len(text) > length


def _text(content: Any) -> str:
    """Return the text of a content: a text, or a list of parts with texts."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    parts = content if isinstance(content, list) else []
    return "\n\n".join(
        part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


def _summary(entries: Iterable[dict[str, Any]]) -> str:
    """Return the summary that Claude Code writes of a session, "" if there is none."""
    for entry in entries:
        if entry.get("type") == "summary" and isinstance(entry.get("summary"), str):
            return one_line(entry["summary"])
    return ""


def _about(entries: Iterable[dict[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the date, folder, branch and id of a session."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        payload = entry.get("payload")
        meta = payload if entry.get("type") == "session_meta" and isinstance(payload, dict) else entry
        for name, key in (
            ("date", "timestamp"),
            ("project", "cwd"),
            ("branch", "gitBranch"),
            ("session", "sessionId"),
            ("session", "id"),
        ):
            value = meta.get(key)
            if name not in found and isinstance(value, str) and value:
                found[name] = (value,)
        if len(found) == 4:
            break
    return found
