"""The answer of a hook at an event of a session, or none.

An agent takes a hook that fails for an order to stop. So whatever happens, the exit code is 0, and a line in
a log says why.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any

from qmd.cli.client import NO_SERVER
from qmd.cli.console import current
from qmd.cli.hook_limit import log
from qmd.cli.terminal import write
from qmd.cli.usage import NotInServerError
from qmd.config.paths import DEFAULT_INDEX, cache_dir
from qmd.errors import QmdError, UsageError
from qmd.features.agents.agents import AGENTS, hooks_of
from qmd.features.agents.recall import asked, briefing, reminder
from qmd.features.evidence.given import GivenFiles
from qmd.processes import python, start
from qmd.text.digest import passage_hash

if TYPE_CHECKING:
    from qmd.cli.session import Session
    from qmd.engine.index import Index

_MAX_INPUT = 1_000_000
_STARTED = passage_hash("the start of a session")


def run(session: Session, event: str, target: str, starts_server: bool, timeout: float | None) -> None:
    """Answer an event of an agent, whose JSON is on stdin. `hook_limit` keeps the timeout."""
    data = current().read(_MAX_INPUT + 1)
    starts_server &= not session.agent  # which starts nothing
    session.quiet = session.agent = True
    try:
        text = _answer(session, event, target, data, starts_server=starts_server)
    except NotInServerError:  # not for a server
        raise
    except Exception as error:  # noqa: BLE001 - it must not disturb the agent
        reason = error.in_one_line() if isinstance(error, QmdError) else f"{type(error).__name__}: {error}"
        log(current().environ, f"{event} {target}: {reason}")
    else:
        write(text)


def _answer(session: Session, event: str, target: str, data: bytes, *, starts_server: bool) -> str:
    """Return the JSON for the agent; "" for none. `data` is the JSON that it gave."""
    if target not in AGENTS or event not in hooks_of(target).events:
        raise UsageError("no such agent or event")
    text = _Event(session, data, starts_server=starts_server).answer(event)
    output = {"hookEventName": hooks_of(target).events[event], "additionalContext": text}
    return json.dumps({"hookSpecificOutput": output}, ensure_ascii=False) + "\n" if text else ""


class _Event:
    """An event of a session of an agent, as its JSON on stdin describes it."""

    def __init__(self, session: Session, data: bytes, *, starts_server: bool) -> None:
        self._session, self._starts_server = session, starts_server
        self._given = GivenFiles(cache_dir(current().environ))
        if len(data) > _MAX_INPUT:
            raise UsageError("the agent's input is too large")
        self._input: Mapping[str, Any] = json.loads(data)
        self._name = self._text("session_id")

    def answer(self, event: str) -> str:
        """Return the text for the agent; "" for none."""
        match event:
            case "session":
                parts = [self._lost(), self._briefing()]
            case "prompt":
                parts = [self._lost(), self._passages(self._text("prompt"))]
            case _:
                self._compact()
                parts = []
        return "\n\n".join(filter(None, parts))

    def _text(self, key: str) -> str:
        value = self._input.get(key)
        return value if isinstance(value, str) else ""

    def _choose_index(self) -> bool:
        """Use the project's index if that is approved, or the user's own. Return whether it exists."""
        session = self._session
        if session.project is not None and session.index.trust.unapproved({"hook"}):
            if session.refusal is None:
                raise NotInServerError  # a server has only the index of the project
            session.close()
            session.index_name = DEFAULT_INDEX
        return session.store is not None or os.path.exists(session.index_file())

    @property
    def _index(self) -> Index:
        """The index as an agent may see it."""
        return self._session.index

    def _briefing(self) -> str:
        if not self._choose_index():
            return ""
        if self._starts_server and self._session.refusal == NO_SERVER:
            _start_server(self._session)
        place = f"folder {current().folder()}"
        started = self._given.of(place).get(_STARTED)
        self._given.add(place, {_STARTED: datetime.now(UTC).isoformat()})
        return briefing(self._index, None if started is None else datetime.fromisoformat(started))

    def _passages(self, prompt: str) -> str:
        if not asked(prompt) or not self._choose_index():
            return ""
        # Loading the models would take too long.
        words_only = self._session.refusal is not None
        while True:
            known = self._given.of(self._name) if self._name else {}
            found = self._index.recall(prompt, known=known, words_only=words_only)
            if (
                not found.passages
                or not self._name
                or self._given.claim(self._name, found.passages, found.relevance)
            ):
                return found.text

    def _compact(self) -> None:
        """Remember the places of what was given, and that the agent no longer has their text."""
        self._given.move(self._name, f"{self._name} compacted")

    def _lost(self) -> str:
        """Return the places of what was given before the last compaction, once."""
        name = f"{self._name} compacted"
        text = reminder(self._given.best_first(name))
        self._given.forget(name)
        return text


def _start_server(session: Session) -> None:
    words = python("qmd", "server", "--daemon", *session.options())
    start(words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True)
