"""The history of documents whose collection is in a clone of git, and their text as of a date."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice
from tempfile import TemporaryDirectory

from qmd.engine.workspace import Workspace
from qmd.errors import NotFoundError, SourceError
from qmd.sources.clone import Clone, work_tree
from qmd.sources.formats.registry import Readers, file_of
from qmd.sources.git_history import FileCommit, commits, content, renames
from qmd.sources.paths import absolute_path, is_inside
from qmd.sources.read import MAX_BYTES
from qmd.sources.reading import read_documents
from qmd.sources.rules import Rules
from qmd.text.date_filters import end_of, no_date
from qmd.text.uris import is_uri, parse_uri, split_location
from qmd.types import Collection, Commit, Document, Fingerprint, SourceFile, SourceText


class History:
    """The commits of a document, as far as its file was in its collection.

    Commits from before the file came into the collection, or from when its rules excluded it, are left out,
    because somebody who may read the collection may not therefore read other files.
    """

    def __init__(self, collection: Collection, document: Document) -> None:
        self._collection = collection
        self._document = document
        self._root = os.path.realpath(collection.path)
        path = os.path.realpath(absolute_path(collection.path, self._inner))
        top = work_tree(os.path.dirname(path)) if is_inside(path, self._root) else None
        if top is None:
            raise NotFoundError(
                f"{document.file} is in no clone of git, so nothing is known of its history",
                "'git init' in its folder begins one",
            )
        self._clone, self._path = Clone(top), os.path.relpath(path, top)

    @property
    def _inner(self) -> str:
        """The path of the file, which may contain several documents."""
        path = self._document.path
        exists = os.path.lexists(absolute_path(self._collection.path, path))
        return path if exists else file_of(path)

    def commits(self, limit: int | None = None) -> Iterator[tuple[FileCommit, str]]:
        """Yield commits with the path of the file in the collection then, newest first.

        Raises `SourceError` if git cannot be run or fails, and `NotFoundError` if there is no commit.
        """
        rules, found = Rules(self._collection), False
        for commit in commits(self._clone, self._path, limit):
            path = os.path.join(self._clone.top, commit.path)
            inside = unicodedata.normalize("NFC", os.path.relpath(path, self._root).replace(os.sep, "/"))
            if not is_inside(path, self._root) or rules.exclusion(inside) is not None:
                break
            found = True
            yield commit, inside
        if not found:
            raise NotFoundError(f"git has no commit of {self._document.file}", "commit the file first")

    def uncommitted(self) -> Commit | None:
        """Return the changes of the file since its last commit, without a hash; None if there are none."""
        file, (last, path) = absolute_path(self._collection.path, self._inner), next(self.commits(1))
        try:
            state = os.stat(file)
            with open(file, "rb") as stream:
                present = stream.read(MAX_BYTES + 1)
        except OSError:
            return None  # there is no file that could have changes
        with suppress(NotFoundError, SourceError):
            # git may keep other line ends than the file has.
            if content(self._clone, last).replace(b"\r\n", b"\n") == present.replace(b"\r\n", b"\n"):
                return None
        changed = datetime.fromtimestamp(Fingerprint.of(state).mtime_ns // 10**9).astimezone()
        return Commit("", "", changed.isoformat(), "", "(not committed)", path)

    def at(self, moment: datetime, written: str) -> tuple[FileCommit, str]:
        """Return the last commit up to a moment, `written` by the user, and the path of the file then.

        Raises `NotFoundError` if all are later, and as `commits`.
        """
        first: FileCommit | None = None
        for commit, path in self.commits():
            if commit.seconds <= moment.timestamp():
                return commit, path
            first = commit
        assert first is not None
        day, then = _local(first).date(), f"{moment:%Y-%m-%d %H:%M}"
        raise NotFoundError(
            f"git has no {self._document.file} of {written[:60]}, which ends at {then}",
            f"its first commit is of {day}: as of {day}",
        )

    def source(self, commit: FileCommit, path: str) -> SourceText:
        """Read the file of a commit as its format is read now. Raises `SourceError` if that fails."""
        data = content(self._clone, commit)
        readers = Readers(self._collection.formats, self._collection.encoding)
        with TemporaryDirectory(prefix="qmd-") as folder:
            file = SourceFile(path, os.path.join(folder, "file"), Fingerprint(len(data), 0, 0))
            with open(file.absolute, "wb") as stream:
                stream.write(data)
            documents = read_documents(file, readers)
        key = self._document.path.removeprefix(self._inner).removeprefix("#")
        if key not in documents:
            raise SourceError(f"{self._document.file} was empty after the commit {commit.short}")
        return documents[key]


def history(workspace: Workspace, document: Document, limit: int) -> list[Commit]:
    """Return the last commits of a document, newest first. Raises as `Index.history`."""
    found = _history(workspace, document).commits(limit)
    listed = [_commit(commit, path) for commit, path in islice(found, limit)]
    if (uncommitted := _history(workspace, document).uncommitted()) is not None:
        listed = [uncommitted, *listed][:limit]
    if not workspace.permissions.agent:
        return listed
    return workspace.masker.commits(listed)


def renamed(workspace: Workspace, reference: str) -> Document | None:
    """Return the document whose file had the name `reference` before; None if git knows of none.

    Args:
        workspace: The index.
        reference: `collection/path` or a URI, or a path in any collection.
    """
    path, _, _ = split_location(parse_uri(reference) if is_uri(reference) else reference.strip())
    for collection in workspace.config.collections.values():
        root = os.path.realpath(collection.path)
        top = work_tree(root)
        if top is None:
            continue
        folder = os.path.relpath(root, top)
        own = {os.path.normpath(os.path.join(folder, path.removeprefix(f"{collection.name}/")))}
        for old, new in renames(Clone(top), folder):
            if os.path.normpath(old) in own:
                own.add(os.path.normpath(new))
                inside = unicodedata.normalize("NFC", os.path.relpath(new, folder).replace(os.sep, "/"))
                document = workspace.store.documents.find(collection.name, inside)
                if document is not None:
                    return document
    return None


def _history(workspace: Workspace, document: Document) -> History:
    if workspace.locations.portable:
        raise NotFoundError("a portable file has no folders, so nothing is known of the history of documents")
    return History(workspace.config.collections[document.collection], document)


def _local(commit: FileCommit) -> datetime:
    return datetime.fromtimestamp(commit.seconds).astimezone()


def _commit(commit: FileCommit, path: str) -> Commit:
    return Commit(
        commit=commit.hash,
        short=commit.short,
        date=_local(commit).isoformat(),
        author=commit.author,
        subject=commit.subject,
        path=path,
        added=commit.added,
        removed=commit.removed,
    )


class Past:
    """The texts of documents as they were at the end of a day, in the time zone of this process.

    Raises `UsageError` if `as_of` is no date.
    """

    def __init__(self, workspace: Workspace, as_of: str) -> None:
        moment = end_of(as_of)
        if moment is None:
            raise no_date("as_of", as_of)
        self._workspace = workspace
        self._moment, self._written = moment, as_of

    def of(self, document: Document) -> tuple[Commit, SourceText]:
        """Return the last commit of a document up to that day, and its text. Raises as `Index.get`."""
        history = _history(self._workspace, document)
        found, path = history.at(self._moment, self._written)
        commit, source = _commit(found, path), history.source(found, path)
        if self._workspace.permissions.agent:
            masker = self._workspace.masker
            (commit,), source = masker.commits([commit]), masker.source(source)
        return commit, source
