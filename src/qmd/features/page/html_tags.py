"""The elements in a document that the page shows: a few tags of HTML, written anew, and formulas as MathML.

Everything else that looks like a tag is text. The output of this module is cleaned again with the whole page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from html import escape, unescape

from latex2mathml.converter import convert

from qmd.text.links import HTML_TAG

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

#: Elements whose end need not be written, or that have none.
_ENDED = frozenset("p li dt dd tr td th thead tbody tfoot br hr img wbr".split())
#: Elements that are open inside of each other. Cleaning takes longer with each.
MAX_OPEN = 50

#: Returns the HTML of a link or an image from its attributes.
Address = Callable[[Mapping[str, str]], str]


class Open:
    """The elements of a document that are open, by name. Deeper ones than `MAX_OPEN` are text."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._depth = 0

    def takes(self, name: str, *, closing: bool) -> bool:
        """Return whether a tag may be written."""
        if name in _ENDED:
            return True
        if not closing:
            deep = self._depth >= MAX_OPEN
            (self._refused if deep else self._open)[name] += 1
            self._depth += not deep
            return not deep
        # Those that were refused are the innermost.
        if self._refused[name]:
            self._refused[name] -= 1
            return False
        if self._open[name]:
            self._open[name] -= 1
            self._depth -= 1
        return True


def tag_html(match: re.Match[str], opened: Open, link: Address, image: Address) -> str:
    """Return a tag that `HTML_TAG` matches as HTML, or as text if documents may not use it here."""
    closing, name, rest = match[1], match[2].lower(), match[3]
    allowed = name in INLINE or name in BLOCKS
    if not (allowed and opened.takes(name, closing=bool(closing))):
        return escape(match[0])
    if closing:
        return f"</{name}>"
    given = {attribute.lower(): unescape(value.strip("\"'")) for attribute, value in _ATTRIBUTE.findall(rest)}
    if name == "img":
        return image(given)
    if name == "a":
        return link(given)
    kept = {attribute: value for attribute, value in given.items() if attribute in _KEPT.get(name, ())}
    if given.get("align", "").lower() in _ALIGNED:
        kept["class"] = given["align"].lower()
    attributes = "".join(f' {key}="{escape(value)}"' for key, value in kept.items())
    return f"<{name}{attributes}>"


def block_html(text: str, opened: Open, link: Address, image: Address) -> str:
    """Return a block of HTML with the tags that documents may use, and without comments."""
    text = _without_comments(text)
    parts: list[str] = []
    at = 0
    for match in HTML_TAG.finditer(text):
        parts += [escape(unescape(text[at : match.start()]), False), tag_html(match, opened, link, image)]
        at = match.end()
    return "".join((*parts, escape(unescape(text[at:]), False)))


def _without_comments(text: str) -> str:
    parts: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return "".join((*parts, text[at:]))


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
