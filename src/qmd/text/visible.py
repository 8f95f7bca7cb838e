"""Names and descriptions as part of one line: what would break or hide it is shown as escape sequences."""

from __future__ import annotations

import re

# Controls, line and paragraph separators, and what changes the direction of the text that follows.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text in one line: control characters, line breaks and marks of direction as escape sequences."""
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def plain(text: str) -> str:
    """The text in one line: all of them, and runs of blanks, are a space."""
    return " ".join(_UNSEEN.sub(" ", text).split())
