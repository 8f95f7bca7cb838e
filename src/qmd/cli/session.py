"""One run of the program: the global options, and the index once a command needs it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import click

from qmd.cli.terminal import note
from qmd.errors import SourceError

if TYPE_CHECKING:
    from qmd.config.approvals import Kind
    from qmd.engine.index import Index

#: Commands that use no index, or only that of the current folder's project.
_WITHOUT_INDEX = frozenset({"archive", "completion", "help", "init", "trust"})


class Session:
    """Holds what the global options said, and opens the index at its first use."""

    def __init__(self) -> None:
        self.index_name: str | None = None
        self.store: str | None = None
        self.quiet: bool = False
        self.debug: bool = False
        #: What this command would use of the things that a project must be approved for (`qmd trust`).
        self.uses: frozenset[Kind] = frozenset({"path", "model", "store"})
        #: Work that was given up still runs in a thread: leave without waiting for it.
        self.abandoned: bool = False
        self._index: Index | None = None
        self._told = 0

    @property
    def index(self) -> Index:
        """The index; what it has to say is told once, on stderr."""
        if self._index is None:
            self._index = self._open()
            if self._index.locations.project is not None:
                from qmd.cli.projects import settle

                if settle(self, self._index.trust):
                    # What was approved may name other models, which an index is opened with.
                    self._index.close()
                    self._index = self._open()
            self._tell_notes()
        return self._index

    def _open(self) -> Index:
        from qmd.engine.index import open_index

        self.folder()
        return open_index(name=self.index_name, store=self.store, progress=self.note)

    def index_file(self) -> str:
        """The path of the index file; nothing is opened."""
        from qmd.config.paths import locate
        from qmd.engine.index import beside_foreign

        return beside_foreign(locate(self.index_name, os.environ, self.folder())).index

    @staticmethod
    def folder() -> str:
        """The current folder. Raises `SourceError` where it has been deleted."""
        try:
            return os.getcwd()
        except FileNotFoundError as error:
            raise SourceError("the current folder has been deleted", "go to another one") from error

    def note(self, message: str) -> None:
        """Say something on stderr that is no part of the answer."""
        if not self.quiet:
            note(self.addressed(message))

    def addressed(self, message: str) -> str:
        """Return a message whose commands name the index and the store that this command was given.

        `run 'qmd embed'` becomes `run 'qmd --index work embed'`. The engine, which writes most messages, does
        not know how it was called.
        """
        if self.index_name is None and self.store is None:
            return message
        from shlex import quote

        from qmd.cli.app import COMMANDS

        given = (("--index", self.index_name), ("--store", self.store))
        options = "".join(f" {name} {quote(value)}" for name, value in given if value is not None)
        names = {name for _, rows in COMMANDS for name, _, _ in rows} - _WITHOUT_INDEX
        return re.sub(
            rf"(?<![\w./-])qmd(?= (?:{'|'.join(sorted(names, key=len, reverse=True))})\b)",
            lambda match: match[0] + options,
            message,
        )

    def close(self) -> None:
        """Let go of the index."""
        if self._index is not None:
            self._tell_notes()
            if not self.abandoned:
                self._index.close()
            self._index = None

    def _tell_notes(self) -> None:
        if self._index is not None:
            for message in self._index.notes[self._told :]:
                self.note(message)
            self._told = len(self._index.notes)


pass_session = click.make_pass_decorator(Session, ensure=True)
