"""`hook run`: what an agent calls at events of a session. It answers in time, or says nothing.

An agent takes a hook that fails for an order to stop. So whatever happens, the exit code is 0, and a line in
a log says what did not work.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn

from qmd.cli.terminal import write
from qmd.config.paths import DEFAULT_INDEX
from qmd.engine.given import GivenFiles, passage_hash
from qmd.errors import QmdError, UsageError

if TYPE_CHECKING:
    from qmd.cli.session import Session
    from qmd.engine.recall import Recall

_MAX_INPUT = 1_000_000
_MAX_LOG = 100_000
_LOST = (
    "Passages of these places were given before the conversation was compacted; read them again if needed: "
)
#: The most tokens of the list of these places.
_PLACES = 200
_STARTED = passage_hash("the start of a session")


def run(session: Session, event: str, target: str, *, starts_server: bool, seconds: float) -> None:
    """Answer an event. Writes nothing if there is nothing to say, or on any failure."""
    from qmd.config.paths import cache_dir

    folder = cache_dir(os.environ)
    timer = threading.Timer(seconds, _give_up, (folder, f"{event} {target}: took more than {seconds:g} s"))
    timer.daemon = True
    timer.start()
    try:
        name = _name(event, target)
        text = _Event(session, folder, seconds, starts_server=starts_server).answer(event)
        timer.cancel()
    except Exception as error:  # noqa: BLE001 - it must not disturb the agent
        timer.cancel()
        reason = error.in_one_line() if isinstance(error, QmdError) else f"{type(error).__name__}: {error}"
        log(folder, f"{event} {target}: {reason}")
        return
    if text:
        output = {"hookEventName": name, "additionalContext": text}
        write(json.dumps({"hookSpecificOutput": output}, ensure_ascii=False) + "\n")


def _give_up(folder: str, line: str) -> NoReturn:
    log(folder, line)
    os._exit(0)


def _name(event: str, target: str) -> str:
    from qmd.config.agents import AGENTS, hooks_of

    if target not in AGENTS or event not in hooks_of(target).events:
        raise UsageError("no such agent or event")
    return hooks_of(target).events[event]


class _Event:
    """An event of a session of an agent, as its JSON on stdin describes it."""

    def __init__(self, session: Session, folder: str, seconds: float, *, starts_server: bool) -> None:
        self._session, self._folder = session, folder
        self._seconds, self._starts_server = seconds, starts_server
        self._given = GivenFiles(folder)
        data = sys.stdin.buffer.read(_MAX_INPUT + 1)
        if len(data) > _MAX_INPUT:
            raise QmdError("the agent's input is too large")
        self._input: Mapping[str, Any] = json.loads(data)
        folder = self._text("cwd")
        if folder and os.path.isdir(folder):
            os.chdir(folder)
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
        """Use the project's index if the user has approved that, or the own. False if it is missing."""
        session = self._session
        session.quiet = True
        if session.project is not None and session.index.trust.unapproved({"hook"}):
            session.close()
            session.index_name = DEFAULT_INDEX
        return session.store is not None or os.path.exists(session.index_file())

    def _asked_server(self, prompt: str, known: Mapping[str, str]) -> Recall | None:
        """Return the answer of the server of the index; None if there is none, or it does not answer."""
        from msgspec import json as wire

        from qmd.engine.recall import Recall
        from qmd.server.run_handler import NoAnswerError, post

        server = self._session.server()
        if server is None:
            return None
        body = wire.encode({"prompt": prompt, "known": [*known]})
        try:
            return wire.decode(post(server, "/recall", body, self._seconds), type=Recall)
        except (NoAnswerError, ValueError) as error:
            log(self._folder, f"prompt: {error}")
            return None

    def _briefing(self) -> str:
        if not self._choose_index():
            return ""
        from qmd.engine.recall import briefing

        if self._starts_server and self._session.server() is None:
            _start_server(self._session)
        place = f"folder {os.getcwd()}"
        started = self._given.of(place).get(_STARTED)
        self._given.add(place, {_STARTED: datetime.now(UTC).isoformat()})
        return briefing(self._session.index, None if started is None else datetime.fromisoformat(started))

    def _passages(self, prompt: str) -> str:
        known = self._given.of(self._name) if self._name else {}
        from qmd.engine.recall import asked

        if not asked(prompt):
            return ""
        if not self._choose_index():
            return ""
        found = self._asked_server(prompt, known) or self._session.index.recall(
            prompt, known=known, words_only=True
        )
        if found.passages and self._name:
            self._given.add(self._name, found.passages)
        return found.text

    def _compact(self) -> None:
        """Remember the places of what was given, and that the agent no longer has their text."""
        given = self._given.of(self._name)
        if given:
            self._given.add(f"{self._name} compacted", given)
            self._given.forget(self._name)

    def _lost(self) -> str:
        """Return the places of what was given before the last compaction, once."""
        from qmd.text import budget
        from qmd.text.wording import plain

        name = f"{self._name} compacted"
        text = _LOST
        for number, place in enumerate(reversed([*self._given.of(name).values()])):
            longer = text + (", " if number else "") + plain(place)
            if budget.count(longer) > _PLACES:
                break
            text = longer
        self._given.forget(name)
        return "" if text == _LOST else text


def _start_server(session: Session) -> None:
    from subprocess import DEVNULL

    from qmd.processes import python, start

    words = python("qmd", "server", "--daemon", *session.options())
    start(words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True)


def log_file(folder: str) -> str:
    return os.path.join(folder, "hooks.log")


def log(folder: str, line: str) -> None:
    """Add a line to the log, which is private and bounded. A log that cannot be written is no failure."""
    from contextlib import suppress

    from qmd.text.wording import visible

    path = log_file(folder)
    with suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > _MAX_LOG:
            os.replace(path, f"{path}.1")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        now = time.strftime("%Y-%m-%dT%H:%M:%S")
        with open(os.open(path, flags, 0o600), "ab") as file:
            file.write(f"{now} {visible(line)[:500]}\n".encode("utf-8", "replace"))
