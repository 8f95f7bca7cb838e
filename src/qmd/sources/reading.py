"""Read the files of a collection: short texts in this process, other files in child processes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from qmd.errors import PluginError, SourceError
from qmd.sources.formats.base import Unreadable, fault
from qmd.sources.formats.registry import Reader, Readers, extract, file_of
from qmd.sources.paths import absolute_path, in_words
from qmd.sources.read import Outcome, failed, read_raw, to_source
from qmd.sources.root import Root
from qmd.sources.rules import exclusion
from qmd.types import Collection, Fingerprint, SourceFile, SourceText

if TYPE_CHECKING:
    from concurrent.futures import Future

    from qmd.sources.children import Children

#: The most files that are read before the first of them is passed on.
_AHEAD = 12
#: The most bytes of a text that is read in this process. A child process that reads for too long is ended.
_SHORT = 100_000


class _Pending(NamedTuple):
    """A file that is read after others. Without a future, it is read in this process."""

    file: SourceFile
    reader: Reader
    future: Future[Outcome] | None


def read_all(files: Iterable[SourceFile], readers: Readers, root: Root | None = None) -> Iterator[Outcome]:
    """Read files and yield their outcomes in the same order; see `read_raw` for `root`.

    Child processes start when the first file needs one, and end with the iteration.
    """
    with ExitStack() as stack:
        children: Children | None = None
        ahead: deque[_Pending] = deque()
        for file in files:
            try:
                reader = readers.of(file.path)
            except PluginError as error:
                problem = SourceError(f"cannot read {file.path}: {error.message}", error.hint)
                yield from _drain(ahead, readers.encoding, root, 0)
                yield Outcome(file, error=problem)
                continue
            apart = reader.row.isolated or file.fingerprint.size > _SHORT
            if not apart and not ahead:
                yield _read_here(file, reader, readers.encoding, root)
                continue
            if apart and children is None:
                from qmd.sources.children import Children

                children = stack.enter_context(Children(root))
            future = children.submit(file, reader, readers.encoding) if children and apart else None
            ahead.append(_Pending(file, reader, future))
            yield from _drain(ahead, readers.encoding, root, _AHEAD)
        yield from _drain(ahead, readers.encoding, root, 0)


def _drain(ahead: deque[_Pending], encoding: str | None, root: Root | None, keep: int) -> Iterator[Outcome]:
    """Yield the first outcomes as far as they are ready, and wait until at most `keep` are left."""
    while ahead:
        file, reader, future = ahead[0]
        if future is not None and not future.done() and len(ahead) <= keep:
            return
        ahead.popleft()
        yield future.result() if future is not None else _read_here(file, reader, encoding, root)


def _read_here(file: SourceFile, reader: Reader, encoding: str | None, root: Root | None) -> Outcome:
    documents, without = [], []
    try:
        raw, fingerprint = read_raw(file, encoding, root=root)
        for key, content in extract(reader, raw):
            if isinstance(content, Unreadable):
                without.append((key, content))
            else:
                documents.append((key, to_source(content, raw.decoding)))
    except SourceError as error:
        return Outcome(file, error=error)
    except Unreadable as error:
        return failed(file, error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it costs this file alone
        return failed(file, fault(error))
    return Outcome(file, (*documents,), fingerprint, without=(*without,))


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
        return sha256(raw.text().encode()).hexdigest() == digest
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
    (outcome,) = read_all([file], readers, root)
    if outcome.error is not None:
        raise outcome.error
    if why := dict(outcome.without).get(key):
        raise SourceError(f"cannot read {file.path}#{key}: {why}")
    return {key: source for key, source in outcome.documents if source.text.strip()}


def waits_for(readers: Readers, path: str) -> str:
    """Return the extra that must be installed before a file can be read; "" if none is missing."""
    reader = readers.known(path)
    return reader.row.missing if reader else ""
