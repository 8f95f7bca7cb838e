"""One run of the program: the global options, and the index if the command uses it."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from qmd.cli import commands
from qmd.cli.console import current, is_for_agent
from qmd.cli.terminal import ask_secret, can_ask, clean_name, note, shell_words
from qmd.cli.usage import fail
from qmd.errors import ConfigError, PluginError, SourceError
from qmd.text.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from qmd.cli.command import Command
    from qmd.config.approvals import Kind
    from qmd.config.locations import Locations
    from qmd.config.settings import Settings
    from qmd.engine.index import Index
    from qmd.engine.watching.election import WatchState
    from qmd.server.discovery import Advertisement
    from qmd.types.cancelling import Cancelled

NO_COLLECTIONS = "No collections yet. Add one with: qmd add PATH"


class Session:
    """Holds the global options, and opens the index at its first use."""

    # The global options.
    index_name: str | None = None
    store: str | None = None
    portable_file: str | None = None  # of --index-file
    quiet = False
    debug = False
    #: The command as it is called, and its words.
    path = "qmd"
    words: tuple[str, ...] = ()
    command: Command | None = None
    #: Why no server runs the command: "" if there is none. None in a server.
    refusal: str | None = ""
    #: When the program was started: --timeout counts the time that a server was asked. None in a server.
    began: float | None = None
    #: Tells a server that nobody waits for the command any more.
    cancelled: Cancelled | None = None
    #: The kinds of permission (`qmd project trust`) that the command would use.
    uses: frozenset[Kind] = frozenset({"path", "model", "store"})
    #: Abandoned work still runs in a thread: exit without waiting for it.
    abandoned = False
    agent = False
    _index: Index | None = None
    _notes_shown = 0

    def take(self, option: str, value: object) -> None:
        """Take the value of a global option, if it is given."""
        if value:
            setattr(self, option, value)

    @property
    def for_agent(self) -> bool:
        """True if an agent reads the output of the command: `--agent` is given, or QMD_AGENT is set."""
        return self.agent or is_for_agent(current().environ)

    @property
    def index(self) -> Index:
        """The index, as the reader of the output may see it."""
        return self.whole_index.limited(agent=True) if self.for_agent else self.whole_index

    @property
    def whole_index(self) -> Index:
        """The index, for what serves others. Its notes are shown once, on stderr."""
        if self._index is None:
            self._index = self._open()
            if self._index.locations.project is not None and not self.quiet:
                from qmd.cli import approval

                if approval.review(self._index.trust, self.uses, self.note, agent=self.for_agent):
                    # The approved configuration may name other models: open the index with those.
                    self._index.close()
                    self._index = self._open()
            self._show_notes()
        return self._index

    def _open(self) -> Index:
        from qmd.engine.index import open_index

        self.folder()
        if self.portable_file is not None:
            from qmd import open_index_file

            return open_index_file(self.portable_file, progress=self.note, ask=_ask_passphrase)
        return open_index(name=self.index_name, store=self.store, progress=self.note)

    def _locations(self) -> Locations:
        from qmd.config.locations import locate

        return locate(self.index_name, current().environ, self.folder())

    def index_file(self) -> str:
        """Return the path of the index file without opening it."""
        if self.portable_file is not None:
            return os.path.join(self.folder(), self.portable_file)
        from qmd.engine.opening import beside_foreign

        return beside_foreign(self._locations()).index

    @property
    def project(self) -> str | None:
        """The folder of the project whose index the command uses; None for an index of the user."""
        return None if self.portable_file is not None else self._locations().project

    @property
    def label(self) -> str | None:
        """The suffix in the names of this index's servers and services; None for the default index."""
        # Projects and files have no names, so a digest of the path is theirs.
        path = self.project if self.portable_file is None else os.path.realpath(self.index_file())
        return self.index_name if path is None else sha256(os.fsencode(path))[:8]

    def state_path(self, name: str) -> str:
        """Return the path, without its extension, of the cache files of a server of the index."""
        label = self.label
        if label is None and not self._locations().is_default_index:  # one of QMD_INDEX_PATH
            label = sha256(os.fsencode(os.path.realpath(self.index_file())))[:8]
        return os.path.join(self._cache_dir(), name if label is None else f"{name}-{label}")

    def server(self) -> Advertisement | None:
        """Return the address of the running server of the index, and its secret; None if there is none."""
        from qmd.server.discovery import find

        return find(*self._server_place())

    def strange_server(self) -> int | None:
        """Return the process of a server of another version; see `discovery.find_strange`."""
        from qmd.server.discovery import find_strange

        return find_strange(*self._server_place())

    def _server_place(self) -> tuple[str, str]:
        """Return the cache folder and the index file, by which a server is found."""
        return self._cache_dir(), self.index_file() if self._index is None else self._index.locations.index

    def _cache_dir(self) -> str:
        from qmd.config.paths import cache_dir

        return cache_dir(current().environ)

    @property
    def settings(self) -> Settings:
        """The settings of this run."""
        return self.index.settings

    def watcher(self) -> WatchState | None:
        """Return the state of the process that keeps the index as the files are; None if there is none."""
        from qmd.engine.watching.election import find_watcher

        return find_watcher(self.index.locations.index)

    def is_embedding(self) -> bool:
        """Return whether a process makes vectors, or is about to."""
        from qmd.engine.embedding.batches import is_running

        watcher = self.watcher()
        waiting = watcher is not None and watcher.embedding in ("waiting", "running")
        return waiting or is_running(self.index.locations.index)

    def options(self, *, absolute: bool = True) -> list[str]:
        """Return the global options that name the index, for another run of the program."""
        file = self.portable_file
        if file is not None and absolute:
            file = os.path.abspath(self.index_file())
        given = (("--index", self.index_name), ("--store", self.store), ("--index-file", file))
        return [word for name, value in given if value is not None for word in (name, value)]

    @staticmethod
    def folder() -> str:
        """Return the current folder. Raises `SourceError` if it has been deleted."""
        try:
            return current().folder()
        except FileNotFoundError as error:
            raise SourceError("the current folder has been deleted", "change to another folder") from error

    def note(self, *messages: str) -> None:
        """Show notes on stderr, unless --quiet is given."""
        if not self.quiet:
            for message in messages:
                note(self.addressed(message))

    def intended_as_text(self, argument: str) -> str | None:
        """Return a hint for a word such as `-notes`, which was read as an option but may be meant as text.

        None if no word starts with `argument`, or if the command takes no such text.
        """
        if_unknown = None if self.command is None else self.command.if_unknown
        text = next((word for word in self.words if word.startswith(argument) and len(word) > 2), None)
        if text is None or if_unknown is None:
            return None
        others = [word for word in self.words if word != text]
        return f"{if_unknown}: {self.path} {shell_words(*others, '--', text)}"

    def refuse(self, options: Mapping[str, Any], needed: str) -> None:
        """Fail if an option is given that has no effect without another option, `needed`."""
        for each in self.command.parameters if self.command is not None else ():
            if options.get(each.to) not in (None, False, ()):
                fail(f"{each.shown} needs {needed}")

    def masked(self, text: str) -> str:
        """Return a text as the reader of the output may see it: for an agent, secrets are masked."""
        if not self.for_agent:
            return text
        from qmd.engine.access.masks import masker

        masks: tuple[str, ...] = ()
        with suppress(ConfigError):  # the message may be that it is broken
            masks = self._index.config.masks if self._index else ()
        try:
            return masker(masks).mask(text)
        except PluginError as error:  # an agent gets nothing but this
            return text if text in (error.message, error.hint) else error.message

    def addressed(self, message: str) -> str:
        """Return a message whose commands name the index and the store that this command was given.

        `run 'qmd embed'` becomes `run 'qmd --index work embed'`. The engine, which writes most messages, does
        not know how it was called. Those for an agent have `--agent`, and secrets are masked.
        """
        if self.for_agent:
            message = _with_agent(self.masked(message))
        if self.index_name is None and self.store is None and self.portable_file is None:
            return message
        options = shell_words(*self.options(absolute=False))
        return _with_options(
            message, options, {name.split()[0] for name in commands.LOADABLE.builtin} - commands.WITHOUT_INDEX
        )

    def close(self) -> None:
        if self._index is not None:
            self._show_notes()
            if not self.abandoned:
                self._index.close()
            self._index = None

    def _show_notes(self) -> None:
        if self._index is not None:
            self.note(*self._index.notes[self._notes_shown :])
            self._notes_shown = len(self._index.notes)


def _with_agent(message: str) -> str:
    """Return a message in which the commands that agents may run have `--agent`."""

    def addressed(match: re.Match[str]) -> str:
        left = match[1].split()
        left = [*commands.OLDER.get(left[0], left[0]).split(), *left[1:]]
        if " ".join(left[:2]) in commands.WITHIN:
            left = [" ".join(left[:2]), *left[2:]]
        found: Any = None
        with suppress(PluginError):  # a feature is missing
            found = commands.LOADABLE.load(left.pop(0))
            while left and (find := getattr(found, "find", None)):
                found = find(left.pop(0))
        return f"qmd --agent{match[1]}" if getattr(found, "agents", False) else match[0]

    return re.sub(r"(?<![\w./-])qmd((?: [a-z]+(?:-[a-z]+)*)+)", addressed, message)


def _with_options(message: str, options: str, names: Iterable[str]) -> str:
    """Return a message in which these commands of qmd have options before their names."""
    anyone = "|".join(sorted(names, key=len, reverse=True))
    command = rf"(?<![\w./-])qmd(?=(?: --agent)? (?:{anyone})\b)"
    return re.sub(command, lambda match: f"{match[0]} {options}", message)


def _ask_passphrase(path: str) -> str:
    """Ask for the passphrase of a file; return "" if there is no terminal."""
    if not can_ask():
        return ""
    return ask_secret(f"Passphrase of {clean_name(path)}")
