"""A session of a coding agent, whose transcript is a document."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from qmd.types.notes import Note, Row

#: Formats in which transcripts of agents are read.
TRANSCRIPTS = frozenset({"transcript", "transcript-json", "opencode"})


class AgentSession(Note, frozen=True, omit_defaults=True):
    """What a hit says of the session that it is from.

    `resume` is a command for a shell that continues the session in the folder of its project. It is "" if the
    transcript does not name the session as its agent would.
    """

    key = "session"
    apart = True

    agent: str  #: The name of the agent, such as `Claude Code`
    day: str = ""  #: The day when the session began, as `2026-03-07`
    project: str = ""  #: The folder in which the agent worked, or its name
    resume: str = ""

    @property
    def line(self) -> str:
        # The command names the folder already.
        named = self.project not in self.resume
        said = self._about(self.project if named else "")
        return f"{said}; resume: {self.resume}" if self.resume else said

    @property
    def rows(self) -> tuple[Row, ...]:
        about: Row = ("Session", self._about(self.project), "text")
        return (about, ("Resume", self.resume, "command")) if self.resume else (about,)

    def inert(self, address: Callable[[str], str], text: Callable[[str], str]) -> AgentSession:
        return replace(self, project=text(self.project))

    def _about(self, project: str) -> str:
        return ", ".join(filter(None, (self.agent, self.day, project)))
