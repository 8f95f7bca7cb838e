"""Find the citations of a text: paths, addresses, docids, wikilinks and links, with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote, unquote

from msgspec import Struct
from msgspec.structs import replace

from qmd.text.markdown.reading import read
from qmd.text.regex import lazy
from qmd.text.tokens import UNSPACED

Form = Literal["path", "code", "docid", "uri", "wikilink", "link"]

#: Citations of a text beyond these are an error of the caller.
MAX_CITATIONS = 5_000
_CODE = r"(?P<code>(?<!`)(?P<ticks>`{1,3})(?!`)(?P<inner>[^`\n]{1,1000})(?P=ticks)(?!`))"
_WIKILINK = r"(?P<wikilink>\[\[(?P<note>[^\[\]\n|]{1,1000})(?:\|[^\[\]\n]{0,1000})?\]\])"
_LINK = (
    r"(?P<link>\]\([ \t]{0,9}(?P<dest><[^<>\n]{1,1000}>|(?:[^\s()<>]|\([^\s()]{0,200}\)){1,1000}+)"
    r"(?:\s\"[^\"\n]{0,300}\")?[ \t]{0,9}\))"
)
_URI = r"(?P<uri>qmd://[^\s<>\"“”|`]{1,1000})"
_DOCID = r"(?P<docid>(?<![\w&/#.])#[0-9a-fA-F]{6,64}(?![\w-])(?::\d{1,9}(?:[:-]\d{1,9})?(?!\d))?)"
#: No quotation marks and brackets, which stand around paths more often than in them.
_TOKEN = r"(?P<path>[^\s<>\"`|\[\](){}“”„‟«»「」『』‘，。；：！？、（）【】《》]{3,1000}+)"
_FORMS = lazy(f"{_CODE}|{_WIKILINK}|{_LINK}|{_URI}|{_DOCID}|{_TOKEN}")
#: A path with a suffix, and a place: `:12`, `:12-14`, `:12:3`, `:p12`, `#L12-L14`, `#heading`.
_PATH = lazy(
    r"(?P<path>[^#]*?[^#/\s]\.(?P<suffix>[A-Za-z0-9]*[A-Za-z][A-Za-z0-9]*))"
    r"(?P<place>:\d{1,9}(?:[-–:]\d{1,9})?|:[a-z]{1,20}\d{1,9}(?:[-–]\d{1,9})?|\#.+)?"
)
_PLAIN_PATH = lazy(r"(?P<path>(?=[^#:/]*/)[^#:]*[^#:/])(?P<place>:\d{1,9}(?:[-–:]\d{1,9})?)")
_LINES = lazy(r"#L(\d{1,9})(?:-L?(\d{1,9}))?\Z")
_FOREIGN = lazy(
    r"[a-zA-Z][a-zA-Z0-9+.-]{1,30}://|(?:mailto|tel|data|javascript|obsidian|file):|//|www\.", re.I
)
_AFTER = ".,;:!?*_~'’…"
#: Suffixes of documents in prose. A path without a place that leads nowhere counts only with one of them.
_DOCUMENTS = frozenset("md markdown txt pdf docx pptx xlsx odt epub html htm rst org adoc ipynb eml".split())
#: Suffixes of files that documents show, but which are none.
_MEDIA = frozenset("png jpg jpeg gif webp svg avif bmp ico mp3 mp4 wav ogg webm mov m4a flac css js".split())
#: A path with lines in a text without spaces, such as `a.md:6` in `a.md:6说`.
_FOLLOWED = lazy(rf".*?\.[A-Za-z0-9]{{1,10}}(?::[a-z]{{0,20}}\d{{1,9}}(?:[-–:]\d{{1,9}})?)?(?=[{UNSPACED}])")
_UNSPACED_START = lazy(rf"[{UNSPACED}]")


class Citation(Struct, frozen=True):
    """Something in a text that looks like a citation.

    Attributes:
        start: Its offset; that of a link is the beginning of its text.
        end: The offset after it.
        form: How it is written.
        path: The document, as references name it.
        place: The place in it, as written: `:12-14`, `#Heading`, or "".
        at: The offset of the written reference.
        to: The offset after the written reference.
        suffix: The suffix of the path, in lower case.
    """

    start: int
    end: int
    form: Form
    path: str
    place: str
    at: int
    to: int
    suffix: str = ""

    @property
    def certain(self) -> bool:
        """True if it is meant as a citation even if it leads nowhere."""
        if self.suffix in _MEDIA and not self.place:
            return False
        match self.form:
            case "uri" | "wikilink":
                return True
            case "docid":
                digits = self.path[1:]
                return bool(self.place) or not (digits.isdigit() or digits.isalpha())
            case "link":
                return not self.suffix or self.suffix in _DOCUMENTS
        return bool(self.place) and (self.suffix in _DOCUMENTS or "/" in self.path or self.form == "code")

    @property
    def possible(self) -> bool:
        """True if it may be meant as a citation, if a quotation belongs to it."""
        return self.certain or self.form == "docid" or self.suffix in _DOCUMENTS

    @property
    def reference(self) -> str:
        """The reference as `Index.get` takes it."""
        if lines := _LINES.match(self.place):
            return f"{self.path}:{lines[1]}-{lines[2] or lines[1]}"
        place = unquote(self.place) if self.form == "link" else self.place
        return self.path + place.replace("–", "-")

    @property
    def lines_only(self) -> bool:
        """True if the place is a line of the text: `:12`, `:12-14`, `#L12`."""
        return bool(self.place[1:2].isdigit() and self.place[0] == ":") or bool(_LINES.match(self.place))


def citations(text: str) -> list[Citation]:
    """Return the likely citations of a text, in order, outside of fenced code."""
    found: list[Citation] = []
    at = 0
    for low, high in [*read(text).structure.verbatim_spans(), (len(text), len(text))]:
        found += _between(text, at, low)
        at = high
    return found


def _between(text: str, low: int, high: int) -> Iterator[Citation]:
    for match in _FORMS.finditer(text, low, high):
        form = match.lastgroup
        start, end = match.span()
        citation: Citation | None = None
        if match["code"] is not None:
            citation = _of_code(match)
        elif match["wikilink"] is not None:
            citation = _of_reference(match["note"].rstrip("\\"), "wikilink", start, end, match.start("note"))
        elif match["link"] is not None:
            citation = _of_link(text, match, low)
        elif form == "uri":
            citation = _of_uri(text, start, end)
        elif form == "docid":
            path, colon, lines = match[0].partition(":")
            citation = Citation(start, end, "docid", path, colon + lines, start, end)
        elif "://" not in match[0]:
            citation = _of_token(match[0], start)
        if citation is not None:
            yield citation


def _of_code(match: re.Match[str]) -> Citation | None:
    """Return the citation that is all of an inline code."""
    inner = match["inner"].strip()
    start = match.start("inner") + match["inner"].index(inner) if inner else 0
    found: Citation | None
    if inner.startswith("qmd://"):
        found = _of_uri(inner, 0, len(inner))
    elif re.fullmatch(_DOCID, inner):
        path, colon, lines = inner.partition(":")
        found = Citation(0, 0, "docid", path, colon + lines, 0, len(inner))
    else:
        found = None if "://" in inner else _split(inner, "code")
    if found is None:
        return None
    return replace(found, start=match.start(), end=match.end(), at=start, to=start + found.to)


def _of_uri(text: str, start: int, end: int) -> Citation:
    written = text[start:end].rstrip(_AFTER)
    # A bracket around the address is no part of it, and one in it has a partner.
    for opening, closing in ("()", "[]", "（）", "「」"):
        while written.endswith(closing) and written.count(closing) > written.count(opening):
            written = written[:-1].rstrip(_AFTER)
    cut = re.search(r"[，。；！？、）】」』]", written)
    written = written[: cut.start()] if cut else written
    split = re.fullmatch(
        r"(?P<path>[^#]+?)(?P<place>:\d{1,9}(?:[-:]\d{1,9})?|:[a-z]{1,20}\d{1,9}(?:-\d{1,9})?|#.+)?", written
    )
    path, place = (split["path"], split["place"] or "") if split else (written, "")
    return Citation(start, start + len(written), "uri", path, place, start, start + len(written))


def _of_link(text: str, match: re.Match[str], low: int) -> Citation | None:
    """Return the citation of a Markdown link that leads to no web page. It begins with the link's text."""
    target, at = match["dest"], match.start("dest")
    if target.startswith("<"):
        target, at = target[1:-1], at + 1
    opening = _opening(text, match.start(), max(low, match.start() - 1_000))
    is_image = opening > low and text[opening - 1] == "!"
    if target.startswith("qmd://"):
        found = _of_uri(target, 0, len(target))
        return replace(found, start=opening, end=match.end(), at=at, to=at + found.to)
    if _FOREIGN.match(target) or target.startswith("#") or is_image:
        return None
    return _of_reference(target, "link", opening, match.end(), at)


def _opening(text: str, closing: int, low: int) -> int:
    """Return the offset of the bracket that a closing one belongs to."""
    depth = 0
    for at in range(closing, low - 1, -1):
        depth += (text[at] == "]") - (text[at] == "[")
        if not depth:
            return at
    return closing


def _of_reference(written: str, form: Form, start: int, end: int, at: int) -> Citation | None:
    """Return the citation of a wikilink or link, whose target is a reference and nothing else."""
    found = _split(written, form)
    if found is None:
        path, mark, heading = written.partition("#")
        if not path.strip():
            return None
        path = path.strip() if form == "wikilink" else unquote(path)
        found = Citation(0, 0, form, path, mark + heading.strip(), 0, len(written))
    elif form == "link":
        found = replace(found, path=unquote(found.path))
    return replace(found, start=start, end=end, at=at, to=at + found.to)


def _of_token(token: str, start: int) -> Citation | None:
    """Return the citation of a word that is a path, without the marks around it."""
    written = token.lstrip("*_'‘(") if token[0] in "*_'‘(" else token
    start += len(token) - len(written)
    written = written.rstrip(_AFTER)
    found = _split(written, "path") if "." in written or ("/" in written and ":" in written) else None
    return found and replace(found, start=start, end=start + found.to, at=start, to=start + found.to)


def _split(written: str, form: Form) -> Citation | None:
    """Split a path with a suffix, or a path of several segments with lines, from its place."""
    match = _PATH.fullmatch(written) or _PLAIN_PATH.fullmatch(written)
    if match is None and form == "path" and (start := _FOLLOWED.match(written)):
        match = _PATH.fullmatch(start[0])
    if match is None:
        return None
    suffix = match["suffix"].lower() if "suffix" in match.groupdict() else ""
    return Citation(0, 0, form, match["path"], match["place"] or "", 0, match.end(), suffix)


def shorter_paths(path: str) -> Iterator[str]:
    """Yield the ends of a path that begins with text in a script without spaces, such as `见notes/a.md`."""
    for at in range(1, min(len(path), 20)):
        if not _UNSPACED_START.match(path[at - 1]):
            return
        yield path[at:]


def place_at(citation: Citation, lines: tuple[int, int], address: str, heading: str) -> str | None:
    """Return the place of a citation in the form in which it is written, for other lines.

    Args:
        citation: The citation.
        lines: The new first and last line.
        address: The place in the source file, such as `p12`, or "".
        heading: The heading of the section with the lines, or "".
    """
    first, last = lines
    if found := _LINES.match(citation.place):
        end = f"-L{last}" if last > first or found[2] else ""
        return f"#L{first}{end}"
    if citation.place.startswith("#"):
        if not heading:
            return None
        return "#" + (quote(heading, safe="") if citation.form in ("link", "uri") else heading)
    if not citation.lines_only:
        return f":{address}" if address else None
    if citation.place.count(":") == 2:
        return f":{first}:{last - first + 1}"
    return f":{first}" if first == last else f":{first}-{last}"
