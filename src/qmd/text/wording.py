"""Numbers, sizes, times, names and texts of documents in a form that can be printed, and given to agents."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from qmd.text.regex import lazy
from qmd.text.uris import to_uri

# Control characters, line and paragraph separators, and characters that change the text direction.
_INVISIBLE = lazy("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Replace control characters, line breaks and direction marks by escape sequences."""
    return _INVISIBLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def exact(text: str) -> str:
    """Replace every character that is not printable, also an invisible one, by an escape sequence."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by escape sequences."""
    return text.encode("utf-8", "backslashreplace").decode()


def plain(text: str) -> str:
    """Replace control characters, line breaks, direction marks and runs of blanks by a space."""
    return " ".join(_INVISIBLE.sub(" ", text).split())


def plural(number: int, noun: str, *, separator: str = ",") -> str:
    """Return a number with its noun: `1 file`, `2,000 files`; without thousands `separator`: `2000 files`."""
    return f"{number:{separator}} {noun}{'' if number == 1 else 's'}"


def human_size(size: int) -> str:
    """Return a number of bytes in a unit that keeps it short: `1.5 MB`."""
    if size < 1024:
        return f"{size} B"
    value, units = size / 1024, ["KB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.1f} {units[0]}" if value < 9.95 else f"{value:.0f} {units[0]}"


def local_time(moment: str) -> str:
    """Return an ISO 8601 time in the local time zone, to the minute."""
    time = datetime.fromisoformat(moment)
    with suppress(OverflowError, ValueError, OSError):  # near the ends of the calendar
        time = time.astimezone()
    return time.isoformat(" ", "minutes")[:16]


def time_left(seconds: float | None) -> str:
    """Return an estimate: `about 3 min left`."""
    return "" if seconds is None else f"{about(seconds)} left"


def about(seconds: float) -> str:
    """Return an estimated duration: `about 3 min`."""
    if seconds < 60:
        return f"about {max(1, round(seconds))} s"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min"
    return f"about {seconds / 3600:.1f} h"


def duration(seconds: float) -> str:
    """Return a duration: `4.2 s`, `3 min 10 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


#: The beginnings of special tokens of models, and of elements that agents read as said by their own program.
#: Models take them for a change of the speaker (`<|im_end|>`, `[INST]`) if a program does not prevent it.
_TOKEN = lazy(
    r"<(?=[|｜]|<SYS>>|</?SYS>>|/?(?:s|bos|eos|pad|unk|mask|sep|cls|think|tool_\w{1,20}|tools?|function_\w{1,20}"
    r"|invoke|antml:\w{1,20}|(?:start|end|begin)_of_\w{1,20}|(?:BOS|EOS|START|END)\w{0,20}_TOKEN|system\w{0,4}"
    r"|system-reminder|user|assistant|human|instructions?|qmd-notes|reserved_\w{1,20}|unused\d{1,4})\s{0,4}/?>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|SYS|THINK|ARGS|CALL_ID)\])"
)
#: The beginning of any tag.
_TAG = lazy(r"<(?=[A-Za-z/!?])")
_HARMLESS = {"<": "&lt;", "[": "&#91;"}


def inert(text: str, *, tags: bool = False) -> str:
    """Return a text in which special tokens of models, and with `tags` all tags, are escaped as in HTML."""
    text = _TOKEN.sub(lambda match: _HARMLESS[match[0]], text) if "<" in text or "[" in text else text
    return _TAG.sub("&lt;", text) if tags else text


def escaped(text: str) -> str:
    """Return a text with its lines, in which control characters and tokens of models are escaped."""
    return inert("\n".join(visible(line.replace("\t", "    ")) for line in text.split("\n")))


def inert_address(address: str, *, tags: bool = False) -> str:
    """Return the address of a document as `get` takes it, with `qmd://` and percent signs if it is escaped.

    A place, as in `notes/a.md:12-30`, stays behind it.
    """
    if inert(address, tags=tags) == address:
        return address
    file, colon, place = address.rpartition(":")
    named = bool(colon) and "/" not in place and place[:1].isalnum() and "<" not in place and "[" not in place
    return f"{to_uri(file)}:{place}" if named else to_uri(address)
