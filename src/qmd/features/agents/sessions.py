"""The sessions of coding agents, and what they keep as their memory, as collections."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from qmd.engine.access.rules import Rule
from qmd.engine.indexing import scan
from qmd.engine.parts import Part
from qmd.errors import NotFoundError
from qmd.features.agents.agents import SessionsFolder, session_folders

if TYPE_CHECKING:
    from qmd.engine.configuring import ConfigurationMethods


class SessionFolder(Struct, frozen=True):
    """A folder in which a coding agent keeps transcripts of its sessions, or its memory.

    Attributes:
        agent: The name of the agent.
        path: The folder; if nothing is there, perhaps a glob of the files.
        collection: The collection that it is; "" if the folder does not exist.
        report: The first scan, if the collection is new.
    """

    agent: str
    path: str
    collection: str = ""
    report: scan.ScanReport | None = None


class SessionMethods(Part):
    """The method of `Index` that adds the sessions and memories of coding agents."""

    _rules: Mapping[str, Rule] = {"add_sessions": Rule(changes=True, action="add one")}

    def add_sessions(self, on_progress: scan.OnProgress | None = None) -> list[SessionFolder]:
        """Add the folders of transcripts and of memories of coding agents as collections, and index them.

        Folders that are collections already stay as they are. Returns every folder, also those that do not
        exist. Raises `NotFoundError` if none exists, and otherwise as `add_collection`.
        """
        folders = session_folders(self._workspace.environ)
        if not any(each.exists for _, each in folders):
            places = ", ".join(each.place for _, each in folders)
            raise NotFoundError("no sessions of coding agents were found", f"looked in: {places}")
        return [self._add_session_folder(agent, each, on_progress) for agent, each in folders]

    def _add_session_folder(
        self, agent: str, place: SessionsFolder, on_progress: scan.OnProgress | None
    ) -> SessionFolder:
        if not place.exists:
            return SessionFolder(agent, place.place)
        collections = self._workspace.configuration.read().collections
        real = os.path.realpath(place.folder)
        # Sessions and memory may be in one folder.
        present = (
            each.name
            for each in collections.values()
            if os.path.realpath(each.path) == real and tuple(each.formats) == place.formats
        )
        if name := next(present, ""):
            return SessionFolder(agent, place.folder, name)
        names = (place.name, *(f"{place.name}-{number}" for number in range(2, len(collections) + 3)))
        name = next(name for name in names if name not in collections)
        report = cast("ConfigurationMethods", self).add_collection(
            place.folder,
            name,
            pattern=place.pattern,
            formats=place.formats,
            ignore=place.ignore,
            gitignore=False,  # their folders may be in a repository of settings, which ignores them
            on_progress=on_progress,
        )
        return SessionFolder(agent, place.folder, name, report)
