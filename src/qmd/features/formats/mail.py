"""E-mails (`.eml`): the subject is the title; sender, recipients and date are fields."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from html.parser import HTMLParser
from typing import TypeAlias

from qmd.sources.decoding import as_text
from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer
from qmd.text.outline import one_line
from qmd.types import Extracted

#: A message that was parsed with the policy `compat32`.
AnyMessage: TypeAlias = "Message[str, str]"

name = "mail"
version = 3
media_type = "text/plain"

#: The most parts of a message that are looked at, and the most recipients and attachments.
_MAX_PARTS, _MAX_NAMES = 1_000, 50
_HEADERS = (b"from", b"to", b"cc", b"subject", b"date", b"message-id")


def extract(file: RawFile) -> Extracted:
    head = file.data[:64_000].lower()
    if not any(b"\n%b:" % key in b"\n" + head for key in _HEADERS):
        raise Unreadable(DAMAGED, "not an e-mail")
    return read(message_from_bytes(file.data, policy=policy.compat32))


def read(message: AnyMessage) -> Extracted:
    """Return the content of a message."""
    subject = header(message, "subject")
    fields: dict[str, tuple[str, ...]] = {
        "author": people(message, "from")[:1],
        "to": people(message, "to", "cc"),
        "date": _date(message),
        "message_id": (header(message, "message-id").strip("<> "),),
        "attachment": (),
    }
    plain: list[str] = []
    marked_up: list[str] = []
    attachments: list[str] = []
    parts = 0
    for part in message.walk():
        parts += 1
        if parts > _MAX_PARTS:
            break
        if part.is_multipart():
            continue
        kind = part.get_content_type()
        file_name = part.get_filename()
        attached = bool(file_name) or part.get_content_disposition() == "attachment"
        if attached:
            attachments.append(one_line(_decoded(file_name or "unnamed")))
        if kind == "text/plain":
            plain.append(_text(part))
        elif attached:
            continue
        elif kind == "text/html":
            marked_up.append(_text(part))
    fields["attachment"] = tuple(attachments[:_MAX_NAMES])
    body = "\n\n".join(plain) if any(text.strip() for text in plain) else "\n\n".join(map(_plain, marked_up))
    writer = Writer("part")
    writer.add_heading(one_line(subject), 1)
    about = {
        "From": header(message, "from"),
        "To": header(message, "to"),
        "Date": header(message, "date"),
        "Attachments": ", ".join(fields["attachment"]),
    }
    writer.add("\n".join(f"{key}: {one_line(value)}" for key, value in about.items() if one_line(value)))
    writer.add(body)
    omitted = (f"parts of the message after the first {_MAX_PARTS:,}",) if parts > _MAX_PARTS else ()
    return Extracted(writer.text or "\n", subject, fields, omitted=omitted, structure=writer.structure)


def header(message: AnyMessage, key: str) -> str:
    """Return a header, decoded; "" if it is missing."""
    raw = next((value for name, value in message.raw_items() if name.lower() == key), "")
    # Bytes that should have been encoded words are lone surrogates in it.
    return _decoded(str(raw) if raw.isascii() else as_text(raw.encode("utf-8", "surrogateescape")))


def people(message: AnyMessage, *keys: str) -> tuple[str, ...]:
    """Return the names in address headers; the addresses of those without a name."""
    values = [header(message, key) for key in keys]
    try:
        pairs = getaddresses([value[:10_000] for value in values if value])
    except (ValueError, IndexError):
        return ()
    return tuple(one_line(label or address) for label, address in pairs if label or address)[:_MAX_NAMES]


def _date(message: AnyMessage) -> tuple[str, ...]:
    try:
        return (parsedate_to_datetime(header(message, "date")).isoformat(),)
    except (ValueError, TypeError, IndexError, OverflowError):
        return ()


def _decoded(value: str) -> str:
    """Decode the encoded words of a header."""
    unfolded = " ".join(value.split())[:20_000]
    if "=?" not in unfolded:
        return unfolded.encode("utf-8", "replace").decode()
    try:
        return str(make_header(decode_header(unfolded))).encode("utf-8", "replace").decode()
    except (HeaderParseError, LookupError, ValueError):
        return unfolded.encode("utf-8", "replace").decode()


def _text(part: AnyMessage) -> str:
    """Return the text of a part, whatever its charset."""
    data = part.get_payload(decode=True)
    return as_text(data, part.get_content_charset() or "") if isinstance(data, bytes) else str(data or "")


class _Text(HTMLParser):
    """Collects the text of HTML, a line for each block."""

    _BLOCKS = frozenset("p div br tr li h1 h2 h3 h4 h5 h6 table ul ol blockquote pre hr".split())
    _HIDDEN = frozenset(("script", "style", "head", "title"))

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in self._HIDDEN and not self._hidden:
            self._hidden = tag
        if tag in self._BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""
        if tag in self._BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(" ".join(data.split()) + (" " if data[-1:].isspace() else ""))


def _plain(markup: str) -> str:
    """Return the text of an HTML body."""
    parser = _Text()
    parser.feed(markup)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return "\n\n".join(line for line in lines if line)
