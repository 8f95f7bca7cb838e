"""Mailboxes (`.mbox`): each message is a document, `box.mbox#message-id`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from hashlib import sha256

from qmd.features.formats import mail
from qmd.sources.formats.base import DAMAGED, RawFile, Unreadable
from qmd.types import Extracted

name = "mailbox"
version = 3
media_type = mail.media_type

#: The line before each message.
_FROM = re.compile(rb"(?:\A|\r?\n)From [^\r\n]*\d\d:\d\d[^\r\n]*\r?\n")
_QUOTED = re.compile(rb"^>(>*From )", re.M)
_UNSAFE = re.compile(r"[^\w.@+=$-]+")
#: The most messages of a file, and the longest key, in characters.
_MAX_MESSAGES, _MAX_KEY = 100_000, 120


def extract(file: RawFile) -> Extracted:
    """Return the first message. A mailbox is read by `extract_all`."""
    return next(iter(extract_all(file)))[1]


def extract_all(file: RawFile) -> Iterator[tuple[str, Extracted]]:
    starts = [match.span() for match in _FROM.finditer(file.data)]
    if not starts or starts[0][0]:
        raise Unreadable(DAMAGED, "not a mailbox")
    if len(starts) > _MAX_MESSAGES:
        raise Unreadable("too large", f"{len(starts):,} messages")
    seen: set[str] = set()
    for (_, begin), (end, _) in zip(starts, [*starts[1:], (len(file.data), 0)], strict=True):
        data = _QUOTED.sub(rb"\1", file.data[begin:end])
        message = message_from_bytes(data, policy=policy.compat32)
        key = _UNSAFE.sub("-", mail.header(message, "message-id").strip("<> "))[:_MAX_KEY].strip("-")
        if not key or key in seen:
            # Also for the second of two equal messages; a third is the same document again.
            key = f"{key[:80]}{'-' if key else ''}{sha256(data).hexdigest()[:12]}"
        if key not in seen:
            seen.add(key)
            yield key, mail.read(message)
