"""The files of a collection that are not indexed, remembered with its last scan.

A file that its format could not read is not read again until it, its format, qmd, the limits of reading or
the collection's encoding changes. If the reason may pass, it is tried again, at growing intervals. Files wait
for an extra if it is not installed. What was indexed of an earlier state of such files stays, and is marked.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from qmd._version import __version__
from qmd.engine.indexing.alike import describe_alike
from qmd.engine.indexing.record import ScanRecord, UnreadFile
from qmd.sources.formats import registry
from qmd.sources.formats.base import MAX_TEXT, SCAN, Unreadable
from qmd.sources.formats.registry import BUILTIN
from qmd.text.digest import sha256
from qmd.text.wording import plural, visible
from qmd.types import DEFAULT_PATTERN, Collection, SourceFile
from qmd.types.clock import now

#: The most files that are remembered of a collection. Others are read at each scan.
MOST = 3_000
#: The most kinds of files that a line names.
_MOST_KINDS = 5
#: The most kinds of files without a reader, and the most characters of a reason of the system.
_KINDS, _REASON = 30, 80
#: Seconds until a file is read again whose reason may pass, after so many attempts. The last one stays.
_PAUSES = (0, 600, 3_600, 6 * 3_600, 24 * 3_600)
#: The commands by which files are read whose extra is installed, if not by an update.
_COMMANDS = {"ocr": "qmd ocr"}
#: The most files that are named in one line.
_NAMED = 3
#: Suffixes of Markdown that the default pattern leaves out; the format has only some of them.
_MARKDOWN = frozenset({"mdx", "markdown", "mdown", "mkd", "qmd", "rmd"})


def failed(
    before: UnreadFile | None, error: str | Unreadable, state: str = "", *, stays: bool = False
) -> UnreadFile:
    """Return what is remembered of a file that cannot be read.

    Args:
        before: What the last scan remembered of it.
        error: Why it cannot be read.
        state: What it was read with, see `state_of`, if it is not to be read again until that changes.
        stays: Whether it has documents, which stay as they are although the file has changed.
    """
    before = before or UnreadFile()
    since = (before.since or now("seconds")) if stays else ""
    if isinstance(error, str):
        return UnreadFile(error[:_REASON], since=since)
    passes = error.passes and bool(state)
    tries = (before.tries if before.state == state else 0) + 1 if passes else 0
    return UnreadFile(error.reason, error.detail, state, tries, int(time.time()) if passes else 0, since)


def still_failed(file: UnreadFile | None, state: str, *, stays: bool, anew: bool) -> UnreadFile | None:
    """Return what is remembered of a file that is as it was when it could not be read; None if it is read.

    With `anew`, every file is read.
    """
    if file is None or not file.state or file.state != state or anew:
        return None
    if why(file).passes:
        pause = _PAUSES[min(file.tries, len(_PAUSES)) - 1] if file.tries else 0
        if not file.tried <= time.time() < file.tried + pause:
            return None
    return replace(file, since=(file.since or now("seconds")) if stays else "")


def why(file: UnreadFile) -> Unreadable:
    """Return the reason why a file could not be read."""
    return Unreadable(file.reason, file.detail)


def state_of(file: SourceFile, identity: str) -> str:
    """Return a digest of the state of a file, the identity of its format, and the limits of reading."""
    from qmd.sources import children  # most updates read no file apart

    limits = children.SECONDS, children.PROCESSOR, children.PROCESSOR_PER_MB, children.MEMORY, MAX_TEXT
    size, changed = file.fingerprint.size, file.fingerprint.mtime_ns
    state = f"{size}\0{changed}\0{identity}\0{__version__}\0{limits}"
    return sha256(state.encode())[:8]


def most_frequent(unknown: Mapping[str, int]) -> dict[str, int]:
    """Return the most frequent suffixes of files that no format reads, with their numbers."""
    return dict(sorted(unknown.items(), key=lambda item: -item[1])[:_KINDS])


def describe(collection: Collection, root: str | None) -> list[str]:
    """Describe the unread files of the last scan of a collection in one line for each kind."""
    last = ScanRecord.read(root)
    lines = [describe_waiting(extra, counts) for extra, counts in last.waiting.items()]
    counts = Counter(file.reason for file in last.unread.values() if file.reason)
    if collection.ocr:
        del counts[SCAN]  # they wait
    if total := counts.total() + last.cut:
        listed = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
        lines.append(f"{plural(total, 'file')} could not be read: {listed} ('qmd update --failed' lists all)")
    if last.kept:
        lines.append(describe_kept(last.kept))
    if last.remote:
        lines.append(f"{plural(last.remote, 'file')} in the cloud only, and not read")
    if invalid := {path: file.lines for path, file in last.unread.items() if file.lines}:
        lines.append(describe_invalid(invalid))
    unknown = {suffix: count for suffix, count in last.unknown.items() if not _is_readable(suffix)}
    if unknown:
        total = sum(unknown.values())
        lines.append(f"{plural(total, 'file')} of kinds that no format reads: {_listed(unknown)}")
    return [*lines, *describe_left(collection, root), *describe_alike(collection, last.alike)]


def describe_left(collection: Collection, root: str | None) -> list[str]:
    """Describe the documents that the default pattern leaves out, with the command that adds them."""
    unknown = ScanRecord.read(root).unknown
    left = {suffix: count for suffix, count in unknown.items() if _is_readable(suffix)}
    if not left or collection.pattern != DEFAULT_PATTERN:
        return []
    from shlex import quote

    if left.keys() <= _MARKDOWN:
        pattern = f"**/*.{{{','.join(('md', *sorted(left)))}}}"
        choice = f"--mask {quote(pattern)}"
    else:
        left = {suffix: count for suffix, count in left.items() if registry.format_of(suffix)}
        formats = dict.fromkeys(("markdown", *map(registry.format_of, left)))
        choice = f"--formats {','.join(formats)}"
    command = f"qmd collection set {quote(visible(collection.name))} {choice}"
    return [f"left out: {plural(sum(left.values()), 'file')} ({_listed(left)}). To index them: {command}"]


def _is_readable(suffix: str) -> bool:
    return suffix in _MARKDOWN or registry.is_document(suffix)


def _listed(counts: Mapping[str, int]) -> str:
    """Return the numbers of files by suffix, of the most frequent ones."""
    kinds = sorted(counts.items(), key=lambda each: -each[1]) if len(counts) > _MOST_KINDS else counts.items()
    named = ", ".join(f"{count:,} .{suffix}" for suffix, count in [*kinds][:_MOST_KINDS])
    more = len(counts) - _MOST_KINDS
    return f"{named} and {plural(more, 'other kind')}" if more > 0 else named


def waiting(roots: Iterable[str | None]) -> dict[str, str]:
    """Return how many files wait for each extra, by the last scans of several collections."""
    found: dict[str, Counter[str]] = {}
    for root in roots:
        for extra, counts in ScanRecord.read(root).waiting.items():
            found.setdefault(extra, Counter()).update(counts)
    wanted = {
        extra: f"the extra '{extra}'" if _is_missing(extra) else f"'{remedy(extra)}'" for extra in found
    }
    return {extra: f"{_waiting(counts)} {wanted[extra]}" for extra, counts in found.items()}


def describe_kept(kept: Mapping[str, str]) -> str:
    """Describe the files that could not be read and whose documents stay; `kept` has the times."""
    since = min(kept.values(), default="")
    stay = "stays as it was" if len(kept) == 1 else "stay as they were"
    line = f"{plural(len(kept), 'file')} {stay}: could not be read since {since}"
    more = f" and {len(kept) - _NAMED:,} more" if len(kept) > _NAMED else ""
    return f"{line} ({', '.join(sorted(kept)[:_NAMED])}{more})"


def describe_remote(paths: Sequence[str]) -> str:
    """Describe the files that are in the cloud only."""
    more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    named = ", ".join(map(visible, sorted(paths)[:_NAMED]))
    verb = "is" if len(paths) == 1 else "are"
    return (
        f"{plural(len(paths), 'file')} {verb} in the cloud only, and not read: {named}{more}. "
        "Download them, then run 'qmd update'"
    )


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

    return install_command(extra) if _is_missing(extra) else _COMMANDS.get(extra, "qmd update")


def _is_missing(extra: str) -> bool:
    return any(row.missing == extra for row in BUILTIN.values())


def _waiting(counts: Mapping[str, int]) -> str:
    listed = _listed(dict(sorted(counts.items())))
    verb = "waits" if sum(counts.values()) == 1 else "wait"
    return f"{plural(sum(counts.values()), 'file')} ({listed}) {verb} for"
