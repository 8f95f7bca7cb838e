"""The outline of a Markdown document: its headings, and the sections below them."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

from qmd.text.regex import lazy
from qmd.text.values import fold
from qmd.types import Section
from qmd.types.structure import Heading, Structure

#: The lowest level of headings; paragraphs that begin with a number are below.
MAX_LEVEL = 6
MAX_TITLE = 300  # characters; a longer heading is a paragraph without line breaks
# Control characters other than white space, direction overrides, byte-order marks, lone surrogates.
_CONTROLS = lazy("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+")
_MARKS = lazy(r"[\\`*_~\[{<]")
_IMAGE = lazy(r"!\[\[[^\[\]]*\]\]|!\[([^\[\]]*)\]\([^()]*\)")
_LINK = lazy(
    r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]"
    r"|\[([^\[\]]*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])"
)
_HEADING_ID = lazy(r"(?<![ \t])[ \t]*+\{(?:/\*[ \t]*+)?(?:#(?P<id>[^\s{}]++))?[#.:]?[^{}]*+\}\Z")
#: An anchor in HTML, which the heading states for itself.
_HTML_ID = lazy(r"<(?:a|span|h[1-6])\s[^<>]{0,200}?\b(?:id|name)=[\"']?(?P<id>[^\s\"'<>]{1,200})")
#: Tags of HTML that are markup in a heading, and not a word such as the `<T>` of a type.
_TAG = (
    r"</?(?:a|abbr|b|br|center|cite|code|del|div|em|font|i|img|ins|kbd|mark|p|picture|q|s|samp|small|source|span|strong"
    r"|sub|sup|svg|u|var|wbr)(?=[\s/>])[^<>]{0,500}>|<[A-Za-z][^<>]{0,500}/>"
)
_INLINE = lazy(
    r"(?<!`)(`++)(.+?)(?<!`)\1(?!`)"
    r"|\\([!-/:-@\[-`{-~])"
    r"|(\*\*\*?|~~)(?=\S)(.+?)(?<=\S)\4"
    r"|(?<!\w)(\*|_{1,3})(?=\S)(.+?)(?<=\S)\6(?!\w)"
    rf"|({_TAG})"
)
_ENTITY = lazy(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
#: The number that sites append to an anchor if an earlier heading has the same.
_REPEATED = lazy(r"(?P<base>.+)[-_](?P<number>\d{1,4})")
_SIGNS_IN_LINKS = lazy(r"""[!"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\]""")
_SLUG = lazy(r"[^\w]+")
_HYPHENS = lazy(r"-{2,}")


def sections(text: str, structure: Structure) -> tuple[Section, ...]:
    """Return the sections of a text in order: from its headings, or without any its numbered paragraphs."""
    headings: list[tuple[int, int, str, str]] = []
    line, at = 1, 0
    own = [heading for heading in structure.headings if heading.level <= MAX_LEVEL]
    for heading, words in zip(own, titles(text, structure, own), strict=True):
        line += text.count("\n", at, heading.start)
        at = heading.start
        headings.append((line, heading.level, words, heading.id))
    if not headings:
        from qmd.text.numbers import numbered_lines  # updates need no numbers

        for start, stated, number in sorted(numbered_lines(text)):
            line += text.count("\n", at, start)
            at = start
            words = stated or text[start : start + MAX_TITLE].split("\n")[0]
            headings.append((line, min(MAX_LEVEL, 1 + number.value.count(".")), one_line(words), ""))
    total = line + text.count("\n", at) + (not text.endswith("\n"))
    last = max(total - 1, line) if headings else 0
    found: list[Section] = []
    # From the last to the first: a section ends before the next heading of its level or above.
    ends: dict[int, int] = {}
    for first, level, heading_words, stated in reversed(headings):
        end = min((start - 1 for other, start in ends.items() if other <= level), default=last)
        found.append(Section(heading_words, level, first, end, stated))
        ends = {other: start for other, start in ends.items() if other < level} | {level: first}
    return tuple(reversed(found))


def section_path(text: str, structure: Structure, place: int) -> str:
    """Return the headings above a place, from the highest level down: `Operations > Backups`; "" if none."""
    line = text.rfind("\n", 0, place) + 1
    above: list[Heading] = []
    for heading in structure.headings:
        if heading.start > line:
            break
        if heading.level <= MAX_LEVEL:
            above = [other for other in above if other.level < heading.level]
            above.append(heading)
    return " > ".join(titles(text, structure, above))


def first_heading(text: str, structure: Structure) -> str:
    """Return the first heading of a text, of any level; "" if there is none."""
    first = next((each for each in structure.headings if each.level <= MAX_LEVEL), None)
    return titles(text, structure, [first])[0] if first else ""


def titles(text: str, structure: Structure, headings: Sequence[Heading]) -> list[str]:
    """Return the words of headings in one line each, without their markup, which other formats name."""
    raw = (text[each.low : each.high] for each in headings)
    if structure.markdown or not headings:
        return [*map(heading_text, raw)]
    edits = [edit for edit in structure.all_edits() if edit.kind in ("markup", "joined")]
    starts = [edit.start for edit in edits]
    found = list[str]()
    for heading in headings:
        inside = edits[bisect_left(starts, heading.low) : bisect_left(starts, heading.high)]
        edges = [heading.low, *(edge for edit in inside for edge in edit[:2]), heading.high]
        found.append(
            one_line("".join(text[low:high] for low, high in zip(edges[::2], edges[1::2], strict=True)))
        )
    return found


def find_section(sections: Sequence[Section], address: str) -> Section | None:
    """Return the first section at an address: a heading, headings from above as `a/b` or `a#b`, or an anchor.

    It may also be the number of the section: `§ 433`, `9.1`, `section-9.1`.
    Headings are compared without regard to case. An anchor is what the heading states, or what GitHub, GitLab
    and generators of sites make of it: `überblick--co` of "Überblick & Co.", `setup-1` of the second "Setup".
    """
    name = address.strip("#").strip()
    whole = next((section for section in sections if section.id and section.id == name), None)
    whole = whole or next((section for section in sections if fold(section.heading) == fold(name)), None)
    repeated = _REPEATED.fullmatch(name)
    if whole is None and repeated:
        whole = _numbered(sections, fold(name))
    whole = whole or _first(sections, [name])
    if whole is not None:
        return whole
    for separator in "#/":
        headings = [heading.strip() for heading in address.split(separator) if heading.strip()]
        if len(headings) > 1 and (found := _first(sections, headings)) is not None:
            return found
    if repeated:
        same = [section for section in sections if _is_called(section, repeated["base"])]
        if int(repeated["number"]) < len(same):
            return same[int(repeated["number"])]
    if numbered := _with_number(sections, name):
        return numbered
    if "%" in name:
        from urllib.parse import unquote  # addresses that are copied from a browser

        return find_section(sections, unquote(name).replace("%", ""))
    # Signs or components at the end of a heading leave the blank before them.
    return find_section(sections, bare) if (bare := name.strip("-")) and bare != name else None


def _numbered(sections: Sequence[Section], anchor: str) -> Section | None:
    """Return the section with an anchor, as GitHub numbers anchors that an earlier heading has."""
    taken: dict[str, int] = {}
    for section in sections:
        base = name = anchors(fold(section.heading))[0]
        while name in taken:
            taken[base] += 1
            name = f"{base}-{taken[base]}"
        if name == anchor:
            return section
        taken[name] = 0
    return None


def _with_number(sections: Sequence[Section], address: str) -> Section | None:
    """Return the first section with the number that an address is, one that states its kind before others."""
    from qmd.text.numbers import first_number, whole_number  # updates need no numbers

    asked = whole_number(address)
    if asked is None:
        return None
    alike = [
        (asked.likeness(number), section)
        for section in sections
        if (number := first_number(section.heading)) is not None
    ]
    likeness, best = max(alike, key=lambda each: each[0], default=(0.0, None))
    return best if likeness else None


def _first(sections: Sequence[Section], headings: Sequence[str]) -> Section | None:
    above: list[Section] = []
    for section in sections:
        *parents, last = headings
        if parents:
            above = [other for other in above if other.level < section.level]
        if _is_called(section, last):
            chain = iter(above)
            if all(any(_is_called(other, parent) for other in chain) for parent in parents):
                return section
        above.append(section)
    return None


def _is_called(section: Section, heading: str) -> bool:
    return not _written(heading).isdisjoint(_names(section.heading))


@lru_cache(maxsize=1_000)
def _written(heading: str) -> frozenset[str]:
    """Return a heading in an address, folded: as it is written, and without its marks."""
    return frozenset((fold(heading), fold(heading_text(heading)), _in_link(fold(heading))))


@lru_cache(maxsize=10_000)
def _names(heading: str) -> frozenset[str]:
    """Return the names of a heading, folded: its text, and its anchors."""
    name = fold(heading)
    return frozenset(filter(None, (name, _in_link(name), *anchors(name))))


def _in_link(heading: str) -> str:
    """Return a heading as Obsidian writes it into links, with blanks in place of signs."""
    return " ".join(_SIGNS_IN_LINKS.sub(" ", heading).split())


def anchors(heading: str) -> tuple[str, ...]:
    """Return the anchors of a folded heading.

    They are those of GitHub and Docusaurus, of GitLab, of words alone, and of ASCII alone, as in MkDocs.
    """
    github = "".join(
        "-" if character == " " else character
        for character in heading
        if character.isalnum() or character in " -_" or unicodedata.category(character)[0] == "M"
    )
    words = _SLUG.sub("-", heading).strip("-")
    gitlab = _HYPHENS.sub("-", github)
    decomposed = "" if words.isascii() else unicodedata.normalize("NFKD", gitlab)
    return github, gitlab, words, decomposed.encode("ascii", "ignore").decode().strip("-")


def stated_id(heading: str) -> str:
    """Return the anchor that a heading states; "" if it states none."""
    match = _HEADING_ID.search(heading.rstrip("# \t")) or _HTML_ID.search(heading)
    return (match["id"] or "") if match else ""


def heading_text(content: str) -> str:
    title = content[: 4 * MAX_TITLE].strip()
    bare = title.rstrip("#")
    if bare != title and (not bare or bare[-1] in " \t"):
        title = bare.rstrip()
    if _MARKS.search(title):
        title = _without_marks(title[: 2 * MAX_TITLE])
    if "&" in title:
        title = _ENTITY.sub(_character, title)
    return one_line(title)


def _without_marks(title: str) -> str:
    if "{" in title:
        title = _HEADING_ID.sub("", title)
    if "[" in title:
        without_images = _LINK.sub(_link_text, _IMAGE.sub("", title))
        title = without_images if without_images.strip() else _LINK.sub(_link_text, _IMAGE.sub(r"\1", title))
    return _INLINE.sub(_inner_text, title)


def _character(match: re.Match[str]) -> str:
    from html import unescape  # few headings have entities

    return unescape(match[0])


def _link_text(match: re.Match[str]) -> str:
    return match[match.lastindex or 0]


def _inner_text(match: re.Match[str]) -> str:
    code, escaped = match[2], match[3]
    if code is not None:
        return code.strip()
    return escaped or _INLINE.sub(_inner_text, match[5] or match[7] or "")


def one_line(text: str) -> str:
    if not text.isprintable():
        text = _CONTROLS.sub("", text[: 4 * MAX_TITLE])
    return " ".join(text[: 4 * MAX_TITLE].split())[:MAX_TITLE].rstrip()
