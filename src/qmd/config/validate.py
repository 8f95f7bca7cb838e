"""What an index, a collection and a charset may be called, and what is no name or text at all."""

from __future__ import annotations

import os
import unicodedata

from qmd.errors import UsageError

MAX_COLLECTION_NAME = 100
# A file name holds 255 bytes; `.sqlite-journal` and the like need their share.
MAX_INDEX_NAME_BYTES = 200

# Controls, lone surrogates, line and paragraph separators: none of them can be typed or shown.
_UNSHOWABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})


def validate_index_name(name: str) -> None:
    """Raise `UsageError` unless `name` can name an index: it becomes part of two file names."""
    if not name:
        raise UsageError("The index name is empty.", "Name it: --index work")
    if name.startswith(".") or not all(char.isalnum() or char in "-_." for char in name):
        raise UsageError(
            f"Not an index name: {name!r}.",
            "Use letters, digits, '-', '_' and '.'; do not begin with a dot.",
        )
    if len(name.encode()) > MAX_INDEX_NAME_BYTES:
        raise UsageError("The index name is too long.", f"Use at most {MAX_INDEX_NAME_BYTES} bytes.")


def validate_collection_name(name: str) -> None:
    """Raise `UsageError` unless `name` can name a collection: it is the first segment of every path shown."""
    reason = _collection_name_fault(name)
    if reason is not None:
        raise UsageError(
            f"Not a collection name: {name!r} {reason}.",
            "A name has no slash, does not begin with a dot, and is at most "
            f"{MAX_COLLECTION_NAME} characters long.",
        )


def validate_encoding(name: str) -> None:
    """Raise `UsageError` unless `name` is a charset that Python knows."""
    try:
        # Decoding tells a charset from the codecs that are none, such as base64; nothing would not do.
        b"    ".decode(name, "replace")
    except (LookupError, ValueError) as error:
        raise UsageError(
            f"No charset is called {name!r}.", "For example: big5, gb18030, shift_jis."
        ) from error


def require_unicode(*texts: str) -> None:
    """Raise `UsageError` for text with half a character (a lone surrogate), which no file can hold."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            shown = text[max(0, error.start - 20) : error.start + 20]
            raise UsageError(f"not Unicode: {shown!r} holds half a character") from error


def require_file_name(path: str) -> None:
    """Raise `UsageError` for a path that no file can have. Bytes that are not Unicode, files may have."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        require_unicode(path)


def nfc(text: str) -> str:
    """`text` in the normal form that paths of the index have, so that both spellings of `é` are one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _collection_name_fault(name: str) -> str | None:
    if not name:
        return "is empty"
    if len(name) > MAX_COLLECTION_NAME:
        return f"is longer than {MAX_COLLECTION_NAME} characters"
    if "/" in name or "\\" in name:
        return "holds a slash"
    if name.startswith("."):
        return "begins with a dot"
    if name != name.strip():
        return "begins or ends with a space"
    if any(unicodedata.category(char) in _UNSHOWABLE for char in name):
        return "holds a control character"
    return None
