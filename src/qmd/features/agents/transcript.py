"""Transcripts of coding agents, a session a file: JSON lines, or one object in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from qmd.features.agents.turns import AGENTS, Entry
from qmd.sources.formats.base import RawFile, Unreadable
from qmd.sources.formats.writing import Fields, Writer
from qmd.text.outline import one_line
from qmd.text.sessions import FORMAT
from qmd.types import Extracted

name = FORMAT
version = 4
media_type = "text/markdown"

#: The reason for files that are something else in JSON.
OTHER = "no transcript of a coding agent"
#: Objects among which one must show the kind of the file.
_HEAD = 50
_ROLES = {"user": "User", "assistant": "Assistant"}
#: Texts that the programs add to those of the user.
_ADDED = re.compile(
    r"# AGENTS\.md|<(environment_context|user_instructions|system-reminder|session_context"
    r"|command-\w+|local-command-\w+)>"
)
_HASH = re.compile(r"[0-9a-f]{64}")


def extract(file: RawFile) -> Extracted:
    return render([*_entries(file.text())], file.path)


def render(entries: Sequence[Entry], path: str = "") -> Extracted:
    """Return the transcript of a session. Raises `Unreadable` if the objects are those of something else."""
    known = ((key, agent) for entry in entries[:_HEAD] for key, agent in AGENTS.items() if agent.owns(entry))
    key, agent = next(known, ("", None))
    if agent is None:
        raise Unreadable(OTHER)
    writer = Writer("message")
    about = agent.about(entries)
    title, last, number, cut = one_line(about.pop("title", "")), "", 0, 0
    for role, text, is_cut in agent.turns(entries):
        if role not in _ROLES or not text.strip():
            continue
        cut += is_cut
        if role != last:
            number += 1
            writer.anchor(number)
            writer.add_markdown(f"## {_ROLES[role]}")
            last = role
        if role == "user" and not title and not _ADDED.match(text.lstrip()):
            title = one_line(text.strip().partition("\n")[0])
        # Headings in a message are below the message.
        writer.add_markdown(text, below=2)
    fields: Fields = {"agent": (key,), **{field: (value,) for field, value in about.items() if value}}
    # `shop/chats/session-2026-03-07T10-00-1a2b3c4d.jsonl` of Gemini CLI names the project there only.
    place = path.split("/")[-3:-1]
    if place[1:] == ["chats"] and "project" not in fields and not _HASH.fullmatch(place[0]):
        fields["project"] = (place[0],)
    omitted = (f"the end of {cut} inputs or outputs of tools",) if cut else ()
    return Extracted(
        writer.text, title, fields, anchors=writer.anchors, omitted=omitted, structure=writer.structure
    )


def _entries(text: str) -> Iterator[Entry]:
    """Yield the objects of JSON lines, or of one text. The last line may be cut: the session goes on."""
    lines = text.split("\n") if not text.startswith(("{\n", "{\r")) else [text]
    for line in lines:
        if line.startswith("{"):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict):
                yield entry
