"""The elements in a document that the page shows: a few tags of HTML, written anew, and formulas as MathML.

Other tags are left out, but not the text in them. The output is cleaned again with the whole page.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from html import escape, unescape

from latex2mathml.converter import convert

from qmd.text.markdown.links import HTML_TAG

INLINE = frozenset("a abbr b br code del em i img ins kbd mark q s small span strong sub sup u wbr".split())
#: Tags that begin a block if they begin a line.
BLOCKS = frozenset(
    "blockquote caption dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 hr img li ol p pre summary "
    "table tbody td tfoot th thead tr ul".split()
)
_ATTRIBUTE = re.compile(r"""\b([A-Za-z]{1,20})(?:=("[^"]{0,1000}"|'[^']{0,1000}'|[^\s"'>]{1,1000}))?""")
_KEPT: Mapping[str, frozenset[str]] = {
    "details": frozenset({"open"}),
    "ol": frozenset({"start"}),
    "td": frozenset({"colspan", "rowspan"}),
    "th": frozenset({"colspan", "rowspan"}),
}
#: The policy of the page allows no style attributes, so the alignment becomes a class.
_ALIGNED = frozenset({"left", "right", "center"})
_STYLED = re.compile(r"(?:text-align|float):[ \t]?([a-z]{4,6})\b")

#: Elements whose end need not be written, or that have none.
_ENDED = frozenset("p li dt dd tr td th thead tbody tfoot br hr wbr".split())
#: Elements that name a file, and those whose content is not for readers.
_FILES = frozenset("img audio video source".split())
_HIDDEN_END = re.compile(r"</(svg|script|style|template)\s*>", re.I)
#: Elements that are often not closed. Another unknown name that nothing closes, such as `<T>`, is a word.
_UNCLOSED = frozenset("area base col embed font iframe input link meta param script style svg track".split())
#: Elements that are open inside of each other. Cleaning takes longer with each.
MAX_OPEN = 50
_CLOSED = re.compile(r"</([A-Za-z][A-Za-z0-9-]*)")
_NEXT = re.compile(rf"<!--|{HTML_TAG.pattern}")

#: Returns the HTML of a link or a file from its attributes.
Address = Callable[[Mapping[str, str]], str]


class Tags:
    """Writes the tags of a text anew, and leaves out those that documents may not use, but not their text."""

    def __init__(self, source: str, link: Address, file: Address) -> None:
        self._link, self._file = link, file
        self._depth = 0
        self._closed = frozenset(match[1].lower() for match in _CLOSED.finditer(source))
        self._hidden: dict[str, list[int]] = {}  # the ends of elements whose content is not for readers
        for match in _HIDDEN_END.finditer(source):
            self._hidden.setdefault(match[1].lower(), []).append(match.end())

    def html(self, match: re.Match[str]) -> str:
        """Return a tag that `HTML_TAG` matches."""
        closing, name, rest = match[1], match[2].lower(), match[3]
        given = {each.lower(): unescape(value.strip("\"'")) for each, value in _ATTRIBUTE.findall(rest)}
        if name == "center":
            name, given = "div", {"align": name}
        if styled := _STYLED.search(given.get("style", "").lower()):
            given.setdefault("align", styled[1])
        if name in _FILES:
            return self._file(given) if given.get("src") else ""
        if name not in INLINE and name not in BLOCKS:
            is_word = not (
                closing or rest.strip() or match[0].endswith("/>") or name in _UNCLOSED | self._closed
            )
            return escape(match[0], False) if is_word else ""
        if name not in _ENDED:
            self._depth = max(0, self._depth + (-1 if closing else 1))
            if self._depth + bool(closing) > MAX_OPEN:
                return ""
        if closing:
            return f"</{name}>"
        if name == "a":
            return self._link(given)
        kept = {attribute: value for attribute, value in given.items() if attribute in _KEPT.get(name, ())}
        if (side := given.get("align", "").lower()) in _ALIGNED:
            kept["class"] = side
        attributes = "".join(f' {key}="{escape(value)}"' for key, value in kept.items())
        return f"<{name}{attributes}>"

    def hidden(self, match: re.Match[str], at: int) -> int:
        """Return the end of an element whose content is not shown, if its tag ends at `at`; 0 for others."""
        ends = [] if match[1] or match[0].endswith("/>") else self._hidden.get(match[2].lower(), [])
        place = bisect_right(ends, at)
        return ends[place] if place < len(ends) else 0

    def block(self, text: str, base: int, at: int = 0) -> tuple[str, int]:
        """Return a block of HTML that begins at `base`, from `at` on, without comments; and its end."""
        parts: list[str] = []
        last_comment = text.rfind("-->")
        while match := _NEXT.search(text, at):
            parts.append(escape(unescape(text[at : match.start()]), False))
            at = match.end()
            if match[0] != "<!--":
                hidden = self.hidden(match, base + at)
                parts.append("" if hidden else self.html(match))
                at = hidden - base if hidden else at
            elif at <= last_comment:
                at = text.find("-->", at) + 3
            else:
                parts.append("&lt;!--")
        return "".join((*parts, escape(unescape(text[at:]), False))), base + at


#: Longer formulas are shown as they are written.
_MAX_TEX = 5_000
#: The elements of MathML that the library writes, and their attributes that change its look.
MATH_ELEMENTS = frozenset(
    "math mrow mi mn mo mtext mspace msub msup msubsup munder mover munderover mfrac msqrt mroot mtable mtr "
    "mtd mlabeledtr mstyle mpadded mphantom menclose".split()
)
_SHARED = {"mathvariant", "displaystyle", "scriptlevel"}
MATH_ATTRIBUTES: dict[str, set[str]] = {
    "math": {"display"},
    **dict.fromkeys(MATH_ELEMENTS - {"math"}, _SHARED),
    "mo": _SHARED | {"stretchy", "fence", "form", "separator", "lspace", "rspace", "minsize", "maxsize"},
    "mfrac": _SHARED | {"linethickness"},
    "mspace": _SHARED | {"width", "height", "depth", "linebreak"},
    "mtable": _SHARED | {"columnalign", "rowspacing", "columnspacing", "columnlines", "rowlines", "frame"},
    "mtd": _SHARED | {"columnalign"},
    "mover": _SHARED | {"accent"},
    "munder": _SHARED | {"accentunder"},
    "menclose": _SHARED | {"notation"},
}


def mathml(tex: str, *, block: bool) -> str | None:
    """Return a formula as an element of MathML; None if it is too long, or the library cannot read it."""
    if len(tex) > _MAX_TEX:
        return None
    try:
        return convert(tex, display="block" if block else "inline")
    except Exception:  # noqa: BLE001 - whatever a document makes the library raise, its source is shown
        return None
