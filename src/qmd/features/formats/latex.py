"""LaTeX: the text as it is written, with its sections and labels. No command of it is run or read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from qmd.sources.formats.base import RawFile
from qmd.sources.formats.parts import Parts
from qmd.text.outline import first_heading, one_line
from qmd.text.spans import Closed
from qmd.types import Extracted, Link
from qmd.types.structure import Edit, Heading

name = "latex"
version = 1
media_type = "text/x-tex"

_LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
_INNER = r"(?:[^{}\\]|\\.|\{(?:[^{}\\]|\\.|\{[^{}]{0,300}\}){0,500}\}){0,1000}"
_HEADING = re.compile(
    rf"\\({'|'.join(_LEVELS)})\*?[ \t]*(?:\[[^\[\]\n]{{0,300}}\][ \t]*)?\{{({_INNER})\}}"
    r"(?:\s{0,9}\\label\{([^{}\n]{1,200})\})?"
)
_FIELD = re.compile(rf"\\(title|author|date|keywords)[ \t]*(?:\[[^\[\]\n]{{0,300}}\])?\{{({_INNER})\}}")
_LINK = re.compile(r"\\(?:(href|url)\{([^{}\n]{1,1000})\}|(input|include|subfile)\{([^{}\n]{1,500})\})")
#: Comments, and code.
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_CODE = re.compile(r"\\begin\{(verbatim\*?|lstlisting|minted|Verbatim|alltt)\}")
#: Commands whose arguments are no words of the text.
_SILENT = re.compile(
    r"\\(?:begin|end|label|ref|eqref|autoref|cref|Cref|pageref|cite[a-z]*|nocite|includegraphics|input|include"
    r"|subfile|usepackage|documentclass|bibliography|bibliographystyle|addbibresource|vspace|hspace|newcommand"
    r"|renewcommand|setlength|setcounter|hypersetup|graphicspath|pagestyle|thispagestyle|url|href|color)\b\*?"
    r"(?:[ \t]*\[[^\[\]\n]{0,500}\]){0,3}(?:\{[^{}\n]{0,1000}\})?(?:\[[^\[\]\n]{0,500}\])?"
)
#: Accents, which are in words: `M\"uller`, `Erd\H{o}s`, `Stra{\ss}e`.
_ACCENT = re.compile(r"\{?\\(?:[\"'`^~=.][ ]?|[HcvurkbdtT](?=\{))\{?(?=\\?[A-Za-z])|(?<=[a-z])\}(?=[a-z])")
_COMMAND = re.compile(r"\\[A-Za-z@]{1,60}\*?(?:\[[^\[\]\n]{0,300}\])?|\\[\\,;:! ]|[{}~&]")


def extract(file: RawFile) -> Extracted:
    text = file.text()
    parts = Parts()
    begin = text.find("\\begin{document}")
    parts.verbatim += _code(text)
    code = Closed(parts.verbatim)
    parts.unread += [match.span() for match in code.matches(_COMMENT, text, 0)]
    if begin > 0:
        parts.unread = [(0, begin), *(span for span in parts.unread if span[0] > begin)]
    closed = Closed([*parts.verbatim, *parts.unread])
    for match in closed.matches(_HEADING, text, max(begin, 0)):
        level, words = _LEVELS[match[1]], match.span(2)
        if match[2].strip():
            parts.headings.append(Heading(match.start(), level, *words, match[3] or ""))
    parts.edits += [Edit(*match.span(), "joined") for match in closed.matches(_ACCENT, text, 0)]
    silent = [match.span() for match in closed.matches(_SILENT, text, 0)]
    others = Closed([*parts.verbatim, *parts.unread, *silent, *(edit[:2] for edit in parts.edits)])
    parts.markup([*silent, *(match.span() for match in others.matches(_COMMAND, text, 0))])
    links = tuple(_link(text, match) for match in closed.matches(_LINK, text, 0))
    stated = {match[1]: _plain(match[2].replace("\\and", ";")) for match in _FIELD.finditer(text)}
    structure = parts.structure(text)
    title = stated.pop("title", "") or first_heading(text, structure)
    fields = {key: tuple(_values(key, value)) for key, value in stated.items()}
    return Extracted(text, title, fields, links, structure=structure)


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Yield the [start, end) of code. What is not closed is text."""
    done, open_ended = 0, set[str]()
    for match in _CODE.finditer(text):
        if match.start() < done or match[1] in open_ended:
            continue
        ending = f"\\end{{{match[1]}}}"
        end = text.find(ending, match.end())
        if end < 0:
            open_ended.add(match[1])
        else:
            done = end + len(ending)
            yield match.start(), done


def _plain(words: str) -> str:
    """Return the words of an argument without commands."""
    return one_line(_COMMAND.sub(" ", _SILENT.sub(" ", _ACCENT.sub("", words))).replace(" ,", ","))


def _values(key: str, value: str) -> list[str]:
    if key == "date":
        return [] if value == "today" else [value]
    return [each.strip() for each in re.split(r"\s+and\s+|,|;", value) if each.strip()]


def _link(text: str, match: re.Match[str]) -> Link:
    line = text.count("\n", 0, match.start()) + 1
    if match[1]:
        return Link(match[2], "", line, "url" if "://" in match[2] else "markdown")
    target = match[4] if "." in match[4].rpartition("/")[2] else f"{match[4]}.tex"
    return Link(target, "", line, "embed")
