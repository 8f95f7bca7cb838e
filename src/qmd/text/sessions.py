"""Sessions of coding agents: what the fields of a transcript say of one, and the command that resumes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from shlex import join

from msgspec import Struct

from qmd.agents import title
from qmd.text.regex import lazy
from qmd.text.wording import plain
from qmd.types.sessions import AgentSession

#: The value of the field `format` of transcripts. No document can claim it.
FORMAT = "transcript"
_UUID = lazy(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_SES = lazy(r"ses_[0-9A-Za-z]{8,64}", re.ASCII)


class SessionAgent(Struct, frozen=True):
    """A coding agent.

    Attributes:
        title: Its name.
        resume: The words of the command that resumes a session, before the session.
        is_session: Whether a text is a session as the agent names them. Others, which a hostile transcript
            may contain, never become part of a command.
    """

    title: str
    resume: tuple[str, ...]
    is_session: Callable[[str], object] = _UUID.fullmatch


#: By the value of the field `agent` of transcripts.
AGENTS: Mapping[str, SessionAgent] = {
    "claude-code": SessionAgent(title("claude"), ("claude", "--resume")),
    "codex": SessionAgent(title("codex"), ("codex", "resume")),
    "gemini": SessionAgent(title("gemini"), ("gemini", "--resume")),
    "opencode": SessionAgent(title("opencode"), ("opencode", "--session"), _SES.fullmatch),
}
_ABSOLUTE = lazy(r"/|[A-Za-z]:[/\\]", re.ASCII)


def session_of(fields: Mapping[str, Sequence[str | float | bool]]) -> AgentSession | None:
    """Return the session whose transcript has these fields; None if they are not those of a transcript."""

    def first(name: str) -> str:
        return next((value for value in fields.get(name, ()) if isinstance(value, str)), "")

    agent = AGENTS.get(first("agent"))
    if agent is None or first("format") != FORMAT:
        return None
    project = first("project")
    return AgentSession(
        agent.title, first("date")[:10], plain(project), _resume(agent, first("session"), project)
    )


def _resume(agent: SessionAgent, session: str, project: str) -> str:
    """Return the command that resumes a session; "" if there is none that is safe to paste into a shell."""
    if not agent.is_session(session) or plain(project) != project:
        return ""
    command = join([*agent.resume, session])
    return f"{join(['cd', project])} && {command}" if _ABSOLUTE.match(project) else command
