"""What a diagram shows, in words: its kind, and the names in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

#: Languages of code that describes a diagram.
DIAGRAMS = ("mermaid", "plantuml", "dot", "graphviz", "d2")
#: The kinds of diagrams of Mermaid by their first word.
KINDS: Mapping[str, str] = {
    "flowchart": "Flowchart",
    "graph": "Flowchart",
    "sequencediagram": "Sequence of messages",
    "classdiagram": "Classes",
    "statediagram": "States",
    "erdiagram": "Entities",
    "gantt": "Schedule",
    "pie": "Pie chart",
    "mindmap": "Mind map",
    "timeline": "Timeline",
    "journey": "Journey",
    "gitgraph": "Branches of git",
}
#: A name in a diagram: what is in brackets or quotes, or follows a colon; a participant.
_NAME = re.compile(
    r'[\[({]"?(?P<box>[^\[\](){}"|\n]{1,80})"?[\])}]|"(?P<quoted>[^"\n]{1,80})"'
    r"|^[ \t]*(?:participant|actor)[ \t]+(?P<who>\w{1,80})|:[ \t]*+(?P<said>[^:\n]{1,80}+)$",
    re.M,
)
_MOST = 12
#: Characters of a diagram in which names are looked for.
_SEARCHED = 10_000


def described(source: str, language: str, say: Callable[[str], str]) -> str:
    """Return a line about a diagram: `Flowchart: Start, Choice, Done`."""
    first = re.match(r"[a-z]*", source.lstrip().lower())
    kind = KINDS.get(first[0] if first else "")
    if kind is None:
        return f"{say('Diagram')} ({language})"
    found = (match[match.lastgroup or 0] for match in _NAME.finditer(source[:_SEARCHED]))
    names = [*dict.fromkeys(name for each in found if (name := each.strip()))]
    more = " …" if len(names) > _MOST else ""
    return f"{say(kind)}: {', '.join(names[:_MOST])}{more}" if names else f"{say(kind)} ({language})"
