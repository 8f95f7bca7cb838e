"""Read the files of a collection: short texts in this process, other files in child processes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from qmd.errors import PluginError, SourceError
from qmd.processes import processors
from qmd.sources.formats.base import fault
from qmd.sources.formats.registry import Reader, Readers, file_of
from qmd.sources.paths import absolute_path, in_words
from qmd.sources.read import Outcome, Purpose, failed, outcome, read, read_raw
from qmd.sources.root import Root
from qmd.sources.rules import exclusion
from qmd.text.digest import sha256
from qmd.types import Collection, Fingerprint, SourceFile, SourceText

if TYPE_CHECKING:
    from qmd.sources.children import Children, Readable

#: The most messages with files that are read before the first of them is passed on.
_AHEAD = 12
#: The most bytes of a text that is read in this process. A child process that reads for too long is ended.
_SHORT = 100_000
#: From so many bytes of files on, all texts are read in child processes, whose start costs a tenth of that. A
#: file counts as so many bytes more.
_MANY, _FILE = 3_000_000, 300
#: The bytes of texts in one message to a child process.
_MESSAGE = 200_000
#: The most child processes, unless a setting says more. The process that writes is busy with those of eight.
_MOST = 8


class _Pending(NamedTuple):
    """Files that are read after others."""

    outcomes: Callable[[], Iterable[Outcome]]
    are_ready: Callable[[], bool] = lambda: True


def read_all(
    files: Iterable[SourceFile],
    readers: Readers,
    root: Root | None = None,
    *,
    terms: bool = False,
    processes: int | None = None,
) -> Iterator[Outcome]:
    """Read files and yield their outcomes in the same order; see `read_raw` for `root`.

    Short texts are read in this process if they are few, and other files in child processes. These start when
    the first file needs one, and end with the iteration.

    Args:
        files: The files.
        readers: Their readers.
        root: The folder that they are in.
        terms: Whether their documents are indexed, and get terms.
        processes: The most child processes; None for one for each processor.
    """
    files = [*files]
    purpose = Purpose(readers.encoding, readers.language, terms)
    most = processes or min(_MOST, processors())
    many = most > 1 and sum(file.fingerprint.size + _FILE for file in files) >= _MANY
    with ExitStack() as stack:
        children: Children | None = None
        ahead: deque[_Pending] = deque()
        for group in _groups(files, readers, many):
            if isinstance(group, Outcome):
                ahead.append(_Pending(partial(iter, (group,))))
            elif many or _is_apart(*group[0]):
                if children is None:
                    from qmd.sources.children import Children

                    children = stack.enter_context(Children(root, purpose, most))
                future = children.submit(group)
                ahead.append(_Pending(future.result, future.done))
            else:
                ahead.append(_Pending(partial(_read_here, *group[0], purpose, root)))
            yield from _drain(ahead, _AHEAD)
        yield from _drain(ahead, 0)


def _groups(files: Iterable[SourceFile], readers: Readers, many: bool) -> Iterator[list[Readable] | Outcome]:
    """Yield the files that are read together, several texts if they are many; or that a package is broken."""
    group: list[Readable] = []
    size = 0
    for file in files:
        try:
            reader = readers.of(file.path)
        except PluginError as error:
            problem = SourceError(f"cannot read {file.path}: {error.message}", error.hint)
            yield from (group, Outcome(file, error=problem)) if group else (Outcome(file, error=problem),)
            group, size = [], 0
            continue
        alone = not many or _is_apart(file, reader)
        size += file.fingerprint.size + _FILE
        if group and (alone or size > _MESSAGE):
            yield group
            group, size = [], file.fingerprint.size + _FILE
        group.append((file, reader))
        if alone:
            yield group
            group, size = [], 0
    if group:
        yield group


def _is_apart(file: SourceFile, reader: Reader) -> bool:
    """Tell whether a file is never read in this process."""
    return reader.row.isolated or file.fingerprint.size > _SHORT


def _drain(ahead: deque[_Pending], keep: int) -> Iterator[Outcome]:
    """Yield the first outcomes as far as they are ready, and wait until at most `keep` are left."""
    while ahead and (len(ahead) > keep or ahead[0].are_ready()):
        yield from ahead.popleft().outcomes()


def _read_here(file: SourceFile, reader: Reader, purpose: Purpose, root: Root | None) -> Iterator[Outcome]:
    try:
        raw, fingerprint = read_raw(file, purpose.encoding, root=root)
        yield outcome(file, fingerprint, reader, read(raw, reader, purpose))
    except SourceError as error:
        yield Outcome(file, error=error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it costs this file alone
        yield failed(file, fault(error))


def source_at(collection: Collection, path: str) -> SourceText:
    """Read the document at `path` inside a collection.

    Raises `SourceError` if a scan would not index the file; the message names the rule that excludes it, or
    the error. Raises `UsageError` if the pattern or an ignore glob is invalid.
    """
    whole = absolute_path(collection.path, path)
    inner = path if os.path.lexists(whole) else file_of(path)
    excluded = exclusion(collection, inner)
    if excluded is not None:
        setting = excluded.setting
        option = {"pattern": "--mask", "gitignore": "--no-gitignore"}.get(setting or "", f"--{setting}")
        hint = f"change that with 'qmd collection set {quote(collection.name)} {option}'" if setting else None
        raise SourceError(excluded.reason, hint)
    root = Root(collection)
    try:
        # A path with links is refused when it is opened.
        absolute = root.follow(absolute_path(root.prefix, inner)) or root.prefix + inner
        status = root.stat(absolute)
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot be read: {in_words(error)}") from error
    readers = Readers(collection.formats, collection.encoding)
    file = SourceFile(inner, absolute, Fingerprint.of(status))
    key = path.removeprefix(inner).removeprefix("#")
    source = read_documents(file, readers, root, key).get(key)
    if source is None:
        raise SourceError("the file is empty" if not key else f"the file contains no '{key}'")
    return source


def has_text(collection: Collection, path: str, digest: str) -> bool:
    """Return whether a short file of a text format has the text with this SHA-256, as it is now."""
    readers = Readers(collection.formats, collection.encoding)
    reader = readers.known(path)
    if reader is None or reader.row.isolated:
        return False
    try:
        root = Root(collection)
        absolute = root.follow(absolute_path(root.prefix, path)) or ""
        file = SourceFile(path, absolute, Fingerprint.of(root.stat(absolute)))
        raw, _ = read_raw(file, collection.encoding, max_bytes=_SHORT, root=root)
        return sha256(raw.text().encode()) == digest
    except (SourceError, OSError, ValueError):
        return False


def read_documents(
    file: SourceFile, readers: Readers, root: Root | None = None, key: str = ""
) -> dict[str, SourceText]:
    """Return the documents of a file that have text, by key; see `Outcome`.

    Raises `SourceError` if the file cannot be read, or the document with this `key`.
    """
    if missing := waits_for(readers, file.path):
        from qmd.installation import install_command  # it looks at paths and addresses

        raise SourceError(f"files of this format wait for the extra '{missing}'", install_command(missing))
    (found,) = read_all([file], readers, root)
    if found.error is not None:
        raise found.error
    if why := dict(found.without).get(key):
        raise SourceError(f"cannot read {file.path}#{key}: {why}")
    return {key: source for key, source, _ in found.documents if source.text.strip()}


def waits_for(readers: Readers, path: str) -> str:
    """Return the extra that must be installed before a file can be read; "" if none is missing."""
    reader = readers.known(path)
    return reader.row.missing if reader else ""
