"""The transcripts of coding agents: a function for the turns of each agent, one for the fields.

The files are hostile: every value may have any type. Keys are those of Claude Code 2.1, Codex 0.144, Gemini
CLI 0.56 (and its JSON before), and what `opencode export` of OpenCode 1.2 prints.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from qmd.sources.formats.writing import fenced
from qmd.text.outline import one_line

#: An object of a file.
Entry: TypeAlias = dict[str, Any]
#: Texts by the name of a field; `title` is the title.
About: TypeAlias = dict[str, Any]

#: The longest input and output of a tool, in characters.
_MAX_INPUT, _MAX_OUTPUT = 1_000, 1_000
#: Characters of an output in which an answer of qmd is recognized.
_READ = 10_000
#: Nested parts of a text that are read.
_MAX_DEPTH = 8


#: Tools of qmd's server, and commands that print documents. What they answered is in the documents; if it
#: were in the session as well, each search would answer the next one.
_OWN_TOOL = re.compile(r"(?<![a-z0-9])qmd(?![a-z0-9])", re.IGNORECASE)
_OWN_COMMAND = re.compile(
    r"""\bqmd(?:-python)?(?:[\\"',\s]+[^\\"',\s;|&]+){0,6}?[\\"',\s]+"""
    r"(?:search|vsearch|query|similar|pack|get|multi-get|why|vector-search|deep-search|archive|hook)\b"
)
#: What qmd prints, which is also in answers of servers with another name, of scripts and of `curl`.
_OWN_ANSWER = re.compile(
    r"""
    "docid\\?":\s?\\?"\#[0-9a-f]{6} | ^docid,score,file\b | ^\#[0-9a-f]{6},[01]\.\d
    | ^<file\ docid="\# | ^\*\*docid:\*\*\ \# | ^File:\ .*\ \#[0-9a-f]{6}$
    | ^\S.*:\d+\ \#[0-9a-f]{6}\r?$\n(?:Title|Section|Score):\  | ^Pack\ [0-9a-f]{8}:\ passages\ are\ data
    """,
    re.MULTILINE | re.VERBOSE,
)
#: The tags of what hooks of qmd add to a prompt.
_OWN_NOTES, _END_OF_NOTES = "<qmd-notes>", "</qmd-notes>"


class Turn(NamedTuple):
    """A part of a message: its role (`user` or `assistant`), its text, and whether that is cut."""

    role: str
    text: str
    is_cut: bool = False


class AgentFormat(NamedTuple):
    """The recognition of an agent by an object of its files, and the reader of all of them."""

    owns: Callable[[Entry], bool]
    turns: Callable[[Sequence[Entry]], Iterable[Turn]]
    about: Callable[[Sequence[Entry]], About]


class Tools:
    """Makes turns of the calls of tools and of their answers, without those of qmd itself."""

    def __init__(self) -> None:
        self._own: set[str] = set()

    def call(self, name: Any, arguments: Any, key: Any = None, *, server: Any = "") -> Turn:
        """Return the call of a tool, perhaps of a server's. Its answer has the same key."""
        try:
            shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        except RecursionError:
            shown = ""
        title = f"Tool: {one_line(str(name))}"
        if _OWN_TOOL.search(f"{server} {title}") or _OWN_COMMAND.search(shown[:_MAX_INPUT]):
            self._own.add(str(key))
            return Turn("assistant", title)
        self._own.discard(str(key))
        return Turn("assistant", f"{title}\n\n{fenced(shown[:_MAX_INPUT])}", len(shown) > _MAX_INPUT)

    def answer(self, content: Any, key: Any = None) -> Turn:
        """Return the answer of a tool, without a text if it is one of qmd."""
        text = text_of(content)
        if str(key) in self._own or _OWN_ANSWER.search(text[:_READ]):
            return Turn("assistant", "")
        return Turn("assistant", fenced(text[:_MAX_OUTPUT]), len(text) > _MAX_OUTPUT)


def text_of(content: Any, depth: int = 0) -> str:
    """Return the text of a content: a text, a part with a text, or a list of them."""
    if isinstance(content, str):
        return _without_notes(content)
    if isinstance(content, dict):
        return text_of(content.get("text"), depth + 1) if depth < _MAX_DEPTH else ""
    if isinstance(content, list) and depth < _MAX_DEPTH:
        return "\n\n".join(filter(None, (text_of(part, depth + 1) for part in content)))
    return ""


def _without_notes(text: str) -> str:
    head, *others = text.split(_OWN_NOTES)
    return head + "".join(
        part.partition(_END_OF_NOTES)[2] if _END_OF_NOTES in part else _OWN_NOTES + part for part in others
    )


def dicts(values: Any) -> list[Entry]:
    """Return the objects of a list."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def child(entry: Any, *keys: str) -> Any:
    """Return a value inside an object; None if there is none."""
    for key in keys:
        entry = entry.get(key) if isinstance(entry, dict) else None
    return entry


def moment(milliseconds: Any) -> str:
    """Return a time in milliseconds since the epoch as ISO 8601; "" if it is none."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")
    except (TypeError, ValueError, OverflowError, OSError):
        return ""


def _first(entries: Iterable[Entry], *keys: str) -> str:
    """Return the first text at a place of the objects; "" if there is none."""
    return next((value for entry in entries if isinstance(value := child(entry, *keys), str) and value), "")


def _is_claude(entry: Entry) -> bool:
    return "sessionId" in entry and isinstance(entry.get("message"), dict)


def _claude(entries: Sequence[Entry]) -> Iterator[Turn]:
    messages = [entry for entry in entries if isinstance(entry.get("message"), dict)]
    messages = [entry for entry in messages if not entry.get("isMeta")]
    # Older versions wrote what sub-agents did between the messages, newer ones write files of its own.
    main = [entry for entry in messages if not entry.get("isSidechain")] or messages
    tools = Tools()
    for entry in main:
        role = str(child(entry, "message", "role") or entry.get("type", ""))
        content = entry["message"].get("content")
        for part in content if isinstance(content, list) else [content]:
            match child(part, "type"):
                case "tool_use":
                    yield tools.call(part.get("name", ""), part.get("input"), part.get("id"))
                case "tool_result":
                    yield tools.answer(part.get("content"), part.get("tool_use_id"))
                case "text" | None:
                    yield Turn(role, text_of(part))


def _about_claude(entries: Sequence[Entry]) -> About:
    newest = entries[::-1]
    return {
        "title": _first(newest, "customTitle") or _first(newest, "aiTitle") or _first(entries, "summary"),
        "date": _first(entries, "timestamp"),
        "updated": _first(newest, "timestamp"),
        "project": _first(entries, "cwd"),
        "branch": _first(entries, "gitBranch"),
        "session": _first(entries, "sessionId"),
        "model": _first(newest, "message", "model"),
        "subagent": all(entry.get("isSidechain") for entry in entries if _is_claude(entry)),
    }


def _is_codex(entry: Entry) -> bool:
    return entry.get("type") in ("session_meta", "response_item") and isinstance(entry.get("payload"), dict)


def _codex(entries: Sequence[Entry]) -> Iterator[Turn]:
    tools = Tools()
    for entry in entries:
        item = entry.get("payload")
        if entry.get("type") != "response_item" or not isinstance(item, dict):
            continue
        match item.get("type"):
            case "message":
                yield Turn(str(item.get("role", "")), text_of(item.get("content")))
            case "function_call" | "custom_tool_call" | "local_shell_call":
                arguments = item.get("arguments") or item.get("input") or item.get("action")
                name, server = item.get("name", "shell"), item.get("namespace")
                yield tools.call(name, arguments, item.get("call_id"), server=server)
            case "function_call_output" | "custom_tool_call_output":
                yield tools.answer(item.get("output"), item.get("call_id"))


def _about_codex(entries: Sequence[Entry]) -> About:
    # A session that goes on from another one begins with its own head, and then has that of the other.
    heads = dicts([entry.get("payload") for entry in entries if entry.get("type") == "session_meta"])
    turns = dicts([entry.get("payload") for entry in entries if entry.get("type") == "turn_context"])
    return {
        "date": _first(heads, "timestamp") or _first(entries, "timestamp"),
        "updated": _first(entries[::-1], "timestamp"),
        "project": _first(heads, "cwd") or _first(turns, "cwd"),
        "branch": _first(heads, "git", "branch"),
        "session": _first(heads, "id"),
        "model": _first(turns[::-1], "model"),
        "subagent": any(child(head, "source", "subagent") for head in heads[:1]),
    }


def _is_gemini(entry: Entry) -> bool:
    return isinstance(entry.get("sessionId"), str) and isinstance(entry.get("projectHash"), str)


def _gemini_record(entries: Sequence[Entry]) -> tuple[Entry, list[Entry]]:
    """Return the head and the messages of a session: later lines change earlier ones."""
    head: Entry = {}
    messages: dict[str, Entry] = {}
    for entry in entries:
        back, change = entry.get("$rewindTo"), entry.get("$set")
        if isinstance(back, str):
            names = [*messages]
            for name in names[names.index(back) if back in messages else 0 :]:
                del messages[name]
            continue
        if isinstance(entry.get("id"), str):
            messages[entry["id"]] = entry
            continue
        stated = change if isinstance(change, dict) else entry if _is_gemini(entry) else {}
        if isinstance(stated.get("messages"), list):
            listed = [each for each in dicts(stated["messages"]) if isinstance(each.get("id"), str)]
            messages = {each["id"]: each for each in listed}
        head |= {key: value for key, value in stated.items() if key != "messages"}
    return head, [*messages.values()]


def _gemini(entries: Sequence[Entry]) -> Iterator[Turn]:
    tools = Tools()
    for message in _gemini_record(entries)[1]:
        text = text_of(message.get("displayContent") or message.get("content"))
        match message.get("type"):
            case "user":
                yield Turn("user", text)
            case "gemini":
                yield Turn("assistant", text)
                for call in dicts(message.get("toolCalls")):
                    name = call.get("name", "")
                    yield tools.call(call.get("displayName") or name, call.get("args"), server=name)
                    results = call.get("result")
                    parts = dicts(results if isinstance(results, list) else [results])
                    answers = [child(part, "functionResponse", "response", "output") for part in parts]
                    yield tools.answer([*answers, *parts] if parts else call.get("resultDisplay"))


def _about_gemini(entries: Sequence[Entry]) -> About:
    head, messages = _gemini_record(entries)
    return {
        "title": _first([head], "summary"),
        "date": _first([head], "startTime") or _first(messages, "timestamp"),
        "updated": _first([head], "lastUpdated") or _first(messages[::-1], "timestamp"),
        "session": _first([head], "sessionId"),
        "model": _first(messages[::-1], "model"),
        "subagent": head.get("kind") == "subagent",
    }


def _is_opencode(entry: Entry) -> bool:
    return isinstance(child(entry, "info", "id"), str) and isinstance(entry.get("messages"), list)


def _opencode(entries: Sequence[Entry]) -> Iterator[Turn]:
    tools = Tools()
    for message in dicts(entries[0].get("messages")):
        role = str(child(message, "info", "role"))
        for part in dicts(message.get("parts")):
            match part.get("type"):
                case "text" if not part.get("synthetic") and not part.get("ignored"):
                    yield Turn(role, text_of(part))
                case "tool":
                    state = part.get("state")
                    yield tools.call(part.get("tool") or part.get("name", ""), child(state, "input"))
                    answer = child(state, "output") or child(state, "content") or child(state, "error")
                    yield tools.answer(answer)


def _about_opencode(entries: Sequence[Entry]) -> About:
    info = entries[0]["info"]
    infos = [child(message, "info") for message in dicts(entries[0].get("messages"))][::-1]
    title = _first([info], "title")
    return {
        # The title until the agent has made one: `New session - 2026-03-07T10:00:00.000Z`.
        "title": "" if title.startswith(("New session - ", "Child session - ")) else title,
        "date": moment(child(info, "time", "created")),
        "updated": moment(child(info, "time", "updated")),
        "project": _first([info], "directory"),
        "session": _first([info], "id"),
        "model": _first(infos, "modelID")
        or _first(infos, "model", "modelID")
        or _first(infos, "model", "id"),
        "subagent": bool(info.get("parentID")),
    }


#: By the value of the field `agent`. The first that owns an object reads the file.
AGENTS: dict[str, AgentFormat] = {
    "claude-code": AgentFormat(_is_claude, _claude, _about_claude),
    "codex": AgentFormat(_is_codex, _codex, _about_codex),
    "gemini": AgentFormat(_is_gemini, _gemini, _about_gemini),
    "opencode": AgentFormat(_is_opencode, _opencode, _about_opencode),
}
