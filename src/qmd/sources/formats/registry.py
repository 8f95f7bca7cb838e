"""Find the format of a file by its suffix and the settings of its collection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from qmd import features
from qmd.errors import PluginError, UsageError
from qmd.plugins import Table, package_of
from qmd.sources.formats import markdown
from qmd.sources.formats.base import (
    DAMAGED,
    Container,
    Format,
)
from qmd.text.similar import did_you_mean
from qmd.types import Collection

#: The name that stands for all formats.
ALL = "all"


class Row(Struct, frozen=True):
    """A format and its files.

    Attributes:
        module: The format as `module` or `module:attribute`.
        suffixes: The suffixes of its files, in lower case.
        source_type: The media type of its files; "" if it is not known.
        extra: The extra of the distribution that it needs, if any.
        packages: The packages of that extra that must be installed, by the name that is imported.
        isolated: Whether all files are read in a child process, because reading may crash or take long.
        binary: Whether files are not text. If a collection names no formats, other files that its pattern
            selects are read as Markdown.
        container: Whether a file contains several documents.
        named: Whether only collections that name the format read its files: `all` does not stand for it.
        beside: The ending of the name of a second file that is read with a file, if there is one.
        max_bytes: The most bytes of a file; 0 for the limit of all formats.
        pictures: Whether files have no text but what is recognized in them.
        seconds: The most processor time that reading a file takes beside that for its size.
        grows: Whether programs keep a file open while they add to it, as agents do with transcripts.
    """

    module: str
    suffixes: tuple[str, ...] = ()
    source_type: str = ""
    extra: str = ""
    packages: tuple[str, ...] = ()
    isolated: bool = False
    binary: bool = False
    container: bool = False
    named: bool = False
    beside: str = ""
    max_bytes: int = 0
    pictures: bool = False
    seconds: int = 0
    grows: bool = False

    @property
    def missing(self) -> str:
        """The extra that must be installed before files can be read; "" if nothing is missing."""
        return "" if installed(self.packages) else self.extra


_MODULES = "qmd.sources.formats."
_CORE: dict[str, Row] = {
    "markdown": Row(f"{_MODULES}markdown", ("md", "markdown", "mdx", "qmd", "rmd"), "text/markdown"),
    "text": Row(f"{_MODULES}text", ("txt", "text", "log"), "text/plain"),
}


def _row(target: str, suffixes: str, source_type: str, traits: str, extra: str, packages: str) -> Row:
    """Return the row of a feature's format. Its traits are fields that are true, or `field=value`."""
    pairs = (each.partition("=") for each in traits.split())
    flags = {name: int(value) if value.isdigit() else value or True for name, _, value in pairs}
    row = Row(target, tuple(suffixes.split()), source_type, extra, tuple(packages.split()))
    return replace(row, **flags)


#: The built-in formats by name, also those of missing features.
BUILTIN = _CORE | {name: _row(target, *row) for name, target, row in features.format_rows()}
#: By suffix, in lower case.
FORMATS = Table(
    "qmd.formats", {suffix: row.module for row in _CORE.values() for suffix in row.suffixes}, Format
)
#: The suffixes that `ALL` does not stand for.
_NAMED = frozenset(suffix for row in BUILTIN.values() if row.named for suffix in row.suffixes)
_BY_SUFFIX = {suffix: name for name, row in BUILTIN.items() for suffix in row.suffixes}
#: The suffixes of pictures, which belong to collections whose pictures are read.
PICTURES = frozenset(suffix for row in BUILTIN.values() if row.pictures for suffix in row.suffixes)
#: The `identity` that files have if none is recorded.
FIRST_IDENTITY = f"{markdown.name} 1"


class Reader(Struct, frozen=True):
    """A format as it applies to a suffix.

    Attributes:
        format: The format.
        row: Its row in the table of formats.
        package: The name and version of the package that has the format; "" if it is built in.
        folder: The folder that this package is imported from.
    """

    format: Format
    row: Row
    package: str = ""
    folder: str = ""

    @property
    def failure(self) -> str:
        """The reason of a file on which the format fails, with the package that has the format."""
        return f"the format '{self.format.name}' of '{self.package}' failed" if self.package else DAMAGED

    @property
    def identity(self) -> str:
        """The name and version of the format."""
        return f"{self.format.name} {self.format.version}"


_AS_MARKDOWN = Reader(markdown, BUILTIN["markdown"])


class Readers:
    """The readers of a collection, by suffix.

    Args:
        formats: The formats that the collection names.
        encoding: The encoding of the collection.
        language: Its language.
    """

    def __init__(
        self, formats: Sequence[str] = (), encoding: str | None = None, language: str | None = None
    ) -> None:
        self.encoding = encoding
        self.language = language
        self._language = f"language={language}" if language else ""
        self._formats = frozenset(formats)
        self._found: dict[str, Reader] = {}

    def of(self, path: str) -> Reader:
        """Return the reader of a file; that of Markdown if no format has its suffix.

        Raises:
            PluginError: If the package that has the format is broken, or its feature is missing.
        """
        ending = suffix(path)
        found = self._found.get(ending)
        if found is None:
            found = self._found[ending] = self._load(ending)
        return found

    def known(self, path: str) -> Reader | None:
        """Return the reader of a file; None if the package that has the format is broken."""
        try:
            return self.of(path)
        except PluginError:
            return None

    def identity(self, path: str) -> str:
        """Return the conditions of a file's text beside its bytes: format, version, encoding, language.

        "" if the package that has the format is broken.
        """
        reader = self.known(path)
        return (
            "" if reader is None else " ".join(filter(None, (reader.identity, self.encoding, self._language)))
        )

    def _load(self, ending: str) -> Reader:
        name = _BY_SUFFIX.get(ending, "")
        if name and not self._selects(name):
            return _AS_MARKDOWN
        part: Format | None = FORMATS.load(ending)
        entry = FORMATS.entry(ending)
        if part is None:
            return _AS_MARKDOWN
        if entry is None:
            return Reader(part, BUILTIN[name])
        row = Row(
            f"{entry.module}:{entry.attr or ''}",
            source_type=str(getattr(part, "source_type", "")),
            isolated=True,
            container=isinstance(part, Container),
        )
        return Reader(part, row, package_of(entry), str(entry.dist.locate_file("")) if entry.dist else "")

    def _selects(self, name: str) -> bool:
        row = BUILTIN[name]
        if row.pictures:
            return True
        named = name in self._formats or (ALL in self._formats and not row.named)
        own = row.binary or not (name in _CORE or row.named or row.grows or row.missing)
        return named or (own and not self._formats)


@cache
def installed(packages: tuple[str, ...]) -> bool:
    """Return whether packages are installed, by the names that are imported."""
    from importlib.util import find_spec

    return all(find_spec(package) is not None for package in packages)


def _of_packages() -> tuple[dict[str, list[str]], list[PluginError]]:
    """Return the suffixes of the formats of packages by name, and the errors of packages that are broken."""
    found: dict[str, list[str]] = {}
    broken = []
    for ending in FORMATS.names():
        if ending not in _BY_SUFFIX:
            try:
                part: Format | None = FORMATS.load(ending)
            except PluginError as error:
                broken.append(error)
            else:
                found.setdefault(part.name.lower() if part else ending, []).append(ending)
    return found, broken


def _suffixes_of(name: str) -> Sequence[str]:
    """Return the suffixes of a format; a format of a package may also be named by one of them."""
    if name in BUILTIN:
        return BUILTIN[name].suffixes
    return (name,) if FORMATS.entry(name) is not None else _of_packages()[0].get(name, ())


def check_names(formats: Sequence[str]) -> None:
    """Raise `UsageError` if a name is no format."""
    for name in formats:
        if name == ALL or _suffixes_of(name):
            continue
        others, broken = _of_packages()
        known = [ALL, *BUILTIN, *others]
        suggestion = did_you_mean(name, known)
        reasons = "".join(f"; {error.message}" for error in broken)
        raise UsageError(f"there is no format '{name}'", f"{suggestion}formats: {', '.join(known)}{reasons}")


def suffixes(formats: Sequence[str]) -> frozenset[str]:
    """Return the suffixes of the files of formats. Raises `UsageError` if a name is no format.

    Those of missing features are among them, so that their files are told and their documents stay.
    """
    check_names(formats)
    found = frozenset(suffix for name in formats if name != ALL for suffix in _suffixes_of(name))
    if ALL in formats:
        found |= (_BY_SUFFIX.keys() | FORMATS.names()) - _NAMED
    return found


def grows(formats: Sequence[str]) -> bool:
    """Return whether the files of one of some formats grow while they are open."""
    return any(name in BUILTIN and BUILTIN[name].grows for name in formats)


def beside(formats: Sequence[str]) -> dict[str, str]:
    """Return the endings of the names of second files, by the suffix of the files of formats."""
    rows = [BUILTIN[name] for name in formats if name in BUILTIN]
    return {suffix: row.beside for row in rows if row.beside for suffix in row.suffixes}


@cache
def is_unknown(ending: str) -> bool:
    """Return whether no format reads files with a suffix, and they are no images, sounds, videos or fonts."""
    from mimetypes import guess_type

    kind = (guess_type(f"x.{ending}")[0] or "").partition("/")[0]
    is_read = ending in _BY_SUFFIX or ending in FORMATS.names()
    return bool(ending) and not is_read and kind not in ("image", "audio", "video", "font")


def is_document(ending: str) -> bool:
    """Return whether a built-in format for documents, not for code or sessions, reads files with a suffix."""
    name = _BY_SUFFIX.get(ending, "code")
    return name not in ("code", "transcript") and not BUILTIN[name].named


def format_of(ending: str) -> str:
    """Return the name of the built-in format that reads files with a suffix; "" if there is none."""
    return _BY_SUFFIX.get(ending, "")


def suffix(path: str) -> str:
    """Return the suffix of a path in lower case, without dot; "" if there is none.

    The messages of a Maildir have none, and count as mail.
    """
    stem, _, ending = path.rpartition("/")[2].rpartition(".")
    found = ending.lower() if stem else ""
    if found not in _BY_SUFFIX and stem[:1].isdigit() and is_message(path):
        return "eml"
    return found


def is_message(path: str) -> bool:
    """Return whether a path is that of a message of a Maildir: `cur/1700000000.M1.host:2,S`."""
    *_, folder, name = ("", *path.split("/"))
    seconds, _, unique = name.partition(".")
    return folder in ("cur", "new") and bool(unique) and seconds.isdigit() and len(seconds) > 8


def file_of(path: str) -> str:
    """Return the path of the file that contains a document: without `#key` after that of a container."""
    if "#" in path:
        base = path.rpartition("#")[0]
        row = BUILTIN.get(_BY_SUFFIX.get(suffix(base), ""))
        if row is None and (reader := Readers().known(base)):
            row = reader.row
        if row and row.container:
            return base
    return path


def media_types(path: str, collection: Collection | None = None) -> tuple[str, str]:
    """Return the media types of the text of a document, and of its file ("" if it is not known)."""
    reader = Readers(collection.formats if collection else ()).known(file_of(path))
    if reader is None:
        return markdown.media_type, ""
    return reader.format.media_type, reader.row.source_type
