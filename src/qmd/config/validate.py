"""Validation of index names, collection names, charsets and Unicode texts."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence

from qmd.errors import UsageError
from qmd.text.values import LANGUAGES
from qmd.types import Synonyms

MAX_COLLECTION_NAME = 100
# File names have at most 255 bytes, including suffixes such as `.sqlite-journal`.
MAX_INDEX_NAME_BYTES = 200
#: The most entries of synonyms, and the most texts of one, and words and characters of a text.
MAX_SYNONYMS = 1_000
_MAX_SET, _MAX_WORDS, _MAX_CHARACTERS = 20, 8, 100

# Control characters, lone surrogates, line and paragraph separators cannot be typed or displayed.
_NOT_PRINTABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})


def validate_index_name(name: str) -> None:
    """Raise `UsageError` unless `name` is a valid index name, which becomes part of two file names."""
    if not name:
        raise UsageError("The index name is empty.", "give a name, for example: --index work")
    if name.startswith(".") or not all(char.isalnum() or char in "-_." for char in name):
        raise UsageError(
            f"Not an index name: {name!r}.",
            "use letters, digits, '-', '_' and '.'; the first character must not be a dot",
        )
    if len(name.encode()) > MAX_INDEX_NAME_BYTES:
        raise UsageError("The index name is too long.", f"use at most {MAX_INDEX_NAME_BYTES} bytes")


def validate_collection_name(name: str) -> None:
    """Raise `UsageError` unless `name` is a valid collection name, the first segment of display paths."""
    checks = {
        "is empty": not name,
        f"is longer than {MAX_COLLECTION_NAME} characters": len(name) > MAX_COLLECTION_NAME,
        "contains a slash": "/" in name or "\\" in name,
        "begins with a dot": name.startswith("."),
        "begins or ends with a space": name != name.strip(),
        "contains a control character": any(unicodedata.category(char) in _NOT_PRINTABLE for char in name),
    }
    reason = next((reason for reason, failed in checks.items() if failed), None)
    if reason is not None:
        raise UsageError(
            f"Not a collection name: {name!r} {reason}.",
            f"use at most {MAX_COLLECTION_NAME} characters, no slash, and no dot at the beginning",
        )


def validate_synonyms(word: str, others: Sequence[str], *, one_way: bool = False) -> Synonyms:
    """Return a word with its synonyms. Raises `UsageError` if they are none."""
    from qmd.text import tokens  # most configurations have no synonyms

    first, *rest = dict.fromkeys(" ".join(each.split()) for each in (word, *others))
    if not rest:
        raise UsageError(f"{first!r} has no synonym", "for example: k8s: kubernetes")
    if len(rest) >= _MAX_SET:
        raise UsageError(f"{first!r} has more than {_MAX_SET - 1} synonyms", "make several entries of it")
    for text in (first, *rest):
        found = tokens.words(text)
        checks = {
            "has no word": not found,
            "is a single character of a script without spaces": len(text) == 1 and tokens.is_unspaced(text),
            f"has more than {_MAX_WORDS} words": len(found) > _MAX_WORDS,
            f"is longer than {_MAX_CHARACTERS} characters": len(text) > _MAX_CHARACTERS,
            "contains a control character": not _NOT_PRINTABLE.isdisjoint(map(unicodedata.category, text)),
        }
        reason = next((reason for reason, failed in checks.items() if failed), None)
        if reason is not None:
            raise UsageError(f"{text[:_MAX_CHARACTERS]!r} {reason}", "use words as documents have them")
    return Synonyms((first,), (*rest,)) if one_way else Synonyms((first, *rest), (first, *rest))


def validate_language(code: str) -> None:
    """Raise `UsageError` unless `code` is a language as in ISO 639-1."""
    if code not in LANGUAGES:
        raise UsageError(f"Unknown language: {code!r}.", "use a code such as de, fr or ja")


def validate_encoding(name: str) -> None:
    """Raise `UsageError` unless Python knows a charset called `name`."""
    try:
        # Decoding rejects codecs that are no charsets, such as base64. Empty data would not.
        b"    ".decode(name, "replace")
    except (LookupError, ValueError) as error:
        raise UsageError(
            f"Unknown charset: {name!r}.",
            "use a charset such as big5, gb18030 or shift_jis",
        ) from error


def require_unicode(*texts: str) -> None:
    """Raise `UsageError` if a text has a lone surrogate (half a character), which cannot be encoded."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            excerpt = text[max(0, error.start - 20) : error.start + 20]
            raise UsageError(f"not valid Unicode: {excerpt!r} contains half a character") from error


def require_file_name(path: str) -> None:
    """Raise `UsageError` if no file can have this path. Undecodable bytes are allowed in file names."""
    if "\0" in path:
        raise UsageError(f"no file can have this name: {path!r}", "leave out the null character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        require_unicode(path)


def nfc(text: str) -> str:
    """Return `text` in Unicode normal form C, which all paths in the index have."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
