"""What is done with a picked document: an editor opens it at a line, or a terminal copies its address."""

from __future__ import annotations

import os
from base64 import b64encode

from qmd.cli.console import current
from qmd.cli.render.view import Disk
from qmd.cli.session import Session
from qmd.cli.show import link_to
from qmd.cli.terminal import say
from qmd.errors import NotFoundError, UsageError
from qmd.processes import browse, on_terminal
from qmd.text.anchors import LINE
from qmd.text.uris import DEFAULT_EDITOR, NO_EDITOR, is_editor
from qmd.types import Anchor, Document, Hit

#: How programs are told a line; all others by `+LINE PATH`.
_FORMS = {
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor", "windsurf"), ("--goto", "{path}:{line}")),
    **dict.fromkeys(("hx", "helix", "subl", "zed"), ("{path}:{line}",)),
}


def open_document(session: Session, item: Hit | Document, line: int, anchor: Anchor | None) -> None:
    """Open a document at a line: in the editor of the terminal, or else by a link.

    Documents with pages or slides are opened by the program that the system has for them.
    """
    roots = {each.name: each.path for each in session.index.config.collections.values()}
    path = Disk(roots, session.folder()).absolute(item)
    if not os.path.exists(path):
        raise NotFoundError(
            f"there is no file {path}", f"read the text that was indexed: qmd get {item.file}"
        )
    environ = current().environ
    editor = environ.get("VISUAL") or environ.get("EDITOR") or ""
    if editor and (anchor is None or anchor.kind == LINE):
        on_terminal(editor_words(editor, path, line if anchor is None else int(anchor.value)))
        return
    template = session.settings.editor_uri or DEFAULT_EDITOR
    if template == NO_EDITOR or not is_editor(template):
        raise UsageError("no editor is known", "set EDITOR, for example to vim")
    link = link_to(template, path, line, anchor)
    say(path if browse(link) else f"Open {link}: nothing could be started here.")


def editor_words(editor: str, path: str, line: int) -> list[str]:
    """Return the words that open a file at a line in an editor, which may have options of its own."""
    import shlex

    program, *options = shlex.split(editor)
    name = os.path.basename(program).removesuffix(".exe")
    form = _FORMS.get(name, ("+{line}", "{path}"))
    return [program, *options, *(word.format(path=path, line=line) for word in form)]


def copying(text: str) -> str:
    """Return the sequence by which a terminal, also one on another machine, copies a text (OSC 52)."""
    return f"\x1b]52;c;{b64encode(text.encode()).decode()}\x07"
