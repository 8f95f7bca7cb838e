"""Read a file and decode it, whatever its encoding."""

from __future__ import annotations

import codecs
import os
import re
import unicodedata
from hashlib import sha256
from stat import S_ISREG

from qmd.errors import SourceError
from qmd.sources.formats import registry
from qmd.sources.formats.base import Unreadable
from qmd.sources.problems import in_words
from qmd.types import Extracted, Fingerprint, SourceFile, SourceText

MAX_BYTES = 50 * 1024 * 1024

# Opening must not wait for the writer of a FIFO or acquire a terminal. O_BINARY is for Windows.
_OPEN = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
    _OPEN |= getattr(os, _flag, 0)
# Longer marks first, because the mark of UTF-32-LE starts with that of UTF-16-LE.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b") + b"\x7f"
_MAX_CONTROLS = 0.05  # share of the bytes; text has almost none, binary data about one in ten

_SAMPLE = 64 * 1024  # bytes
_MAX_CHAOS = 0.15  # the detector's share of implausible characters, 0..1

# Charsets of Latin scripts, in which most accented letters stand alone. The most common first.
_LATIN = ("cp1252", "cp1250", "cp1254")
# Charsets of other scripts, in which words are runs of bytes above ASCII. If several match, the first wins.
_MULTI_BYTE = ("gb18030", "big5", "cp932", "euc_jp", "cp949")
_OTHER = ("cp1251", "koi8_r", "cp1253", "cp1256", "cp1255")

_HIGH = bytes(range(128, 256))
_ALONE = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")


def read_raw(
    file: SourceFile, encoding: str | None = None, max_bytes: int = MAX_BYTES
) -> tuple[RawBytes, Fingerprint]:
    """Return the bytes of a file, and its fingerprint before reading.

    The text of a text format is decoded when it is asked for: a byte-order mark decides the encoding; without
    one, try UTF-8, then `encoding`, then detect the charset. It has no byte-order mark and carriage returns,
    spaces in place of NULs, and may be blank. Raises `SourceError` if the file cannot be read, is no regular
    file, or is larger than `max_bytes`.
    """
    try:
        data, fingerprint = _read(file, max_bytes)
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read {file.path}: {in_words(error)}") from error
    return RawBytes(file.path, data, encoding), fingerprint


def extract(reader: registry.Reader, raw: RawBytes) -> list[tuple[str, Extracted]]:
    """Return (key, content) of each document of a file. Raises `SourceError` if the format fails."""
    try:
        return registry.extract(reader, raw)
    except Unreadable as error:
        raise unreadable(raw.path, error) from error


def unreadable(path: str, error: Unreadable) -> SourceError:
    """Return the error for a file that a format cannot read. Messages of libraries may have several lines."""
    reason = " ".join(str(error).split())
    return SourceError(f"cannot read {path}: {reason}", "Exclude it with an ignore glob.")


def to_source(found: Extracted, zeros: int = 0) -> SourceText:
    """Return the content of a document as it is stored. `zeros` counts its NUL characters."""
    author, date = (str(found.fields.get(name, ("",))[0]) for name in ("author", "date"))
    digest = sha256(found.text.encode()).hexdigest()
    return SourceText(
        found.text,
        digest,
        found.title,
        author,
        date,
        zeros,
        found.fields,
        found.links,
        found.anchors,
        found.omitted,
    )


class RawBytes:
    """A file in memory; see `RawFile`. `zeros` counts the NULs of its text."""

    def __init__(self, path: str, data: bytes, encoding: str | None = None) -> None:
        self._encoding = encoding
        self.path = path
        self.data = data
        self.zeros = 0

    def text(self) -> str:
        text = _text(self, self.data, self._encoding)
        self.zeros = text.count("\0")
        return text.replace("\0", " ") if self.zeros else text


def _text(file: RawBytes, data: bytes, encoding: str | None) -> str:
    """Return the decoded text with line feeds as line ends. Raises `SourceError` if it is not text."""
    try:
        text = _decode(file, data, encoding)
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        encoded = text.encode()
    except UnicodeError as error:
        raise SourceError(
            f"cannot read {file.path}: its encoding is unknown",
            "Set the collection's 'encoding', or convert the file to UTF-8.",
        ) from error
    controls = len(encoded) - len(encoded.translate(None, _CONTROLS))
    # One control character is allowed in any text, however short.
    if controls > max(1, _MAX_CONTROLS * len(encoded)):
        raise _not_text(file)
    return text


def absolute_path(root: str, path: str) -> str:
    """Return the absolute path of a file. Unlike `path`, the names on the disk need not be in NFC."""
    absolute = root
    for name in path.split("/"):
        exact = os.path.join(absolute, name)
        absolute = exact if os.path.lexists(exact) else os.path.join(absolute, _name_on_disk(absolute, name))
    return absolute


def _name_on_disk(folder: str, name: str) -> str:
    """Return the entry of a folder that equals `name` in NFC, or `name` if there is none."""
    try:
        names = os.listdir(folder)
    except (OSError, ValueError):
        return name
    return next((other for other in names if unicodedata.normalize("NFC", other) == name), name)


def _read(file: SourceFile, max_bytes: int) -> tuple[bytes, Fingerprint]:
    descriptor = os.open(file.absolute, _OPEN)
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            raise SourceError(f"cannot read {file.path}: not a regular file")
        parts = []
        room = max_bytes + 1 if status.st_size <= max_bytes else 0
        while room and (part := os.read(descriptor, min(room, max(status.st_size + 1, 4096)))):
            parts.append(part)
            room -= len(part)
        if not room:
            raise SourceError(
                f"cannot read {file.path}: larger than {max_bytes / 1024 / 1024:.3g} MB",
                "Split the file, or exclude it with an ignore glob.",
            )
    finally:
        os.close(descriptor)
    # The state before reading, so that the next scan notices a change during reading.
    return b"".join(parts), Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino)


def _decode(file: RawBytes, data: bytes, encoding: str | None) -> str:
    """Decode `data`. Raise UnicodeError if no charset fits, SourceError if `encoding` is unknown."""
    if data[:1] in (b"\xef", b"\xff", b"\xfe", b"\0"):
        for mark, charset in _MARKS:
            if data.startswith(mark):
                return data[len(mark) :].decode(charset)
    zeros = data.count(0)
    try:
        # If a charset is set, many zeros are more likely halves of UTF-16 characters.
        if encoding is None or zeros <= _MAX_CONTROLS * len(data):
            return data.decode()
    except UnicodeDecodeError:
        pass
    if encoding is not None:
        try:
            return data.decode(encoding)
        except UnicodeError:
            pass
        except (LookupError, ValueError) as error:
            raise SourceError(
                f"cannot read {file.path}: the encoding '{encoding}' is unknown",
                "Set the collection's 'encoding' to a charset such as shift_jis, gb18030 or windows-1252.",
            ) from error
    if zeros:
        raise _not_text(file)
    detected = _detect_charset(data)
    if detected is None:
        raise UnicodeError("no charset fits")
    return data.decode(detected)


def _detect_charset(data: bytes) -> str | None:
    """Guess the charset of a text in natural language from its first lines.

    None if no charset fits, or several fit equally well but would give different scripts.
    """
    from charset_normalizer import from_bytes

    if len(data) > _SAMPLE:  # end at a line end, so that no character is cut
        data = data[: data.rfind(b"\n", 0, _SAMPLE) + 1] or data
    high = len(data) - len(data.translate(None, _HIGH))
    latin = 3 * len(_ALONE.findall(data)) >= high
    charsets = _LATIN if latin else _MULTI_BYTE + _OTHER
    matches = from_bytes(data, cp_isolation=list(charsets), threshold=_MAX_CHAOS)
    best = matches.best()
    if best is None:
        return None
    equally_good = {
        charset
        for match in matches
        if match.chaos <= best.chaos and (latin or match.coherence >= best.coherence)
        for charset in match.could_be_from_charset
    }
    if len(equally_good) > 1 and not equally_good.isdisjoint(_MULTI_BYTE):
        return None
    return next((charset for charset in charsets if charset in equally_good), best.encoding)


def _not_text(file: RawBytes) -> SourceError:
    return SourceError(f"cannot read {file.path}: not text", "Exclude it with an ignore glob.")
