"""Formulas in TeX as MathML, which browsers show by themselves."""

from __future__ import annotations

from latex2mathml.converter import convert

#: Longer formulas are shown as they are written.
_MAX = 5_000
#: The elements of MathML that the library writes, and their attributes that change its look.
ELEMENTS = frozenset(
    "math mrow mi mn mo mtext mspace msub msup msubsup munder mover munderover mfrac msqrt mroot mtable mtr "
    "mtd mlabeledtr mstyle mpadded mphantom menclose".split()
)
_SHARED = {"mathvariant", "displaystyle", "scriptlevel"}
ATTRIBUTES: dict[str, set[str]] = {
    "math": {"display"},
    **dict.fromkeys(ELEMENTS - {"math"}, _SHARED),
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
    if len(tex) > _MAX:
        return None
    try:
        return convert(tex, display="block" if block else "inline")
    except Exception:  # noqa: BLE001 - whatever a document makes the library raise, its source is shown
        return None
