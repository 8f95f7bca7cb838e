"""The syntax of `qmd://` addresses, and of `path:from:count` and `path#heading` references, and addresses
that open a file in an editor.
"""

from __future__ import annotations

import re
import unicodedata

from qmd.text.regex import lazy

SCHEME = "qmd://"
MAX_LINE = 1_000_000_000  # larger numbers are reduced to this
#: The address that opens a file at a line unless `editor_uri` or QMD_EDITOR_URI is set.
DEFAULT_EDITOR = "vscode://file/{path}:{line}:{col}"
#: The value of `editor_uri` that turns links off.
NO_EDITOR = "none"
#: Schemes that open a file in an editor or a viewer. Others, such as `javascript:`, could run a program when
#: a result is clicked.
EDITOR_SCHEMES = frozenset(
    "file vscode vscode-insiders vscodium cursor windsurf zed idea pycharm webstorm jetbrains subl sublime "
    "txmt mvim nvim emacs org-protocol atom nova bbedit x-bbedit obsidian logseq http https".split()
)

# All characters except those that JavaScript's encodeURIComponent keeps, and the slash.
_RESERVED = lazy(r"[^A-Za-z0-9\-_.!~*'()/]+")
_ESCAPES = lazy(r"(?:%[0-9A-Fa-f]{2})+")
_LINES = lazy(r"L(\d{1,9})(?:C\d{1,9})?(?:-L?(\d{1,9})(?:C\d{1,9})?)?")


def encode_path(path: str) -> str:
    """Percent-encode the segments of a path as JavaScript's encodeURIComponent does; keep the slashes."""
    return _RESERVED.sub(_encode, path)


def to_uri(path: str) -> str:
    """Return the address of a display path, such as `qmd://notes/a%20b.md` for `notes/a b.md`."""
    return SCHEME + encode_path(path)


def is_uri(reference: str) -> bool:
    """Return whether a reference starts with `qmd://`, in any case."""
    return reference[: len(SCHEME)].lower() == SCHEME


def parse_uri(uri: str) -> str:
    """Return the display path of a `qmd://` address: decoded, in NFC, without empty and `.` segments.

    `%2F` is a slash. A `%` that starts no valid escape is kept, so that addresses typed by hand work. `..`
    and NUL are kept and not interpreted, because no document has a path with them. Raises `ValueError` if the
    address does not start with `qmd://`.
    """
    if not is_uri(uri):
        raise ValueError(f"not a {SCHEME} address: {uri[:200]!r}")
    decoded = _ESCAPES.sub(_decode, uri[len(SCHEME) :])
    segments = [segment for segment in decoded.split("/") if segment not in ("", ".")]
    return unicodedata.normalize("NFC", "/".join(segments))


def split_location(reference: str) -> tuple[str, int | None, int | None]:
    """Split `path:from:count`, `path:from-to` or `path:from` into (path, from, count). Missing ones are None.

    Numbers consist of ASCII digits and are at most `MAX_LINE`. The name of a file may end in `:12`, so the
    caller should look for the whole reference first.
    """
    path, last = _split_number(reference)
    if last is None:
        path, dash, end = reference.rpartition("-")
        path, first = _split_number(path)
        last = _number(end)
        if not dash or first is None or last is None:
            return reference, None, None
        return path, first, last - first + 1
    shorter, first = _split_number(path)
    if first is None:
        return path, last, None
    return shorter, first, last


def split_lines(fragment: str) -> tuple[int, int] | None:
    """Return the first line and the number of lines of `L10-L20` or `L10`, as addresses of code hosts end."""
    match = _LINES.fullmatch(fragment)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    return first, last - first + 1


def split_fragment(reference: str) -> tuple[str, str]:
    """Split `path#heading` into path and heading; either may be empty."""
    path, _, fragment = reference.partition("#")
    return path.strip(), fragment.strip()


def _split_number(reference: str) -> tuple[str, int | None]:
    path, _, digits = reference.rpartition(":")
    number = _number(digits) if path else None
    return (reference if number is None else path), number


def _number(digits: str) -> int | None:
    if not (digits.isascii() and digits.isdigit()):
        return None
    significant = digits.lstrip("0") or "0"
    return int(significant) if len(significant) <= len(str(MAX_LINE)) - 1 else MAX_LINE


def _encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


def _decode(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


def split_listing(target: str | None) -> tuple[str, str]:
    """Split the target of a listing, `notes/work`, into collection and folder; "" stands for all."""
    path = (parse_uri(target) if is_uri(target) else target).strip("/") if target else ""
    collection, _, folder = path.partition("/")
    return collection, folder


def is_editor(template: str) -> bool:
    """Return whether the scheme of a template is that of a known editor."""
    return template.partition(":")[0].lower() in EDITOR_SCHEMES


def editor_address(template: str, path: str, line: int) -> str:
    """Fill in the fields of `editor_uri`: {path}, percent-encoded, {line}, and {col}, which is 1.

    A path starts with a slash. A slash before {path} is therefore dropped in `file/{path}`, but kept in
    `file://{path}`. If {path} is the whole value of a parameter, as in `obsidian://open?path={path}`, slashes
    are encoded too: Obsidian asks for that, and others decode it.
    """
    encoded = encode_path(path)
    filled = re.sub(r"(?<!:/)/\{path\}", "{path}", template)
    filled = re.sub(r"=\{path\}(?=&|$)", "=" + encoded.replace("/", "%2F"), filled).replace("{path}", encoded)
    return re.sub(r"\{col(umn)?\}", "1", filled.replace("{line}", str(line)))
