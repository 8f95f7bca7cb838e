"""Pins and marks: which of them count for a query, changing them, and replaying them.

Nothing is recorded that the user has not written: no queries, and no clicks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from qmd.config import marks_file
from qmd.config.approvals import Permission
from qmd.config.index_yml import digest
from qmd.config.marks_file import MarkEntry, MarkKind
from qmd.config.paths import marks_path
from qmd.config.validate import require_unicode
from qmd.engine.retrieval.adjust import Guidance
from qmd.engine.workspace import Workspace
from qmd.errors import ConfigError, ForbiddenError, NotFoundError, UsageError
from qmd.text.question import Question
from qmd.types import Stage

_OPPOSITES: Mapping[MarkKind, Literal["good", "bad"]] = {"good": "bad", "bad": "good"}

#: The words of a query as a set of terms; those that exclude documents begin with a minus.
Words = frozenset[tuple[str, ...]]


class StoredMark(Struct, frozen=True):
    """A pinned or judged document, by display path, and whether it is in the index."""

    query: str
    kind: MarkKind
    file: str
    indexed: bool = True


def words_of(question: Question) -> Words:
    """Return the words of a query, without case, order, endings, function words and filters."""
    parsed = question.among(()).terms
    return frozenset(
        [*(term.tokens for term in parsed.required), *(("-", *term.tokens) for term in parsed.negative)]
    )


@lru_cache(maxsize=marks_file.MAX_QUERIES)
def words_of_text(query: str) -> Words:
    """Return `words_of` a query that is not read yet. Each search compares with all that are stored."""
    return words_of(Question.read(query))


def guidance_for(question: Question, entries: Sequence[MarkEntry]) -> Guidance:
    """Return the pins and the marks for a query, from the entries with the same words."""
    words = words_of(question)
    same = [entry.files for entry in entries if words and words_of_text(entry.query) == words]
    pinned = dict.fromkeys(file for files in same for file in files.get("pin", ()))
    return Guidance(
        tuple(pinned),
        {file: kind for files in same for kind in _OPPOSITES.values() for file in files.get(kind, ())},
    )


def added(entries: Iterable[MarkEntry], query: str, kind: MarkKind, file: str) -> tuple[MarkEntry, ...]:
    """Return the entries with a pin or mark. A good mark replaces a bad one of the document, and vice versa.

    Raises `UsageError` if the query has no words or is too long.
    """
    require_unicode(query)
    query = " ".join(query.split())
    words = words_of_text(query)
    if not words:
        raise UsageError("the query has no word to look for", "pin and mark what searches are asked for")
    if len(query) > marks_file.MAX_QUERY:
        raise UsageError(f"the query is longer than {marks_file.MAX_QUERY:,} characters")
    result = [*entries]
    at = next((n for n, each in enumerate(result) if words_of_text(each.query) == words), len(result))
    if at == len(result) >= marks_file.MAX_QUERIES:
        told = f"there are {len(result):,} marked queries already"
        raise UsageError(told, "remove some: 'qmd mark remove QUERY'")
    entry = result[at] if at < len(result) else MarkEntry(query)
    files = dict(entry.files)
    if kind in _OPPOSITES:
        files[_OPPOSITES[kind]] = _without(files.get(_OPPOSITES[kind], ()), file)
    files[kind] = tuple(dict.fromkeys([*files.get(kind, ()), file]))
    if len(files[kind]) > marks_file.MAX_DOCUMENTS:
        limit = marks_file.MAX_DOCUMENTS
        raise UsageError(f"'{query}' has {limit} documents of this kind already", "remove one first")
    result[at : at + 1] = [replace(entry, files=_in_order(files))]
    return tuple(result)


def removed(
    entries: Iterable[MarkEntry], query: str, kinds: Sequence[MarkKind], file: str | None
) -> tuple[MarkEntry, ...]:
    """Return the entries without the pins or marks of a query, or of one document.

    Raises `NotFoundError` if there are none.
    """
    words, result, count = words_of_text(query), [], 0
    for entry in entries:
        if words_of_text(entry.query) == words:
            files = dict(entry.files)
            for kind in kinds:
                files[kind] = () if file is None else _without(files.get(kind, ()), file)
            count += sum(map(len, entry.files.values())) - sum(map(len, files.values()))
            entry = replace(entry, files=_in_order(files))
        if entry.files:
            result.append(entry)
    if not count:
        what = "pinned to" if kinds == ("pin",) else "marked for"
        subject = "nothing is" if file is None else f"{file} is not"
        raise NotFoundError(f"{subject} {what} '{query}'", "'qmd mark list' lists the pins and marks")
    return tuple(result)


def renamed(entries: Iterable[MarkEntry], old: str, new: str) -> tuple[MarkEntry, ...]:
    """Return the entries with the documents of a renamed collection."""

    def current(file: str) -> str:
        return f"{new}/{file.removeprefix(f'{old}/')}" if file.startswith(f"{old}/") else file

    return tuple(
        replace(entry, files={kind: tuple(map(current, files)) for kind, files in entry.files.items()})
        for entry in entries
    )


def rename_collection(workspace: Workspace, old: str, new: str) -> None:
    """Let pins and marks follow a renamed collection. If they cannot be changed, a note says so."""
    try:
        MarksOf(workspace).change(lambda entries: renamed(entries, old, new))
    except (ConfigError, ForbiddenError) as error:
        workspace.notes.append(f"pins and marks still name '{old}': {error.in_one_line()}")


def _without(files: Sequence[str], file: str | None) -> tuple[str, ...]:
    return tuple(each for each in files if each != file)


def _in_order(files: Mapping[MarkKind, tuple[str, ...]]) -> dict[MarkKind, tuple[str, ...]]:
    return {kind: files[kind] for kind in marks_file.KINDS if files.get(kind)}


class MarksOf:
    """The pins and marks of an open index, as far as they are permitted."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._path = marks_path(workspace.locations.config)

    def entries(self) -> tuple[MarkEntry, ...]:
        """Return the entries. Raises `ConfigError`, and `ForbiddenError` if they are not approved."""
        if self._workspace.locations.portable:
            return ()
        data = marks_file.read(self._path)
        entries = marks_file.parse(data, self._path)
        if entries and not self._permitted(data):
            raise ForbiddenError(
                "the pins and marks that came with this project are not approved, so they do not count",
                "'qmd project trust' shows what the project asks for, and approves it",
            )
        return entries

    def digest(self) -> str:
        """Return the SHA-256 of the entries, in hexadecimal; "" if there are none. Raises as `entries`."""
        entries = self.entries()
        return digest(repr(entries).encode()) if entries else ""

    def guidance(self, question: Question) -> tuple[Guidance, Stage | None]:
        """Return the pins and marks for a query, and a stage if any count, or if none could be read."""
        try:
            entries = self.entries()
        except ForbiddenError as error:
            return Guidance(), Stage("marks", "skipped", error.message, expected=True)
        except ConfigError as error:
            return Guidance(), Stage("marks", "failed", error.in_one_line())
        restricted = self._workspace.config.restricted or self._workspace.permissions.agent
        guidance = guidance_for(question, entries)
        if guidance == Guidance() or restricted:
            # Their numbers would tell of documents that the caller may not see.
            return guidance, None
        counts = f"{len(guidance.pinned)} pinned, {len(guidance.marks)} marked"
        return guidance, Stage("marks", "ran", f"documents for this query: {counts}")

    def change(self, change: Callable[[tuple[MarkEntry, ...]], tuple[MarkEntry, ...]]) -> None:
        """Change the entries. In a project, the user's own change is approved with what was approved."""
        trust = self._workspace.configuration.trust
        before = self.entries()
        approved = not before or trust.approved(self._permission())
        data = marks_file.edit(self._path, change)
        if approved and trust.project is not None:
            trust.decide([self._permission(data)], approved=True)

    def _permission(self, data: bytes | None = None) -> Permission:
        from qmd.engine.access.project_trust import marks_permission

        data = marks_file.read(self._path) if data is None else data
        return marks_permission(data, marks_file.parse(data, self._path))

    def _permitted(self, data: bytes) -> bool:
        if self._workspace.locations.project is None:
            return True
        trust = self._workspace.configuration.trust
        return trust.approves_all or trust.approved(self._permission(data))
