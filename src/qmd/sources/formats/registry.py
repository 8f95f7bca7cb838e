"""Find the format of a file by its suffix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from qmd.errors import PluginError, SourceError
from qmd.plugins import Table
from qmd.sources.formats import markdown
from qmd.sources.formats.base import Format, RawFile
from qmd.text import dates, front_matter
from qmd.text.links import MAX_LINKS
from qmd.text.outline import one_line
from qmd.types import Extracted, Link

#: By suffix, in lower case.
FORMATS = Table(
    "qmd.formats",
    {"md": "qmd.sources.formats.markdown", "markdown": "qmd.sources.formats.markdown"},
    Format,
)
#: The `identity` that files have if none is recorded.
FIRST_IDENTITY = f"{markdown.name} 1"


def find_format(path: str) -> Format:
    """Return the format of a file; Markdown if no format has its suffix.

    Raises:
        PluginError: If the package that has the format is broken.
    """
    found: Format | None = FORMATS.load(suffix(path))
    return markdown if found is None else found


def suffix(path: str) -> str:
    """Return the suffix of a path in lower case, without dot; "" if there is none."""
    stem, _, ending = path.rpartition("/")[2].rpartition(".")
    return ending.lower() if stem else ""


def identity(path: str) -> str:
    """Return the name and version of the format of a file; "" if its package is broken."""
    try:
        found = find_format(path)
    except PluginError:
        return ""
    return f"{found.name} {found.version}"


def media_type(path: str) -> str:
    """Return the media type of the text of a document."""
    try:
        return find_format(path).media_type
    except PluginError:
        return markdown.media_type


def extract(file: RawFile) -> Extracted:
    """Return the content of a file.

    Raises:
        SourceError: If the file is not text, or the format fails.
    """
    try:
        found = find_format(file.path)
    except PluginError as error:
        raise SourceError(f"cannot read {file.path}: {error.message}", error.hint) from error
    if found is markdown:
        return markdown.extract(file)
    try:
        return _checked(found.extract(file), found.name, file.path)
    except SourceError:
        raise
    except Exception as error:  # the code of another package
        reason = f"the format '{found.name}' failed: {type(error).__name__}: {error}"
        raise SourceError(f"cannot read {file.path}: {reason}", "Exclude it with an ignore glob.") from error


def _checked(found: Extracted, name: str, path: str) -> Extracted:
    """Return the content with valid text, and fields under the rules and limits of front matter."""
    text = found.text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    text.encode()  # fails if the text has lone surrogates
    if not all(isinstance(link, Link) for link in found.links):
        raise TypeError("links must be of the type qmd.types.Link")
    fields = front_matter.collect(_values(found)).fields
    date = dates.read(str(fields.pop("date", ("",))[0]))
    if date:
        fields["date"] = (date,)
    fields["format"] = (name,)
    file_name = path.rpartition("/")[2]
    title = one_line(found.title) or one_line(file_name.rpartition(".")[0]) or file_name
    return Extracted(text, title, fields, tuple(found.links)[:MAX_LINKS])


def _values(found: Extracted) -> Iterator[tuple[str, str | float | bool]]:
    fields: Mapping[str, Any] = found.fields  # one value in place of a tuple is a common mistake
    for name, values in fields.items():
        listed: tuple[Any, ...] = (values,) if isinstance(values, str | float | int) else tuple(values)
        for value in listed:
            read = front_matter.scalar(str(value), plain=not isinstance(value, str))
            if read is not None:
                yield name, read
