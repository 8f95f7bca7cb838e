"""The files of a collection that are not indexed, remembered with its last scan.

A file that its format could not read is not read again until it, its format, qmd, the limits of reading or
the collection's encoding changes. If the reason may pass, it is tried again, at growing intervals. Files wait
for an extra if it is not installed. What was indexed of an earlier state of such files stays, and is marked.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from shlex import quote

from qmd._version import __version__
from qmd.engine.indexing.record import ScanRecord, UnreadFiles
from qmd.sources.formats import registry
from qmd.sources.formats.base import MAX_TEXT, Unreadable
from qmd.sources.formats.registry import BUILTIN, Readers
from qmd.text.wording import plural, visible
from qmd.types import DEFAULT_PATTERN, Collection, SourceFile
from qmd.types.clock import now

#: The most files that are remembered of a collection. Others are read at each scan.
_MOST = 3_000
#: The most files with invalid bytes that are remembered.
_MOST_INVALID = 300
#: The most kinds of files without a reader, and the most characters of a reason of the system.
_KINDS, _REASON = 30, 80
#: The characters that stand for a path and for the state of its file.
_HALF = 4
#: Between a reason and its details.
_GAP = "\t"
#: Seconds until a file is read again whose reason may pass, after so many attempts. The last one stays.
_PAUSES = (0, 600, 3_600, 6 * 3_600, 24 * 3_600)
#: The most files that are named in one line.
_NAMED = 3
#: Suffixes of Markdown that the default pattern leaves out; the format has only some of them.
_MARKDOWN = frozenset({"mdx", "markdown", "mdown", "mkd", "qmd", "rmd"})


class Unread:
    """The unread files of a scan.

    Args:
        last: Those of the last scan.
        readers: The readers of the collection.
        within: The paths that the scan looks at; None if it looks at everything. What is known of other files
            is kept.
        anew: Read all of them again.
    """

    def __init__(
        self,
        last: UnreadFiles,
        readers: Readers,
        within: Iterable[str] | None = None,
        *,
        anew: bool = False,
    ) -> None:
        self._last = {
            marks[at : at + _HALF]: (marks[at + _HALF : at + 2 * _HALF], reason)
            for reason, marks in last.files.items()
            for at in range(0, len(marks), 2 * _HALF)
        }
        self._before = last
        self._readers = readers
        self._anew = anew
        self._partial = within is not None
        before = last if self._partial else UnreadFiles()
        self._files = dict(self._last) if self._partial else {}
        #: See `UnreadFiles`.
        self.kept, self._tries = dict(before.kept), dict(before.tries)
        #: Also of files that are unchanged, which no scan looks at.
        self.invalid = dict(last.invalid)
        for path in within or ():
            self.forget(path)
        self._cut = before.cut
        #: Numbers of files that wait for an extra, by extra and suffix.
        self.waiting = {extra: dict(counts) for extra, counts in before.waiting.items()}
        #: Numbers of files that no format reads, by suffix.
        self.unknown = dict(before.unknown)

    def wait(self, extra: str, suffix: str) -> None:
        """Count a file that waits for an extra. A partial scan does not count: some were counted before."""
        if self._partial and suffix in self.waiting.get(extra, {}):
            return
        counts = self.waiting.setdefault(extra, {})
        counts[suffix] = counts.get(suffix, 0) + 1

    def forget(self, path: str) -> None:
        """Forget a file that is looked at, or gone."""
        mark = _mark(path)
        self._files.pop(mark, None)
        self._tries.pop(mark, None)
        self.kept.pop(path, None)
        self.invalid.pop(path, None)

    def again(self, file: SourceFile) -> Unreadable | None:
        """Return why the last scan could not read the unchanged file; None if it must be read."""
        if not (self._last or self.kept):
            return None
        self.forget(file.path)
        mark = _mark(file.path)
        state, reason = self._last.get(mark, ("", ""))
        if not state or state != self._state(file):
            return None
        found = Unreadable(*reason.split(_GAP, 1))
        count, last = self._before.tries.get(mark, (0, 0))
        pause = _PAUSES[min(count, len(_PAUSES)) - 1] if found.passes and count else 0
        if self._anew or (found.passes and not last <= time.time() < last + pause):
            return None
        if found.passes:
            self._tries[mark] = count, last
        return found

    def add(self, path: str, reason: str | Unreadable, file: SourceFile | None = None) -> None:
        """Remember a path that could not be read. With `file`, it is not read again until it changes."""
        mark, state = _mark(path), "=" * _HALF
        if isinstance(reason, Unreadable):
            if file is not None:
                state = self._state(file)
                same = self._last.get(mark, ("",))[0] == state
                if reason.passes and mark not in self._tries:  # an attempt of this scan
                    count = self._before.tries.get(mark, (0, 0))[0] if same else 0
                    self._tries[mark] = count + 1, int(time.time())
            reason = f"{reason.reason}{_GAP}{reason.detail}" if reason.detail else reason.reason
        else:
            reason = reason[:_REASON]
        self._files[mark] = state, reason

    def keep(self, path: str) -> None:
        """Mark a file whose documents stay as they are, although it cannot be read."""
        self.kept[path] = self._before.kept.get(path) or now("seconds")

    def packed(self) -> UnreadFiles:
        """Return the record for the next scan, as short as possible."""
        files: dict[str, str] = {}
        kept = dict(list(self._files.items())[:_MOST])
        for path, (state, reason) in kept.items():
            files[reason] = files.get(reason, "") + path + state
        most = sorted(self.unknown.items(), key=lambda item: -item[1])[:_KINDS]
        cut = self._cut + len(self._files) - len(kept)
        tries = {mark: tried for mark, tried in self._tries.items() if mark in kept}
        stays = dict(list(self.kept.items())[:_MOST])
        invalid = dict(list(self.invalid.items())[:_MOST_INVALID])
        return UnreadFiles(files, cut, self.waiting, dict(most), stays, tries, invalid)

    def _state(self, file: SourceFile) -> str:
        """Return the identity of the state of a file, its reader and the limits of reading."""
        from qmd.sources import children  # most updates read no file apart

        identity = self._readers.identity(file.path)
        limits = children.SECONDS, children.PROCESSOR, children.PROCESSOR_PER_MB, children.MEMORY, MAX_TEXT
        size, changed = file.fingerprint.size, file.fingerprint.mtime_ns
        return _mark(f"{size}\0{changed}\0{identity}\0{__version__}\0{limits}")


def kept_since(root: str | None) -> Mapping[str, str]:
    """Return the files that could not be read and whose documents stay, with the times of first failures."""
    return ScanRecord.read(root).unread.kept


def describe(collection: Collection, root: str | None) -> list[str]:
    """Describe the unread files of the last scan in one line for each kind."""
    last = ScanRecord.read(root).unread
    lines = [describe_waiting(extra, counts) for extra, counts in last.waiting.items()]
    counts: dict[str, int] = {}
    for key, marks in last.files.items():
        reason = key.partition(_GAP)[0]
        counts[reason] = counts.get(reason, 0) + len(marks) // (2 * _HALF)
    if total := sum(counts.values()) + last.cut:
        listed = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        lines.append(f"{plural(total, 'file')} could not be read: {listed} ('qmd update --failed' lists all)")
    if last.kept:
        lines.append(describe_kept(last.kept))
    if last.invalid:
        lines.append(describe_invalid(last.invalid))
    unknown = {suffix: count for suffix, count in last.unknown.items() if not _is_readable(suffix)}
    if unknown:
        total = sum(unknown.values())
        lines.append(f"{plural(total, 'file')} of kinds that no format reads: {_listed(unknown)}")
    return [*lines, *describe_left(collection, root)]


def describe_left(collection: Collection, root: str | None) -> list[str]:
    """Describe the documents that the default pattern leaves out, with the command that adds them."""
    unknown = ScanRecord.read(root).unread.unknown
    left = {suffix: count for suffix, count in unknown.items() if _is_readable(suffix)}
    if not left or collection.pattern != DEFAULT_PATTERN:
        return []
    if left.keys() <= _MARKDOWN:
        choice = f"--mask {quote('**/*.{' + ','.join(('md', *sorted(left))) + '}')}"
    else:
        left = {suffix: count for suffix, count in left.items() if registry.format_of(suffix)}
        formats = dict.fromkeys(("markdown", *map(registry.format_of, left)))
        choice = f"--formats {','.join(formats)}"
    command = f"qmd collection set {quote(visible(collection.name))} {choice}"
    return [f"left out: {plural(sum(left.values()), 'file')} ({_listed(left)}). To index them: {command}"]


def _is_readable(suffix: str) -> bool:
    return suffix in _MARKDOWN or registry.is_document(suffix)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} .{suffix}" for suffix, count in counts.items())


def waiting(roots: Iterable[str | None]) -> dict[str, str]:
    """Return how many files wait for each extra, by the last scans of several collections."""
    found: dict[str, Counter[str]] = {}
    for root in roots:
        for extra, counts in ScanRecord.read(root).unread.waiting.items():
            found.setdefault(extra, Counter()).update(counts)
    return {extra: f"{_waiting(counts)} the extra '{extra}'" for extra, counts in found.items()}


def describe_kept(kept: Mapping[str, str]) -> str:
    """Describe the files that could not be read and whose documents stay; `kept` has the times."""
    since = min(kept.values(), default="")
    stay = "stays as it was" if len(kept) == 1 else "stay as they were"
    line = f"{plural(len(kept), 'file')} {stay}: could not be read since {since}"
    more = f" and {len(kept) - _NAMED:,} more" if len(kept) > _NAMED else ""
    return f"{line} ({', '.join(sorted(kept)[:_NAMED])}{more})"


def describe_invalid(invalid: Mapping[str, Sequence[int]]) -> str:
    """Describe the files that were read except for some bytes, with the lines of these."""
    named = [f"{path} ({name_lines(lines)})" for path, lines in sorted(invalid.items())[:_NAMED]]
    more = f" and {len(invalid) - _NAMED:,} more" if len(invalid) > _NAMED else ""
    has = "has" if len(invalid) == 1 else "have"
    return (
        f"{plural(len(invalid), 'file')} {has} bytes that do not fit the encoding: {', '.join(named)}{more}"
    )


def name_lines(lines: Sequence[int]) -> str:
    """Return line numbers in words: `line 3`, `lines 3, 17`."""
    return f"{'line' if len(lines) == 1 else 'lines'} {', '.join(f'{line}' for line in lines)}"


def describe_waiting(extra: str, counts: Mapping[str, int]) -> str:
    """Return how many files of which kind wait for an extra, and the command that installs it."""
    return f"{_waiting(counts)}: {remedy(extra)}"


def remedy(extra: str) -> str:
    """Return the command by which files that wait for an extra are read."""
    from qmd.installation import install_command  # it looks at paths and addresses

    is_missing = any(row.missing == extra for row in BUILTIN.values())
    return install_command(extra) if is_missing else "qmd update"


def _waiting(counts: Mapping[str, int]) -> str:
    verb = "waits" if sum(counts.values()) == 1 else "wait"
    return f"{plural(sum(counts.values()), 'file')} ({_listed(dict(sorted(counts.items())))}) {verb} for"


def _mark(text: str) -> str:
    """Return a digest of a path or a state, in four characters."""
    return b64encode(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=3).digest()).decode()
