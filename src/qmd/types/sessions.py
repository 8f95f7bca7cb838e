"""A session of a coding agent, whose transcript is a document."""

from __future__ import annotations

from msgspec import Struct

#: Formats in which transcripts of agents are read.
TRANSCRIPTS = frozenset({"transcript", "transcript-json", "opencode"})


class AgentSession(Struct, frozen=True, omit_defaults=True):
    """What a hit says of the session that it is from.

    `resume` is a command for a shell that continues the session in the folder of its project. It is "" if the
    transcript does not name the session as its agent would.
    """

    agent: str  #: The name of the agent, such as `Claude Code`
    day: str = ""  #: The day when the session began, as `2026-03-07`
    project: str = ""  #: The folder in which the agent worked, or its name
    resume: str = ""


def in_line(session: AgentSession) -> str:
    """Return what there is to say of a session in one line, without control characters."""
    about = [session.agent, session.day, session.project]
    # The command names the folder already.
    shown = about[:2] if session.project and session.project in session.resume else about
    said = ", ".join(filter(None, shown))
    return f"{said}; resume: {session.resume}" if session.resume else said
