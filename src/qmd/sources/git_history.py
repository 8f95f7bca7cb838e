"""Commits of a file, and its text in one. Nothing is fetched, and nothing that a clone names is run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from qmd.errors import NotFoundError, SourceError
from qmd.processes import read
from qmd.sources.clone import Clone
from qmd.sources.paths import in_words
from qmd.sources.read import MAX_BYTES
from qmd.text.regex import lazy

#: The most seconds that git may take, and the most bytes of a list of commits.
GIT_TIMEOUT, MAX_LIST = 30, 16_000_000
_HASH = lazy(r"[0-9a-f]{40}|[0-9a-f]{64}")
#: The most seconds before and after the epoch of which calendars have the year in any zone, and their digits.
_MOST_SECONDS, _DIGITS = 62_135_500_000, 12

# No signatures are checked, and no files converted: the programs for both are named by the configuration.
_LOG = (
    *("log", "--follow", "-z", "--numstat", "--no-color", "--no-show-signature", "--no-ext-diff"),
    *("--no-textconv", "--encoding=UTF-8", "--format=%x00%H%x00%h%x00%ct%x00%an%x00%s%x00"),
)
_RENAMES = (
    *("log", "-z", "--find-renames", "--diff-filter=R", "--name-status", "--no-color", "--no-ext-diff"),
    *("--no-show-signature", "--no-textconv", "--format="),
)
# The author's time: the others change when commits are copied, as by `git rebase`.
_CHANGES = (
    *("log", "-z", "--name-only", "--no-renames", "--no-diff-merges", "--no-relative", "--no-color"),
    *("--no-ext-diff", "--no-show-signature", "--no-textconv", "--format=%x00%x00%at"),
)
# Missing objects of a partial clone are not fetched, because a transport runs programs too.
_OFFLINE = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    # Paths are names, not patterns.
    "GIT_LITERAL_PATHSPECS": "1",
}


class LateError(SourceError):
    """Git took too long, or said too much."""


class FileCommit(Struct, frozen=True):
    """A commit that changed a file.

    Attributes:
        hash: Its hash, in hexadecimal.
        short: The beginning of the hash by which git finds it.
        seconds: The time of the commit in seconds since the epoch.
        author: Its author.
        subject: The first line of its message.
        path: The path of the file then, relative to the top folder of the clone.
        added: The number of lines that it added, and `removed` of those that it removed; None for a binary
            file, and for a merge.
    """

    hash: str
    short: str
    seconds: int
    author: str
    subject: str
    path: str
    added: int | None
    removed: int | None


def commits(clone: Clone, path: str, most: int | None = None) -> Iterator[FileCommit]:
    """Yield the commits of a file, newest first, also those from before it was renamed.

    Args:
        clone: The clone.
        path: The path of the file, relative to its top folder.
        most: The most commits; None for all.

    Raises `SourceError` if git cannot be run or fails.
    """
    limit = () if most is None else (f"--max-count={most}",)
    return _parsed(_git(clone, MAX_LIST, *_LOG, *limit, "--", path), path)


def renames(clone: Clone, folder: str) -> list[tuple[str, str]]:
    """Return the old and the new paths of renamed files in a folder, relative to the top, from the first on.

    Raises `SourceError` if git cannot be run or fails.
    """
    log = _git(clone, MAX_LIST, *_RENAMES, "--", folder)
    parts = iter(log.split(b"\0"))
    found = [
        (os.fsdecode(next(parts)), os.fsdecode(next(parts)))
        for part in parts
        if part.strip().startswith(b"R")
    ]
    return found[::-1]


def head(clone: Clone, timeout: float) -> str:
    """Return the hash of the last commit; "" if there is none. Raises as `commits`."""
    words = ("rev-parse", "-q", "--verify", "HEAD^{commit}")
    return _git(clone, MAX_LIST, *words, timeout=timeout, allowed=1).decode().strip()


def blobs(clone: Clone, paths: Sequence[str], timeout: float) -> dict[str, str]:
    """Return the hashes of the files in the last commit, by path; no paths stand for all.

    Raises as `commits`.
    """
    listed = _git(
        clone, MAX_LIST, "ls-tree", "-r", "-z", "--full-tree", "HEAD", "--", *paths, timeout=timeout
    )
    entries = (entry.partition(b"\t") for entry in listed.split(b"\0"))
    # Links have no text, and submodules have commits of their own.
    return {
        os.fsdecode(name): about.split()[2].decode()
        for about, _, name in entries
        if about.startswith(b"100") and about.count(b" ") == 2
    }


def ignored(clone: Clone, folder: str, timeout: float) -> list[str]:
    """Return the files and folders below a folder that git ignores, relative to the top. Raises as `commits`.

    Of an ignored folder, nothing inside is named. Files in the index of git are not ignored. If the folder
    itself is ignored, it was chosen anyway, and nothing in it is.
    """
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--")
    above = folder
    while True:
        try:
            listed = _git(clone, MAX_LIST, *words, above, timeout=timeout)
        except LateError:
            raise
        except SourceError:  # git 2.39 fails two levels below an ignored folder
            above = os.path.dirname(above)
            if not above:
                raise
        else:
            names = [os.fsdecode(name).rstrip("/") for name in listed.split(b"\0") if name]
            return names if above == folder else []


def last_changes(clone: Clone, paths: Sequence[str], timeout: float) -> dict[str, int]:
    """Return the times of the last commits of files in seconds since the epoch, by path.

    Those of the newest commits, if the history is too large to be read in time. No paths stand for all.
    Raises as `commits`.
    """
    log = _git(clone, MAX_LIST, *_CHANGES, "HEAD", "--", *paths, timeout=timeout, partial=True)
    found: dict[str, int] = {}
    for seconds, name in _named(log):
        if len(seconds) <= _DIGITS and seconds.lstrip(b"-").isdigit() and abs(int(seconds)) <= _MOST_SECONDS:
            found.setdefault(name, int(seconds))
    return found


def changed_since(clone: Clone, before: str, timeout: float) -> list[str]:
    """Return the files of the commits since a commit, of both sides. Raises as `commits`."""
    if not _HASH.fullmatch(before):
        raise SourceError("the last commit that was read has no valid hash")
    log = _git(clone, MAX_LIST, *_CHANGES, f"{before}...HEAD", "--", timeout=timeout)
    return [name for _, name in _named(log)]


def _named(log: bytes) -> Iterator[tuple[bytes, str]]:
    """Yield the time of a commit and the path, for each file of each commit."""
    seconds, expected, first = b"", True, True
    for part in log.split(b"\0")[:-1]:  # the last one may be cut
        if not part:
            expected = True
        elif expected:
            seconds, expected, first = part, False, True
        else:
            # A line feed is between the time and the first path.
            yield seconds, os.fsdecode(part[1:] if first else part)
            first = False


def content(clone: Clone, commit: FileCommit) -> bytes:
    """Return the bytes of a file in a commit. Raises `NotFoundError` if it was no file, and as `commits`."""
    entry = _git(clone, MAX_LIST, "ls-tree", "-z", "--full-tree", commit.hash, "--", commit.path)
    mode, kind, name = entry.partition(b"\t")[0].split() if entry else (b"", b"", b"")
    if not mode.startswith(b"100") or kind != b"blob":
        raise NotFoundError(
            f"{commit.path} was no file after the commit {commit.short}: '{commit.subject[:60]}'"
        )
    return _git(clone, MAX_BYTES, "cat-file", "blob", name.decode())


def _parsed(log: bytes, path: str) -> Iterator[FileCommit]:
    """Yield the commits of a log. One without lines, such as a merge, has the name of the commit after it."""
    parts, fields = iter(log.split(b"\0")), list[str]()
    for part in parts:
        if part.startswith(b"\n"):
            added, removed, file = part[1:].split(b"\t", 2)
            before, after = (file, file) if file else (next(parts), next(parts))
            yield _commit(fields, os.fsdecode(after), added, removed)
            fields, path = [], os.fsdecode(before)
        elif part:
            if fields:
                yield _commit(fields, path)
            fields = [each.decode("utf-8", "replace") for each in (part, *islice(parts, 4))]
    if fields:
        yield _commit(fields, path)


def _commit(fields: Sequence[str], path: str, added: bytes = b"", removed: bytes = b"") -> FileCommit:
    digest, short, seconds, author, subject = fields
    lines = (int(number) if number.isdigit() else None for number in (added, removed))
    if not (len(seconds) <= _DIGITS and abs(int(seconds)) <= _MOST_SECONDS):
        raise SourceError(f"the commit {short} has a time that no calendar has: {seconds[:20]}")
    return FileCommit(digest, short, int(seconds), author, subject, path, *lines)


def _git(
    clone: Clone,
    most: int,
    *arguments: str,
    timeout: float = GIT_TIMEOUT,
    allowed: int = 0,
    partial: bool = False,
) -> bytes:
    """Return the output of git.

    The exit code `allowed` is no failure. With `partial`, the beginning of an output that is too long or late
    is returned.
    """
    words, environ = clone.command(*arguments)
    try:
        done = read(words, environ=environ | _OFFLINE, timeout=timeout, most=most)
    except OSError as error:
        raise SourceError(
            f"git cannot be run: {in_words(error)}", "install git: the history of files is read by it"
        ) from error
    except ValueError as error:  # a path with NUL
        raise SourceError(f"git cannot be run: {error}") from error
    if partial and (len(done.written) > most or done.late):
        return done.written
    if len(done.written) > most:
        raise LateError(f"git: more than {most:,} bytes")
    if done.late:
        raise LateError(f"git took more than {timeout:.0f} seconds")
    if done.code not in (0, allowed):
        reason = (done.errors.strip() or "git gave no reason").splitlines()[-1]
        raise SourceError(f"git failed: {reason[:300]}")
    return done.written
