"""The Markdown that the parser does not know: what Obsidian reads beyond CommonMark and GitHub."""

from __future__ import annotations

import re
from collections.abc import Mapping

from qmd.text.markdown.links import TAG, URL
from qmd.text.markdown.reading import without_site_markup

#: Stands for a piece of HTML in a line, and for the end of a line in a formula.
ATOM = "\0"
#: The title of a callout: its kind, looks that themes give it, whether it folds, its text.
CALLOUT = re.compile(r"\[!([A-Za-z][\w-]{0,30})(?:\|[^\[\]\n]{0,200})?\]([+-]?)[ \t]*([^\n]*)\n?")
#: The colours and signs of callouts; other kinds look like a note.
CALLOUTS: Mapping[str, tuple[str, str]] = {
    kind: (colour, sign)
    for kinds, colour, sign in (
        ("note", "note", "✎"),
        ("abstract summary tldr", "plain", "☰"),
        ("info", "note", "ⓘ"),
        ("todo", "note", "☑"),
        ("tip hint important", "good", "✦"),
        ("success check done", "good", "✓"),
        ("question help faq", "warning", "?"),
        ("warning caution attention", "warning", "⚠"),
        ("failure fail missing", "danger", "✕"),
        ("danger error", "danger", "ϟ"),
        ("bug", "danger", "⊗"),
        ("example", "plain", "≡"),
        ("quote cite", "plain", "❝"),
    )
    for kind in kinds.split()
}
#: The name of a block at its end.
BLOCK_ID = re.compile(r"(?:^|[ \t\n]|(?<=[\0\]]))\^([A-Za-z0-9-]{1,100})\Z")
#: The state of a task: a letter, or a sign that Obsidian's themes show.
TASK = re.compile(r"\[([ xX/<>!?*\"-])\](?:[ \t]+|\Z)")
#: The states with a look of their own; the sign of others is shown.
TASKS: Mapping[str, str] = {" ": "open", "x": "done", "X": "done", "/": "begun", "-": "cancelled"}
#: What begins something in a line: HTML, a marked text, a comment, a note, an address, a tag.
SIGN = re.compile(
    r"(?P<atom>\0)|==(?=\S)(?P<marked>(?:[^=\n]|=(?!=)){1,2000}+)(?<=\S)=="
    r"|(?P<comment>%%(?s:.*?)%%)|\^\[(?P<note>[^\[\]\n]{1,2000}+)\]"
    rf"|(?P<url>{URL.pattern})|(?P<tag>{TAG.pattern})"
)
#: Code, or a formula that has lines of its own.
_FORMULA = re.compile(
    r"^([ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?)"
    r"(?:(?P<fence>`{3,}+(?=[^`\n]*+$)|~{3,}+)(?s:.*?)(?:^[ \t>]*+(?P=fence)|\Z)"
    r"|(\$\$(?:(?!\$\$)(?s:.))*+\$\$)[ \t]*$)",
    re.M,
)


def prepared(text: str) -> str:
    """Return a text for the parser: formulas are on one line, and the marks of site generators are left out.

    A formula has `ATOM` in place of the ends of its lines, so that nothing in it begins a block.
    """
    text = without_site_markup(text.replace(ATOM, "\ufffd"))
    return _FORMULA.sub(_on_one_line, text) if "$$" in text else text


def _on_one_line(match: re.Match[str]) -> str:
    if match[3] is None:
        return match[0]
    return match[1] + re.sub(r"\n[ \t>]*" if ">" in match[1] else r"\n[ \t]*", ATOM, match[3])
